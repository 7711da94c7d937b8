"""What a version of a message says, also off the path: its question and the answer to it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from chatsite.conversations.models import Conversation, Message
from chatsite.conversations.owners import Owner
from chatsite.conversations.path.tree import branch_below
from chatsite.encoding import Record
from chatsite.errors import NotFound
from chatsite.storage import reading
from chatsite.wording import say


@dataclass(frozen=True, slots=True, kw_only=True)
class Said(Record):
    """A question, or all that an answer says. `id` is that of its first message, `turn` the last
    one that wrote it, None for what no turn wrote; `files` are the names of those attached."""

    id: str
    turn: str | None
    text: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionText(Record):
    """None: nobody asked, or nothing was answered."""

    question: Said | None
    answer: Said | None


@reading
def version_text(*, owner: Owner, message: str) -> VersionText:
    """The question and the answer that a message belongs to, as they stand on the branch that
    would be shown with it. Reads four columns of all newer messages off the path.

    Raises NotFound unless it is a message of this owner that was neither deleted nor cleared away.
    """
    theirs = Message.objects.filter(owner.filter("conversation__"), conversation__deleted=None)
    rows = theirs.filter(id=uuid.UUID(message), deleted__isnull=True)
    found = rows.select_related("conversation").first()
    if found is None or found.seq < found.conversation.cleared:
        raise NotFound(say("There is no such version here."))
    ids = _exchange(found.conversation, found)
    texts = Message.objects.only("role", "content", "turn", "attachments").in_bulk(ids)
    said = [texts[id] for id in ids if id in texts]
    return VersionText(
        question=_said([one for one in said if one.role == "user"]),
        answer=_said([one for one in said if one.role == "assistant"]),
    )


def _exchange(row: Conversation, found: Message) -> list[uuid.UUID]:
    """The messages of one exchange on the branch through `found`, from the question on."""
    # Every version of it has this number; the index begins with `on_path`.
    beside = Message.objects.filter(
        conversation=row, on_path__in=(True, False), turn_seq=found.turn_seq
    )
    there = {one.id: one for one in beside.only("parent", "seq", "on_path", "deleted")}
    above: list[uuid.UUID] = []
    place = found.parent_id
    while place in there:
        above += [place] if there[place].deleted is None else []
        place = there[place].parent_id
    shown = [one for one in there.values() if one.seq > found.seq and one.deleted is None]
    if found.on_path:
        below = [one for one in shown if one.on_path]
    else:
        branch = set(branch_below(row, found))
        below = [one for one in shown if one.seq in branch]
    below.sort(key=lambda one: one.seq)
    return [*reversed(above), found.id, *(one.id for one in below)]


def _said(messages: Sequence[Message]) -> Said | None:
    if not messages:
        return None
    turns = [str(one.turn_id) for one in messages if one.turn_id]
    return Said(
        id=str(messages[0].id),
        turn=turns[-1] if turns else None,
        text="\n\n".join(one.content for one in messages if one.content),
        files=tuple(item["name"] for one in messages for item in one.attachments),
    )
