"""Starts `manage.py` and the developer's commands from a process that has imported most of what
they import, since the imports are more than half of what a start costs.

Each start is a process of its own with an environment of its own, and reads its settings itself:
what is imported before has read none. Programs started as an administrator starts them are in
story/test_usual_starts, tests/test_settings and wherever a server has flags of its own.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.preloaded"])


class Started:
    """A process, with what `subprocess.Popen` offers of it."""

    def __init__(
        self, arguments: tuple[str, ...], *, folder: Path, log: Path, environment: Mapping[str, str]
    ) -> None:
        _start_preloaded()
        work = (arguments, str(folder), str(log), dict(environment))
        self._process = _processes.Process(target=_run, args=work, daemon=True)
        # A process would import the program that starts it, and with that the tests' settings.
        with patch.dict(sys.modules, {"__main__": ModuleType("__main__")}):
            self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired("manage.py", timeout or 0)
        return code

    def kill(self) -> None:
        self._process.kill()

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)


def _start_preloaded() -> None:
    """In development mode, as the servers of tests run."""
    before = os.environ.get("PYTHONDEVMODE")
    os.environ["PYTHONDEVMODE"] = "1"
    try:
        ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONDEVMODE"]
        else:
            os.environ["PYTHONDEVMODE"] = before


def _run(arguments: tuple[str, ...], folder: str, log: str, environment: Mapping[str, str]) -> None:
    """Become the program: `manage.py serve`, or `-m tests.commands seed`."""
    os.setsid()
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[0] = folder
    if arguments[0] == "-m":
        sys.argv = list(arguments[1:])
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = list(arguments)
        runpy.run_path(arguments[0], run_name="__main__")
