"""The baseline: the least that a relay can do. One socket, one request, a frame for each token.
And the least of a page: a text that is ready.

It stores nothing, counts nothing, decides nothing and serves nobody else. `python -m
tests.bench.relay_baseline PROVIDER_URL` prints its address and process id.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

PROVIDER = sys.argv[1] if len(sys.argv) > 1 else ""
# As long as the application's page.
PAGE = "<p>The sea is salt and wide.</p>\n" * 430


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        app.state.session = session
        yield


async def relay(websocket: WebSocket) -> None:
    await websocket.accept()
    try:
        while True:
            request = json.loads(await websocket.receive_text())
            await _answer(websocket, request["text"])
    except WebSocketDisconnect:
        pass


async def _answer(websocket: WebSocket, text: str) -> None:
    body = {
        "model": "gpt-4o-mini",
        "messages": [{"role": "user", "content": text}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    session: aiohttp.ClientSession = websocket.app.state.session
    seq = 0
    async with session.post(f"{PROVIDER}/chat/completions", json=body) as response:
        async for line in response.content:
            if not line.startswith(b"data: {"):
                continue
            choices = json.loads(line[6:]).get("choices")
            piece = choices[0]["delta"].get("content") if choices else None
            if piece:
                await websocket.send_text(json.dumps({"seq": seq, "delta": piece}))
                seq += 1
    await websocket.send_text('{"end": true}')


async def page(request: Request) -> Response:
    return HTMLResponse(PAGE)


app = Starlette(routes=[WebSocketRoute("/ws", relay), Route("/page", page)], lifespan=lifespan)


def main() -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(1024)
    # The flags of `manage.py serve`; it compresses for who offers it, as uvicorn does unasked.
    config = uvicorn.Config(
        app,
        lifespan="on",
        ws="websockets-sansio",
        ws_max_size=64 * 1024,
        access_log=False,
        log_level="warning",
    )
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/ws {os.getpid()}", flush=True)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
