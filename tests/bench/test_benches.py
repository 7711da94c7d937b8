"""The benches start."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.bench.__main__ import BENCHES, GROUPS
from tests.running import ROOT


@pytest.mark.slow
def test_every_bench_can_be_loaded_without_settings() -> None:
    """A bench sets up Django itself, if it needs tables: the others measure processes."""
    helped = subprocess.run(
        [sys.executable, "-m", "tests.bench", "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert helped.returncode == 0, helped.stderr
    assert "--before" in helped.stdout
    assert "--chainlit" in helped.stdout


@pytest.mark.slow
@pytest.mark.thorough
def test_the_sides_of_a_comparison_start_and_answer() -> None:
    """This version and the bare relay; a bench ends with 1 where a token is lost or doubled."""
    command = [sys.executable, "-m", "tests.bench", "wire", "--quick"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "bare relay" in ran.stdout


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_is_of_benches(group: str) -> None:
    assert set(GROUPS[group]) <= set(BENCHES)
