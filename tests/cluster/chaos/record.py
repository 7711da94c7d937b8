"""What people did and saw, to be compared with what is stored afterwards."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


def percentiles(seconds: Sequence[float]) -> str:
    """The middle, what one of twenty exceeds, and the longest."""
    if not seconds:
        return "-"
    ordered = sorted(seconds)
    p50, p95 = (ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.95))
    return f"{p50:.1f} / {p95:.1f} / {ordered[-1]:.1f} s"


@dataclass
class Record:
    """`texts` by each text that somebody wrote, which nobody writes twice: its conversation.
    `insisted`: those that were sent until they were accepted. `accepted` by client id: the turn,
    and the texts that came with its beginning. `ended` by an answer's id: its content and state as
    they were shown at its end."""

    texts: dict[str, str] = field(default_factory=dict)
    insisted: set[str] = field(default_factory=set)
    accepted: dict[str, tuple[str, Sequence[str]]] = field(default_factory=dict)
    ended: dict[str, tuple[str, str]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    without_page: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    # By process id: when it was killed.
    killed: dict[int, float] = field(default_factory=dict)
    left: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def started(self, event: Mapping[str, Any]) -> None:
        asked = [str(one["content"]) for one in event["messages"] if one["role"] == "user"]
        self.accepted[event["client_id"]] = (event["turn"], asked)

    def turn_ended(self, event: Mapping[str, Any]) -> None:
        message = event["message"]
        if message is None:
            return
        shown = (message["content"], message["state"])
        before = self.ended.setdefault(message["id"], shown)
        if before != shown:
            self.wrong.append(f"an answer ended twice: {before} and {shown}")

    def lines(self, answers: Mapping[str, int]) -> list[str]:
        """The figures; `answers` are those that are stored, by state."""
        states = ", ".join(f"{count} {state}" for state, count in sorted(answers.items()))
        did = ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))
        refused = ", ".join(f"{count} {code}" for code, count in sorted(self.refusals.items()))
        return [
            f"messages accepted: {len(self.accepted)}; answers stored: {states}",
            f"done: {did}",
            f"refused, with the text kept: {refused or 'none'}",
            f"pages that lost their server: {len(self.without_page)}; until they had a snapshot "
            f"again (p50 / p95 / longest): {percentiles(self.without_page)}",
            "answers of killed servers, until they were ended: "
            f"{percentiles(list(self.left.values()))} ({len(self.left)})",
        ]


def now() -> float:
    return time.monotonic()
