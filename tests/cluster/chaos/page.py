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

from tests.cluster.chaos.record import Record, now
from tests.person import Person

# The page's own, in seconds: static/chat/net/connection.js.
FIRST_WAIT, LONGEST_WAIT, SILENCE = 0.5, 10.0, 20.0
CONNECT_SECONDS = 10.0


class ShownPage:
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
        self.person, self.conversation = person, conversation
        self.address, self.random, self.record = address, random, record
        self.url = ""
        self.opened = False
        self.stale = False
        self.messages: dict[str, dict[str, Any]] = {}
        self.title = ""
        self.turn: dict[str, Any] | None = None
        # The turn whose receipt is shown.
        self.receipt = ""
        # What it was told, the newest last: where something is wrong, this says why.
        self.told: deque[str] = deque(maxlen=60)
        # By client id: texts that weren't confirmed.
        self.pending: dict[str, str] = {}
        self.drafts: list[str] = []
        # Of those that may be stored nevertheless: the client id under which they are sent again.
        self._unsure: dict[str, str] = {}
        # Edits and answers tried again, by their refs: what they say.
        self._asked: dict[str, str] = {}
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._silence: asyncio.TimerHandle | None = None
        self._lost = 0.0
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
        client_id = self._unsure.pop(text, "") or str(uuid.uuid4())
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
        ref = f"{type}-{fields['client_id']}"
        if await self._command(type, ref=ref, **fields | ({"text": text} if text else {})):
            self._asked[ref] = text

    async def stop(self) -> None:
        await self._command("stop")

    @property
    def path(self) -> list[dict[str, Any]]:
        return sorted(self.messages.values(), key=lambda one: int(one["seq"]))

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

    def _apply_snapshot(self, event: dict[str, Any]) -> None:
        self.opened, self.stale = True, False
        self.messages = {one["id"]: one for one in event["messages"]}
        self.turn = event["turn"]
        self.receipt = (event["receipt"] or {}).get("turn", "")
        self.title = event["conversation"]["title"] if event["conversation"] else ""
        if self._lost:
            self.record.without_page.append(now() - self._lost)
            self._lost = 0.0

    def _apply_turn_started(self, event: dict[str, Any]) -> None:
        if event["client_id"] in self.pending:
            del self.pending[event["client_id"]]
        self.record.started(event)
        known = event["resent"] or (self.turn is not None and self.turn["id"] == event["turn"])
        self.title = event["conversation"]["title"]
        if not known and event["gone_from"]:
            gone = [one["id"] for one in self.messages.values() if one["seq"] >= event["gone_from"]]
            for id in gone:
                del self.messages[id]
        self._merge(event["messages"])
        if not known:
            self.turn = {**event, "id": event["turn"]}

    def _apply_delta(self, event: dict[str, Any]) -> None:
        if self.turn is None or self.turn["id"] != event["turn"]:
            return
        known = self.turn[event["part"]]
        if event["offset"] > len(known):
            self.record.counts["gaps, filled by a snapshot"] += 1
            self.stale = True
        elif event["offset"] + len(event["text"]) > len(known):
            self.turn[event["part"]] = known + event["text"][len(known) - event["offset"] :]

    def _apply_decided(self, event: dict[str, Any]) -> None:
        if self.turn is not None and self.turn["id"] == event["turn"]:
            self.receipt = event["turn"]

    def _apply_turn_ended(self, event: dict[str, Any]) -> None:
        self.record.turn_ended(event)
        if event["reported"] and self.receipt != event["turn"]:
            self.stale = True
        self._merge([*event["messages"], *([event["message"]] if event["message"] else [])])
        if self.turn is not None and self.turn["id"] == event["turn"]:
            self.turn = None

    def _apply_marked(self, event: dict[str, Any]) -> None:
        if event["message"] in self.messages:
            self.messages[event["message"]] |= {"pinned": event["pinned"], "state": event["state"]}

    def _apply_messages_changed(self, event: dict[str, Any]) -> None:
        for id in event["gone"]:
            self.messages.pop(id, None)
        self._merge(event["messages"])

    def _apply_path_changed(self, event: dict[str, Any]) -> None:
        self.stale = True

    def _apply_renamed(self, event: dict[str, Any]) -> None:
        self.title = event["title"]

    def _apply_refused(self, event: dict[str, Any]) -> None:
        self.record.refusals[event["code"]] += 1
        client_id = event["ref"].removeprefix("send-")
        text = self.pending.pop(client_id, "")
        if text:
            self.drafts.append(text)
            if event["code"] == "internal":
                self._unsure[text] = client_id
        elif event["seconds"] and event["ref"].startswith("open-"):
            asyncio.get_running_loop().call_later(event["seconds"], self._open_later)

    def _merge(self, messages: list[dict[str, Any]]) -> None:
        self.messages |= {one["id"]: one for one in messages}
