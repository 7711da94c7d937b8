"""A PostgreSQL of its own: for tests it is made anew and thrown away, and never waits for the disk.

`python -m tests.postgres pytest tests/conversations` runs tests on it.
"""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from chatsite.startup import load_or_make_secret
from tests.running import free_port

# Nothing of it outlives the test.
OPTIONS = "-c fsync=off -c full_page_writes=off -c synchronous_commit=off -c max_connections=200"
FOR_TESTS = ("--auth=trust", "--no-sync")
NAME = "chatsite"


def programs() -> Path:
    """The newest installed version's folder. Debian keeps it off the path."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda at: int(at.parts[4])
    )
    if found:
        return found[-1].parent
    initdb = shutil.which("initdb")
    assert initdb, "The tests need PostgreSQL. Debian: apt install postgresql"
    return Path(initdb).parent


class Postgres:
    """`with Postgres() as postgres:` runs until the block ends. It can be killed and started.

    In a `folder` that is named it is kept: with a password, waiting for the disk, and the next one
    there goes on from it.
    """

    def __init__(self, *, folder: Path | None = None, options: str = OPTIONS) -> None:
        self.is_kept = folder is not None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="chatsite-postgres-"))
        self.port = free_port()
        self.options = "" if self.is_kept else options
        self.password = ""
        if self.is_kept:
            self.folder.mkdir(parents=True, exist_ok=True)
            make = secrets.token_urlsafe
            self.password = load_or_make_secret(self.folder / "password", make)
        user = f"chatsite:{self.password}" if self.password else "chatsite"
        self.url = f"postgres://{user}@127.0.0.1:{self.port}/{NAME}"

    def run(self, program: str, *arguments: str, check: bool = True) -> str:
        """As PostgreSQL's own user where this one is root, which it refuses."""
        command = [str(programs() / program), *arguments]
        if getpass.getuser() == "root":
            command = ["runuser", "-u", "postgres", "--", *command]
        environment = {**os.environ, "PGPASSWORD": self.password}
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", env=environment)
        assert done.returncode == 0 or not check, done.stderr + done.stdout
        return done.stdout

    def psql(self, sql: str, *, database: str = NAME) -> str:
        """What a statement gives, unaligned."""
        on = ("-h", "127.0.0.1", "-p", str(self.port), "-U", "chatsite", "-d", database)
        return self.run("psql", *on, "-v", "ON_ERROR_STOP=1", "-Atqc", sql)

    def __enter__(self) -> Postgres:
        if not (self.folder / "data").exists():
            self._make()
        self.stop()  # one that a killed program left
        self.start()
        known = f"SELECT count(*) FROM pg_database WHERE datname = '{NAME}'"
        if self.psql(known, database="postgres").strip() == "0":
            self.psql(f"CREATE DATABASE {NAME}", database="postgres")
        return self

    def __exit__(self, *_: object) -> None:
        self.stop("fast" if self.is_kept else "immediate")
        if not self.is_kept:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _make(self) -> None:
        password = self.folder / "password"
        if getpass.getuser() == "root":
            for mine in filter(Path.exists, (self.folder, password)):
                shutil.chown(mine, "postgres")
        access = ("--auth=scram-sha-256", f"--pwfile={password}") if self.is_kept else FOR_TESTS
        made = self.folder / "made"
        shutil.rmtree(made, ignore_errors=True)  # what was interrupted
        arguments = ("-U", "chatsite", "--encoding=UTF8", "--locale=C", *access)
        self.run("initdb", "-D", str(made), *arguments)
        made.rename(self.folder / "data")

    def start(self) -> None:
        own = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
        data, log = str(self.folder / "data"), str(self.folder / "log")
        self.run("pg_ctl", "-D", data, "-l", log, "-o", f"{own} {self.options}", "-w", "start")

    def stop(self, mode: str = "fast") -> None:
        """`fast` ends all connections; `immediate` is as if the machine had lost its power."""
        data = str(self.folder / "data")
        self.run("pg_ctl", "-D", data, "-m", mode, "-w", "stop", check=False)

    @property
    def pid(self) -> int:
        """The process whose children serve the connections."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def new_database(self, name: str, *, template: str = "template1") -> str:
        """The address of another database: an empty one, or a copy."""
        self.psql(f"CREATE DATABASE {name} TEMPLATE {template}", database="postgres")
        return self.url.removesuffix(NAME) + name


def main(arguments: list[str]) -> int:
    with Postgres() as running:
        environment = {**os.environ, "TEST_DATABASE_URL": running.url}
        # Its databases go with it; one that a thread is still connected to can't be dropped.
        command = [sys.executable, "-m", *arguments, "--reuse-db"]
        return subprocess.run(command, env=environment).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
