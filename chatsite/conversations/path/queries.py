"""Reads for the page and for files: conversations, messages as the page shows them, receipts."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal

from django.db.models import Q

from chatsite.conversations.database.columns import key
from chatsite.conversations.database.rows import (
    choice_of,
    conversation_view,
    entry_of,
    quote_of,
    view_of,
)
from chatsite.conversations.database.statements import BY_ID, KEPT_CHOICES
from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import (
    as_id,
    free_or_owned,
    messages_on_path,
    owned_conversation,
    owned_turn,
    owns,
)
from chatsite.conversations.path.tree import (
    answering_turns,
    models_of,
    user_message_of,
    versions_of,
)
from chatsite.conversations.records import OpenConversation, WholePath
from chatsite.conversations.summaries.queries import summary_state_of
from chatsite.errors import NotFound
from chatsite.storage import at_once, reading
from chatsite.views import ConversationView, MessageView, Version
from chatsite.wording import say

PAGE = 60
# Of its texts: one frame to a page, which stands still while it reads it.
PAGE_CHARACTERS = 1_000_000
READ_AT_ONCE = 10
# What one request may reach back for, to show a message far above.
REACH = 600
REACH_CHARACTERS = 10_000_000
LISTED = 100
# Where a conversation stands in the sidebar: in one of these, or in its folder.
Shelf = Literal["everything", "list", "pinned", "archive"]
SHELVES: dict[Shelf, Q] = {
    "everything": Q(),
    "list": Q(archived=None, pinned=None, folder=None),
    "pinned": Q(archived=None, pinned__isnull=False),
    "archive": Q(archived__isnull=False),
}


@reading
def agent_of(*, owner: Owner, conversation: str) -> str:
    """The conversation's agent. Raises NotFound unless it is this owner's."""
    return owned_conversation(owner, conversation).agent


@at_once
@reading
def kept_choice(*, owner: Owner, conversation: str) -> dict[str, str] | None:
    """What was chosen in the page for this conversation, by the names of a link's parameters; None
    where it hasn't begun. Raises NotFound where it is another owner's."""
    kept = kept_choices.here(owner=owner, conversation=conversation)
    return None if kept is None else kept[0]


@at_once
@reading
def kept_choices(
    *, owner: Owner, conversation: str
) -> tuple[dict[str, str], dict[str, float]] | None:
    """The same, and what was chosen of the answers' temperature and length.

    Every preview asks: the last receipt, which other queries load along, isn't needed.
    """
    row = KEPT_CHOICES.first(BY_ID, key(as_id(conversation)))
    if row is None:
        return None
    if not owns(owner, row) or row.deleted is not None:
        raise NotFound(say("There is no such conversation."))
    return choice_of(row), dict(row.tuning or {})


@reading
def current_owner(*, conversation: str) -> Owner:
    """The conversation's owner now, who may have signed in during a turn. Raises NotFound."""
    row = Conversation.objects.filter(id=conversation, deleted=None).only("user_id", "guest")
    found = row.first()
    if found is None:
        raise NotFound(say("There is no such conversation."))
    return Owner(user=found.user_id, guest=found.guest)


@reading
def open_conversation(*, owner: Owner, conversation: str) -> OpenConversation:
    """The newest messages of the path and the running turn, for a page that opens."""
    row = free_or_owned(owner, conversation)
    if row is None:
        return OpenConversation()
    running = Turn.objects.filter(conversation=row, state="running").first()
    messages, earlier = _page(row, before=None, size=PAGE)
    asked = user_message_of(running) if running else None
    return OpenConversation(
        conversation=conversation_view(row),
        messages=messages,
        earlier=earlier,
        running=str(running.id) if running else None,
        running_user=str(asked.id) if asked else None,
        receipt=row.last_turn.whole_receipt if row.last_turn else None,
        forget_above=row.forget_above,
        summary=summary_state_of(row).view,
    )


def message_views(
    rows: Iterable[Message],
    *,
    versions: Mapping[str, tuple[Version, ...]] = MappingProxyType({}),
    answered_by: Mapping[uuid.UUID, Turn] = MappingProxyType({}),
    models: Mapping[uuid.UUID, str] = MappingProxyType({}),
) -> tuple[MessageView, ...]:
    """Messages as the page shows them. Messages that are replied to take one more query.

    `answered_by` are the turns of retries and continuations, by the id of their user message.
    """
    rows = list(rows)
    wanted = {row.reply_to: row.conversation_id for row in rows if row.reply_to}
    found = {}
    if wanted:
        same = Message.objects.filter(conversation__in=set(wanted.values()), id__in=wanted)
        some = same.filter(deleted__isnull=True).only("id", "seq", "role", "content")
        found = {one.id: quote_of(one) for one in some}
    return tuple(
        view_of(
            row,
            reply=found.get(row.reply_to) if row.reply_to else None,
            versions=versions.get(str(row.id), ()),
            answered_by=answered_by.get(row.id),
            model=models.get(row.id, ""),
        )
        for row in rows
    )


