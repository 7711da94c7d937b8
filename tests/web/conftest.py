from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.running import Server

STAFF = ("grace", "compilers-1952")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The application, answered by echo; anyone may sign up, and `STAFF` is staff.

    Its log may hold no unexpected error, whatever the tests request.
    """
    with Server(tmp_path_factory.mktemp("web"), SIGNUP="true") as running:
        running.add_user(*STAFF)
        yield running
    assert "Traceback" not in running.log, running.log
    assert "Warning" not in running.log, running.log
