"""Attacks over the socket, by one guest each."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import uuid
from contextlib import AsyncExitStack

import aiohttp

from tests.attacks.kit import (
    PING,
    TEXT,
    Attack,
    Target,
    conversation_file,
    frame,
    listen,
    push,
    restore,
    socket_of,
)
from tests.person import Person


async def _flood(target: Target, block: bytes, blocks: int) -> None:
    """One socket after another, each until the server closes it; nothing is read meanwhile."""
    async with Person(target.server.url) as eve:
        left = blocks
        while left > 0:
            async with socket_of(eve) as socket:
                while left > 0 and await push(socket, block):
                    left -= 1
                await listen(target, socket)
                if socket.close_code == 4429:
                    break


async def empty_pings(target: Target) -> None:
    await _flood(target, frame(PING, b"") * 10_000, target.times(200))


async def long_pings(target: Target) -> None:
    await _flood(target, frame(PING, b"p" * 125) * 2_000, target.times(240))


async def short_frames(target: Target) -> None:
    await _flood(target, frame(TEXT, b"{}") * 5_000, target.times(60))


async def many_sockets(target: Target) -> None:
    """Each with a conversation open."""
    async with Person(target.server.url) as eve, AsyncExitStack() as held:
        for _ in range(target.times(1_200)):
            socket = await held.enter_async_context(socket_of(eve))
            opened = {"type": "open", "conversation": str(uuid.uuid4()), "agent": "demo"}
            try:
                await socket.send_str(json.dumps(opened))
            except (ConnectionError, aiohttp.ClientError):
                target.saw("disconnected")
            message = await socket.receive(30)
            target.saw(message.data if message.type == aiohttp.WSMsgType.CLOSE else "open")


async def long_opens(target: Target) -> None:
    """20 sockets ask for a conversation of 900 kB again and again."""
    async with Person(target.server.url) as eve, AsyncExitStack() as held:
        page = await eve.page()
        await page.say("word " * 12_000)
        for _ in range(10):
            await page.say("x [[tokens=2000]]")
        command = json.dumps({"type": "open", "conversation": page.conversation, "agent": "demo"})
        sockets = [await held.enter_async_context(socket_of(eve)) for _ in range(20)]

        async def one(socket: aiohttp.ClientWebSocketResponse) -> None:
            for _ in range(target.times(100)):
                try:
                    await socket.send_str(command)
                    message = await socket.receive(30)
                except (ConnectionError, aiohttp.ClientError, TimeoutError):
                    break
                if message.type != aiohttp.WSMsgType.TEXT:
                    target.saw(socket.close_code)
                    break
                event = json.loads(message.data)
                target.saw(event.get("code") or event["type"])

        await asyncio.gather(*map(one, sockets))


async def long_previews(target: Target) -> None:
    """10 sockets ask for previews of drafts of 60 kB, and never wait for one."""
    draft = {"type": "preview", "agent": "demo", "draft": "x " * 30_000}
    async with Person(target.server.url) as eve, AsyncExitStack() as held:
        sockets = [await held.enter_async_context(socket_of(eve)) for _ in range(10)]
        heard = [asyncio.create_task(listen(target, socket)) for socket in sockets]

        async def one(socket: aiohttp.ClientWebSocketResponse) -> None:
            data = json.dumps(draft | {"conversation": str(uuid.uuid4())}).encode()
            for _ in range(target.times(1_000)):
                if not await push(socket, frame(TEXT, data)):
                    break
                await asyncio.sleep(0)

        await asyncio.gather(*map(one, sockets))
        await asyncio.wait(heard, timeout=target.times(20))
        for task in heard:
            task.cancel()


async def dead_reader(target: Target) -> None:
    """A socket of one page isn't read while long answers are written."""
    async with Person(target.server.url) as eve, socket_of(eve) as dead:
        page = await eve.page()
        opened = {"type": "open", "conversation": page.conversation, "agent": "demo"}
        await dead.send_str(json.dumps(opened))
        transport = dead._writer.transport
        transport.pause_reading()
        for _ in range(target.times(12)):
            target.saw((await page.say("x [[tokens=2000]]"))["state"])
        transport.resume_reading()


async def restored(person: Person) -> str:
    """The id of the conversation that was restored, once it is complete."""
    async with asyncio.timeout(120):
        while True:
            found = (await person.ask("GET", "/conversations"))["conversations"]
            if found:
                return str(found[0]["id"])
            await asyncio.sleep(0.2)


async def whole_history(target: Target) -> None:
    """The first preview of a long restored conversation with everything in it."""
    async with Person(target.server.url) as eve:
        await restore(target, eve, conversation_file(target.times(20_000)))
        page = await eve.page(await restored(eve))
        page.query = "historyPolicy=all"
        for _ in range(3):
            await page.command("preview", agent="demo", draft="word")
            event = await page.until("preview", "refused")
            target.saw(event.get("code") or event["type"])


async def silent_connections(target: Target) -> None:
    """Connections of one address that ask for nothing, at a server that may open 1,024 files."""
    process = target.server.process
    if process is not None and sys.platform == "linux":
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (1_024, 1_024))
    opened = []
    for _ in range(target.times(1_300)):
        try:
            opened.append(await asyncio.open_connection("127.0.0.1", target.server.port))
        except OSError:
            target.saw("disconnected")
    ended = [asyncio.create_task(reader.read(1)) for reader, _ in opened]
    closed, still = await asyncio.wait(ended, timeout=5.0)
    for one in closed:
        target.saw("disconnected" if one.exception() or not one.result() else "answered")
    for one in still:
        one.cancel()
    await asyncio.gather(*still, return_exceptions=True)
    for _, writer in opened:
        writer.close()


ATTACKS = (
    Attack(
        "silent_connections",
        "1,300 silent connections of one address, 1,024 files",
        silent_connections,
        short=0.5,
    ),
    Attack("empty_pings", "2,000,000 empty pings, nothing read", empty_pings),
    Attack("long_pings", "60 MB of pings of 125 bytes", long_pings),
    Attack("short_frames", "300,000 frames of 8 bytes", short_frames),
    Attack("many_sockets", "1,200 sockets of one guest", many_sockets),
    Attack("long_opens", "20 sockets open a long conversation 2,000 times", long_opens),
    Attack("long_previews", "10,000 previews of drafts of 60 kB", long_previews),
    Attack(
        "dead_reader", "12 long answers to a socket that isn't read", dead_reader, refuses=False
    ),
    Attack(
        "whole_history", "20,000 messages under `all`, first time", whole_history, refuses=False
    ),
)
