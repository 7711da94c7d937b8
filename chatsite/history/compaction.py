"""Compacting by hand: which turns a person folds into a summary, a draft of it without a model, and
the exact values that a draft lost."""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from chatsite.encoding import Record
from chatsite.history.anchors import AnchorKind, lost_anchors
from chatsite.history.instructions import standing_instructions
from chatsite.history.lexical.words import STOP
from chatsite.history.path.guard import FLOOR
from chatsite.history.path.marks import is_pinned
from chatsite.history.path.transcript import Entry, PathTurn, split_turns
from chatsite.history.summary_plan import LEAST_TOKENS, cut_at_sentence, summarised_entries
from chatsite.history.token_estimate import estimate, tokens_of

Stays = Literal["", "pinned", "newest", "taken out"]
# As many values are kept with a summary and shown; of more, the newest.
MOST_LOST = 40
# Characters of a user message in the list of turns; at most and at least in a draft.
SHOWN, LONGEST_WORDS, SHORTEST_WORDS = 160, 320, 40
# Percent of a draft that exact values may take.
VALUES_SHARE = 40
_UNIT = re.compile(r" ([^\W\d_]{1,12})\b")


# ---- which turns -----------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTurn(Record):
    """A turn that can fold, `seq` to `last`, with the beginning of what the user said. `stays` says
    why it can't or doesn't, "" for one below the last that folds."""

    seq: int
    last: int
    text: str
    tokens: int
    folds: bool
    stays: Stays


@dataclass(frozen=True, slots=True, kw_only=True)
class HandFold:
    """`folded` are the turns whose words go into the summary, `kept` the seqs of those that stay in
    their places above its end; `covered` are all messages up to it. Nothing is covered where no
    turn folds."""

    listed: tuple[ListedTurn, ...]
    folded: tuple[PathTurn, ...]
    kept: tuple[int, ...]
    covered: tuple[Entry, ...]

    @property
    def messages(self) -> int:
        return sum(len(summarised_entries(turn)) for turn in self.folded)


def fold_by_hand(
    entries: Sequence[Entry], *, without: Collection[int] = (), to: int | None = None
) -> HandFold:
    """Fold the turns of a path up to the one that begins with the message `to`, None for all but
    the newest two. The newest never folds; those `without` and pinned ones stay.

    Turns without a word of their own (left out, failed, of background tasks) aren't listed: where
    one of them is above the end of the fold, its reason goes on.
    """
    path = split_turns([entry for entry in entries if entry.message.role != "system"])
    turns = [turn for turn in path if summarised_entries(turn)]
    if to is None:
        to = turns[-FLOOR - 1].entries[0].seq if len(turns) > FLOOR else 0
    listed: list[ListedTurn] = []
    folded: list[PathTurn] = []
    for turn in turns:
        first = turn.entries[0]
        stays: Stays = "newest" if turn is path[-1] else "pinned" if is_pinned(turn) else ""
        stays = stays or ("taken out" if first.seq in without else "")
        folds = not stays and first.seq <= to
        folded += [turn] if folds else []
        listed.append(
            ListedTurn(
                seq=first.seq,
                last=turn.entries[-1].seq,
                text=(first.message.content or "").strip()[:SHOWN],
                tokens=sum(tokens_of(entry.message) for entry in turn.entries),
                folds=folds,
                stays=stays,
            )
        )
    last = folded[-1].entries[-1].seq if folded else 0
    return HandFold(
        listed=tuple(listed),
        folded=tuple(folded),
        kept=tuple(turn.seq for turn in listed if turn.seq <= last and not turn.folds),
        covered=tuple(entry for entry in entries if entry.seq <= last),
    )


def fingerprint(entries: Iterable[Entry], *, above: str) -> str:
    """16 hex digits that change with the messages, their marks and the summary `above` them."""
    said = [[e.message.id, e.message.content, e.excluded, e.pinned] for e in entries]
    text = json.dumps([above, said])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


