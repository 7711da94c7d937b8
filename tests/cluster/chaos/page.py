"""A page as a browser shows it: its state is made from the events, it connects again by itself, and
what was never confirmed is sent again under the same client id."""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import Any

import aiohttp

from tests.cluster.chaos.page_state import PageState
from tests.cluster.chaos.record import Record, now
from tests.person import Person

# The page's own, in seconds: static/chat/net/connection.js.
FIRST_WAIT, LONGEST_WAIT, SILENCE = 0.5, 10.0, 20.0
CONNECT_SECONDS = 10.0


class ShownPage(PageState):
    """`address` gives the server to connect to, each time. `drafts` are refused texts."""

    def __init__(
        self,
        person: Person,
        conversation: str,
        *,
        address: Callable[[], str],
        random: Random,
        record: Record,
    ) -> None:
        super().__init__(record)
        self.person, self.conversation = person, conversation
        self.address, self.random = address, random
        self.url = ""
        # What it was told, the newest last: where something is wrong, this says why.
        self.told: deque[str] = deque(maxlen=60)
        self.drafts: list[str] = []
        # Of those that may be stored nevertheless: the client id under which they are sent again.
        self._refused: dict[str, str] = {}
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._silence: asyncio.TimerHandle | None = None
        self._moves = False
        self._task = asyncio.create_task(self._stay_connected())

    # ---- the connection ----------------------------------------------------------------------
    async def _stay_connected(self) -> None:
        tries = 0
        while True:
            self.url = self.address()
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    socket = await self.person.http.ws_connect(
                        f"{self.url}/ws", headers={"Origin": self.url}
                    )
            except (aiohttp.ClientError, OSError) as error:
                self._note(f"no connection: {type(error).__name__} {error}")
            else:
                tries = 0
                self._socket = socket
                await self._open()
                await self._read(socket)
                self._note(f"closed: {socket.close_code}")
                self._close_here()
            if not self._moves:
                self._lost = self._lost or now()
                self.record.counts["connections lost or refused"] += 1
                wait = min(LONGEST_WAIT, FIRST_WAIT * 2**tries)
                await asyncio.sleep(wait * self.random.uniform(0.5, 1))
                tries += 1
            self._moves = False

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        with contextlib.suppress(aiohttp.ClientError, OSError):
            async for message in socket:
                if message.type != aiohttp.WSMsgType.TEXT:
                    return
                self._heard()
                await self._apply(json.loads(message.data))

    def _close_here(self) -> None:
        self._heard()
        self._socket, self.opened, self.stale = None, False, False

    def _heard(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

    async def _open(self) -> None:
        await self._command("open", ref=f"open-{uuid.uuid4()}", agent="demo")

    async def _command(self, type: str, *, ref: str = "", **fields: Any) -> bool:
        """Whether it was handed to an open connection."""
        if self._socket is None:
            return False
        command = {"type": type, "conversation": self.conversation, "query": "", **fields}
        with contextlib.suppress(aiohttp.ClientError, OSError):
            await self._socket.send_str(json.dumps(command | {"ref": ref or str(uuid.uuid4())}))
            if self._silence is None:
                self._silence = asyncio.get_running_loop().call_later(SILENCE, self.cut)
            return True
        return False

    def cut(self) -> None:
        """As where a network is gone."""
        self._heard()
        connection = self._socket and self._socket._response.connection
        if connection and connection.transport:
            connection.transport.abort()

    def _open_later(self) -> None:
        self._opening = asyncio.create_task(self._open())

    async def move(self) -> None:
        """Reload, perhaps at another server."""
        self._moves = True
        with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
            async with asyncio.timeout(CONNECT_SECONDS):
                path = f"{self.address()}/chat/{self.conversation}"
                async with self.person.http.get(path) as answer:
                    self.record.counts[f"pages loaded: {answer.status}"] += 1
        self.cut()

    async def close(self) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self.cut()
        self._heard()

    @property
    def failed(self) -> BaseException | None:
        """What ended the page, which nothing may."""
        ended = self._task.done() and not self._task.cancelled()
        return self._task.exception() if ended else None

    # ---- what the person does ----------------------------------------------------------------
    async def send(self, text: str) -> None:
        client_id = self._refused.pop(text, "") or str(uuid.uuid4())
        self.pending[client_id] = text
        if self.opened:
            await self._send_pending(client_id)

    async def _send_pending(self, client_id: str) -> None:
        text = self.pending[client_id]
        fields = {"agent": "demo", "client_id": client_id, "text": text}
        await self._command("send", ref=f"send-{client_id}", **fields)

    async def ask_otherwise(self, type: str, message: str, text: str = "") -> None:
        """Edit a message, or have it answered again."""
        fields = {"agent": "demo", "client_id": str(uuid.uuid4()), "message": message}
        await self._command(type, **fields | ({"text": text} if text else {}))

    async def stop(self) -> None:
        await self._command("stop")

    # ---- what it is shown ----------------------------------------------------------------------
    async def _apply(self, event: dict[str, Any]) -> None:
        was_stale = self.stale
        turn = event.get("turn")
        turn = turn["id"] if isinstance(turn, dict) else turn
        self._note(f"{event['type']} {turn or ''} {event.get('code', '')}")
        apply = getattr(self, f"_apply_{event['type']}", None)
        if apply is not None:
            apply(event)
        if event["type"] == "snapshot":
            for client_id in list(self.pending):
                await self._send_pending(client_id)
        elif self.stale and not was_stale:
            await self._open()

    def _note(self, line: str) -> None:
        at = datetime.now(UTC).strftime("%H:%M:%S.%f")[:-4]
        if "delta" not in line or not self.told or not self.told[-1].endswith(line):
            self.told.append(f"{at} {self.url[-5:]} {line}")

    def _apply_refused(self, event: dict[str, Any]) -> None:
        self.record.refusals[event["code"]] += 1
        client_id = event["ref"].removeprefix("send-")
        text = self.pending.pop(client_id, "")
        if text:
            self.drafts.append(text)
            self._refused[text] = client_id
        elif event["seconds"] and event["ref"].startswith("open-"):
            asyncio.get_running_loop().call_later(event["seconds"], self._open_later)
