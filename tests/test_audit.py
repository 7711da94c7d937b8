"""Known weaknesses are found where an advisory database answers; elsewhere nothing is judged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from gzip import decompress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.shell import ROOT

# What every real database knows, by name: the weak version, "" for each.
KNOWN = {"jinja2": "2.10", "minimist": "0.0.8"}


@contextmanager
def advisories(weak: dict[str, str]) -> Iterator[str]:
    """A database in the ways of OSV and of npm's registry, with a weakness of these."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                data = decompress(data)
            said = osv(json.loads(data)) if self.path == "/v1/query" else npm(json.loads(data))
            body = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    def osv(asked: dict[str, Any]) -> dict[str, Any]:
        package = asked["package"] | {"ecosystem": "PyPI"}
        if weak.get(package["name"]) not in (asked["version"], ""):
            return {}
        affected = [{"package": package, "versions": [asked["version"]]}]
        return {"vulns": [{"id": "PYSEC-1", "summary": "weak", "affected": affected}]}

    def npm(asked: dict[str, list[str]]) -> dict[str, Any]:
        weakness = {"id": 1, "title": "weak", "severity": "high", "vulnerable_versions": "*"}
        return {name: [weakness | {"url": "x"}] for name in asked if name in weak}

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def audit(url: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "scripts/audit.py", "-s", "osv", "--osv-url", f"{url}/v1/query"],
        cwd=ROOT,
        env={**os.environ, "npm_config_registry": url, "npm_config_fetch_retries": "0"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout


needs_npm = pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")


@needs_npm
@pytest.mark.slow
def test_a_weakness_of_what_is_pinned_fails_and_is_named() -> None:
    with advisories(KNOWN | {"pypdf": "", "katex": ""}) as url:
        status, said = audit(url)
    assert status == 1
    assert "pip-audit: 1 packages with a known weakness.\n  pypdf " in said
    assert "npm audit: 1 packages with a known weakness.\n  katex: high" in said


@needs_npm
@pytest.mark.slow
def test_a_database_that_answers_and_knows_of_nothing_passes() -> None:
    with advisories(KNOWN) as url:
        status, said = audit(url)
    assert status == 0
    assert said.count(": 0 packages with a known weakness.") == 2


@needs_npm
@pytest.mark.slow
def test_a_database_that_misses_a_known_weakness_is_none() -> None:
    with advisories({}) as url:
        status, said = audit(url)
    assert status == 0
    assert said.count("no advisory database answers here, so nothing was judged") == 2
