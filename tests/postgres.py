"""A PostgreSQL of its own for tests, made anew and thrown away: it never waits for the disk.

`python -m tests.postgres pytest tests/conversations` runs tests on it.
"""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.running import free_port

# Nothing of it outlives the test.
OPTIONS = "-c fsync=off -c full_page_writes=off -c synchronous_commit=off -c max_connections=200"
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
    """`with Postgres() as postgres:` runs until the block ends. It can be killed and started."""

    def __init__(self, *, options: str = OPTIONS) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="chatsite-postgres-"))
        self.port = free_port()
        self.options = options
        self.url = f"postgres://chatsite@127.0.0.1:{self.port}/{NAME}"

    def run(self, program: str, *arguments: str, check: bool = True) -> str:
        """As PostgreSQL's own user where this one is root, which it refuses."""
        command = [str(programs() / program), *arguments]
        if getpass.getuser() == "root":
            command = ["runuser", "-u", "postgres", "--", *command]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/")
        assert done.returncode == 0 or not check, done.stderr + done.stdout
        return done.stdout

    def psql(self, sql: str, *, database: str = NAME) -> str:
        """What a statement gives, unaligned."""
        on = ("-h", "127.0.0.1", "-p", str(self.port), "-U", "chatsite", "-d", database)
        return self.run("psql", *on, "-v", "ON_ERROR_STOP=1", "-Atqc", sql)

    def __enter__(self) -> Postgres:
        if getpass.getuser() == "root":
            shutil.chown(self.folder, "postgres")
        arguments = ("-U", "chatsite", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        self.run("initdb", "-D", str(self.folder / "data"), *arguments)
        self.start()
        self.psql(f"CREATE DATABASE {NAME}", database="postgres")
        return self

    def __exit__(self, *_: object) -> None:
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -k {self.folder} {self.options}"
        data, log = str(self.folder / "data"), str(self.folder / "log")
        self.run("pg_ctl", "-D", data, "-l", log, "-o", options, "-w", "start")

    def stop(self, mode: str = "fast") -> None:
        """`fast` ends all connections; `immediate` is as if the machine had lost its power."""
        data = str(self.folder / "data")
        self.run("pg_ctl", "-D", data, "-m", mode, "-w", "stop", check=False)

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
