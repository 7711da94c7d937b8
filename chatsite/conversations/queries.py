"""Every read. Each object is found through its owner; what isn't theirs is not there."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from django.db.models import Q, QuerySet

from chatsite.conversations.coverage import standing_of
from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.owners import Owner
from chatsite.conversations.records import Opened
from chatsite.conversations.rows import (
    conversation_of,
    message_of,
    quote_of,
    view_of,
)
from chatsite.errors import NotFound
from chatsite.events import ConversationView, MessageView
from chatsite.messages import Message as Said

PAGE = 60
LISTED = 200


def owned(owner: Owner, id: str, *, deleted: bool = False) -> Conversation:
    """The conversation, if it is this owner's. NotFound is the same for none and another's."""
    try:
        key = uuid.UUID(id)
    except ValueError:
        raise NotFound("There is no such conversation.") from None
    row = (
        Conversation.objects.select_related("last_turn")
        .filter(owner.filter(), id=key, deleted__isnull=not deleted)
        .first()
    )
    if row is None:
        raise NotFound("There is no such conversation.")
    return row


def free_or_owned(owner: Owner, id: str) -> Conversation | None:
    """None where no conversation has this id yet; NotFound where it is another owner's."""
    try:
        return owned(owner, id)
    except NotFound:
        if Conversation.objects.filter(id=id).exists():
            raise
        return None


def agent_of(*, owner: Owner, conversation: str) -> str:
    """The conversation's agent. Raises NotFound unless it is this owner's."""
    return owned(owner, conversation).agent


def path(row: Conversation) -> QuerySet[Message]:
    return Message.objects.filter(conversation=row, on_path=True)


def asked_by(turn: Turn) -> Message | None:
    """The user message that a turn answers."""
    rows = Message.objects.select_related("turn")
    if turn.asked_id is not None:
        return rows.filter(id=turn.asked_id).first()
    return rows.filter(turn=turn, role="user").first()


def open_conversation(*, owner: Owner, conversation: str) -> Opened:
    """The newest messages of the path and the turn under way, for a fresh page."""
    row = free_or_owned(owner, conversation)
    if row is None:
        return Opened(
            conversation=None,
            messages=(),
            earlier=False,
            running=None,
            running_user=None,
            receipt=None,
        )
    running = Turn.objects.filter(conversation=row, state="running").first()
    messages, earlier = _page(row, before=None)
    asked = asked_by(running) if running else None
    return Opened(
        conversation=conversation_of(row),
        messages=messages,
        earlier=earlier,
        running=str(running.id) if running else None,
        running_user=str(asked.id) if asked else None,
        receipt=row.last_turn.receipt if row.last_turn else None,
        forget_above=row.forget_above,
        summary=standing_of(row).view,
    )


def views(
    rows: Iterable[Message],
    *,
    versions: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    answered_by: Mapping[uuid.UUID, Turn] = MappingProxyType({}),
) -> tuple[MessageView, ...]:
    """As the page shows them; what some of them reply to is read in one query more.

    `answered_by` are turns by the id of the user message, where that isn't its own.
    """
    rows = list(rows)
    wanted = {row.reply_to: row.conversation_id for row in rows if row.reply_to}
    found = {}
    if wanted:
        same = Message.objects.filter(conversation__in=set(wanted.values()), id__in=wanted)
        some = same.only("id", "seq", "role", "content")
        found = {one.id: quote_of(one) for one in some}
    return tuple(
        view_of(
            row,
            reply=found.get(row.reply_to) if row.reply_to else None,
            versions=versions.get(str(row.id), ()),
            answered_by=answered_by.get(row.id),
        )
        for row in rows
    )


def versions_of(rows: Iterable[Message]) -> dict[str, tuple[str, ...]]:
    """All versions of the answers that begin with some of these messages, by the ids of those,
    in one query; what has one version only is left out."""
    parents = {row.parent_id for row in rows if row.role == "assistant" and row.parent_id}
    if not parents:
        return {}
    beside = Message.objects.filter(parent__in=parents, role="assistant", parent__role="user")
    versions: dict[uuid.UUID | None, list[str]] = {}
    for parent, id in beside.order_by("seq").values_list("parent_id", "id"):
        versions.setdefault(parent, []).append(str(id))
    return {id: tuple(ids) for ids in versions.values() if len(ids) > 1 for id in ids}


def shown(rows: Iterable[Message]) -> tuple[MessageView, ...]:
    """Messages of the path in order, as the page shows them, with the versions of answers.

    A problem is that of the turn which wrote the last of the answer that is shown, or, below
    which there is none yet, of the newest that tried. Fetch the turns with them.
    """
    rows = list(rows)
    asked: Message | None = None
    answered_by: dict[uuid.UUID, Turn] = {}
    for row in rows:
        if row.role == "user":
            asked = row
        elif row.role == "assistant" and row.turn is not None and asked is not None:
            answered_by[asked.id] = row.turn
    return views(rows, versions=versions_of(rows), answered_by=answered_by)


def _page(row: Conversation, *, before: int | None) -> tuple[tuple[MessageView, ...], bool]:
    """A call that hasn't ended has a message; the answer being written comes with its turn."""
    writing = Q(state="running", role="assistant")
    wanted = path(row).exclude(writing).select_related("turn").defer("turn__receipt")
    if before is not None:
        wanted = wanted.filter(seq__lt=before)
    rows = list(wanted.order_by("-seq")[: PAGE + 1])
    return shown(rows[:PAGE][::-1]), len(rows) > PAGE


def earlier_messages(
    *, owner: Owner, conversation: str, before: int
) -> tuple[tuple[MessageView, ...], bool]:
    """The messages above seq `before`, and whether there are more above those."""
    return _page(owned(owner, conversation), before=before)


def listed(*, owner: Owner, text: str = "") -> list[ConversationView]:
    """The owner's conversations, newest first; `text` is looked for in titles and messages."""
    rows = Conversation.objects.filter(owner.filter(), deleted=None)
    if text:
        said = Message.objects.filter(
            owner.filter("conversation__"), on_path=True, content__icontains=text
        )
        rows = rows.filter(Q(title__icontains=text) | Q(id__in=said.values("conversation")))
    return [conversation_of(row) for row in rows.order_by("-updated")[:LISTED]]


def whole_path(*, owner: Owner, conversation: str) -> tuple[ConversationView, list[Said]]:
    """The path for saving to a file, without what is being written: a call that hasn't ended has
    the result that says so."""
    row = owned(owner, conversation)
    writing = Q(state="running", role="assistant")
    rows = path(row).exclude(writing).order_by("seq").iterator(chunk_size=500)
    return conversation_of(row), [message_of(message) for message in rows]


def owned_turn(owner: Owner, id: str) -> Turn:
    try:
        key = uuid.UUID(id)
    except ValueError:
        raise NotFound("There is no such answer.") from None
    turn = (
        Turn.objects.select_related("conversation")
        .filter(owner.filter("conversation__"), id=key, conversation__deleted=None)
        .first()
    )
    if turn is None:
        raise NotFound("There is no such answer.")
    return turn


def receipt_of(*, owner: Owner, turn: str) -> Mapping[str, Any] | None:
    receipt: Mapping[str, Any] | None = owned_turn(owner, turn).receipt
    return receipt
