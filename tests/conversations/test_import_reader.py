"""A restored file is checked by a process of its own, which knows no settings of Django."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.running import ROOT


@pytest.mark.slow
def test_a_file_is_checked_without_the_settings_of_django() -> None:
    saved = {
        "format": "chatsite.conversation",
        "version": 2,
        "agent": "demo",
        "title": "Tides",
        "messages": [{"role": "user", "content": "Hello"}],
    }
    environment = {name: v for name, v in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    done = subprocess.run(
        [sys.executable, "-m", "chatsite.conversations.imports.reader"],
        cwd=ROOT,
        env=environment,
        input=json.dumps(saved).encode(),
        capture_output=True,
    )
    header, *messages = done.stdout.splitlines()
    assert json.loads(header)["count"] == len(messages) == 1, done.stderr.decode()
