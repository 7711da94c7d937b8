"""Short questions to model servers: JSON, or nothing. A server that doesn't answer is no error."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp

# A server on this machine answers within milliseconds; nobody waits for these answers.
SECONDS = 2.0
# OpenRouter's list of all models is about 1 MB.
MOST_BYTES = 8 * 1024 * 1024


class JsonClient:
    """One pool of connections for all of them. Redirects are not followed: a key goes where it
    was meant to go and nowhere else."""

    def __init__(self, *, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._session: aiohttp.ClientSession | None = None

    async def get(self, url: str, *, key: str = "") -> Any:
        """The JSON that is there; None where there is none."""
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
                said = await answer.content.read(MOST_BYTES)
                while not answer.content.at_eof() and len(said) < MOST_BYTES:
                    said += await answer.content.read(MOST_BYTES - len(said))
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
            return None
        return await asyncio.to_thread(_json, said)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=self._seconds)
            self._session = aiohttp.ClientSession(timeout=timeout, trust_env=False)
        return self._session


def _json(said: bytes) -> Any:
    try:
        return json.loads(said)
    except (ValueError, RecursionError):
        return None
