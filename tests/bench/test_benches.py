"""The benches start."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.running import ROOT


@pytest.mark.slow
def test_every_bench_can_be_loaded_without_settings() -> None:
    """A bench sets up Django itself, if it needs tables: the others measure processes."""
    helped = subprocess.run(
        [sys.executable, "-m", "tests.bench", "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert helped.returncode == 0, helped.stderr
    assert "--before" in helped.stdout
