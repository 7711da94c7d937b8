"""`make cluster`: three servers, PostgreSQL and nginx on this machine, until Ctrl-C."""

from __future__ import annotations

import argparse
import getpass
import secrets
import shutil
import signal
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from chatsite.startup import load_or_make_secret
from tests.nginx import Nginx
from tests.postgres import Postgres
from tests.running import ROOT, Server

SERVERS = 3
# Longer than running answers may take until they are cut off.
STOP_SECONDS = 180.0


class Cluster:
    """`with Cluster(folder, port=8000) as cluster:` serves on `cluster.url` until the block ends.
    Another one in the same folder goes on from its conversations."""

    def __init__(self, folder: Path, environment: Mapping[str, str], *, port: int = 0) -> None:
        """`environment` is the servers' besides what makes a cluster of them."""
        self.folder = folder
        self.environment = environment
        self.port = port
        self.servers: list[Server] = []
        self._running = ExitStack()

    @property
    def url(self) -> str:
        return self.proxy.url

    def __enter__(self) -> Self:
        _make_folder(self.folder)
        with ExitStack() as running:
            postgres = Postgres(folder=self.folder / "postgres")
            self.servers = [self._server(postgres, n) for n in range(1, SERVERS + 1)]
            # First, since it is the one that may find its port taken.
            self.proxy = Nginx([server.url for server in self.servers], port=self.port)
            running.enter_context(self.proxy)
            running.enter_context(postgres)
            running.callback(self._stop_servers)
            for server in self.servers:
                server.start()
            self._running = running.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._running.close()

    def _server(self, postgres: Postgres, number: int) -> Server:
        secret = load_or_make_secret(self.folder / "secret_key", lambda: secrets.token_urlsafe(50))
        server = Server(self.folder / str(number), flags=())
        server.environment = {
            **self.environment,
            "VAR_DIR": str(server.folder),
            "HOST": "127.0.0.1",
            "PORT": str(server.port),
            "DATABASE_URL": postgres.url,
            "DATABASE_DIRECT_URL": "",
            "CLUSTER_ADDRESS": "",
            "SECRET_KEY": secret,
            "FILES_DIR": str(self.folder / "files"),
            "TRUSTED_PROXIES": "127.0.0.1",
            "BEHIND_TLS": "false",
        }
        return server

    def _stop_servers(self) -> None:
        """All at once: each lets its running answers end. A second Ctrl-C ends them now."""
        begun = [one for one in self.servers if one.process and one.process.poll() is None]
        with ThreadPoolExecutor(SERVERS) as threads:
            stopping = [threads.submit(server.stop, STOP_SECONDS) for server in begun]
            try:
                for one in stopping:
                    one.result()
            except KeyboardInterrupt:
                for server in begun:
                    server.kill()


def _make_folder(folder: Path) -> None:
    """PostgreSQL refuses root, so its own user, and no other, may pass through the folder then."""
    folder.mkdir(parents=True, exist_ok=True)
    if getpass.getuser() == "root":
        for one in (folder, folder.parent):
            shutil.chown(one, group="postgres")
            one.chmod(0o710)
    else:
        folder.chmod(0o700)


def own_environment() -> dict[str, str]:
    """As this program was started: the settings of tests blank all that Chatsite reads."""
    lines = Path("/proc/self/environ").read_bytes().decode(errors="surrogateescape").split("\0")
    return dict(line.split("=", 1) for line in lines if "=" in line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="the only one that people know")
    parser.add_argument("--folder", type=Path, default=ROOT / "var" / "cluster")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print(f"Starting PostgreSQL, {SERVERS} servers and nginx …", flush=True)
    try:
        with Cluster(options.folder, own_environment(), port=options.port) as cluster:
            servers = ", ".join(server.url for server in cluster.servers)
            print(f"Chatsite: {cluster.url} (Ctrl-C stops it)")
            print(f"behind it: {servers}; their data and logs: {options.folder}", flush=True)
            try:
                threading.Event().wait()
            except KeyboardInterrupt:
                print(
                    "\nStopping: running answers may end. Ctrl-C again cuts them off.", flush=True
                )
    except AssertionError as error:
        raise SystemExit(str(error)) from None
    except KeyboardInterrupt:  # while it was starting
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