def path_views(rows: Iterable[Message], *, last: bool = False) -> tuple[MessageView, ...]:
    """Messages of the path in order, as the page shows them, with the versions of answers.

    A problem is shown of the turn that wrote the shown answer. With `last` (the path ends here) it
    is that of the newest attempt, also where that left no answer. Fetch the turns with the rows.
    """
    rows = list(rows)
    asked = [row for row in rows if row.role == "user"]
    turns = answering_turns((row.id, row.seq) for row in asked)
    if last and asked and asked[-1].id in turns:
        tries = Turn.objects.filter(asked=asked[-1]).order_by("-number")
        newest = tries.values_list("id", flat=True).first()
        turns[asked[-1].id] = newest or turns[asked[-1].id]
    found = Turn.objects.defer("receipt").in_bulk(turns.values()) if turns else {}
    return message_views(
        rows,
        versions=versions_of(rows),
        answered_by={id: found[turn] for id, turn in turns.items()},
        models=models_of(rows),
    )


def _page(
    row: Conversation, *, before: int | None, size: int, characters: int = PAGE_CHARACTERS
) -> tuple[tuple[MessageView, ...], bool]:
    """With unfinished tool calls, but without the running answer, which its turn's feed sends. Of
    very long messages a page has fewer, and at least one."""
    writing = Q(state="running", role="assistant")
    wanted = messages_on_path(row).exclude(writing).select_related("turn").defer("turn__receipt")
    if before is not None:
        wanted = wanted.filter(seq__lt=before)
    rows: list[Message] = []
    # A long message isn't even read that the page won't have.
    for found in wanted.order_by("-seq")[: size + 1].iterator(chunk_size=READ_AT_ONCE):
        if len(rows) == size or (rows and characters < 0):
            return path_views(rows[::-1], last=before is None), True
        rows.append(found)
        characters -= len(found.content or "") + len(found.reasoning or "")
    return path_views(rows[::-1], last=before is None), False


@reading
def earlier_messages(
    *, owner: Owner, conversation: str, before: int, until: int | None = None
) -> tuple[tuple[MessageView, ...], bool]:
    """The messages above seq `before`, and whether there are more above those: a page, or up to
    `REACH` where the message `until` is further up."""
    row = owned_conversation(owner, conversation)
    # With some messages above it. No path has more messages than numbers.
    distance = before - until + PAGE // 4 if until is not None else 0
    characters = PAGE_CHARACTERS if distance <= PAGE else REACH_CHARACTERS
    size = min(max(PAGE, distance), REACH)
    return _page(row, before=before, size=size, characters=characters)


@reading
def list_conversations(
    *,
    owner: Owner,
    after: tuple[datetime, uuid.UUID] | None = None,
    shelf: Shelf = "everything",
    folder: str | None = None,
) -> tuple[list[ConversationView], bool]:
    """A page of the owner's conversations, newest first, and whether there are more: those of a
    `shelf`, or of a `folder`. `after` are the time and the id of the last one of the page before.

    By place, not by number: one that moves up meanwhile shifts no page.
    """
    rows = Conversation.objects.filter(owner.filter(), SHELVES[shelf], deleted=None)
    rows = rows.exclude(temporary=True)
    if folder is not None:
        rows = rows.filter(archived=None, pinned=None, folder=folder)
    if after is not None:
        updated, id = after
        rows = rows.filter(updated__lte=updated).exclude(updated=updated, id__gte=id)
    found = list(rows.order_by("-updated", "-id")[: LISTED + 1])
    return [conversation_view(row) for row in found[:LISTED]], len(found) > LISTED


@reading
def whole_path(*, owner: Owner, conversation: str) -> WholePath:
    """The path for saving to a file, without the running answer. An unfinished tool call has its
    preliminary result, which says so."""
    row = owned_conversation(owner, conversation)
    writing = Q(state="running", role="assistant")
    rows = messages_on_path(row).exclude(writing).order_by("seq")
    entries = tuple(
        entry_of(message, forget_above=row.forget_above)
        for message in rows.iterator(chunk_size=500)
    )
    bookmarked = rows.filter(bookmarked=True).values_list("seq", flat=True)
    return WholePath(
        conversation=conversation_view(row),
        entries=entries,
        bookmarked=frozenset(bookmarked),
        forget_above=sum(entry.seq < row.forget_above for entry in entries),
        receipt=row.last_turn.whole_receipt if row.last_turn else None,
    )


@reading
def receipt_of(*, owner: Owner, turn: str) -> Mapping[str, Any] | None:
    """The receipt of an answer as it is stored; None where there is none yet. Raises NotFound."""
    return owned_turn(owner, turn).whole_receipt
