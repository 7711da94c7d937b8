"""How tests are shared out among processes, where `--dist loadgroup` asks for it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """A file's tests share their pages' server. The engine's all run in one process: two engines at
    a time on two cores wait for each other, and take several times as long."""
    for item in items:
        of_engine = item.get_closest_marker("engine") is not None
        item.add_marker(pytest.mark.xdist_group("engine" if of_engine else str(item.path)))
