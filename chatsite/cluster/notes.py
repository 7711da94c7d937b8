"""Notes from server to server, over connections of their own.

Each server connects to every other one and tells it what its pages need; docs/decisions.md says why
PostgreSQL doesn't carry them. Both sides prove that they know SECRET_KEY. Notes are hints: rows are
the truth. A connection that broke may have lost some, which both sides know: the receiver asks the
rows. A server that takes nothing is cut off before its notes fill the memory of this one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import secrets
import socket
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac

from chatsite.cluster.presence import LOOK_SECONDS, Presence

logger = logging.getLogger("chatsite.cluster")
Note = Mapping[str, Any]
# A batch leaves at once, and the next one not before.
GAP_SECONDS = 0.01
# What waits for a server that takes nothing.
MOST_WAITING = 8_000_000
MOST_OF_A_BATCH = 64_000_000
HANDSHAKE_SECONDS = 5.0
# Each server says something every second.
SILENT_SECONDS = 5.0
_LENGTH = 4


def _proof(nonce: str, sender: str, receiver: str) -> str:
    return salted_hmac("chatsite.cluster", f"{nonce} {sender} {receiver}").hexdigest()


@dataclass(eq=False)
class Notes:
    """`take` gets each note; `linked` is called where a server hears this one from now on, `missed`
    with a server of whose notes some are missing."""

    presence: Presence
    take: Callable[[str, Note], None]
    linked: Callable[[str], None]
    missed: Callable[[str], None]

    def __post_init__(self) -> None:
        # The servers that this one hears now.
        self.heard: set[str] = set()
        # The servers that haven't heard everything.
        self._behind: set[str] = set()
        self._waiting: defaultdict[str, list[Note]] = defaultdict(list)
        self._sending: dict[str, asyncio.Task[None]] = {}
        self._addresses: dict[str, str] = {}
        self._wakes: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._hearing: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def listen(self) -> str:
        """Be reachable; the address that others connect to."""
        host, port = settings.CLUSTER_ADDRESS
        self._server = await asyncio.start_server(self._accept, host, port, limit=4_096)
        return f"{host} {self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        tasks = [*self._sending.values(), *self._hearing]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # ---- sending -----------------------------------------------------------------------------
    def came(self, server: str, address: str) -> None:
        """Another server is there: connect to it, and again whenever that breaks."""
        self._addresses[server] = address
        self._sending[server] = asyncio.create_task(self._keep_sending(server, address))

    def went(self, server: str) -> None:
        if (task := self._sending.pop(server, None)) is not None:
            task.cancel()
        self._waiting.pop(server, None)
        self._wakes.pop(server, None)
        self._behind.discard(server)
        self._addresses.pop(server, None)

    def renew(self) -> None:
        """This server has another number now: introduce it anew."""
        for server, address in list(self._addresses.items()):
            self.went(server)
            self.came(server, address)

    def tell(self, servers: Iterable[str], note: Note) -> None:
        """At the next occasion; never waits."""
        for server in servers:
            if server in self._sending:
                self._waiting[server].append(note)
                self._wakes[server].set()
            else:  # it was heard before its row was seen
                self._behind.add(server)

    async def _keep_sending(self, server: str, address: str) -> None:
        while True:
            try:
                await self._send(server, address)
            except Exception as error:  # uvloop's RuntimeError for a closed transport, too
                logger.info("The connection to %s broke: %s", server, type(error).__name__)
            if self._waiting.pop(server, None):
                self._behind.add(server)
            await asyncio.sleep(LOOK_SECONDS)

    async def _send(self, server: str, address: str) -> None:
        """As long as the connection holds."""
        async with asyncio.timeout(HANDSHAKE_SECONDS):
            reader, writer = await asyncio.open_connection(*address.split(" "), limit=4_096)
        with contextlib.closing(writer):
            self._give_up_soon(writer)
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                await self._introduce(server, reader, writer)
            wake = self._wakes[server]
            # From here on some may be on their way when it breaks.
            self._behind.add(server)
            self.linked(server)
            while True:
                # Without news an empty batch, every second.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(wake.wait(), LOOK_SECONDS)
                wake.clear()
                notes, self._waiting[server] = self._waiting[server], []
                text = json.dumps(notes, separators=(",", ":")).encode()
                writer.write(len(text).to_bytes(_LENGTH) + text)
                if writer.transport.is_closing() or reader.at_eof():
                    raise EOFError
                if writer.transport.get_write_buffer_size() > MOST_WAITING:
                    writer.transport.abort()
                    raise TimeoutError
                await asyncio.sleep(GAP_SECONDS)

    def _give_up_soon(self, writer: asyncio.StreamWriter) -> None:
        """Where a network swallows everything, Linux would notice after a quarter of an hour."""
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            connected = writer.get_extra_info("socket")
            connected.setsockopt(
                socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(2_000 * SILENT_SECONDS)
            )

    async def _introduce(
        self, server: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        nonce, mine = (await reader.readline()).decode().strip(), secrets.token_hex(16)
        own = self.presence.id
        hello = {
            "from": own,
            "to": server,
            "nonce": mine,
            "proof": _proof(nonce, own, server),
            "behind": server in self._behind,
        }
        writer.write(json.dumps(hello).encode() + b"\n")
        answer = (await reader.readline()).decode().strip()
        if not constant_time_compare(answer, _proof(mine, server, own)):
            raise ValueError("it doesn't know the key")

    # ---- hearing -----------------------------------------------------------------------------
    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._hearing.add(task)
        try:
            with contextlib.closing(writer):
                async with asyncio.timeout(HANDSHAKE_SECONDS):
                    sender, behind = await self._introduced(reader, writer)
                if behind:
                    self.missed(sender)
                await self._hear(sender, reader)
        except (OSError, ValueError, TypeError, LookupError, EOFError, TimeoutError, RuntimeError):
            pass  # it comes again
        except asyncio.CancelledError:
            pass  # at the end; asyncio would log it
        finally:
            self._hearing.discard(task)

    async def _introduced(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[str, bool]:
        """Who connects, and whether notes of theirs are missing. Raises ValueError for somebody who
        doesn't know the key."""
        nonce = secrets.token_hex(16)
        writer.write(nonce.encode() + b"\n")
        hello = json.loads(await reader.readline())
        sender, own = str(hello["from"]), self.presence.id
        proof = _proof(nonce, sender, own)
        if hello["to"] != own or not constant_time_compare(str(hello["proof"]), proof):
            raise ValueError("it doesn't know the key")
        writer.write(_proof(str(hello["nonce"]), own, sender).encode() + b"\n")
        return sender, bool(hello["behind"])

    async def _hear(self, sender: str, reader: asyncio.StreamReader) -> None:
        self.heard.add(sender)
        try:
            while True:
                async with asyncio.timeout(SILENT_SECONDS):
                    length = int.from_bytes(await reader.readexactly(_LENGTH))
                    if length > MOST_OF_A_BATCH:
                        raise ValueError("too long")
                    notes = json.loads(await reader.readexactly(length))
                for note in notes:
                    self.take(sender, note)
        finally:
            self.heard.discard(sender)
