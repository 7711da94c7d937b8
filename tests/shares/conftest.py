from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.running import Server

ADA, BOB = ("ada", "engines-1843"), ("bob", "logic-1854")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The application, answered by echo. Its log may hold no error, and no token of a link."""
    with Server(tmp_path_factory.mktemp("shares"), SIGNUP="true") as running:
        running.add_user(*ADA)
        running.add_user(*BOB)
        yield running
    assert "Traceback" not in running.log, running.log
