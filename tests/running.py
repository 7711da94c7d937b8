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
from tests.started import Started

ROOT = EXAMPLE.parent
START_SECONDS = 60.0
DEVELOPMENT = ("-X", "dev")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


# Collecting static files and creating the tables take seconds; the first server of a test run does
# both for all later servers of this checkout.
_PREPARED = Path(tempfile.mkdtemp(prefix="chatsite-test-made-"))
_DATABASE = "chatsite.sqlite3"


def _link_or_copy(source: str, target: str) -> None:
    """Another disk takes a copy."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy(source, target)


def _copy_prepared_files(folder: Path) -> None:
    if (_PREPARED / "static").is_dir() and not (folder / "static").exists():
        shutil.copytree(_PREPARED / "static", folder / "static", copy_function=_link_or_copy)
        shutil.copy(_PREPARED / "static.stamp", folder)
    if (_PREPARED / _DATABASE).is_file() and not (folder / _DATABASE).exists():
        shutil.copy(_PREPARED / _DATABASE, folder)


def _store_prepared_files(folder: Path, *, is_new: bool) -> None:
    """With DEBUG there are no static files to store; the tables are stored while they are empty."""
    if (folder / "static.stamp").is_file() and not (_PREPARED / "static").exists():
        shutil.copytree(folder / "static", _PREPARED / "static")
        shutil.copy(folder / "static.stamp", _PREPARED)
    is_new = is_new and (folder / _DATABASE).is_file()  # none with PostgreSQL
    if is_new and not (_PREPARED / _DATABASE).exists():
        copy_database(folder, _PREPARED)


def copy_database(source: Path, target: Path) -> None:
    """Copy a server's database, also while it runs, into a folder that has none yet."""
    target.mkdir(parents=True, exist_ok=True)
    with (
        closing(sqlite3.connect(source / _DATABASE)) as stored,
        closing(sqlite3.connect(target / _DATABASE)) as copy,
    ):
        stored.backup(copy)


class Server:
    """`with Server(folder, HISTORY_POLICY="none") as server:` runs until the block ends.

    Without `CHAT_ENGINE` the echo provider answers, unless `OPENAI_BASE_URL` names a server.
    `flags` are the interpreter's: development mode, except in measurements of speed, where the
    process has also imported everything itself. `root` is the checkout that is served, for
    measuring another version beside this one.
    """

    def __init__(
        self,
        folder: Path,
        *,
        flags: tuple[str, ...] = DEVELOPMENT,
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
            # Tests count what the provider was asked; those of titles say so.
            "TITLES": "first_words",
            # Tests ask for more in a second than people do in a minute; those of the limits say so.
            "LIMITS_FACTOR": "1000",
            "PEOPLE_PER_ADDRESS": "1000",
            "DJANGO_SETTINGS_MODULE": "chatsite.settings",
            **environment,
        }
        self.process: subprocess.Popen[bytes] | Started | None = None

    @property
    def log(self) -> str:
        """The output of all the server's starts in this folder."""
        return (self.folder / "server.log").read_text()

    def start(self) -> Server:
        self.folder.mkdir(parents=True, exist_ok=True)
        is_new = not (self.folder / _DATABASE).exists()
        if self.root == ROOT:
            _copy_prepared_files(self.folder)
        self.process = self._begin(
            ("manage.py", "serve"), self.folder / "server.log", self.environment
        )
        try:
            self._wait_until_up(self.process)
        except BaseException:
            self.kill()
            raise
        if self.root == ROOT:
            _store_prepared_files(self.folder, is_new=is_new)
        return self

    def _begin(
        self, arguments: tuple[str, ...], log: Path, environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes] | Started:
        if self.root == ROOT and self.flags == DEVELOPMENT:
            return Started(arguments, folder=ROOT, log=log, environment=environment)
        with log.open("ab") as output:
            return subprocess.Popen(
                [sys.executable, *self.flags, *arguments],
                cwd=self.root,
                env=environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def _wait_until_up(self, process: subprocess.Popen[bytes] | Started) -> None:
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
        """Run `manage.py` in this server's folder; return its output. A failure fails the test."""
        return self._run("manage.py", *arguments, **environment)

    def develop(self, *arguments: str) -> str:
        """Run a developer's command (tests/commands) on this server's data, in the same way."""
        return self._run("-m", "tests.commands", *arguments)

    def _run(self, *arguments: str, **environment: str) -> str:
        all_variables = {**self.environment, **environment}
        with tempfile.NamedTemporaryFile("r", prefix="chatsite-test-") as output:
            code = self._begin(arguments, Path(output.name), all_variables).wait(120)
            text = output.read()
        assert code == 0, text
        return text

    def add_user(self, name: str, password: str) -> None:
        """Add a staff account."""
        options = ("--noinput", f"--username={name}", f"--email={name}@example.org")
        self.manage("createsuperuser", *options, DJANGO_SUPERUSER_PASSWORD=password)

    def stop(self, patience: float = 30.0) -> int:
        """Stop the server as an administrator would; return its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the server didn't end:\n{self.log}") from None

    def kill(self) -> None:
        """kill -9, as a power cut would. So end fixtures whose servers' end nobody looks at: a stop
        waits 20 s for an answer that is still being written."""
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
