"""A conversation that is mostly results of tools: what its requests cost, and which values that
gave way or were cut are in the request when somebody asks for them.

Every request of every turn is decided, rounds of tools among them. Afterwards each needle is asked
for as the next message; it counts where its value, an exact string, stands in the request.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from chatsite.history import (
    Decision,
    Entry,
    Evidence,
    Recall,
    decide,
)
from chatsite.history.anchors import telling_values
from chatsite.history.lexical.index import Index
from chatsite.history.lexical.ranking import question_in_chat, recall_messages
from chatsite.history.path.giving_way import LEAST_RESULT
from chatsite.history.settings.table import ROWS
from chatsite.messages import Message, ToolCall
from chatsite.providers.tokens.tokenizers import O200k
from chatsite.tools.toolbox import content_within
from tests.bench.figures import Options, Row, table
from tests.bench.sent.bill import Bill, SentRequest
from tests.bench.sent.senders import (
    HEAD,
    SYSTEM,
    WINDOW,
    Plan,
    PolicySender,
    line_of,
    previous_of,
)
from tests.bench.sent.talks import counted, tokens
from tests.bench.tool_talk import Needle, ToolTurn, tool_talk

# Even seeds are for tuning.
SEEDS = (1, 3, 5)
# Nothing is asked about the newest turns: their results are still sent.
NEWEST = 10


# Whole results, as long as their turns are sent.
WHOLE = {"historyLeastFreed": 1_000_000}
ONE = {"historyKeepResults": 1}
NO_VALUES = {"historyAnchors": "off"}
PLANS: Mapping[str, Plan] = {
    "tokens, whole results": Plan(template={"historyPolicy": "tokens", **WHOLE}, limit=100_000),
    "tokens, whole results too": Plan(template={"historyPolicy": "tokens", **WHOLE}, limit=25_000),
    "tokens": Plan(template={"historyPolicy": "tokens"}, limit=25_000),
    "tokens, no values": Plan(template={"historyPolicy": "tokens", **NO_VALUES}, limit=25_000),
    "tokens, one kept": Plan(template={"historyPolicy": "tokens", **ONE}, limit=25_000),
    "relevant": Plan(template={"historyPolicy": "relevant"}, limit=25_000),
    "relevant, one kept": Plan(template={"historyPolicy": "relevant", **ONE}, limit=25_000),
    "relevant, values": Plan(
        template={"historyPolicy": "relevant", "historyAnchors": "on"}, limit=25_000
    ),
}


@dataclass(slots=True)
class Figures:
    """`talk` are tokens of people and assistant in all requests; `found` are needles, of which
    those are `told` that an answer spoke of. `asked` and `asked_told` are how many there were."""

    bill: Bill = field(default_factory=Bill)
    talk: int = 0
    asked: int = 0
    found: int = 0
    asked_told: int = 0
    found_told: int = 0

    @property
    def share(self) -> float:
        """Percent of the questions whose value is in the request."""
        return 100 * self.found / max(1, self.asked)

    @property
    def warm(self) -> float:
        """Percent of the requests' tokens that come from the cache."""
        return 100 * self.bill.warm / max(1, self.bill.tokens)


# ---- the conversation as a path -----------------------------------------------------------------
async def path_of(turns: Sequence[ToolTurn]) -> list[list[Entry]]:
    """The messages of each turn, counted. FileNotFoundError without the tokenizer's ranks."""
    ranks = O200k.find()
    if ranks is None:
        raise FileNotFoundError("the ranks of o200k_base are missing: chatsite/providers/tokens")
    made = [_messages(number, turn) for number, turn in enumerate(turns)]
    counts = iter(await ranks.count([message for turn in made for message in turn]))
    seq, found = 0, []
    for turn in made:
        entries = [
            Entry(
                message=counted(one, next(counts).count),
                seq=seq + place,
                anchors=telling_values(one.content or "", turn[0].content or "")
                if one.role == "tool"
                else "",
            )
            for place, one in enumerate(turn, 1)
        ]
        found.append(entries)
        seq += len(entries)
    return found


def _messages(number: int, turn: ToolTurn) -> list[Message]:
    found = [Message.user(turn.asked, id=f"{number}")]
    for place, round in enumerate(turn.rounds):
        ids = [f"{number}-{place}-{call}" for call in range(len(round))]
        calls = tuple(
            ToolCall(id=id, name=one.tool, arguments=one.arguments)
            for id, one in zip(ids, round, strict=True)
        )
        found.append(Message.assistant(None, id=f"{number}-{place}", calls=calls))
        found += [
            Message.tool(_stored(one.result), id=f"{id}-r", call_id=id)
            for id, one in zip(ids, round, strict=True)
        ]
    return [*found, Message.assistant(turn.answer, id=f"{number}-a")]


def _stored(result: str) -> str:
    """As `content_within` of the toolbox makes it: JSON on one line."""
    try:
        value = json.loads(result)
    except ValueError:
        value = result
    return content_within(value, len(result) * 2)


