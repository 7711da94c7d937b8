"""The engine's HTTP interface, as far as we use it; errors are httpx2's own or EngineRefused."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import httpx2

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
