"""People who ask Chainlit: its socket.io over a WebSocket, as its page opens it."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from tests.bench.people import DEFLATE, Ask, TimedAnswer, timed_answer, unlimited_session


@asynccontextmanager
async def chainlit_people(
    url: str, count: int, *, deflate: bool = True
) -> AsyncIterator[list[Ask]]:
    async with unlimited_session() as session:
        yield [_asker(await _open(session, url, DEFLATE * deflate)) for _ in range(count)]


async def _open(
    session: aiohttp.ClientSession, url: str, compress: int
) -> aiohttp.ClientWebSocketResponse:
    address = f"{url}/ws/socket.io/?EIO=4&transport=websocket"
    socket = await session.ws_connect(address, compress=compress)
    who = {"sessionId": str(uuid.uuid4()), "clientType": "webapp", "userEnv": "{}"}
    await socket.send_str(f"40{json.dumps(who)}")
    while not (await socket.receive_str()).startswith("40"):
        pass
    await socket.send_str('42["connection_successful"]')
    while (await _event(socket))[0] != "clear_call_fn":
        pass
    return socket


async def _event(socket: aiohttp.ClientWebSocketResponse) -> tuple[str, dict[str, Any]]:
    while not (frame := await socket.receive_str()).startswith("42"):
        if frame == "2":  # a ping of engine.io
            await socket.send_str("3")
    name, fields = json.loads(frame[2:])
    return name, fields


def _asker(socket: aiohttp.ClientWebSocketResponse) -> Ask:
    async def ask(prompt: str) -> TimedAnswer:
        message = {
            "id": str(uuid.uuid4()),
            "threadId": "",
            "name": "user",
            "type": "user_message",
            "output": prompt,
            "createdAt": "2026-01-01T00:00:00.000Z",
        }
        command = ["client_message", {"message": message, "fileReferences": []}]
        sent_at = time.monotonic()
        await socket.send_str(f"42{json.dumps(command)}")
        pieces = []
        while (event := await _event(socket))[0] != "task_end":
            name, fields = event
            if name in ("stream_start", "stream_token"):
                text = fields["output"] if name == "stream_start" else fields["token"]
                pieces.append((time.monotonic(), text))
        return timed_answer(sent_at, pieces)

    return ask
