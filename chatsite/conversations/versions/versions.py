"""Versions of a message: each begins a branch of the tree, and one of them is on the path.

Answers to the same question are versions, and so are a question and what it was changed from.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from chatsite.conversations.database.columns import fetch, key
from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.statements import OFF_PATH_AFTER, TOTALS
from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import messages_on_path, owned_conversation, owned_message
from chatsite.conversations.path.active_path import (
    end_of,
    extend_path,
    reroute,
    return_marker,
)
from chatsite.conversations.path.queries import path_views
from chatsite.conversations.path.tree import below, newest_branch
from chatsite.conversations.titles import path_title
from chatsite.errors import NotFound, TurnRunning
from chatsite.storage import Pieces, in_pieces
from chatsite.views import MessageView
from chatsite.wording import later, say

GONE = later("There is no such version here.")
# Messages that one piece of a long branch puts on the path: 30 ms.
PIECE = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PathChange:
    """Says that the path leads through the message `seq`, and is another one below the seq `below`;
    None where it is as it was."""

    conversation: str
    seq: int
    below: int | None


@in_pieces
def show_version(*, owner: Owner, message: str) -> Pieces[PathChange]:
    """Put a message on the path, with what is above it and the newest branch below.

    A long branch comes in pieces, from the top: what somebody sends meanwhile goes below what is
    there by then, and the rest of the branch stays a version of that. What a killed server left is
    put there by `finish_branches`: in one piece, 100,000 messages would hold all writers for 1.3 s.

    The caller must call `Recaller.forget` afterwards. Raises NotFound unless it is a message of
    this owner that was neither deleted nor cleared away, TurnRunning while an answer is written.
    """
    hold(message=message)
    version = owned_message(owner, message, gone=GONE, deleted__isnull=True)
    row = owned_conversation(owner, str(version.conversation_id))
    require_idle(row)
    if version.on_path:
        return PathChange(conversation=str(row.id), seq=version.seq, below=None)
    below_seq, branch = _branch_through(row, version)
    title = path_title(row)
    _put_first(row, below_seq, branch)
    if row.title == title:
        row.title = path_title(row)
    row.last_turn_id = newest_answered(row)
    row.save()
    yield from _put_rest(row.id, branch[:PIECE][-1], branch[PIECE:])
    return PathChange(conversation=str(row.id), seq=version.seq, below=below_seq)


@in_pieces
def finish_branches(*, conversation: str | None = None) -> Pieces[None]:
    """Put the rest of long branches on their paths, of all or of one: a server that was killed, or
    a retry that left nothing, put their first piece there."""
    waiting = Conversation.objects.filter(leads_to__gt=0)
    if conversation is not None:
        waiting = waiting.filter(id=uuid.UUID(conversation))
    for id in list(waiting.values_list("id", flat=True)):
        yield
        hold(conversation=id)
        row = waiting.filter(id=id).first()
        if row is None:
            continue
        above, rest = _rest_of_branch(row)
        if not rest or end_of(row) != above:
            row.leads_to = 0
            row.save(update_fields=["leads_to"])
            continue
        yield from _put_rest(id, above, rest)


def _rest_of_branch(row: Conversation) -> tuple[int, Sequence[int]]:
    """Return the seq below which the rest of the branch begins, and those of its messages."""
    stored = Message.objects.filter(conversation=row, seq=row.leads_to, deleted__isnull=True)
    last = stored.filter(on_path=False).first()
    try:
        return _branch_through(row, last) if last is not None else (0, ())
    except NotFound:
        return 0, ()


def _put_first(row: Conversation, below_seq: int, branch: Sequence[int]) -> None:
    """Put the first piece of a branch on the path. The caller saves `row`, and `_put_rest` or
    `finish_branches` must follow."""
    reroute(row, below=below_seq, through=branch[:PIECE])
    return_marker(row, branch)
    row.leads_to = branch[-1] if len(branch) > PIECE else 0


def _put_rest(id: uuid.UUID, above: int, rest: Sequence[int]) -> Pieces[None]:
    """Put `rest` below the path's last message `above`, a piece at a time, as long as nothing else
    is put there."""
    for start in range(0, len(rest), PIECE):
        yield
        hold(conversation=id)
        piece = rest[start : start + PIECE]
        row = Conversation.objects.filter(id=id, leads_to=rest[-1]).first()
        end = end_of(row) if row is not None else 0
        if row is None or end in rest[start:]:
            return  # the path leads elsewhere by now, or somebody else puts the rest there
        if end != above:
            row.leads_to = 0
            row.save(update_fields=["leads_to"])
            return
        extend_path(row, piece)
        above = piece[-1]
        if above == row.leads_to:
            row.leads_to, row.last_turn_id = 0, newest_answered(row)
        row.save()


def require_idle(row: Conversation) -> None:
    """Raise TurnRunning while an answer is written there."""
    if Turn.objects.filter(conversation=row, state="running").exists():
        raise TurnRunning(say("An answer is still being written here. Stop it first."))


def newest_answered(row: Conversation) -> uuid.UUID | None:
    """Return the turn of the newest answer on the path that has a receipt."""
    answered = messages_on_path(row).filter(turn__receipt__isnull=False).order_by("-seq")
    return answered.values_list("turn_id", flat=True).first()


def put_on_path(row: Conversation, message: Message) -> int:
    """Lead the path through a message that is off it, and return the seq below which the path
    changed. The caller saves `row`. Raises NotFound for what was cleared away."""
    below_seq, branch = _branch_through(row, message)
    reroute(row, below=below_seq, through=branch)
    return_marker(row, branch)
    return below_seq


def _branch_through(row: Conversation, message: Message) -> tuple[int, Sequence[int]]:
    """Return the seq of the path's message where the branch of `message` begins, 0 for none, and
    those of the branch, from there to the newest message below. Raises NotFound for what was
    cleared away. Reads four columns of all messages off the path: 0.1 s for 100,000."""
    off = fetch(OFF_PATH_AFTER, key(row.id), False, 0)
    places = {id: rest for id, *rest in off}
    way: list[int] = []
    top, place = message.seq, key(message.parent_id) if message.parent_id else None
    while place is not None and place in places:
        place, top, shown = places[place]
        if shown:
            way.append(top)
    if place is None and top < row.cleared:
        raise NotFound(say(GONE))
    seq = Message.objects.only("seq").get(id=place).seq if place else 0
    return seq, [*reversed(way), *newest_branch(message, off)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """Holds what is on the path again: the former answer's messages, or, where more came back than
    that, the seq `below` which the path is another one."""

    views: tuple[MessageView, ...] = ()
    below: int | None = None


def restore_previous_answer(turn: Turn) -> Restored | None:
    """Put back what a retry took off the path and left no answer for: the former answer with all
    that was below it. None where there is nothing to put back. Where a long branch comes back,
    `finish_branches` must follow."""
    if turn.mode != "again" or turn.asked is None:
        return None
    asked, row = turn.asked, turn.conversation
    under = messages_on_path(row).filter(seq__gt=asked.seq)
    if under.exists():
        return None
    stored = Message.objects.filter(conversation=row, deleted__isnull=True)
    if turn.replaced:
        former = stored.filter(id=turn.replaced).first()
    else:  # it began under a version of this program that didn't note it
        former = next(reversed(below(row, asked.id)), None)
    if former is None:
        return None
    marker = row.forget_above
    _put_first(row, *_branch_through(row, former))
    if turn.marker and marker != asked.seq:
        row.forget_above = marker  # somebody moved it meanwhile
    elif turn.marker and row.forget_above == asked.seq:
        row.forget_above = row.next_seq  # it stood above a message that wasn't written yet
    if row.last_turn_id is not None:
        row.last_turn_id = newest_answered(row)
    row.save(update_fields=[*TOTALS, "last_background", "forget_above", "last_turn", "leads_to"])
    if turn.marker or under.exclude(turn_seq=asked.seq).exists():
        return Restored(below=asked.seq)
    return Restored(views=path_views(under.select_related("turn").order_by("seq")))