# ---- sending it ---------------------------------------------------------------------------------
class ToolSender(PolicySender):
    """Decides the requests of one conversation, one after the other, of what storage loads."""

    def __init__(self, plan: Plan) -> None:
        names = {row.template for row in ROWS.values()}
        known = {name: value for name, value in (plan.template or {}).items() if name in names}
        super().__init__(replace(plan, template=known))
        self._index = Index()

    def turn(self, entries: Sequence[Entry], figures: Figures) -> None:
        """Send all requests of a turn: the first one, and one after each round of results."""
        sent: list[Entry] = [entries[0]]
        for entry in entries[1:]:
            if entry.message.role == "assistant":
                decision = self._decide(sent)
                room = decision.limit * self._settings.give_way_at.value // 100
                self._previous = replace(previous_of(decision), room=room)
                request = SentRequest(decision.tokens, decision.leading, frozenset())
                figures.bill.pay(request, in_time=True)
                figures.talk += _talk(decision)
                first = len(sent) == 1
                entry = replace(entry, quoted=decision.quoted) if first else entry
            sent.append(entry)
        self._follow([*self._older, *sent])
        spoken = [e for e in sent if e.message.role in ("user", "assistant") and e.message.content]
        self._index.extend(map(line_of, spoken))

    def ask(self, needle: Needle, count: int) -> Decision:
        """Decide for the question as the next message; nobody sends it."""
        message = counted(Message.user(needle.question, id="question"), count)
        return self._decide([Entry(message=message, seq=self._older[-1].seq + 1)])

    def _first_within(self, most: int) -> int:
        """As storage counts: results as if they gave way."""
        taken = 0
        for place in range(len(self._older) - 1, 0, -1):
            message = self._older[place].message
            count = tokens([message])
            taken += min(count, LEAST_RESULT) if message.role == "tool" else count
            if message.role == "user" and taken > most:
                return place
        return 0

    def _decide(self, current: Sequence[Entry]) -> Decision:
        assert self._limit is not None
        recall = None
        taken = tokens(entry.message for entry in current)
        if self._searches and SYSTEM + self._taken[-1] + taken > self._limit:
            question = question_in_chat(current[0].message.content or "")
            hits = recall_messages(self._index, question, before=current[0].seq)
            recall = Recall(hits=hits)
        loaded = self._loaded(current[0], recall)
        return decide(
            replace(loaded, entries=(*loaded.entries, *current[1:])),
            self._settings,
            head=HEAD,
            window=WINDOW,
            evidence=Evidence(previous=self._previous, recall=recall),
            agent="bench",
        )


def _talk(decision: Decision) -> int:
    stored = [m for m in decision.request if m.id[:1].isdigit() and m.role != "tool"]
    return tokens(stored)


def replay(seed: int, plans: Mapping[str, Plan], figures: Mapping[str, Figures]) -> None:
    turns, needles = tool_talk(seed)
    path = asyncio.run(path_of(turns))
    asked = [needle for needle in needles if needle.turn < len(turns) - NEWEST]
    for name, plan in plans.items():
        sender, sums = ToolSender(plan), figures[name]
        for entries in path:
            sender.turn(entries, sums)
        for needle in asked:
            request = sender.ask(needle, 20).request[:-1]
            held = any(needle.answer in (message.content or "") for message in request)
            sums.asked += 1
            sums.found += held
            sums.asked_told += needle.told
            sums.found_told += held and needle.told


async def run(options: Options) -> list[Row]:
    figures = {name: Figures() for name in PLANS}
    for seed in SEEDS[:1] if options.quick else SEEDS:
        await asyncio.to_thread(replay, seed, PLANS, figures)
    before = figures["tokens, whole results"]
    asked = ("policy, tokens", "units a request", "talk in it", "read anew", "from the cache")
    head = (*asked, "needles", "told")
    print(table(head, [_line(name, one) for name, one in figures.items()]))
    ours, found = figures["tokens"], figures["relevant"]
    ratio = ours.bill.units / before.bill.units
    holds = ratio <= 0.5 and ours.talk >= before.talk
    same = figures["tokens, whole results too"]
    return [
        Row(
            what="a conversation of tool results, as sent under tokens at equal talk",
            baseline=f"whole results: {before.bill.units:,.0f} units",
            ours=f"{ours.bill.units:,.0f} units",
            ratio=f"{ratio:.2f}",
            target=f"0.5, as much talk: {'holds' if holds else 'MISSED'}",
        ),
        Row(
            what="share of it that comes from the cache",
            baseline=f"whole results, the same limit: {same.warm:.1f} %",
            ours=f"{ours.warm:.1f} %",
            target=f"not below: {'holds' if ours.warm >= same.warm else 'MISSED'}; "
            f"whole results of four times the limit: {before.warm:.1f} %",
        ),
        Row(
            what="values of results that gave way, asked for, in the request under relevant",
            baseline=f"whole results, tokens: {before.share:.0f} %",
            ours=f"{found.share:.0f} %",
            target=f"71 %: {'holds' if found.share >= 71 else 'MISSED'}",
        ),
    ]


def _line(name: str, one: Figures) -> list[str]:
    bill = one.bill
    told = 100 * one.found_told / max(1, one.asked_told)
    return [
        f"{name}, {PLANS[name].limit:,}",
        f"{bill.units:,.0f}",
        f"{one.talk / max(1, bill.requests):,.0f}",
        f"{(bill.tokens - bill.warm) / max(1, bill.requests):,.0f}",
        f"{one.warm:.0f} %",
        f"{one.share:.1f} % of {one.asked}",
        f"{told:.0f} %",
    ]
