"""A child process for one task on somebody's bytes: it sees no keys and never outlives its task."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO

_ROOT = Path(__file__).parents[1]
# Nothing of the server's environment, which holds keys.
_ENVIRONMENT = {"PYTHONIOENCODING": "utf-8"}


@asynccontextmanager
async def child_process(
    module: str,
    *arguments: str,
    stdin: IO[bytes] | int = DEVNULL,
    stdout: IO[bytes] | int = PIPE,
) -> AsyncIterator[Process]:
    """`python -m module`, ended with the block, however that ends. The block bounds its time, and
    the module its own memory."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments),
        stdin=stdin,
        stdout=stdout,
        stderr=DEVNULL,
        cwd=_ROOT,
        env=_ENVIRONMENT,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def run_child(module: str, stdin: IO[bytes], stdout: IO[bytes], *, seconds: float) -> None:
    """Let `module` write one file on the disk from another one. Of a child whose time is up, what
    it writes lacks its end."""
    stdin.seek(0)
    async with child_process(module, stdin=stdin, stdout=stdout) as process:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await process.wait()
