"""One page's socket: parse, start, cancel, forward; nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer
from pydantic_core import to_json

from chatsite.accounts.removal import Rights
from chatsite.channels.channel import Reader
from chatsite.conversations.owners import Owner
from chatsite.errors import BadCommand, ChatsiteError, CostsMore, PromptTooLarge, TooMany
from chatsite.events import Event, Json, Preview, Refusal, Reply, Snapshot, TurnStarted
from chatsite.limits.limiter import address_of
from chatsite.live.commands import (
    Again,
    AnyCommand,
    AskPreview,
    Choose,
    Edit,
    GoOn,
    Open,
    PageCommand,
    Send,
    Stop,
    parse,
    ref_of,
)
from chatsite.live.limits import SocketLimits, closed_for, send_text
from chatsite.temporary.chats import is_temporary
from chatsite.turns.answer.feed import FeedReader, ReaderLost, ReaderOutdated
from chatsite.turns.context.turn_context import PageRequest
from chatsite.views import Problem
from chatsite.wiring.site import Site
from chatsite.wording import later, say

logger = logging.getLogger("chatsite.live")
TOO_MANY_FRAMES = 1008
NO_SESSION = 4401
TRY_AGAIN = 4408
RIGHTS_ENDED = later(
    "Your password or your rights were changed, or your account was disabled or deleted."
)
ENGINE_SECONDS = 0.4
# After a failure here, as where the database is away, a page opens its conversation again.
AGAIN_SECONDS = 5
INTERNAL = Problem(code="internal", message=later("Something went wrong here. Your text is kept."))


class ChatConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """Follows one conversation at a time: the one that was opened last."""

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Channels looks for old database connections before every frame, in a thread each time;
        after the first one, which finds the session, there is none: the store has its own."""
        if message["type"] == "websocket.connect":
            await super().dispatch(message)
        else:
            await getattr(self, get_handler_name(message))(message)

    async def connect(self) -> None:
        self.owner: Owner | None = None
        self.leaving = ExitStack()
        self.following: asyncio.Task[None] | None = None
        self.opened = ""
        self.choice: Mapping[str, str] | None = None
        self.previewing: asyncio.Task[None] | None = None
        await self.accept()
        user, session = self.scope["user"], self.scope["session"]
        guest = await session.aget("guest", "")
        if user.is_authenticated:
            self.owner = Owner(user=user.pk)
        elif guest:
            self.owner = Owner(guest=guest)
        else:
            await self.close(NO_SESSION)
            return
        self.staff = bool(user.is_staff)
        name = user.get_username() if user.is_authenticated else ""
        self.reader = Reader(name=name, staff=self.staff)
        self.limits = SocketLimits(self.site.limiter, self.owner.key, address_of(self.scope))
        try:
            self.leaving.enter_context(await self.limits.place())
        except TooMany as error:
            self.owner = None
            await self.base_send(closed_for(error))
            return
        self.leaving.callback(
            self.site.sockets.join(
                self.owner.session(session.session_key), lambda: self.close(NO_SESSION)
            )
        )
        if self.owner.user is not None:
            seen = Rights(staff=self.staff, password=user.password)
            self.leaving.callback(
                self.site.accounts.join(self.owner.user, seen, self._rights_ended)
            )

    def _rights_ended(self) -> Awaitable[None]:
        """From now on nothing is read or sent; the page says why, and asks who it is for."""
        self.owner = None
        self._leave()
        closing: Awaitable[None] = self.close(NO_SESSION, reason=say(RIGHTS_ENDED))
        return closing

    @property
    def site(self) -> Site:
        site: Site = self.scope["state"]["site"]
        return site

    async def disconnect(self, code: int) -> None:
        self._leave()

    def _leave(self) -> None:
        self.leaving.close()
        for task in (self.following, self.previewing):
            if task is not None:
                task.cancel()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.owner is None:  # what was under way when the socket was closed for it
            return
        try:
            await self.limits.take_frame()
            if text_data is None:
                raise BadCommand(say("This command isn't understood: it is not text."))
            command = parse(text_data)
            await self.limits.take(command)
        except ChatsiteError as error:
            if await self.limits.is_flood():
                self.owner = None
                await self.close(TOO_MANY_FRAMES)
            else:
                await self._refuse(ref_of(text_data or ""), error)
            return
        await self._guarded(command, self._do)

    async def _guarded(self, command: AnyCommand, do: Callable[[Any], Awaitable[None]]) -> None:
        """An error answers the command that caused it; the socket stays."""
        ref = command.ref
        try:
            await self.site.accounts.be_recent()
            await self.site.own_agents.look()
            if self.owner is not None:
                await do(command)
        except ChatsiteError as error:
            await self._refuse(ref, error)
        except Exception:
            with contextlib.suppress(Exception):
                await self.site.accounts.check()
            if self.owner is None:  # the account was deleted meanwhile
                return
            logger.exception("a command failed")
            problem = INTERNAL.said()
            await self._send_event(Refusal(ref=ref, problem=problem, seconds=AGAIN_SECONDS))

    async def _refuse(self, ref: str, error: ChatsiteError) -> None:
        problem = Problem(code=error.code, message=error.message)
        seconds = error.seconds if isinstance(error, TooMany) else 0
        costs = error.costs if isinstance(error, CostsMore) else None
        await self._send_event(Refusal(ref=ref, problem=problem, seconds=seconds, costs=costs))

    async def _send_event(self, event: Event | Reply) -> None:
        await self._send_wire(event.to_dict())

    async def _send_wire(self, wire: Json) -> None:
        """Sends nothing to a page that was closed; its disconnect arrives next."""
        if self.owner is None:
            return
        with contextlib.suppress(OSError):
            await send_text(self.scope, to_json(wire).decode())

    # ---- commands ----------------------------------------------------------------------------
    async def _do(self, command: AnyCommand) -> None:
        match command:
            case Open():
                await self._open(self._page_request(command, command.agent, reads=True))
            case Send() | Edit() | Again() | GoOn():
                started = await self._start(command)
                if started.resent:  # a new one reaches this page, like all others, by its reader
                    await self._send_event(started)
            case Choose():
                await self.site.choices.choose(self._page_request(command, ""), command.history)
            case Stop():
                request = self._page_request(command, "")
                await self.site.turns.stop(request.owner, request.conversation)
            case AskPreview():
                if self.previewing is not None:
                    self.previewing.cancel()
                self.previewing = asyncio.create_task(self._guarded(command, self._preview))

    async def _start(self, command: Send | Edit | Again | GoOn) -> TurnStarted:
        request = self._page_request(command, command.agent, model=command.model)
        client_id = str(command.client_id)
        self.site.temporary.use(request.conversation)
        if isinstance(command, Send):
            known = self._known_choice(command)
            temporary = is_temporary(asked=command.temporary)
            request = replace(request, history=known, once=command.once, temporary=temporary)
            reply_to = str(command.reply_to) if command.reply_to else None
            files = [str(id) for id in command.attachments]
            if not command.confirmed:
                ask = self.site.cost_question.ask
                await ask(request, client_id, command.text, reply_to=reply_to, attachments=files)
            return await self.site.turns.send(
                request,
                client_id=client_id,
                text=command.text,
                reply_to=reply_to,
                attachments=files,
            )
        if isinstance(command, Edit):
            return await self.site.turns.edit(
                request,
                client_id=client_id,
                message=str(command.message),
                text=command.text,
                attachments=[str(id) for id in command.attachments],
            )
        if isinstance(command, Again):
            request = replace(request, once=command.history)
        return await self.site.turns.again(
            request,
            client_id=client_id,
            message=str(command.message),
            mode=command.type,
            once=isinstance(command, Again) and command.once,
        )

    def _known_choice(self, command: Send) -> Mapping[str, str]:
        """The choice that is kept with the conversation, as far as this page knows; before it has
        begun, the page's own."""
        same = self.opened == str(command.conversation)
        return self.choice if same and self.choice is not None else command.history

    def _page_request(
        self, command: PageCommand, agent: str, *, model: str = "", reads: bool = False
    ) -> PageRequest:
        """`reads`: the command changes nothing, so that it may be about a room that this person
        reads."""
        assert self.owner is not None
        conversation = str(command.conversation)
        room = self.site.rooms.read(conversation, self.reader) if reads else None
        return self.site.page_request(
            owner=room.owner if room is not None else self.owner,
            staff=self.staff,
            conversation=conversation,
            agent=agent,
            query=command.query,
            model=model,
            tuning=_tuning_of(command),
        )

    async def _open(self, request: PageRequest) -> None:
        snapshot, reader = await self.site.snapshots.open(request)
        self.opened = request.conversation
        self.site.temporary.use(request.conversation)
        if self.following is not None:
            self.following.cancel()
        self._know(snapshot)
        self.following = asyncio.create_task(self._follow(request, snapshot, reader))

    def _know(self, snapshot: Snapshot) -> None:
        self.model = snapshot.conversation.model if snapshot.conversation else ""
        self.choice = snapshot.conversation.history if snapshot.conversation else None

    async def _follow(self, request: PageRequest, snapshot: Snapshot, reader: FeedReader) -> None:
        """Where the page was told something else than what is stored, it gets a fresh snapshot."""
        engine = asyncio.create_task(self._follow_engine(request))
        try:
            while True:
                await self._send_event(snapshot)
                with contextlib.suppress(ReaderOutdated):
                    await self._forward(reader)
                reader.close()
                try:
                    snapshot, reader = await self.site.snapshots.open(request)
                except Exception as error:  # the page comes back, and is told why it can't
                    raise ReaderLost from error
                self._know(snapshot)
        except ReaderLost:
            await self.close(TRY_AGAIN)
        finally:
            engine.cancel()
            reader.close()

    async def _forward(self, reader: FeedReader) -> None:
        while True:
            wire = (await reader.read()).to_dict()
            if wire["type"] == "turn_started":
                shown = wire["conversation"]
                self.model, self.choice = shown["model"], shown["history"]
            elif wire["type"] == "history_chosen":
                self.choice = wire["history"]
            await self._send_wire(wire)

    async def _follow_engine(self, request: PageRequest) -> None:
        """While the conversation's model loads, send its progress."""
        last = None
        if not self.site.own_agents.may_use(request.owner, request.agent):
            return
        while True:
            engine = self.site.snapshots.engine(request.agent, self.model, staff=request.staff)
            if engine != last and (last or engine.state == "loading"):
                await self._send_event(engine)
            last = engine
            await asyncio.sleep(ENGINE_SECONDS if engine.state == "loading" else 5.0)

    async def _preview(self, command: AskPreview) -> None:
        try:
            shown = await self._shown_draft(command)
        except ChatsiteError as error:
            problem = Problem(code=error.code, message=error.message)
            shown = Preview(ref=command.ref, decision=None, problem=problem)
        await self._send_event(shown)

    async def _shown_draft(self, command: AskPreview) -> Preview:
        request = self._page_request(command, command.agent, model=command.model, reads=True)
        request = replace(request, history=command.history)
        preview = partial(
            self.site.drafts.preview,
            request,
            command.draft,
            reply_to=str(command.reply_to) if command.reply_to else None,
            attachments=[str(id) for id in command.attachments],
        )
        try:
            return Preview(ref=command.ref, decision=await preview())
        except PromptTooLarge as error:
            return Preview(
                ref=command.ref,
                decision=None,
                problem=Problem(code=error.code, message=error.beforehand),
                too_large=await preview(too_large=True),
            )


def _tuning_of(command: PageCommand) -> dict[str, float] | None:
    """What the page says of the answers' temperature and length, None where it says nothing."""
    tuning = getattr(command, "tuning", None)
    return tuning.model_dump(exclude_none=True) if tuning is not None else None
