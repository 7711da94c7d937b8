"""The bytes of the page's socket: compressed where the client offers it, and whole either way."""

from __future__ import annotations

import json
import uuid

import pytest
from websockets.asyncio.client import connect

from tests.person import Person
from tests.running import Server


@pytest.mark.parametrize("compression", ["deflate", None])
async def test_an_answer_is_whole_with_and_without_compression(
    compression: str | None, server: Server
) -> None:
    async with Person(server.url) as ada:
        cookies = "; ".join(f"{one.key}={one.value}" for one in ada.http.cookie_jar)
        address = server.url.replace("http", "ws") + "/ws"
        async with connect(
            address,
            origin=server.url,  # type: ignore[arg-type]
            additional_headers={"Cookie": cookies},
            compression=compression,
        ) as socket:
            assert bool(socket.protocol.extensions) == bool(compression)
            common = {"conversation": str(uuid.uuid4()), "agent": "demo", "query": ""}
            await socket.send(json.dumps({"type": "open", "ref": "1", **common}))
            assert json.loads(await socket.recv())["type"] == "snapshot"
            said = {"client_id": str(uuid.uuid4()), "text": "Tell me. [[tokens=40;rate=100]]"}
            await socket.send(json.dumps({"type": "send", "ref": "2", **common, **said}))
            text = ""
            while (event := json.loads(await socket.recv()))["type"] != "turn_ended":
                assert event["type"] != "refused", event
                if event["type"] == "delta":
                    assert event["offset"] == len(text)
                    text += event["text"]
            assert event["message"]["content"] == "".join(f" w{n}" for n in range(40))
