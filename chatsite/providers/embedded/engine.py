"""Starts the engine's process, watches over it, and says in words how it is."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from chatsite import kv
from chatsite.errors import ProviderError
from chatsite.providers.base.provider import Status
from chatsite.providers.embedded import model_file, sentences
from chatsite.providers.embedded.client import EngineClient
from chatsite.providers.embedded.prompt import Prompter
from chatsite.providers.embedded.session_files import make_private_folder
from chatsite.providers.embedded.template import chatml_frame, discover_frame

log = logging.getLogger("chatsite.engine")

SLOTS = 4
WINDOW = 4096
# The type of the cache's cells, and how they lie without flash attention, as child.py sets both.
CACHE = "f16-transposed"
READY_SECONDS = 60.0
_HEALTH_EVERY = 0.1
_LONGEST_PAUSE = 30.0
_HEALTHY_AFTER = 60.0
_STARTS = 3
_ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningEngine:
    """An engine that is ready. `prompter` is None where the model's template isn't additive;
    `window` is in tokens, of one slot; only what an engine of the same `kv` saved is read again.
    """

    client: EngineClient
    prompter: Prompter | None
    window: int
    fingerprint: str
    kv: kv.Fingerprint
    pid: int


class _Ended(Exception):
    """The process is gone. `sentence` says why it needn't be tried again, "" where it may;
    `seconds` is how long it was ready, 0 where it never was."""

    def __init__(self, sentence: str = "", *, detail: str = "", seconds: float = 0.0) -> None:
        super().__init__(sentence or detail)
        self.sentence = sentence
        self.detail = detail
        self.seconds = seconds


class Engine:
    """One process for all conversations of this server.

    `model_path` None means the bundled model. What the engine's native code prints goes to
    `log_path`, begun anew at each start of the server. `sessions` is the folder into which slots
    are saved; without one nothing is.
    """

    def __init__(
        self, model_path: Path | None = None, *, log_path: Path, sessions: Path | None = None
    ) -> None:
        self.bundled = model_path is None
        self.name = "smollm2" if model_path is None else model_path.name
        self._path = model_path
        self._log_path = log_path
        self._sessions = sessions
        self._status = Status(state="loading", sentence=sentences.NOT_STARTED, progress=0.0)
        self._running: RunningEngine | None = None
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def running(self) -> RunningEngine | None:
        return self._running

    def status(self) -> Status:
        return self._status

    def start(self) -> None:
        """Begin to load, unless that was begun; returns at once. Called in the event loop."""
        if self._task is not None:
            return
        self._task = asyncio.get_running_loop().create_task(self._supervise(), name="engine")

    async def stop(self) -> None:
        """End the process; when this returns none is left."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._set(Status(state="unavailable", sentence=sentences.STOPPED))

    async def ready(self, *, seconds: float = READY_SECONDS) -> RunningEngine:
        """The running engine, waited for while it loads. Raises ProviderError with what to do."""
        try:
            async with asyncio.timeout(seconds):
                while self._running is None:
                    if self._status.state == "unavailable":
                        raise ProviderError(self._status.sentence, code="unavailable")
                    await self._changed.wait()
        except TimeoutError:
            raise ProviderError(sentences.STILL_LOADING, code="loading", retryable=True) from None
        return self._running

    def _set(self, status: Status, running: RunningEngine | None = None) -> None:
        self._status = status
        self._running = running
        self._changed.set()
        self._changed = asyncio.Event()

    def _enter(self, stage: str) -> None:
        sentence, progress = sentences.STAGES[stage]
        self._set(Status(state="loading", sentence=sentence, progress=progress))

    async def _supervise(self) -> None:
        failures = 0
        self._log_path.parent.mkdir(parents=True, exist_ok=True)
        self._log_path.write_bytes(b"")
        while True:
            ended = await self._life()
            failures = 1 if ended.seconds > _HEALTHY_AFTER else failures + 1
            sentence = ended.sentence
            if not ended.seconds and failures >= _STARTS:
                sentence = sentences.gave_up(ended.detail, log=self._log_path)
            if sentence:
                log.error("engine unavailable: %s (%s)", sentence, ended.detail)
                self._set(Status(state="unavailable", sentence=sentence))
                return
            log.warning("engine ended (%s), starting it again", ended.detail)
            self._set(Status(state="loading", sentence=sentences.RESTARTING, progress=0.0))
            await asyncio.sleep(min(0.25 * 2**failures, _LONGEST_PAUSE))

    async def _life(self) -> _Ended:
        try:
            await self._run()
        except _Ended as ended:
            return ended
        except Exception as error:
            log.exception("engine failed to start")
            return _Ended(detail=type(error).__name__)

    async def _run(self) -> NoReturn:
        """One life of the process; raises _Ended at its end."""
        path = await asyncio.to_thread(self._find)
        fingerprint = await asyncio.to_thread(model_file.model_fingerprint, path)
        key = secrets.token_urlsafe(32)
        clock = asyncio.get_running_loop().time
        self._enter("start")
        process = await self._spawn()
        client: EngineClient | None = None
        try:
            address = await self._announced(process, {"model": str(path), "key": key})
            client = EngineClient(address, key=key)
            await self._until_healthy(client, process)
            running = await self._examined(client, fingerprint, process.pid)
            self._set(Status(state="ready"), running)
            since = clock()
            code = await process.wait()
            raise _Ended(sentences.crash(code), detail=f"exit {code}", seconds=clock() - since)
        finally:
            self._running = None
            if client is not None:
                await client.aclose()
            await _end(process)

    def _find(self) -> Path:
        path = self._path or model_file.find_bundled_model()
        if path is None:
            raise _Ended(sentences.NO_BUNDLED_MODEL)
        fault = model_file.model_fault(path)
        if fault:
            raise _Ended(sentences.bad_model(path, fault))
        return path.resolve()

    async def _spawn(self) -> asyncio.subprocess.Process:
        with self._log_path.open("ab") as errors:
            return await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "chatsite.providers.embedded.child",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                cwd=_ROOT,
            )

    async def _announced(
        self, process: asyncio.subprocess.Process, config: Mapping[str, object]
    ) -> str:
        """Hand over the configuration, follow what the process says, return its address."""
        assert process.stdin is not None and process.stdout is not None
        whole = {
            **config,
            "sessions": make_private_folder(self._sessions),
            "slots": SLOTS,
            "window": WINDOW,
        }
        process.stdin.write(json.dumps(whole).encode() + b"\n")
        async for line in process.stdout:
            said: dict[str, Any] = json.loads(line)
            stage = said["stage"]
            if stage == "failed":
                raise _Ended(
                    sentences.failed(said["reason"], path=self._path, log=self._log_path),
                    detail=said["detail"],
                )
            self._enter(stage)
            if stage == "listen":
                return str(said["address"])
        raise _exit(await process.wait())

    async def _until_healthy(
        self, client: EngineClient, process: asyncio.subprocess.Process
    ) -> None:
        while not await client.healthy():
            if process.returncode is not None:
                raise _exit(process.returncode)
            await asyncio.sleep(_HEALTH_EVERY)

    async def _examined(self, client: EngineClient, fingerprint: str, pid: int) -> RunningEngine:
        """What has to be known of the model before it is used."""
        props = await client.get("/props")
        models = await client.get("/v1/models")
        frame = await (chatml_frame(client) if self.bundled else discover_frame(client))
        window = min(
            WINDOW,
            int(props["default_generation_settings"]["n_ctx"]),
            int(models["data"][0]["meta"]["n_ctx_train"]),
        )
        prompter = Prompter(client, frame, fingerprint=fingerprint) if frame else None
        written_by = kv.Fingerprint(
            model=fingerprint, engine=version("xllamacpp"), cache=CACHE, window=window
        )
        return RunningEngine(
            client=client,
            prompter=prompter,
            window=window,
            fingerprint=fingerprint,
            kv=written_by,
            pid=pid,
        )


def _exit(code: int) -> _Ended:
    return _Ended(sentences.crash(code), detail=f"exit {code}")


async def _end(process: asyncio.subprocess.Process) -> None:
    """Nothing in it is worth saving, and while it loads it couldn't hear a request to end."""
    if process.returncode is None:
        process.kill()
    await process.wait()
