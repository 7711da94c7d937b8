"""What is sent for a question through the running server, from the words and with vectors.

Each conversation is imported as a chat; each question is a draft whose preview is read. Beside it
stands what a request costs under the same settings where every message of the user is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from chatsite.providers.tokens.sentence_vectors import SentenceVectors
from tests.bench import dialogues
from tests.bench.dialogues import BEAM_FACTS, SOURCES, Dialogue
from tests.bench.figures import Options, Row, table
from tests.bench.sent.bill import Bill
from tests.bench.sent.replays import bills_of
from tests.bench.sent.senders import Plan
from tests.bench.sent.served import ask_all, person_at_server

LIMIT = 4_000
QUICK = 2
PROCESSES = 2

RECENT = "lastN 20"
WORDS, VECTORS = "relevant, words", "relevant, vectors"
_RELEVANT = {"historyPolicy": "relevant"}
# A question of RealMem is asked in the middle of a chat: it would need a chat of its own.
SETS: Mapping[str, frozenset[str]] = {"locomo": frozenset(), "beam": BEAM_FACTS}
PLANS: Mapping[str, Plan] = {
    RECENT: Plan(template={"historyPolicy": "lastN", "historyLength": 20}),
    WORDS: Plan(template=_RELEVANT, limit=LIMIT),
    VECTORS: Plan(template=_RELEVANT, limit=LIMIT, vectors=True),
}


@dataclass(frozen=True, slots=True)
class Target:
    """Percent of the evidence, the mean over questions, and of questions with all of it."""

    mean: float
    all_of_it: float

    def __str__(self) -> str:
        return f"{self.mean:g}/{self.all_of_it:g}"

    def holds(self, bill: Bill) -> bool:
        return bill.by_question >= self.mean and bill.all_of_it >= self.all_of_it


TARGETS: Mapping[tuple[str, str], Target] = {
    ("locomo", WORDS): Target(83, 77),
    ("locomo", VECTORS): Target(86, 80),
    ("beam", WORDS): Target(75.5, 64.5),
    ("beam", VECTORS): Target(77.5, 66),
}


async def run(options: Options) -> list[Row]:
    if missing := dialogues.missing(options.data):
        print(f"{missing}\n")
    most = QUICK if options.quick else None
    plans = {name: plan for name, plan in PLANS.items() if not plan.vectors or _has_vectors()}
    print(
        "Evidence in the request of a question: % of it, the mean over questions / % of questions\n"
        f"with all of it. {LIMIT:,} tokens under `relevant`. Units a request: where every message\n"
        "of the user is sent (with a cache that forgets after five minutes).\n"
    )
    rows: list[Row] = []
    for data, kinds in SETS.items():
        if data not in options.data:
            continue
        file = options.data[data]
        served = await _served(dialogues.read(file)[:most], plans, kinds)
        paid = await asyncio.to_thread(bills_of, file, plans, processes=PROCESSES, most=most)
        questions = served[RECENT].questions
        print(f"{SOURCES[data].title}{', facts' if kinds else ''}: {questions:,} questions.\n")
        print(f"{_table(served, paid)}\n", flush=True)
        rows += [_row(data, name, served, paid) for name in plans if name != RECENT]
    return rows


def _has_vectors() -> bool:
    return SentenceVectors.find() is not None


async def _served(
    found: Sequence[Dialogue], plans: Mapping[str, Plan], kinds: frozenset[str]
) -> dict[str, Bill]:
    """Two servers, one after the other: what has no vectors is asked at the one without."""
    bills: dict[str, Bill] = {}
    for vectors in (False, True):
        queries = {name: _query(plan) for name, plan in plans.items() if plan.vectors == vectors}
        if queries:
            async with person_at_server(vectors=vectors) as person:
                bills |= await ask_all(person, found, queries, kinds)
    return bills


def _query(plan: Plan) -> str:
    limit = {"historyTokens": plan.limit} if plan.limit is not None else {}
    return urlencode({**(plan.template or {}), **limit})


def _table(served: Mapping[str, Bill], paid: Mapping[str, Bill]) -> str:
    head = ("what is sent", "tokens of a question's request", "evidence", "units a request")
    lines = (
        (name, f"{bill.mean_tokens:,.0f}", _evidence(bill), _units(paid[name]))
        for name, bill in served.items()
    )
    return table(head, lines)


def _evidence(bill: Bill) -> str:
    return f"{bill.by_question:.1f}/{bill.all_of_it:.1f}"


def _units(bill: Bill) -> str:
    return f"{bill.units:,.0f} ({bill.units_forgetting:,.0f})"


def _row(data: str, name: str, served: Mapping[str, Bill], paid: Mapping[str, Bill]) -> Row:
    target, ours, recent = TARGETS[data, name], served[name], served[RECENT]
    return Row(
        what=f"{SOURCES[data].title}, a question at the server under {name} at {LIMIT:,} tokens",
        baseline=f"{RECENT}: {_evidence(recent)}, {paid[RECENT].units:,.0f} units",
        ours=f"{_evidence(ours)}, {paid[name].units:,.0f} units",
        ratio=f"{paid[name].units / paid[RECENT].units:.2f}",
        target=f"{target}: {'holds' if target.holds(ours) else 'MISSED'}",
    )
