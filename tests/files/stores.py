"""A store for files that speaks S3: a real server of its own, over HTTP."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.error import URLError

from tests.running import free_port

KEY = {"AWS_ACCESS_KEY_ID": "a-key", "AWS_SECRET_ACCESS_KEY": "a-secret-of-tests"}
NAME = "chatsite-files"


class S3Server:
    """Keeps what it has in memory, in the bucket `chatsite-files`."""

    def __init__(self) -> None:
        self.endpoint = f"http://127.0.0.1:{free_port()}"
        self.url = f"s3://{NAME}/attached?endpoint={self.endpoint}&region=eu-central-1"
        self.options = {
            "bucket_name": NAME,
            "location": "attached",
            "endpoint_url": self.endpoint,
            "region_name": "eu-central-1",
        }
        port = self.endpoint.rpartition(":")[2]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-p", port],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def wait_until_up(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"{self.endpoint}/moto-api/", timeout=5):
                    return
            except (URLError, ConnectionError):
                assert self._process.poll() is None and time.monotonic() < deadline
                time.sleep(0.05)

    def make_bucket(self) -> None:
        made = urllib.request.Request(f"{self.endpoint}/{NAME}", method="PUT")
        urllib.request.urlopen(made, timeout=5).close()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def s3_server() -> Iterator[S3Server]:
    server = S3Server()
    try:
        server.wait_until_up()
        server.make_bucket()
        yield server
    finally:
        server.kill()
