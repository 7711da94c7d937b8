"""A week on a small boat: sixty turns, of which an early one holds what the last question needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

TEXT = Path(__file__).with_suffix(".txt")
TITLE = "A week on the Tern"
QUESTION = "We can see the lighthouse. Which berth is ours at Aldersund, and what opens the gate?"
# What the fourth turn says, and nothing else does.
BERTH, GATE = "B17", "4602"
FOUND = f"**{BERTH}**, on the second jetty, and the gate opens with **{GATE}**. Well sailed!"
LOST = (
    "I can't see that any more: it came up before the part of our conversation that I was given. "
    "The harbour office wrote to you, didn't they?"
)
# From one message to the next.
PACE = timedelta(minutes=4)


@dataclass(frozen=True, slots=True)
class Said:
    """One turn, so long `before` the question."""

    question: str
    answer: str
    before: timedelta


def voyage() -> list[Said]:
    """In the file `# 3 days before` begins a day and `> ` a question; all up to the next one is
    its answer."""
    return [said for day in TEXT.read_text().split("# ")[1:] for said in _turns(day)]


def _turns(day: str) -> Iterator[Said]:
    heading, _, text = day.partition("\n")
    count, unit = heading.split()[:2]
    before = timedelta(**{unit: int(count)})
    for turn in f"\n{text}".split("\n> ")[1:]:
        question, _, answer = turn.partition("\n")
        yield Said(question, answer.strip(), before)
        before -= PACE
