"""What each policy costs with a provider that keeps the beginnings of prompts, and what it keeps.

Every message of the user is sent, in order. Tokens at the beginning that are those of the previous
request are read from the provider's cache, at a tenth of the price; all others are written to it,
at 1.25 times. Each question of the set is asked in its place, and its evidence counts where a
whole message of it is in the request, in its place or quoted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from chatsite.providers.tokens.sentence_vectors import SentenceVectors
from tests.bench import dialogues
from tests.bench.dialogues import SOURCES
from tests.bench.figures import Options, Row, table
from tests.bench.sent.bill import READ, WRITE, Bill
from tests.bench.sent.chart import Panel, Series, draw
from tests.bench.sent.replays import bills_of
from tests.bench.sent.senders import SYSTEM, Plan
from tests.running import ROOT

LIMITS = (2_000, 4_000, 8_000, 16_000)
NO_LIMIT = (None,)
QUICK = 1
# Conversations of a set; all where it isn't listed. Three of RealMem's ten people have as many
# messages as LoCoMo together, and need half an hour less.
MOST = {"realmem": 3}
PROCESSES = 2
PICTURE = ROOT / "docs/as-sent.svg"
CAPTION = (
    "Questions with all their evidence in the request, against its cost with a warm cache. "
    f"Dots grow with the limit: {', '.join(f'{limit // 1000}k' for limit in LIMITS)} tokens."
)

LANGCHAIN = "langchain-core"
WORDS, VECTORS = "relevant, words", "relevant, vectors"
FEW_QUOTES = "relevant, share 25"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the table: a policy at these limits, or once where it takes none."""

    template: Mapping[str, object] | None
    limits: tuple[int | None, ...] = LIMITS
    vectors: bool = False


LINES: Mapping[str, Line] = {
    "all": Line(template={"historyPolicy": "all"}, limits=NO_LIMIT),
    "none": Line(template={"historyPolicy": "none"}, limits=NO_LIMIT),
    "lastN 20": Line(template={"historyPolicy": "lastN", "historyLength": 20}, limits=NO_LIMIT),
    "lastN 20, cut": Line(template={"historyPolicy": "lastN", "historyLength": 20}),
    "tokens": Line(template={"historyPolicy": "tokens"}),
    LANGCHAIN: Line(template=None),
    WORDS: Line(template={"historyPolicy": "relevant"}),
    FEW_QUOTES: Line(template={"historyPolicy": "relevant", "historyRecallShare": 25}),
    VECTORS: Line(template={"historyPolicy": "relevant"}, limits=(4_000,), vectors=True),
}

Key = tuple[str, int | None]
SetBills = dict[Key, Bill]
"""Bills of one set by line and limit."""


