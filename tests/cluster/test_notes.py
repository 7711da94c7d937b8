"""Notes between two servers, over a real connection in one process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import struct
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio
import uvloop

from chatsite.cluster.notes import MOST_WAITING, Notes, _proof
from chatsite.cluster.presence import Presence

PATIENCE = 10.0


class End:
    """One server's end, with what it heard."""

    def __init__(self) -> None:
        self.presence = Presence()
        self.heard: list[Any] = []
        self.missed: list[str] = []
        self.linked: list[str] = []
        self.address = ""
        self.notes = Notes(
            self.presence,
            take=lambda sender, note: self.heard.append(note),
            linked=self.linked.append,
            missed=self.missed.append,
        )

    @property
    def id(self) -> str:
        return self.presence.id


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what another end does
            await asyncio.sleep(0.01)


@pytest_asyncio.fixture
async def ends() -> AsyncIterator[tuple[End, End]]:
    first, second = End(), End()
    for one in (first, second):
        one.address = await one.notes.listen()
    yield first, second
    for one in (first, second):
        await one.notes.stop()


async def test_notes_arrive_in_their_order_whatever_their_size(ends: tuple[End, End]) -> None:
    first, second = ends
    told = [{"number": number, "text": "ü" * 10**number} for number in range(7)]
    first.notes.came(second.id, second.address)
    for note in told:  # the first ones before they are connected
        first.notes.tell([second.id], note)
    await until(lambda: len(second.heard) == len(told))
    assert second.heard == told and not second.missed
    assert second.notes.heard == {first.id} and first.linked == [second.id]


async def test_who_was_cut_off_is_told_that_notes_are_missing(ends: tuple[End, End]) -> None:
    first, second = ends
    first.notes.came(second.id, second.address)
    await until(lambda: second.notes.heard)
    for task in list(second.notes._hearing):
        task.cancel()
    first.notes.tell([second.id], {"lost": "perhaps"})
    await until(lambda: second.missed == [first.id])
    first.notes.tell([second.id], {"after": "that"})
    await until(lambda: {"after": "that"} in second.heard)
    assert first.linked == [second.id, second.id]


@pytest.mark.parametrize(
    "hello",
    [
        b"GET / HTTP/1.1\r\n",
        b"[]\n",
        b'{"from": 1}\n',
        b"\xff\xfe\n",
        b"x" * 100_000,
        json.dumps({"from": "a", "to": "b", "nonce": "", "proof": "", "behind": True}).encode(),
    ],
)
async def test_who_doesnt_know_the_key_is_told_nothing_and_not_heard(
    ends: tuple[End, End], hello: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = ends
    reader, writer = await asyncio.open_connection(*second.address.split(" "))
    nonce = await reader.readline()
    hello = hello.replace(b'"to": "b"', f'"to": "{second.id}"'.encode())
    writer.write(hello + b"\n")
    with caplog.at_level(logging.ERROR):
        rest = await asyncio.wait_for(reader.read(), PATIENCE)
    writer.close()
    assert len(nonce) == 33 and rest == b""
    assert not (second.heard or second.missed or second.notes.heard) and not caplog.records


async def test_a_server_that_only_pretends_to_know_the_key_gets_no_notes(
    ends: tuple[End, End],
) -> None:
    first, _ = ends
    got = bytearray()

    async def pretend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"0" * 32 + b"\n")
        got.extend(await reader.readline())
        writer.write(b"0" * 64 + b"\n")
        got.extend(b"then " + await reader.read())
        writer.close()

    async with await asyncio.start_server(pretend, "127.0.0.1", 0) as stranger:
        port = stranger.sockets[0].getsockname()[1]
        first.notes.came("stranger", f"127.0.0.1 {port}")
        first.notes.tell(["stranger"], {"secret": "otter"})
        await until(lambda: b"then" in got)
        first.notes.went("stranger")
    assert b"otter" not in got and not first.linked


async def test_a_server_that_takes_nothing_is_cut_off_and_told_so(ends: tuple[End, End]) -> None:
    first, _ = ends
    connections: list[bool] = []
    over = asyncio.Event()
    handlers: set[asyncio.Task[Any]] = set()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        handlers.add(task)
        writer.write(b"0" * 32 + b"\n")
        hello = json.loads(await reader.readline())
        writer.write(_proof(hello["nonce"], "hung", hello["from"]).encode() + b"\n")
        connections.append(hello["behind"])
        await over.wait()
        writer.close()

    async with await asyncio.start_server(hang, "127.0.0.1", 0) as hung:
        first.notes.came("hung", f"127.0.0.1 {hung.sockets[0].getsockname()[1]}")
        await until(lambda: first.linked)
        first.notes.tell(["hung"], {"text": "x" * 3 * MOST_WAITING})
        await until(lambda: len(connections) == 2)
        first.notes.went("hung")
        over.set()
        await asyncio.wait(handlers)
    assert connections == [False, True]


def test_a_connection_that_is_reset_is_made_anew() -> None:
    """On the loop that servers have: it raises an error of its own where one writes to a connection
    that was reset."""

    async def reset() -> None:
        first, second = End(), End()
        second.address = await second.notes.listen()
        passed: list[asyncio.StreamWriter] = []

        async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            there = await asyncio.open_connection(*second.address.split(" "))
            passed.append(writer)
            await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))

        network = await asyncio.start_server(pass_on, "127.0.0.1", 0)
        port = network.sockets[0].getsockname()[1]
        first.notes.came(second.id, f"127.0.0.1 {port}")
        for count in range(1, 4):
            await until(lambda count=count: len(first.linked) == count)  # type: ignore[misc]
            connected = passed[-1].get_extra_info("socket")
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            passed[-1].transport.abort()
        await until(lambda: len(first.linked) == 4)
        for one in (first, second):
            await one.notes.stop()
        network.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(reset())


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, RuntimeError):
        while data := await reader.read(65_536):
            writer.write(data)
    writer.close()
