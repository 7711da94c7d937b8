"""What is quoted directly before a message: the notes of background tasks that the message
follows, and older messages that a policy recalls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chatsite.history.path.path_context import PathContext
from chatsite.history.values.added_messages import block_tokens, can_be_quoted, quoted_message
from chatsite.history.values.reasons import Reason
from chatsite.history.values.sendable import holds_any, is_pinned, is_unloaded, unanswered_notes
from chatsite.history.values.transcript import Entry
from chatsite.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotes:
    """The messages that are quoted before the message with the sequence number `before`, their
    reasons and sentences by sequence number. `left_out` are the reason and the sentence for each
    message that matters and is not quoted."""

    before: int
    entries: tuple[Entry, ...] = ()
    reasons: Mapping[int, Reason] = field(default_factory=dict)
    whys: Mapping[int, str] = field(default_factory=dict)
    left_out: Mapping[int, tuple[Reason, str]] = field(default_factory=dict)

    @property
    def message(self) -> Message | None:
        return quoted_message(self.entries, before=self.before) if self.entries else None

    @property
    def tokens(self) -> int:
        return block_tokens(self.entries)


def quote_notes(context: PathContext, *, most: int, available_tokens: int) -> Quotes:
    """The newest `most` notes of background tasks that nobody has answered yet, as far as the
    tokens reach.

    A note whose turn is pinned or replied to is sent in its place and not quoted; a note of a turn
    that was unloaded is neither sent nor quoted.
    """
    before = context.path.current.entries[0].seq
    if most == 0:
        return Quotes(before=before)
    notes = _notes(context)[-most:]
    while block_tokens(notes) > available_tokens:
        notes.pop(0)
    return Quotes(
        before=before,
        entries=tuple(notes),
        reasons=dict.fromkeys((entry.seq for entry in notes), "followed"),
    )


def _notes(context: PathContext) -> list[Entry]:
    path = context.path
    written = unanswered_notes(
        [*path.opening, *(entry for turn in path.older for entry in turn.entries)]
    )
    if not written:
        return []
    elsewhere = {
        entry.seq
        for turn in path.older
        if is_pinned(turn) or holds_any(turn, context.reply_to) or is_unloaded(turn)
        for entry in turn.entries
    }
    return [
        entry
        for entry in written
        if can_be_quoted(entry.message)
        and not entry.excluded
        and entry.seq >= context.marker
        and entry.seq not in elsewhere
    ]
