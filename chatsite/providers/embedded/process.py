"""The engine's process, as its parent sees it: started, followed until it serves, killed."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from chatsite.providers.embedded import sentences
from chatsite.providers.embedded.client import EngineClient

_HEALTH_EVERY = 0.1
_ROOT = Path(__file__).parents[3]


class EngineEnded(Exception):
    """The process has ended. `sentence` is the reason not to start it again, "" where that may
    help; `seconds` is how long it was ready, 0 where it never was."""

    def __init__(self, sentence: str = "", *, detail: str = "", seconds: float = 0.0) -> None:
        super().__init__(sentence or detail)
        self.sentence = sentence
        self.detail = detail
        self.seconds = seconds


class EngineProcess:
    """Runs `child.py`. Whatever its native code prints is appended to the log."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid

    @classmethod
    async def start(cls, log_path: Path) -> EngineProcess:
        with log_path.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "chatsite.providers.embedded.child",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                cwd=_ROOT,
            )
        return cls(process)

    async def configure(
        self,
        config: Mapping[str, object],
        *,
        on_stage: Callable[[str], None],
        explain: Callable[[str], str],
    ) -> str:
        """Send the configuration, report each stage, and return the address where it will serve.

        Raises EngineEnded; `explain` makes a sentence of the process's own reason for that.
        """
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(config).encode() + b"\n")
        async for line in process.stdout:
            report: dict[str, Any] = json.loads(line)
            stage = report["stage"]
            if stage == "failed":
                raise EngineEnded(explain(report["reason"]), detail=report["detail"])
            on_stage(stage)
            if stage == "listen":
                return str(report["address"])
        raise _exit_error(await process.wait())

    async def until_healthy(self, client: EngineClient) -> None:
        while not await client.healthy():
            if self._process.returncode is not None:
                raise _exit_error(self._process.returncode)
            await asyncio.sleep(_HEALTH_EVERY)

    async def until_ended(self) -> EngineEnded:
        """Wait for the end of a process that was ready."""
        clock = asyncio.get_running_loop().time
        since = clock()
        ended = _exit_error(await self._process.wait())
        ended.seconds = clock() - since
        return ended

    async def kill(self) -> None:
        """Nothing in it is worth saving, and while it loads it can't read a request to end."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()


def _exit_error(code: int) -> EngineEnded:
    return EngineEnded(sentences.crash(code), detail=f"exit {code}")
