"""Messages of our own in a request: a summary's, quotes of older messages, and the instruction to
continue an answer.

Quotes are placed directly before the message that they were made for, and stay there: so the
prompt's beginning stays unchanged and a provider's cache holds it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from chatsite.history.path.marks import (
    PathContext,
    holds_any,
    is_pinned,
    is_unloaded,
    unanswered_notes,
)
from chatsite.history.path.transcript import BACKGROUND, Entry
from chatsite.history.reasons import Reason
from chatsite.history.room import known_tokens
from chatsite.history.token_estimate import TOKENS_PER_MESSAGE, estimate, estimate_message
from chatsite.messages import Message, TokenCount

SUMMARY_ID = "summary"
QUOTED_ID = "recalled"
CONTINUE_ID = "continue"
CONTINUE_TEXT = (
    "Your last message breaks off. Write on from exactly where it ends: what you write now is "
    "joined to it as it stands. Repeat nothing of it, and don't comment on this."
)

_SUMMARY = "Summary of the earlier part of this conversation:"
_EARLIER = "Earlier parts of this conversation that may matter for the next message:"
_BACKGROUND = "Written by a background task since the last answer:"
_GAP = "[...]"
_SPEAKERS = {"user": "User", "assistant": "Assistant", "tool": "Result of a tool"}
# What a quoted message takes besides its text: speaker, day, line breaks, sometimes a gap mark.
LABEL_TOKENS = 16


def can_be_quoted(message: Message) -> bool:
    """Whether it is a person's or the assistant's: a tool's result means nothing by itself."""
    return message.role in ("user", "assistant") and bool((message.content or "").strip())


# What the block takes besides its quotes: role markers and two headings, of which one may lack.
BLOCK_TOKENS = TOKENS_PER_MESSAGE + estimate(_EARLIER) + estimate(_BACKGROUND) + 2


def quote_tokens(entry: Entry) -> int:
    """Tokens that one quoted message takes."""
    return known_tokens(entry.message).count + LABEL_TOKENS


def block_tokens(quoted: Collection[Entry]) -> int:
    """Tokens of a block of these; 0 for none."""
    return BLOCK_TOKENS + sum(map(quote_tokens, quoted)) if quoted else 0


def quoted_message(quoted: Collection[Entry], *, before: int) -> Message:
    """One user message that quotes these, in path order, each whole; `before` is the sequence
    number of the message that it stands before.

    Its tokens are estimated from those of its sources. ValueError where there are none.
    """
    entries = sorted(quoted, key=lambda entry: entry.seq)
    if not entries:
        raise ValueError("nothing to quote")
    parts = [f"{text}\n\n{_quotes(group)}" for text, group in _groups(entries) if group]
    tokens = block_tokens(entries)
    message = Message.user("\n\n".join(parts), id=f"{QUOTED_ID}-{before}")
    return _counted(message, TokenCount(count=tokens, tokenizer="estimate", basis="estimated"))


def summary_text(text: str) -> str:
    """The text of a summary's message."""
    return f"{_SUMMARY}\n\n{text.strip()}"


def summary_message(text: str, tokens: TokenCount) -> Message:
    return _counted(Message.user(summary_text(text), id=SUMMARY_ID), tokens)


def _groups(entries: Sequence[Entry]) -> tuple[tuple[str, list[Entry]], ...]:
    return (
        (_EARLIER, [entry for entry in entries if entry.message.source not in BACKGROUND]),
        (_BACKGROUND, [entry for entry in entries if entry.message.source in BACKGROUND]),
    )


def _quotes(entries: Sequence[Entry]) -> str:
    """One paragraph a message; a mark where a user message begins something not next to it."""
    lines: list[str] = []
    for entry in entries:
        if lines and entry.message.role == "user":
            lines.append(_GAP)
        day = f" ({entry.at:%Y-%m-%d})" if entry.at else ""
        speaker = entry.message.speaker or _SPEAKERS[entry.message.role]
        lines.append(f"{speaker}{day}: {(entry.message.content or '').strip()}")
    return "\n\n".join(lines)


def _counted(message: Message, tokens: TokenCount) -> Message:
    return Message(id=message.id, role=message.role, content=message.content, tokens=tokens)


def continue_message(tokens: TokenCount | None = None) -> Message:
    """The instruction to continue the last answer, with `tokens` or an estimate. It ends the
    request."""
    message = Message.user(CONTINUE_TEXT, id=CONTINUE_ID)
    estimated = estimate_message(message)
    own = TokenCount(count=estimated, tokenizer="estimate", basis="estimated")
    return _counted(message, tokens or own)


def unfinished_message(answer: Message, length: int) -> Message:
    """An answer as it was before it was continued: its first `length` characters."""
    return Message.assistant((answer.content or "")[:length], id=answer.id)


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
