"""Results of the tool that looks back: one is left out once a person took out what it quotes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from chatsite.history import Entry
from chatsite.history.path.own_lines import RECALL

# The tool's answers are JSON, in which a quotation mark within a text has a backslash before it. It
# finds a dozen messages at most; an imported file may say anything.
_QUOTED = re.compile(r'(?<!\\)"message": (\d{1,9})')
MOST = 100


def without_lost_quotes(
    entries: Sequence[Entry],
    still_there: Callable[[Collection[int]], Collection[int]],
    among: Collection[int] | None = None,
) -> tuple[Entry, ...]:
    """The entries with the tool's results (`among` these seqs, None: any) excluded that quote a
    message which isn't `still_there`."""
    calls = {c.id for one in entries for c in one.message.calls if c.name == RECALL}
    results = [one for one in entries if one.message.call_id in calls]
    looks = {
        one.seq: {int(seq) for seq in _QUOTED.findall(one.message.content or "")[:MOST]}
        for one in results
        if among is None or one.seq in among
    }
    if not looks:
        return tuple(entries)
    there = {*still_there({seq for quoted in looks.values() for seq in quoted})}
    gone = {seq for seq, quoted in looks.items() if quoted - there}
    return tuple(replace(one, excluded=True) if one.seq in gone else one for one in entries)
