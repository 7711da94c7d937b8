"""Every read. Each object is found through its owner; what isn't theirs is not there."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from django.db.models import Q, QuerySet

from chatsite.conversations.database.columns import fetch, for_update, key
from chatsite.conversations.database.rows import (
    conversation_of,
    entry_of,
    quote_of,
    view_of,
)
from chatsite.conversations.database.statements import (
    CONVERSATION_WITH_RECEIPT,
    CONVERSATIONS,
    RECEIPTS,
)
from chatsite.conversations.models import ON_PATH, Conversation, Message, Turn
from chatsite.conversations.reads.answers import asked_by, in_force, versions_of
from chatsite.conversations.reads.summary_coverage import summary_state_of
from chatsite.conversations.values.owners import Owner
from chatsite.conversations.values.records import OpenConversation, WholePath
from chatsite.errors import NotFound
from chatsite.views import ConversationView, MessageView

PAGE = 60
LISTED = 200


def stored(id: str, *, locked: bool = False) -> Conversation | None:
    """The conversation, whosever it is, with its last turn's receipt; `locked` until the
    transaction ends. Raises NotFound for what is no id."""
    try:
        id_of = uuid.UUID(id)
    except ValueError:
        raise NotFound("There is no such conversation.") from None
    lock = for_update("conversation") if locked else ""
    for values in fetch(f"{CONVERSATION_WITH_RECEIPT}{lock}", key(id_of)):
        row = CONVERSATIONS.to_model(values[: len(CONVERSATIONS)])
        if row.last_turn_id is not None:
            row.last_turn = RECEIPTS.to_model(values[len(CONVERSATIONS) :])
        return row
    return None


def owned(owner: Owner, id: str, *, deleted: bool = False, locked: bool = False) -> Conversation:
    """The conversation, if it is this owner's. NotFound is the same for none and another's."""
    row = stored(id, locked=locked)
    if row is None or not owns(owner, row) or (row.deleted is not None) != deleted:
        raise NotFound("There is no such conversation.")
    return row


def owns(owner: Owner, row: Conversation) -> bool:
    return row.user_id == owner.user and row.guest == owner.guest


def free_or_owned(owner: Owner, id: str, *, locked: bool = False) -> Conversation | None:
    """None where no conversation has this id yet; NotFound where it is another owner's."""
    row = stored(id, locked=locked)
    if row is not None and (not owns(owner, row) or row.deleted is not None):
        raise NotFound("There is no such conversation.")
    return row


def agent_of(*, owner: Owner, conversation: str) -> str:
    """The conversation's agent. Raises NotFound unless it is this owner's."""
    return owned(owner, conversation).agent


def current_owner(*, conversation: str) -> Owner:
    """Whose it is now, whoever asks: for a turn that was admitted there. Raises NotFound."""
    row = Conversation.objects.filter(id=conversation, deleted=None).only("user_id", "guest")
    found = row.first()
    if found is None:
        raise NotFound("There is no such conversation.")
    return Owner(user=found.user_id, guest=found.guest)


def path(row: Conversation) -> QuerySet[Message]:
    return Message.objects.filter(ON_PATH, conversation=row)


def open_conversation(*, owner: Owner, conversation: str) -> OpenConversation:
    """The newest messages of the path and the turn under way, for a fresh page."""
    row = free_or_owned(owner, conversation)
    if row is None:
        return OpenConversation(
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
    return OpenConversation(
        conversation=conversation_of(row),
        messages=messages,
        earlier=earlier,
        running=str(running.id) if running else None,
        running_user=str(asked.id) if asked else None,
        receipt=row.last_turn.receipt if row.last_turn else None,
        forget_above=row.forget_above,
        summary=summary_state_of(row).view,
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


def shown(rows: Iterable[Message], *, last: bool = False) -> tuple[MessageView, ...]:
    """Messages of the path in order, as the page shows them, with the versions of answers.

    A problem is that of the turn which wrote what is shown. `last`: the path ends with them; then
    it is that of the newest try, also where it has left nothing. Fetch the turns with them.
    """
    rows = list(rows)
    asked = [row for row in rows if row.role == "user"]
    turns = in_force((row.id, row.seq) for row in asked)
    if last and asked and asked[-1].id in turns:
        tries = Turn.objects.filter(asked=asked[-1]).order_by("-number")
        newest = tries.values_list("id", flat=True).first()
        turns[asked[-1].id] = newest or turns[asked[-1].id]
    found = Turn.objects.defer("receipt").in_bulk(turns.values()) if turns else {}
    return views(
        rows,
        versions=versions_of(rows),
        answered_by={id: found[turn] for id, turn in turns.items()},
    )


def _page(row: Conversation, *, before: int | None) -> tuple[tuple[MessageView, ...], bool]:
    """A call that hasn't ended has a message; the answer being written comes with its turn."""
    writing = Q(state="running", role="assistant")
    wanted = path(row).exclude(writing).select_related("turn").defer("turn__receipt")
    if before is not None:
        wanted = wanted.filter(seq__lt=before)
    rows = list(wanted.order_by("-seq")[: PAGE + 1])
    return shown(rows[:PAGE][::-1], last=before is None), len(rows) > PAGE


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


def whole_path(*, owner: Owner, conversation: str) -> WholePath:
    """The path for saving to a file, without what is being written: a call that hasn't ended has
    the result that says so."""
    row = owned(owner, conversation)
    writing = Q(state="running", role="assistant")
    rows = path(row).exclude(writing).order_by("seq").iterator(chunk_size=500)
    entries = tuple(entry_of(message, forget_above=row.forget_above) for message in rows)
    return WholePath(
        conversation=conversation_of(row),
        entries=entries,
        forget_above=sum(entry.seq < row.forget_above for entry in entries),
        receipt=row.last_turn.receipt if row.last_turn else None,
    )


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
