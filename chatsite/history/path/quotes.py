"""What is quoted directly before the current message: recalled messages, and the notes of
background tasks that the message follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from chatsite.history.path.turn_verdicts import Choice, Fate, Path
from chatsite.history.settings.resolve import Settings
from chatsite.history.values.added_messages import (
    BLOCK_TOKENS,
    block_tokens,
    can_be_quoted,
    quote_tokens,
    quoted_message,
)
from chatsite.history.values.evidence import Hit, Recall
from chatsite.history.values.marks import following, holds, is_pinned, is_unloaded
from chatsite.history.values.reasons import Reason
from chatsite.history.values.transcript import Entry
from chatsite.messages import Message

# How much of the limit quotes may take. They stand where no cache holds them, so each token costs
# ten times one of the unchanged beginning; measured with the others in docs/benchmarks.md.
RECALL_SHARE = 25
NEVER_QUOTED: frozenset[Reason] = frozenset({"above_marker", "excluded", "background", "unloaded"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotes:
    """The quoted messages, their reasons and sentences by sequence number. `left_out` are hits
    for which there was no room."""

    entries: tuple[Entry, ...] = ()
    reasons: Mapping[int, Reason] = field(default_factory=dict)
    whys: Mapping[int, str] = field(default_factory=dict)
    left_out: frozenset[int] = frozenset()

    @property
    def message(self) -> Message | None:
        return quoted_message(self.entries) if self.entries else None

    @property
    def tokens(self) -> int:
        return block_tokens(self.entries)


def followed(
    path: Path, settings: Settings, *, marker: int, reply_to: AbstractSet[str], room: int
) -> Quotes:
    """The newest notes of background tasks that nobody has answered yet; never more than `room`.

    Under `none` the message stands alone. A note whose turn is pinned or replied to stands in its
    place, one of a turn that was unloaded nowhere.
    """
    most = settings.conversation.previous_tasks_count.value
    off = settings.triages and not settings.conversation.enabled.value
    if settings.policy.value == "none" or off or most == 0:
        return Quotes()
    before = [*path.opening, *(entry for turn in path.older for entry in turn.entries)]
    elsewhere = {
        entry.seq
        for turn in path.older
        if is_pinned(turn) or holds(turn, reply_to) or is_unloaded(turn)
        for entry in turn.entries
    }
    notes = [
        entry
        for entry in following(before)
        if can_be_quoted(entry.message)
        and not entry.excluded
        and entry.seq >= marker
        and entry.seq not in elsewhere
    ][-most:]
    while block_tokens(notes) > room:
        notes.pop(0)
    return Quotes(
        entries=tuple(notes),
        reasons=dict.fromkeys((entry.seq for entry in notes), "followed"),
    )


def recalled(choice: Choice, recall: Recall, quotes: Quotes, *, room: int) -> Quotes:
    """Add the best hits, each with the message it answers, as far as `room` tokens go.

    What is sent in its place is not quoted; what was left out by a person never comes back. One
    that doesn't fit is skipped, and the next is tried.
    """
    places = {entry.seq: fate for fate in choice.older for entry in fate.turn.entries}
    entries = {entry.seq: entry for entry in quotes.entries}
    reasons, whys = dict(quotes.reasons), dict(quotes.whys)
    left_out: set[int] = set()
    used = quotes.tokens or BLOCK_TOKENS
    for hit in recall.hits:
        unit = _unit(hit, places.get(hit.seq))
        new = [entry for entry in unit if entry.seq not in entries]
        if not unit or hit.seq in reasons:
            if hit.seq in reasons:
                whys[hit.seq] = hit.why
            continue
        cost = sum(map(quote_tokens, new))
        if used + cost > room:
            left_out.add(hit.seq)
            continue
        used += cost
        for entry in new:
            entries[entry.seq] = entry
            reasons[entry.seq] = "relevant"
            whys[entry.seq] = hit.why if entry.seq == hit.seq else "the message that was answered"
    return Quotes(
        entries=tuple(sorted(entries.values(), key=lambda entry: entry.seq)),
        reasons=reasons,
        whys=whys,
        left_out=frozenset(left_out - set(reasons)),
    )


def _unit(hit: Hit, fate: Fate | None) -> list[Entry]:
    """The message of the hit, after the one it answers; nothing where it can't be quoted."""
    if fate is None or fate.is_sent or fate.reason in NEVER_QUOTED:
        return []
    allowed = {entry.seq for entry in fate.entries}
    turn = [entry for entry in fate.turn.entries if entry.seq in allowed]
    return list(_quotable(entry for entry in turn if entry.seq in (hit.seq, fate.first)))


def _quotable(entries: Iterable[Entry]) -> Iterable[Entry]:
    return (entry for entry in entries if can_be_quoted(entry.message))
