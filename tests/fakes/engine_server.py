"""llama.cpp's server as far as the program uses it, over a real socket: each slot's cells are
played by `engine_cells`, the model is `engine_words`.

    async with FakeEngine(folder) as fake:
        client = EngineClient(fake.address, key=fake.key)

For tests: `slots[n].cells` are the cells of a slot; `pause` stops the next completion until the
client disconnects, and `paused` is set while it waits; `says` are the next tokens of any answer;
`asked` are all requests as "POST /completion". It listens in the running loop.

Sessions are JSON. One that was cut short ends the real engine's process; this one sets `crashed`
and closes every connection.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.fakes.engine_cells import Cells
from tests.fakes.engine_completion import Completion, Json, Pause
from tests.fakes.engine_words import framed, spelled, tokenized


class Refused(Exception):
    def __init__(
        self, message: str, *, kind: str = "invalid_request_error", code: int = 400
    ) -> None:
        super().__init__(message)
        self.answer = {"error": {"code": code, "message": message, "type": kind}}
        self.code = code


@dataclass
class Slot:
    """`used` is True from the first request on: before it the engine doesn't report its cells."""

    cells: Cells = field(default_factory=Cells)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    used: bool = False


class FakeEngine:
    """`window` is in tokens, of one slot; `batch` is how much of a prompt is read at once."""

    def __init__(
        self, folder: Path, *, slots: int = 4, window: int = 4096, batch: int = 512
    ) -> None:
        self.folder = folder
        self.window = window
        self.batch = batch
        self.key = "the key"
        self.slots = [Slot() for _ in range(slots)]
        self.asked: list[str] = []
        self.pause = Pause()
        self.says: list[int] = []
        self.paused = asyncio.Event()
        self.crashed = False
        self.address = ""
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Like a killed process: requests aren't finished, and nothing is reported."""
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await self._server.wait_closed()
        while self._writers:  # noqa: ASYNC110 - only the connections' own ends are waited for
            await asyncio.sleep(0)

    # ---- HTTP ----------------------------------------------------------------------------------
    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._request(reader, writer):
                    pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {k.lower(): v.strip() for k, _, v in (one.partition(":") for one in head[1:])}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.asked.append(f"{method} {path}")
        try:
            if headers.get("authorization") != f"Bearer {self.key}":
                raise Refused("Invalid API Key", kind="authentication_error", code=401)
            asked = json.loads(body) if body else {}
            if path == "/completion":
                await self._completion(asked, reader, writer)
                return not asked.get("stream")
            self._say(writer, 200, await self._answer(method, path, asked))
        except Refused as refused:
            self._say(writer, refused.code, refused.answer)
        await writer.drain()
        return not self.crashed

    def _say(self, writer: asyncio.StreamWriter, code: int, answer: object) -> None:
        data = json.dumps(answer).encode()
        kind = "application/json; charset=utf-8"
        head = f"HTTP/1.1 {code} -\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)

    async def _answer(self, method: str, path: str, asked: Json) -> object:
        match method, path.partition("?")[0]:
            case "GET", "/health":
                return {"status": "ok"}
            case "GET", "/props":
                return {"default_generation_settings": {"n_ctx": self.window}}
            case "GET", "/v1/models":
                return {"data": [{"id": "fake", "meta": {"n_ctx_train": 8192}}]}
            case "GET", "/slots":
                return [self._state(number) for number in range(len(self.slots))]
            case "POST", "/tokenize":
                return {"tokens": _ids_of(asked)}
            case "POST", "/detokenize":
                return {"content": spelled(asked["tokens"])}
            case "POST", "/apply-template":
                return {"prompt": framed(asked["messages"])}
            case "POST", place if place.startswith("/slots/"):
                number = int(place.removeprefix("/slots/"))
                return await self._act(number, path.partition("?action=")[2], asked)
        raise Refused("File Not Found", kind="not_found_error", code=404)

    # ---- slots ---------------------------------------------------------------------------------
    def _state(self, number: int) -> Json:
        slot = self.slots[number]
        state: Json = {"id": number, "n_ctx": self.window, "is_processing": slot.lock.locked()}
        return state | ({"n_prompt_tokens": len(slot.cells)} if slot.used else {})

    async def _act(self, number: int, action: str, asked: Json) -> Json:
        # The real one takes a number beyond the last slot for one that it has.
        slot = self.slots[number % len(self.slots)]
        async with slot.lock:
            held = len(slot.cells)
            if action == "erase":
                slot.cells.clear()
                return {"id_slot": number, "n_erased": held}
            path = self.folder / asked["filename"]
            if action == "save":
                path.write_text(json.dumps(slot.cells.read))
                done = {"n_saved": held, "n_written": path.stat().st_size}
            else:
                ids = self._restored(path, slot)
                done = {"n_restored": len(ids), "n_read": path.stat().st_size}
            return {"id_slot": number, "filename": path.name, **done}

    def _restored(self, path: Path, slot: Slot) -> list[int]:
        slot.cells.clear()
        if not path.is_file():
            raise Refused("Unable to restore slot")
        try:
            ids: list[int] = json.loads(path.read_text())
        except ValueError:
            self.crashed = True
            for writer in self._writers:
                writer.transport.abort()
            raise ConnectionResetError from None
        slot.cells.evaluate(ids)
        return ids

    # ---- completions ---------------------------------------------------------------------------
    async def _completion(
        self, asked: Json, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        prompt = asked["prompt"]
        if not prompt:
            raise Refused('"prompt" must not be empty')
        if len(prompt) >= self.window:
            raise Refused("exceeds the context", kind="exceed_context_size_error")
        slot = self.slots[asked["id_slot"] % len(self.slots)]
        pause, self.pause = self.pause, Pause()
        async with slot.lock:
            slot.used = True
            events = Completion(
                asked=asked,
                cells=slot.cells,
                window=self.window,
                batch=self.batch,
                pause=pause,
                gone=lambda: self._gone(reader),
                says=self.says,
            ).events()
            if not asked.get("stream"):
                last = [event async for event in events][-1]
                self._say(writer, 200, last)
                return
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            )
            async for event in events:
                data = f"data: {json.dumps(event)}\n\n".encode()
                writer.write(b"%x\r\n%s\r\n" % (len(data), data))
                await writer.drain()
            writer.write(b"0\r\n\r\n")
            await writer.drain()

    async def _gone(self, reader: asyncio.StreamReader) -> None:
        """Until the client has closed the connection."""
        self.paused.set()
        with suppress(ConnectionError):
            await reader.read()
        self.paused.clear()


def _ids_of(asked: Json) -> list[int]:
    content = asked["content"]
    ids: list[int] = []
    for part in content if isinstance(content, list) else [content]:
        special = asked.get("parse_special", True)
        ids += [part] if isinstance(part, int) else tokenized(part, special=special)
    return ids
