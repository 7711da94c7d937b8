"""nginx in front of servers, as a process of its own, with the configuration of deploy/."""

from __future__ import annotations

import getpass
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.running import ROOT, free_port

CONFIGURATION = ROOT / "deploy" / "nginx.conf"
# Debian keeps it off the path of users.
PROGRAM = shutil.which("nginx") or "/usr/sbin/nginx"
PATIENCE = 30.0
SERVER = re.compile(r"^( +server) chatsite-\d+:8000( .*;)$", re.MULTILINE)


class Nginx:
    """`with Nginx([server.url, ...]) as proxy:` serves on `proxy.url` until the block ends."""

    def __init__(self, urls: Sequence[str], *, port: int = 0) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="chatsite-nginx-"))
        self.urls = urls
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> str:
        """What it says of servers that fail, and of itself."""
        return (self.folder / "error.log").read_text()

    @property
    def requests(self) -> list[tuple[str, list[str], int]]:
        """What was answered so far: the path with its query, the servers that were asked one after
        the other (127.0.0.1:8001), and the status. A socket is one of them when it has closed."""
        lines = (self.folder / "access.log").read_text().splitlines()
        found = [line.split("\t") for line in lines]
        return [(path, asked.split(", "), int(status)) for path, asked, status in found]

    def __enter__(self) -> Nginx:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        self._write()
        # In a session of its own: Ctrl-C in a terminal ends first what is asked through it.
        with (self.folder / "output").open("ab") as output:
            self.process = subprocess.Popen(
                self._command("daemon off;"), stdout=output, stderr=output, start_new_session=True
            )
        self._wait_until(lambda: len(self._workers()) > 0)

    def stop(self) -> None:
        """Closes every connection at once."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(PATIENCE)

    def serve(self, urls: Sequence[str]) -> None:
        """Send new requests to these servers. Open sockets stay where they are."""
        self.urls = urls
        self._write()
        before = self._workers()
        assert self.process is not None
        done = subprocess.run([*self._command(), "-s", "reload"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self._wait_until(lambda: not before & self._workers() and len(self._workers()) > 0)

    def _command(self, *directives: str) -> list[str]:
        # Its workers would be another user's, who can't write into the folder.
        user = ["user root;"] if getpass.getuser() == "root" else []
        directives = (*directives, f"pid {self.folder}/pid;", *user)
        file = str(self.folder / "nginx.conf")
        return [PROGRAM, "-e", f"{self.folder}/error.log", "-c", file, "-g", " ".join(directives)]

    def _write(self) -> None:
        (self.folder / "nginx.conf").write_text(self._configuration())

    def _configuration(self) -> str:
        """That of the repository, with these servers and this port, and its files in the folder."""
        text = CONFIGURATION.read_text()
        found = list(SERVER.finditer(text))
        assert len(found) == 3, f"{CONFIGURATION} names other servers"
        servers = [f"{found[0][1]} {url.removeprefix('http://')}{found[0][2]}" for url in self.urls]
        text = text[: found[0].start()] + "\n".join(servers) + text[found[-1].end() :]
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"):
            text = text.replace("http {", f"http {{ {kind}_temp_path {self.folder}/{kind};", 1)
        form = "log_format asked '$request_uri\t$upstream_addr\t$status';"
        log = f"{form} access_log {self.folder}/access.log asked;"
        text = text.replace("access_log off;", log, 1)
        text = text.replace("worker_processes auto;", "worker_processes 2;", 1)
        return text.replace("listen 8000;", f"listen 127.0.0.1:{self.port};", 1)

    def _workers(self) -> set[int]:
        """The processes that take connections: not those that only keep theirs after a reload."""
        assert self.process is not None
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        titles = {int(child): Path(f"/proc/{child}/cmdline") for child in children}
        return {child for child, title in titles.items() if _takes_connections(title)}

    def _wait_until(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        assert self.process is not None
        while not is_so():
            ended = self.process.poll() is not None
            assert not ended and time.monotonic() < deadline, (
                f"nginx doesn't serve:\n{self.log}{(self.folder / 'output').read_text()}"
            )
            time.sleep(0.02)


def _takes_connections(title: Path) -> bool:
    try:
        return title.read_bytes().rstrip(b"\0 ") == b"nginx: worker process"
    except OSError:  # it has ended
        return False
