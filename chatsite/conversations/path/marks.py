"""Marks on single messages: pin, exclude, bookmark, keep whole, keep instructions in force, forget
what is above, send an unanswered one along.

Each is one transaction and can be undone. A mark takes effect from the next message on, also when
it is set while an answer is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from chatsite.conversations.database.columns import BATCH, in_batches
from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.rows import is_unanswered, offered_instructions
from chatsite.conversations.models import UNANSWERED, Conversation, Message
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import (
    messages_on_path,
    owned_conversation,
    owned_message,
)
from chatsite.conversations.path.cache_places import mark_loaded
from chatsite.conversations.summaries.queries import summary_state_of
from chatsite.conversations.summaries.versions import mark_stale
from chatsite.errors import NotFound, Refused
from chatsite.events import Marked
from chatsite.history import BACKGROUND
from chatsite.storage import writing
from chatsite.views import SummaryView
from chatsite.wording import say


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkChange:
    """The marks now. `summary` is set where the mark may have changed which one holds; `status`
    has the messages that a pin loaded again after a cleanup."""

    conversation: str
    marked: Marked
    summary: SummaryView | None
    status: Mapping[str, int] = field(default_factory=dict)


@writing
def pin_message(*, owner: Owner, message: str, on: bool) -> MarkChange:
    """Keep the message's turn in every request, or no longer. A pin removes an exclusion, and
    loads the turn again where a cleanup had unloaded it.

    Like the other marks, raises NotFound unless the message is on the path of a conversation of
    this owner, Refused where a mark would have no effect.
    """
    hold(message=message)
    row, marked = _markable(owner, message)
    change = _mark(row, marked, pinned=on, excluded=marked.excluded and not on)
    return replace(change, status=mark_loaded(row, [marked.turn_seq])) if on else change


@writing
def exclude_message(*, owner: Owner, message: str, on: bool) -> MarkChange:
    """Exclude the message from every request, or include it again. Excluding removes a pin."""
    hold(message=message)
    row, marked = _markable(owner, message)
    return _mark(row, marked, pinned=marked.pinned and not on, excluded=on)


@writing
def leave_unanswered_message(*, owner: Owner, message: str, on: bool) -> MarkChange:
    """Leave a user message out because its answer failed, or send it along with later messages."""
    hold(message=message)
    row, marked = _markable(owner, message)
    answers = messages_on_path(row).filter(turn_seq=marked.seq, seq__gt=marked.seq)
    if marked.role != "user" or answers.exclude(source__in=BACKGROUND).exists():
        raise Refused(say("Only a message of yours that has no answer can be unanswered."))
    if is_unanswered(marked) != on:
        marked.state = UNANSWERED[0] if on else "complete"
        marked.save(update_fields=["state"])
        mark_stale(row, marked.seq)
    return _change(row, marked, summary=summary_state_of(row).view)


@writing
def bookmark_message(*, owner: Owner, message: str, on: bool) -> MarkChange:
    """Put the message on the list of bookmarks, or take it off. Nothing that is sent changes."""
    hold(message=message)
    row, marked = _markable(owner, message)
    marked.bookmarked = on
    marked.save(update_fields=["bookmarked"])
    return _change(row, marked)


@writing
def keep_whole(
    *, owner: Owner, conversation: str, messages: Sequence[int], on: bool
) -> list[Marked]:
    """Let the results, or the texts of the files, of these messages of the path never give way, or
    again; `messages` are their sequence numbers. Raises NotFound where one isn't there."""
    hold(conversation=conversation)
    row = owned_conversation(owner, conversation)
    found = [
        message
        for some in in_batches(sorted(set(messages)))
        for message in messages_on_path(row).filter(seq__in=some).exclude(state="running")
        if message.role == "tool" or message.attachments
    ]
    if len(found) < len(set(messages)):
        raise NotFound(say("One of these messages isn't in the chat, or has nothing to keep."))
    for message in found:
        message.kept_whole = on
    Message.objects.bulk_update(found, ["kept_whole"], batch_size=BATCH)
    return [_change(row, message).marked for message in found]


@writing
def keep_in_force_message(*, owner: Owner, message: str, on: bool) -> MarkChange:
    """Send the message's standing instructions with every request, or no longer: then they are
    offered again. Refused where it has none."""
    hold(message=message)
    row, marked = _markable(owner, message)
    said = offered_instructions(marked, anew=True)
    if on and not said:
        raise Refused(say("This message has no standing instruction that could be kept."))
    return _mark(row, marked, in_force=said if on else None)


@writing
def dismiss_offer_of_message(*, owner: Owner, message: str, on: bool) -> MarkChange:
    """Don't offer to keep the message's instructions, which also ends them; or offer it again."""
    hold(message=message)
    row, marked = _markable(owner, message)
    return _mark(row, marked, in_force="" if on else None)


@writing
def forget_above_message(*, owner: Owner, message: str, on: bool) -> MarkChange:
    """Set the marker above the message's turn, or remove it from there.

    Cuts fall between turns: for an answer, the marker is above its user message. There is one
    marker; setting it again moves it.
    """
    hold(message=message)
    row, marked = _markable(owner, message)
    place = marked.turn_seq or marked.seq
    if on:
        row.forget_above = place
    elif row.forget_above in (place, marked.seq):
        row.forget_above = 0
    row.save(update_fields=["forget_above"])
    return _change(row, marked, summary=summary_state_of(row).view)


@writing
def forget_everything(*, owner: Owner, conversation: str, on: bool) -> MarkChange:
    """Set the marker above the newest exchange, or remove any. The change is told with the
    newest message. Refused where nothing was said, or while an answer is written."""
    hold(conversation=conversation)
    row = owned_conversation(owner, conversation)
    newest = messages_on_path(row).order_by("seq").last()
    if newest is None or newest.state == "running":
        raise Refused(say("An answer is still being written here, or there is none yet."))
    row.forget_above = (newest.turn_seq or newest.seq) if on else 0
    row.save(update_fields=["forget_above"])
    return _change(row, newest, summary=summary_state_of(row).view)


def _markable(owner: Owner, id: str) -> tuple[Conversation, Message]:
    """The conversation and its message."""
    found = owned_message(owner, id, on_path=True)
    if found.state == "running":
        raise Refused(say("This answer is still being written. Mark it when it is finished."))
    if not found.turn_seq and found.role != "system":
        raise Refused(say("This greeting is never sent, so a mark on it would do nothing."))
    return found.conversation, found


def _mark(row: Conversation, message: Message, **marks: bool | str | None) -> MarkChange:
    before, was_excluded = message.is_marked, message.excluded
    for name, value in marks.items():
        setattr(message, name, value)
    message.save(update_fields=[*marks])
    row.marked += message.is_marked - before
    row.save(update_fields=["marked"])
    if message.excluded == was_excluded:
        return _change(row, message)
    mark_stale(row, message.seq)
    return _change(row, message, summary=summary_state_of(row).view)


def _change(
    row: Conversation, message: Message, *, summary: SummaryView | None = None
) -> MarkChange:
    marked = Marked(
        message=str(message.id),
        pinned=message.pinned,
        excluded=message.excluded,
        bookmarked=message.bookmarked,
        in_force=message.in_force or "",
        offered=offered_instructions(message),
        forget_above=row.forget_above,
        state=message.state,  # type: ignore[arg-type]
        kept_whole=bool(message.kept_whole),
    )
    return MarkChange(conversation=str(row.id), marked=marked, summary=summary)