# ---- exact values ----------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class FoundValue(Record):
    """An exact value of the message `seq`, or an instruction, as it was written; `unit` is the word
    behind a number."""

    text: str
    kind: AnchorKind | Literal["instruction"]
    seq: int
    unit: str = ""


def lost_values(entries: Sequence[Entry], draft: str) -> list[FoundValue]:
    """The exact values of what was said in `entries` that don't stand in `draft`, oldest first,
    each with the first message that has it. 150 us for 1,000 characters."""
    spoken = [entry for entry in entries if entry.message.role in ("user", "assistant")]
    texts = [entry.message.content or "" for entry in spoken]
    ends, whole = list(accumulate(len(text) + 1 for text in texts)), "\n".join(texts)
    found: list[FoundValue] = []
    for (kind, text), place in lost_anchors(whole, draft).items():
        after = _UNIT.match(whole, place + len(text)) if kind == "number" else None
        unit = after[1] if after and after[1].lower() not in STOP else ""
        seq = spoken[bisect_right(ends, place)].seq
        found.append(FoundValue(text=text, kind=kind, seq=seq, unit=unit))
    return found


def lost_instructions(turns: Iterable[PathTurn], text: str) -> list[FoundValue]:
    """What people of these turns said is to hold, where it isn't in force and the text lacks it."""
    asked = [entry for entry in said_in(turns) if entry.message.role == "user"]
    return [
        FoundValue(text=said, kind="instruction", seq=entry.seq)
        for entry in asked
        for said in standing_instructions(entry.message.content or "")
        if said not in text and said not in entry.in_force
    ]


def said_in(turns: Iterable[PathTurn]) -> list[Entry]:
    """The messages of these turns that a summary takes up."""
    return [entry for turn in turns for entry in summarised_entries(turn)]


def lost_of(turns: Iterable[PathTurn], text: str) -> list[FoundValue]:
    """The newest values that a summary `text` of these turns lost, as many as are kept."""
    return lost_values(said_in(turns), text)[-MOST_LOST:]


def still_lost(lost: Iterable[tuple[str, int]], text: str) -> list[tuple[str, int]]:
    """Those of the values, each with its message, that don't stand in the text."""
    return [
        (value, seq)
        for value, seq in lost
        if not re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text)
    ]


# ---- a draft without a model -----------------------------------------------------------------
def plain_draft(folded: Sequence[PathTurn], *, before: str, most: int) -> str:
    """A summary in people's own words, of at most `most` tokens by estimate: the first sentences of
    each of their messages, and exact values. `before` is the summary so far, kept as it is."""
    room = max(LEAST_TOKENS, most - estimate(before))
    entries = said_in(folded)
    said = [e.message for e in entries if e.message.role == "user" and e.message.content]
    words = [" ".join((message.content or "").split()) for message in said]
    lines: list[str] = []
    longest = LONGEST_WORDS
    while longest >= SHORTEST_WORDS:
        lines = [f"- {cut_at_sentence(text, characters=longest)}" for text in words]
        if estimate("\n".join(lines)) <= room * (100 - VALUES_SHARE) // 100:
            break
        longest //= 2
    while lines and estimate("\n".join(lines)) > room * (100 - VALUES_SHARE) // 100:
        lines = lines[max(1, len(lines) // 8) :]
    spoken = "\n".join(["The user wrote, in this order:", *lines]) if lines else ""
    values = _values(entries, beside=f"{before}\n{spoken}", room=room - estimate(spoken))
    return "\n\n".join(filter(None, (before.strip(), spoken, values)))


def _values(entries: Sequence[Entry], *, beside: str, room: int) -> str:
    """A line with the newest exact values that don't stand in the text `beside` it."""
    found = [value.text for value in lost_values(entries, beside)]
    line = ""
    while found:
        line = f"Exact values: {'; '.join(found)}"
        if estimate(line) <= room:
            return line
        found = found[max(1, len(found) // 8) :]
    return ""
