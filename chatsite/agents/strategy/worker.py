"""Runs strategies: one worker process for all agents, kept warm, killed at its time limit."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatsite.agents.strategy.file import StrategyFile
from chatsite.agents.strategy.protocol import (
    LAST,
    StrategyFailure,
    StrategyInput,
    line_of,
    read_answer,
)
from chatsite.history.evidence import StrategySlot
from chatsite.process_limits import SUPERVISES, end_children

log = logging.getLogger("chatsite.strategy")

LIMIT_SECONDS = 2.0
WAIT_SECONDS = 10.0  # For the worker, while it runs others' strategies.
START_SECONDS = 30.0
CLEAN_SECONDS = 5.0
ANSWER_BYTES = 8 * 1024 * 1024
_ROOT = Path(__file__).parents[3]
# Nothing of the server's environment, which holds keys. With a fixed seed, sets have the same order
# in every worker.
_ENVIRONMENT = {"PYTHONHASHSEED": "0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyResult:
    """The slots that a strategy chose, their texts without token counts, and how long that took."""

    slots: tuple[StrategySlot, ...]
    milliseconds: int


class StrategyWorker:
    """Keeps one worker process, and replaces it. Runs one strategy at a time, in the event loop."""

    def __init__(self, *, seconds: float = LIMIT_SECONDS) -> None:
        self._seconds = seconds
        self._turn = asyncio.Lock()
        self._starting: asyncio.Task[Process] | None = None
        self._running: asyncio.Task[StrategyResult | StrategyFailure] | None = None
        self._stopped = False

    async def run(
        self, file: StrategyFile, given: StrategyInput
    ) -> StrategyResult | StrategyFailure:
        """Raises only CancelledError; the strategy then still runs to its end or its time limit."""
        if file.fault:
            return StrategyFailure(reason=file.fault, line=file.line)
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._turn.acquire()
        except TimeoutError:
            return StrategyFailure(
                reason=f"others kept its worker busy for {WAIT_SECONDS:.0f} seconds"
            )
        self._running = asyncio.create_task(self._run_child(file, given), name="strategy")
        self._running.add_done_callback(lambda _: self._turn.release())
        return await asyncio.shield(self._running)

    def start(self) -> asyncio.Task[Process]:
        """Begin to start the worker, unless it is starting or running; returns at once."""
        if self._starting is None:
            self._starting = asyncio.create_task(_start_process(), name="strategy worker")
        return self._starting

    async def stop(self) -> None:
        """End the worker and the strategy that it runs; afterwards no process is left."""
        self._stopped = True
        if self._starting is not None:
            (process,) = await asyncio.gather(self._starting, return_exceptions=True)
            if isinstance(process, Process):
                await _end(process)
        if self._running is not None:
            await asyncio.wait([self._running])

    async def _run_child(
        self, file: StrategyFile, given: StrategyInput
    ) -> StrategyResult | StrategyFailure:
        if self._stopped:
            return StrategyFailure(reason="the server is ending")
        try:
            process = await self.start()
            if process.returncode is not None and not self._stopped:
                self._starting = None
                process = await self.start()
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            log.error("the worker for strategies can't be started: %s", type(error).__name__)
            self._starting = None
            return StrategyFailure(reason="its worker process can't be started")
        since = time.monotonic()
        try:
            async with asyncio.timeout(self._seconds):
                reply = await self._ask(process, file, given)
            milliseconds = round((time.monotonic() - since) * 1000)
            answer = read_answer(reply, given)
            if LAST in reply:
                await self._replace(process)
            if isinstance(answer, StrategyFailure):
                return answer
            return StrategyResult(slots=answer, milliseconds=milliseconds)
        except TimeoutError:
            reason = f"it took longer than {self._seconds:g} seconds and was ended"
            problem = StrategyFailure(reason=reason, ended=True)
        except (OSError, asyncio.IncompleteReadError):
            problem = StrategyFailure(reason="its worker process ended while it ran")
        except (KeyError, TypeError, ValueError, asyncio.LimitOverrunError):
            problem = StrategyFailure(reason="it gave an answer that can't be used")
        await self._replace(process)
        return problem

    async def _replace(self, process: Process) -> None:
        await _end(process)
        if not self._stopped:
            self._starting = None
            self.start()

    async def _ask(
        self, process: Process, file: StrategyFile, given: StrategyInput
    ) -> dict[str, Any]:
        assert process.stdin is not None and process.stdout is not None
        # The worker's own alarm only matters where this process can't end it any more.
        question = {"path": file.path, "seconds": self._seconds + 1, "given": given.to_dict()}
        process.stdin.write(line_of(question))
        await process.stdin.drain()
        reply: dict[str, Any] = json.loads(await process.stdout.readuntil())
        return reply


async def _start_process() -> Process:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "chatsite.agents.strategy.worker_process",
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        cwd=_ROOT,
        env=_ENVIRONMENT,
        limit=ANSWER_BYTES,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            await process.stdout.readuntil()
    except BaseException:
        await _end(process)
        raise
    return process


async def _end(process: Process) -> None:
    """With all that its strategies have begun. `process` is the worker's supervisor, which ends
    what that has left behind and then itself: killed before, it would leave it to nobody."""
    if process.returncode is None:
        await asyncio.to_thread(end_children, process.pid)
        if SUPERVISES:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLEAN_SECONDS):
                    await process.wait()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
