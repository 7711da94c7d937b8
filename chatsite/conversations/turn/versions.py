"""Versions of an answer: each is a branch of the tree, and one of them is on the path.

A version is identified by its first message, a child of the user message. Versions are ordered by
their start.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from chatsite.conversations.active_path import locked_conversation, reroute
from chatsite.conversations.database.statements import TOTALS
from chatsite.conversations.database.work import writing
from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.reads.answers import versions_of
from chatsite.conversations.reads.ownership import messages_on_path
from chatsite.conversations.reads.queries import path_views
from chatsite.conversations.values.owners import Owner
from chatsite.errors import NotFound, TurnRunning
from chatsite.views import MessageView

GONE = "There is no such version of an answer here."


def versions_beside(row: Message) -> tuple[str, ...]:
    """The versions of the answer that begins with `row`, of a running turn; fetch the turn with
    the row. A new message has a single answer, so that no query is made for it."""
    if row.turn is None or not row.turn.mode:
        return ()
    return versions_of([row]).get(str(row.id), ())


@writing
def show_version(*, owner: Owner, message: str) -> str:
    """Put the version that begins with `message` on the path, with its newest branch below.

    Returns the conversation's id. The caller must call `Recaller.forget` afterwards. Raises
    NotFound unless it is a version of an answer of this owner whose question is on the path,
    TurnRunning while an answer is written.
    """
    theirs = Message.objects.filter(owner.filter("conversation__"), conversation__deleted=None)
    seen = theirs.filter(id=uuid.UUID(message)).first()
    if seen is None:
        raise NotFound(GONE)
    row = locked_conversation(owner, str(seen.conversation_id))
    found = Message.objects.select_related("parent").filter(id=seen.id).first()
    asked = found.parent if found is not None else None
    if found is None or asked is None or found.role != "assistant":
        raise NotFound(GONE)
    if asked.role != "user" or not asked.on_path:
        raise NotFound(GONE)
    if Turn.objects.filter(conversation=row, state="running").exists():
        raise TurnRunning("An answer is still being written here. Stop it first.")
    if found.on_path:
        return str(row.id)
    reroute(row, below=asked.seq, through=branch_below(row, found))
    answered = messages_on_path(row).filter(turn__receipt__isnull=False).order_by("-seq")
    row.last_turn_id = answered.values_list("turn_id", flat=True).first()
    row.save()
    return str(row.id)


def restore_previous_answer(turn: Turn) -> tuple[MessageView, ...]:
    """Put the former answer back on the path where a retry left no answer: its messages.

    Call this before the conversation's `last_turn` changes.
    """
    if turn.mode != "again" or turn.asked is None:
        return ()
    asked, row = turn.asked, turn.conversation
    if messages_on_path(row).filter(parent=asked).exists():
        return ()
    of_turn = Message.objects.filter(conversation=row, turn_seq=asked.seq).order_by("seq")
    below = {one.id: one for one in of_turn.exclude(id=asked.id).only("id", "parent", "turn")}
    firsts = [one for one in below.values() if one.parent_id == asked.id]
    if not firsts:
        return ()
    last = next((one for one in below.values() if one.turn_id == row.last_turn_id), firsts[-1])
    while last.parent_id in below:
        last = below[last.parent_id]
    reroute(row, below=asked.seq, through=branch_below(row, last))
    row.save(update_fields=[*TOTALS, "last_background", "forget_above"])
    return path_views(
        messages_on_path(row).filter(seq__gt=asked.seq).select_related("turn").order_by("seq")
    )


def branch_below(row: Conversation, first: Message) -> Sequence[uuid.UUID]:
    """The messages from `first` down to the newest one below it. Reads two columns of all newer
    messages off the path: 0.1 s for 100,000."""
    off = Message.objects.filter(conversation=row, on_path=False, seq__gt=first.seq)
    parents: dict[uuid.UUID, uuid.UUID | None] = {first.id: None}
    last = first.id
    for id, parent in off.order_by("seq").values_list("id", "parent_id"):
        if parent in parents:
            parents[id], last = parent, id
    found = []
    place: uuid.UUID | None = last
    while place is not None:
        found.append(place)
        place = parents[place]
    return found[::-1]
