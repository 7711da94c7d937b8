"""Thirty people talk to three servers that die, hang and lose their database: nothing is missing,
doubled or torn afterwards. By hand for longer: `python -m tests.cluster.chaos`."""

from __future__ import annotations

import gc
import secrets
from pathlib import Path

import pytest

from tests.cluster.chaos.run import run

pytestmark = [pytest.mark.slow, pytest.mark.thorough]
SECONDS = 90.0
# aiohttp warns of connections that were cut, when they are collected: here, not in a later test.
CUT = ("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.filterwarnings(*CUT)
async def test_after_chaos_everything_is_stored_once_and_shown_everywhere(tmp_path: Path) -> None:
    report = await run(tmp_path, seconds=SECONDS, seed=secrets.randbelow(1_000_000))
    print(report)
    gc.collect()
    assert not report.wrong, report
