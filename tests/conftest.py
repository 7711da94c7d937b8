"""Marks tests as `slow` that start the whole server as a process, and ends storage's threads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chatsite import storage

STORIES = Path(__file__).parent / "story"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests here, once, instead of in some 25 modules."""
    for item in items:
        if STORIES in item.path.parents or "server" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def ended_threads() -> Iterator[None]:
    """No test finds the threads of another one, with their connections."""
    yield
    storage.close()
