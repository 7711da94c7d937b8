"""The engine's HTTP interface, as far as we use it; errors are httpx2's own or EngineRefused."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import httpx2

from chatsite.providers.base.provider import FinishReason, TextPiece, Usage
from chatsite.providers.http import failures
from chatsite.providers.http.sse import SseParser

# No real token has this number, and the engine passes it through: one request for many texts.
_SEPARATOR = -1
_BATCH_CHARACTERS = 256 * 1024
# A long prompt waits for those of the other slots before its first token.
_READ_SECONDS = 180.0


# Names of files in the sessions' folder; they contain nothing that a person wrote.
FILE_NAME = re.compile(r"[0-9a-f]{32}\.bin")


@dataclass(frozen=True, slots=True)
class SavedSlot:
    """`size` is in bytes; 0 where the disk didn't take all."""

    cells: int
    size: int


@dataclass(frozen=True, slots=True)
class ReportedSlot:
    """`cells` is None before a slot's first request: the engine doesn't report it."""

    cells: int | None
    busy: bool


class EngineRefused(Exception):
    """An HTTP error of the engine; `kind` is the engine's own name for it."""

    def __init__(self, status: int, kind: str) -> None:
        super().__init__(f"{status} {kind}")
        self.status = status
        self.kind = kind


# What a request to the engine may raise; httpx2 raises RuntimeError for a client that was closed
# because the engine died.
ENGINE_ERRORS = (EngineRefused, httpx2.HTTPError, RuntimeError)