# ---- targets ----------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """At most these units a request, with at least this evidence: percent of the messages, and
    of the questions with all of it."""

    data: str
    key: Key
    units: float
    by_message: float = 0.0
    all_of_it: float = 0.0

    def row(self, bills: SetBills) -> Row:
        ours, everything = bills[self.key], bills["all", None]
        holds = (
            ours.units <= self.units
            and ours.by_message >= self.by_message
            and ours.all_of_it >= self.all_of_it
        )
        line, limit = self.key
        return Row(
            what=f"{SOURCES[self.data].title}, as sent under {line} at {limit:,} tokens",
            baseline=f"all: {everything.units:,.0f} units",
            ours=f"{ours.units:,.0f} units, {_evidence(ours)}",
            ratio=f"{ours.units / everything.units:.2f}",
            target=f"{self._words()}: {'holds' if holds else 'MISSED'}",
        )

    def _words(self) -> str:
        said = [f"at most {self.units:,.0f} units"]
        if self.by_message:
            said.append(f"{self.by_message:g} % of the evidence")
        if self.all_of_it:
            said.append(f"all of it for {self.all_of_it:g} %")
        return ", ".join(said)


TARGETS = (
    Target(data="locomo", key=("tokens", 4_000), units=600),
    Target(data="locomo", key=(WORDS, 4_000), units=900, by_message=75, all_of_it=79.5),
    Target(data="locomo", key=(FEW_QUOTES, 4_000), units=560, by_message=63, all_of_it=70),
    Target(data="realmem", key=(WORDS, 4_000), units=1_750, by_message=12, all_of_it=8),
    Target(data="beam", key=(WORDS, 8_000), units=3_000, all_of_it=36),
)


# ---- the bench --------------------------------------------------------------------------------
async def run(options: Options) -> list[Row]:
    if missing := dialogues.missing(options.data):
        print(f"{missing}\n")
    found = {
        name: await asyncio.to_thread(
            measure, options.data[name], most=QUICK if options.quick else MOST.get(name)
        )
        for name in SOURCES
        if name in options.data
    }
    if not found:
        return []
    print(
        "Units a request (with a cache that forgets after five minutes), then the evidence in it:\n"
        "% of the messages / % of questions with all of it. A token read from the cache costs\n"
        f"{READ}, another {WRITE}; of each limit {SYSTEM} tokens are instructions.\n"
    )
    for name, bills in found.items():
        print(f"{_title(name, bills)}\n\n{_table(bills)}\n", flush=True)
    if not options.quick:
        panels = [_panel(name, bills) for name, bills in found.items()]
        PICTURE.write_text(draw(panels, caption=CAPTION))
        print(f"The picture: {PICTURE.relative_to(ROOT)}\n")
    return [target.row(found[target.data]) for target in TARGETS if target.data in found]


def measure(file: Path, *, most: int | None) -> SetBills:
    plans = dict(_plans())
    named = {_name(key): plan for key, plan in plans.items()}
    bills = bills_of(file, named, processes=PROCESSES, most=most)
    return {key: bills[_name(key)] for key in plans}


def _name(key: Key) -> str:
    return f"{key[0]} {key[1]}"


def _plans() -> list[tuple[Key, Plan]]:
    found: list[tuple[Key, Plan]] = []
    for name, line in LINES.items():
        if line.template is None and not (find_spec("langchain_core") and find_spec("llama_index")):
            print("langchain-core is not installed: requirements-bench.txt has it.\n")
            continue
        if line.vectors and SentenceVectors.find() is None:
            print("No sentence vectors are installed: make embeddings.\n")
            continue
        for limit in line.limits:
            plan = Plan(template=line.template, limit=limit, vectors=line.vectors)
            found.append(((name, limit), plan))
    return found


# ---- what is printed --------------------------------------------------------------------------
def _title(name: str, bills: SetBills) -> str:
    all = bills["all", None]
    return f"{SOURCES[name].title}: {all.requests:,} requests, {all.questions:,} questions."


def _table(bills: SetBills) -> str:
    lines = []
    for name in dict.fromkeys(line for line, _ in bills):
        if (name, None) in bills:
            cells = [_cell(bills[name, None]), *[""] * (len(LIMITS) - 1)]
        else:
            found = [bills.get((name, limit)) for limit in LIMITS]
            cells = [_cell(bill) if bill else "" for bill in found]
        lines.append([_label(name), *cells])
    return table(("policy", *(f"{limit:,} tokens" for limit in LIMITS)), lines)


def _label(name: str) -> str:
    if LINES[name].limits == NO_LIMIT:
        return f"{name} (no limit)"
    return f"{name} {version(name)} trim_messages" if name == LANGCHAIN else name


def _cell(bill: Bill) -> str:
    refused = f", {bill.refused} refused" if bill.refused else ""
    return f"{bill.units:,.0f} ({bill.units_forgetting:,.0f}), {_evidence(bill)}{refused}"


def _evidence(bill: Bill) -> str:
    return f"{bill.by_message:.1f}/{bill.all_of_it:.1f}"


def _panel(name: str, bills: SetBills) -> Panel:
    series = []
    for line in dict.fromkeys(line for line, _ in bills):
        found = [bill for (which, _), bill in bills.items() if which == line]
        points = tuple((bill.units, bill.all_of_it) for bill in found)
        series.append(Series(name=line, points=points))
    return Panel(title=SOURCES[name].title, series=tuple(series))
