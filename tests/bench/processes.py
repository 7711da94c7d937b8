"""The processes that are measured: the application, the bare relay and the fake provider."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.running import ROOT, START_SECONDS, Server, free_port


@contextmanager
def fake_provider() -> Iterator[str]:
    """Run the fake provider in a process of its own; yields its base URL."""
    with _module("tests.fakes.openai_server", "--port", "0") as url:
        yield url


@contextmanager
def bare_relay(provider: str) -> Iterator[tuple[str, int]]:
    """Run the baseline; yields its socket's URL and its process id."""
    with _module("tests.bench.relay_baseline", provider) as line:
        url, pid = line.split()
        yield url, int(pid)


@contextmanager
def chainlit(provider: str, python: Path) -> Iterator[tuple[str, int]]:
    """Run the app of `chainlit_baseline` by this interpreter; yields its URL and process id."""
    app, port = ROOT / "tests" / "bench" / "chainlit_baseline.py", free_port()
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory(prefix="chatsite-bench-") as folder:
        process = subprocess.Popen(
            # Not resolved: the interpreter of a venv is a link.
            [python.absolute(), "-m", "chainlit", "run", app, "--headless", "--port", str(port)],
            cwd=folder,  # it writes its settings there
            env={**os.environ, "PROVIDER": provider},
            stdout=subprocess.DEVNULL,
        )
        try:
            deadline = time.monotonic() + START_SECONDS
            while not _answers(url):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("Chainlit didn't start")
                time.sleep(0.1)
            yield url, process.pid
        finally:
            process.terminate()
            process.wait(30)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


@contextmanager
def _module(name: str, *arguments: str) -> Iterator[str]:
    """Run a module of the tests until the block ends; yields the first line that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", name, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline().strip()
        if not line:
            raise RuntimeError(f"{name} didn't start")
        yield line
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


@contextmanager
def application(provider: str = "", *, root: Path = ROOT, **environment: str) -> Iterator[Server]:
    """Run the application in a temporary folder, as `make run` starts it.

    `provider` answers for every agent; without one the environment decides. `root` is the
    checkout to run.
    """
    provider_settings = (
        {"OPENAI_API_KEY": "sk-bench", "OPENAI_BASE_URL": provider} if provider else {}
    )
    with tempfile.TemporaryDirectory(prefix="chatsite-bench-") as folder:
        server = Server(Path(folder), flags=(), root=root, **provider_settings, **environment)
        with server:
            yield server


def server_pid(server: Server) -> int:
    assert server.process is not None
    return server.process.pid


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its children, to the nanosecond; of those that have
    ended, to 10 ms."""
    process = psutil.Process(pid)
    children = process.children(recursive=True)
    ended = process.cpu_times()
    # What clock_getcpuclockid(3) makes of a process id; psutil has steps of 10 ms.
    living = sum(time.clock_gettime(~one << 3 | 2) for one in (pid, *(c.pid for c in children)))
    return living + ended.children_user + ended.children_system


def unique_bytes(pid: int) -> int:
    """Memory that would be free if the process ended (USS)."""
    return int(psutil.Process(pid).memory_full_info().uss)
