"""Marks tests as `slow` that start the whole server as a process."""

from __future__ import annotations

from pathlib import Path

import pytest

STORIES = Path(__file__).parent / "story"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests here, once, instead of in some 25 modules."""
    for item in items:
        if STORIES in item.path.parents or "server" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
