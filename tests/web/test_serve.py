"""`manage.py serve`: one server a folder."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.running import ROOT, Server, free_port


@pytest.mark.slow
def test_a_second_server_in_the_same_folder_does_not_start_and_says_why(server: Server) -> None:
    second = subprocess.run(
        [sys.executable, "manage.py", "serve"],
        cwd=ROOT,
        env={**server.environment, "PORT": str(free_port())},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert second.returncode != 0
    said = second.stdout + second.stderr
    assert f"Another server already uses {server.folder}." in said
    assert "Stop it first, or set VAR_DIR." in said
    assert "Traceback" not in said