class EngineClient:
    """One engine on one address of this machine, so proxies of the environment don't apply."""

    def __init__(self, address: str, *, key: str) -> None:
        # The engine closes connections after 5 seconds, and after a stream without an announcement.
        self._client = httpx2.AsyncClient(
            base_url=address,
            headers={"Authorization": f"Bearer {key}"},
            timeout=httpx2.Timeout(_READ_SECONDS, connect=5.0),
            limits=httpx2.Limits(max_connections=32, keepalive_expiry=2.0),
            trust_env=False,
        )

    async def aclose(self) -> None:
        await self._client.aclose()

    async def healthy(self) -> bool:
        """False while the engine loads, and while nothing listens on its port."""
        try:
            response = await self._client.get("/health", timeout=5.0)
        except httpx2.TransportError:
            return False
        return response.status_code == 200

    async def get(self, path: str) -> Any:
        return await self._ask("GET", path)

    async def tokenize(
        self, texts: Sequence[str], *, special: bool = False, first: bool = False
    ) -> list[list[int]]:
        """Return token ids of each text. `special` recognises the names of control tokens; `first`
        adds what the model needs at the very beginning (for one text only)."""
        found: list[list[int]] = []
        batch: list[str] = []
        size = 0
        for text in texts:
            if batch and size + len(text) > _BATCH_CHARACTERS:
                found += await self._request_tokens(batch, special=special, first=first)
                batch, size = [], 0
            batch.append(text)
            size += len(text)
        if batch:
            found += await self._request_tokens(batch, special=special, first=first)
        return found

    async def _request_tokens(
        self, texts: Sequence[str], *, special: bool, first: bool
    ) -> list[list[int]]:
        content: list[str | int] = []
        for text in texts:
            # The engine refuses halves of surrogate pairs.
            sound = text.encode("utf-8", "replace").decode()
            content += [sound, _SEPARATOR] if text else [_SEPARATOR]
        body = {"content": content, "add_special": first, "parse_special": special}
        ids = (await self._ask("POST", "/tokenize", body))["tokens"]
        found: list[list[int]] = [[]]
        for id in ids:
            if id == _SEPARATOR:
                found.append([])
            else:
                found[-1].append(id)
        return found[:-1]

    async def detokenize(self, ids: Sequence[int]) -> str:
        content: str = (await self._ask("POST", "/detokenize", {"tokens": list(ids)}))["content"]
        return content

    async def render(self, messages: Sequence[dict[str, str]]) -> str:
        """Return the prompt that the model's own template renders, the reply's head included."""
        body = {"messages": list(messages)}
        prompt: str = (await self._ask("POST", "/apply-template", body))["prompt"]
        return prompt

    async def slots(self) -> list[ReportedSlot]:
        return [
            ReportedSlot(cells=slot.get("n_prompt_tokens"), busy=slot["is_processing"])
            for slot in await self._ask("GET", "/slots")
        ]

    async def prefill(self, slot: int, ids: Sequence[int], *, chunk: int = 0) -> int:
        """Read a prompt into a slot without an answer; returns how many of its tokens were there.
        Cells are shifted only with a `chunk`, the least number to shift at once."""
        body = {
            "prompt": list(ids),
            "id_slot": slot,
            "n_predict": 0,
            "cache_prompt": True,
            "n_cache_reuse": chunk,
        }
        done = await self._ask("POST", "/completion", body)
        return int(done["timings"]["cache_n"])

    async def save(self, slot: int, name: str) -> SavedSlot:
        """Write a slot to a file in the sessions' folder."""
        done = await self._act(slot, "save", {"filename": _file_name(name)})
        return SavedSlot(cells=done["n_saved"], size=done["n_written"])

    async def restore(self, slot: int, name: str) -> int:
        """Replace a slot's cells by a file's; returns how many. A refusal leaves it empty.
        A file that was cut short ends the engine's process."""
        done = await self._act(slot, "restore", {"filename": _file_name(name)})
        return int(done["n_restored"])

    async def erase(self, slot: int) -> int:
        """Empty a slot; returns how many cells were in it."""
        return int((await self._act(slot, "erase", {}))["n_erased"])

    async def _act(self, slot: int, action: str, body: dict[str, Any]) -> Any:
        return await self._ask("POST", f"/slots/{slot}?action={action}", body)

    async def stream(self, path: str, body: dict[str, Any]) -> AsyncGenerator[bytes, None]:
        """Yield the data of each event. Closing the generator stops the engine's work."""
        headers = {"Connection": "close"}
        parser = SseParser()
        async with self._client.stream("POST", path, json=body, headers=headers) as response:
            if response.status_code != 200:
                await response.aread()
                raise _refused(response)
            async with aclosing(response.aiter_raw()) as raw:
                async for chunk in raw:
                    for payload in parser.feed(chunk):
                        yield payload
                for payload in parser.end():
                    yield payload

    async def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Repeats a request once, where the engine closed an idle connection just as we used it."""
        try:
            response = await self._client.request(method, path, json=body)
        except (httpx2.RemoteProtocolError, httpx2.ReadError):
            response = await self._client.request(method, path, json=body)
        if response.status_code != 200:
            raise _refused(response)
        return response.json()


def _refused(response: httpx2.Response) -> EngineRefused:
    try:
        kind = str(response.json()["error"]["type"])
    except (ValueError, KeyError, TypeError):
        kind = "unknown"
    return EngineRefused(response.status_code, kind)


def _file_name(name: str) -> str:
    if not FILE_NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a session's file")
    return name


@dataclass(slots=True)
class _Piece:
    """One event: its text, the ids in it, and how many ids were omitted before them. Of a character
    of several tokens the engine reports only the last id."""

    text: str
    ids: list[int]
    hidden: int


@dataclass(slots=True)
class CompletionReader:
    """Collects the events of one answer.

    `reused`: tokens of the prompt that were in the slot, None until the engine has begun. `read`:
    tokens of the prompt that are in the slot by now. `cells`: what the slot holds after the answer,
    None until its end. `evaluated`: tokens of the prompt that were read, None until the end.
    """

    reason: FinishReason | None = None
    usage: Usage = field(default_factory=Usage)
    reused: int | None = None
    cells: int | None = None
    read: int = 0
    evaluated: int | None = None
    _pieces: list[_Piece] = field(default_factory=list)
    _predicted: int = 0
    _ended_itself: bool = False

    def take(self, payload: bytes) -> TextPiece | None:
        """Takes one event's data. Raises ProviderError for an error event or unreadable data."""
        try:
            event = json.loads(payload)
            if "error" in event:
                raise failures.failed_midway("engine error event")
            if "prompt_progress" in event:
                progress = event["prompt_progress"]
                self.reused, self.read = int(progress["cache"]), int(progress["processed"])
                return None
            if event["stop"]:
                self._end(event)
                return None
            return self._piece(event)
        except (ValueError, KeyError, TypeError) as error:
            raise failures.malformed(type(error).__name__) from None

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self._pieces)

    async def ids(self, client: EngineClient) -> list[int] | None:
        """Return the ids of the answer's text; None where they aren't certain, or where the model
        wrote a control token into it."""
        pieces = self._pieces
        if self._ended_itself and pieces and not pieces[-1].text:
            pieces = pieces[:-1]
        if any(not piece.text for piece in pieces):
            return None
        gaps = [piece for piece in pieces if piece.hidden]
        for gap, whole in zip(gaps, await client.tokenize([g.text for g in gaps]), strict=True):
            if len(whole) != len(gap.ids) + gap.hidden or whole[-len(gap.ids) :] != gap.ids:
                return None
            gap.ids, gap.hidden = whole, 0
        return [id for piece in pieces for id in piece.ids]

    def _piece(self, event: dict[str, Any]) -> TextPiece | None:
        text: str = event["content"]
        ids: list[int] = event["tokens"]
        predicted: int = event["tokens_predicted"]
        self._pieces.append(_Piece(text, ids, predicted - self._predicted - len(ids)))
        self._predicted = predicted
        return TextPiece(text) if text else None

    def _end(self, event: dict[str, Any]) -> None:
        timings = event["timings"]
        # The last token isn't read by the model itself, so it has no cell.
        self.cells = event["tokens_evaluated"] + event["tokens_predicted"] - 1
        self.reused, self.evaluated = timings["cache_n"], timings["prompt_n"]
        self._ended_itself = event["stop_type"] == "eos"
        self.reason = "length" if event["stop_type"] == "limit" else "stop"
        self.usage = Usage(
            prompt=event["tokens_evaluated"],
            cached=timings["cache_n"],
            completion=event["tokens_predicted"],
        )
