"""The part of a path that a store loads for a policy's reach, computed without a database."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from chatsite.history import BACKGROUND, NotLoaded, Tokens, Users
from conformance_kit.cases import CaseEntry, split_turns
from conformance_kit.strategies.adapter import PolicyCase


def load_part(
    case: PolicyCase, wanted: Users | Tokens, *, also: AbstractSet[int] = frozenset()
) -> PolicyCase:
    """The tail that the reach wants, and above it every system message and the turns that are
    marked, replied to, or hold one of the messages `also`."""
    entries = case.entries
    turns = split_turns(entries)
    cut = _by_users(turns, wanted) if isinstance(wanted, Users) else _by_tokens(entries, wanted)
    replied = turns[-1][0].message.reply_to
    kept = {entry.seq for entry in entries if entry.seq >= cut or entry.message.role == "system"}
    for turn in turns:
        marked = any(e.pinned or e.excluded or e.forgets_above for e in turn)
        if marked or any(e.message.id == replied or e.seq in also for e in turn):
            kept |= {entry.seq for entry in turn}
    left_out = [entry for entry in entries if entry.seq not in kept]
    users = [entry for entry in left_out if entry.message.role == "user"]
    return replace(
        case,
        entries=tuple(entry for entry in entries if entry.seq in kept),
        not_loaded=NotLoaded(
            messages=len(left_out),
            users=len(users),
            background=sum(entry.message.source in BACKGROUND for entry in users),
            tokens=sum(entry.message.tokens.count for entry in left_out if entry.message.tokens),
            first=1,
            last=cut - 1,
        )
        if left_out
        else NotLoaded(),
    )


def _by_users(turns: Sequence[tuple[CaseEntry, ...]], wanted: Users) -> int:
    """The number from which so many user messages stand; 0 where there are no more."""
    current = turns[-1][0]
    asked = [
        turn[0].seq
        for turn in turns
        if turn[0].message.role == "user"
        and (turn[0].message.source not in BACKGROUND or turn[0] is current)
    ]
    users = max(1, wanted.users)
    cut = asked[-users] if len(asked) >= users else 0
    above = [entry for turn in turns for entry in turn if entry.seq < cut]
    if wanted.users <= 1 and above and above[-1].message.source in BACKGROUND:
        # What a background task wrote directly before the message belongs to it.
        said = [
            turn[0].seq
            for turn in turns
            for entry in turn
            if entry.seq < cut and entry.message.source not in BACKGROUND
        ]
        return max(said, default=0)
    return cut


def _by_tokens(entries: Sequence[CaseEntry], wanted: Tokens) -> int:
    """The number from which whole turns exceed the tokens; 0 where they don't."""
    left = wanted.tokens
    for turn in reversed(_with_system(entries)):
        if not any(map(_takes_no_room, turn)):
            left -= sum(entry.message.tokens.count for entry in turn if entry.message.tokens)
        if left < 0:
            return turn[0].seq
    return 0


def _takes_no_room(entry: CaseEntry) -> bool:
    """Whether its turn may be left out, so that more of the path has room."""
    said = entry.message
    left_out = entry.excluded or entry.unanswered
    return left_out or said.source in BACKGROUND or said.kv_status <= 0


def _with_system(entries: Sequence[CaseEntry]) -> list[list[CaseEntry]]:
    """Turns in which system messages are left where they stand."""
    found: list[list[CaseEntry]] = [[]]
    for entry in entries:
        if entry.message.role == "user" and found[-1]:
            found.append([])
        found[-1].append(entry)
    return found
