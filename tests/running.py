"""A real server for tests: its own process, its own folder, a free port."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import TracebackType
from urllib.error import HTTPError

from tests.settings import EXAMPLE

ROOT = EXAMPLE.parent
START_SECONDS = 60.0


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


# Collecting static files and creating the tables take seconds; the first server of a test run does
# both for all later servers of this checkout.
_MADE = Path(tempfile.mkdtemp(prefix="chatsite-test-made-"))
_DATABASE = "chatsite.sqlite3"


def _take_what_was_made(folder: Path) -> None:
    if (_MADE / "static").is_dir() and not (folder / "static").exists():
        shutil.copytree(_MADE / "static", folder / "static", copy_function=os.link)
        shutil.copy(_MADE / "static.stamp", folder)
    if (_MADE / _DATABASE).is_file() and not (folder / _DATABASE).exists():
        shutil.copy(_MADE / _DATABASE, folder)


def _keep_what_was_made(folder: Path, *, is_new: bool) -> None:
    """No static files are collected with DEBUG; the tables are kept while they are empty."""
    if (folder / "static.stamp").is_file() and not (_MADE / "static").exists():
        shutil.copytree(folder / "static", _MADE / "static")
        shutil.copy(folder / "static.stamp", _MADE)
    if is_new and not (_MADE / _DATABASE).exists():
        copy_database(folder, _MADE)


def copy_database(source: Path, target: Path) -> None:
    """What a server has stored, also while it runs, into a folder that has no database yet."""
    target.mkdir(parents=True, exist_ok=True)
    with (
        closing(sqlite3.connect(source / _DATABASE)) as stored,
        closing(sqlite3.connect(target / _DATABASE)) as copy,
    ):
        stored.backup(copy)


class Server:
    """`with Server(folder, HISTORY_POLICY="none") as server:` runs until the block ends.

    Without `CHAT_ENGINE` the echo provider answers, unless `OPENAI_BASE_URL` names a server.
    `flags` are the interpreter's: development mode, unless speed is measured. `root` is the
    checkout that is served, for measuring another version beside this one.
    """

    def __init__(
        self,
        folder: Path,
        *,
        flags: tuple[str, ...] = ("-X", "dev"),
        root: Path = ROOT,
        **environment: str,
    ) -> None:
        self.folder = folder
        self.root = root
        self.flags = flags
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment: Mapping[str, str] = {
            **os.environ,
            "VAR_DIR": str(folder),
            "PORT": str(self.port),
            "CHAT_ENGINE": "off",
            "LOCAL_SERVERS": "off",
            "DJANGO_SETTINGS_MODULE": "chatsite.settings",
            **environment,
        }
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> str:
        """All that the server has printed, over every start in this folder."""
        return (self.folder / "server.log").read_text()

    def start(self) -> Server:
        self.folder.mkdir(parents=True, exist_ok=True)
        is_new = not (self.folder / _DATABASE).exists()
        if self.root == ROOT:
            _take_what_was_made(self.folder)
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, *self.flags, "manage.py", "serve"],
                cwd=self.root,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            self._wait_until_up(self.process)
        except BaseException:
            self.kill()
            raise
        if self.root == ROOT:
            _keep_what_was_made(self.folder, is_new=is_new)
        return self

    def _wait_until_up(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise AssertionError(f"the server ended at its start:\n{self.log}")
            try:
                with urllib.request.urlopen(f"{self.url}/accounts/login/", timeout=5):
                    return
            except HTTPError as error:
                raise AssertionError(f"the server answers {error.code}:\n{self.log}") from None
            except OSError:
                time.sleep(0.05)
        raise AssertionError(f"the server isn't up after {START_SECONDS} s:\n{self.log}")

    def manage(self, *arguments: str, **environment: str) -> str:
        """What `manage.py` prints in this server's folder; it must succeed."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=self.root,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def add_user(self, name: str, password: str) -> None:
        """An account that is staff."""
        options = ("--noinput", f"--username={name}", f"--email={name}@example.org")
        self.manage("createsuperuser", *options, DJANGO_SUPERUSER_PASSWORD=password)

    def stop(self) -> int:
        """End it as an administrator would; its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the server didn't end:\n{self.log}") from None

    def kill(self) -> None:
        """kill -9, as a power cut would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(30)

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process is not None and self.process.poll() is None:
            self.stop()
