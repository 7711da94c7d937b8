"""Asks model servers for JSON; a server that doesn't answer is no error."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp

# A server on this machine answers within milliseconds, and nobody waits for these answers.
SECONDS = 2.0
# OpenRouter's list of all models is about 1 MB.
MOST_BYTES = 8 * 1024 * 1024


class JsonClient:
    """One pool of connections for all servers. Redirects aren't followed, so that a key is sent to
    the configured server only."""

    def __init__(self, *, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._session: aiohttp.ClientSession | None = None

    async def get(self, url: str, *, key: str = "") -> Any:
        """The JSON at this address, None where there is none."""
        return await self._ask("GET", url, key, None)

    async def post(self, url: str, body: object, *, key: str = "") -> Any:
        return await self._ask("POST", url, key, body)

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _ask(self, method: str, url: str, key: str, body: object) -> Any:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        try:
            async with self._opened().request(
                method, url, json=body, headers=headers, allow_redirects=False
            ) as answer:
                if answer.status != 200:
                    return None
                data = await answer.content.read(MOST_BYTES)
                while not answer.content.at_eof() and len(data) < MOST_BYTES:
                    data += await answer.content.read(MOST_BYTES - len(data))
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
            return None
        return await asyncio.to_thread(_json, data)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=self._seconds)
            self._session = aiohttp.ClientSession(timeout=timeout, trust_env=False)
        return self._session


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
