"""A week on a small boat: sixty turns, of which an early one holds what the last question needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

TEXT = Path(__file__).with_suffix(".txt")
TITLE = "A week on the Tern"
QUESTION = "We can see the lighthouse. Which berth is ours at Aldersund, and what opens the gate?"
# Facts of the fourth turn; no other turn contains them.
BERTH, GATE = "B17", "4602"
FOUND = f"**{BERTH}**, on the second jetty, and the gate opens with **{GATE}**. Well sailed!"
LOST = (
    "I can't see that any more: it came up before the part of our conversation that I was given. "
    "The harbour office wrote to you, didn't they?"
)
DINNER = "Our last evening aboard: what can I cook tonight that everybody can eat?"
PANCAKES = (
    "The pancakes that are left on the list, sweet and savoury: no meat, for Ruth. Read the labels "
    "once more because of Jonas: **no nuts and no traces of them**."
)
# The fake note-taker's notes: it writes a note if the note's key occurs in what it reads.
NOTES = {
    "31": "The user has chartered the Tern, 31 feet, with Jonas, Ruth and Ida, who is eleven.",
    "noon": "Begin and end at Aldersund, from Saturday at noon to the next Saturday at ten.",
    "B17": "At Aldersund: berth B17 on the second jetty; the code for the gate is 4602.",
    "traces": "Jonas can't eat nuts, not even traces; Ruth would rather have no meat.",
    "seasick": "Ida gets seasick in cars and should steer; ginger biscuits before leaving.",
    "7:45": "Jonas has the radio licence. Forecast at 7:45 and 19:45, written into the log.",
    "olives": "Six dinners without meat and nuts, the last one pancakes; no olives for Ida.",
    "478": "Each of the three adults pays 478 euros to Ruth, who keeps the purse.",
    "bowline": "Ruth and Ida learn bowline, cleat hitch, round turn and two half hitches.",
    "1,204": "At the start: engine meter 1,204, diesel at three quarters.",
    "Reef": "Reef early; the first day went to Little Holm with one reef, Ida at the helm.",
    "spring": "Out of Sandby they went with a spring from the bow.",
    "25 metres": "Anchored in Kestrel Sound on 25 metres of chain, alarm at 40.",
}
# The time from one message to the next.
PACE = timedelta(minutes=4)


@dataclass(frozen=True, slots=True)
class VoyageTurn:
    """One turn, at the time `before` the last question."""

    question: str
    answer: str
    before: timedelta


def voyage() -> list[VoyageTurn]:
    """Parse the file: `# 3 days before` begins a day, `> ` a question; the lines up to the next
    question are its answer."""
    return [turn for day in TEXT.read_text().split("# ")[1:] for turn in _turns(day)]


def _turns(day: str) -> Iterator[VoyageTurn]:
    heading, _, text = day.partition("\n")
    count, unit = heading.split()[:2]
    before = timedelta(**{unit: int(count)})
    for turn in f"\n{text}".split("\n> ")[1:]:
        question, _, answer = turn.partition("\n")
        yield VoyageTurn(question, answer.strip(), before)
        before -= PACE
