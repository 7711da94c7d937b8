"""What holds for all tests: which are `slow`, how many examples a run takes, and that storage's
threads end with each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from chatsite import storage
from tests.examples import some

STORIES = Path(__file__).parent / "story"

settings.register_profile("run", max_examples=some(100), deadline=None)
settings.load_profile("run")


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
