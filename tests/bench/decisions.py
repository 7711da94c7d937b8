"""A decision under `lastN 20` costs the same in a short and in a very long conversation."""

from __future__ import annotations

import statistics
import time
import uuid
from dataclasses import dataclass
from typing import Any

from chatsite.history import Decision, Entry, Head, Transcript, Window, decide, resolve
from tests.bench.database import conversation, counted_message, database
from tests.bench.figures import Options, Row, percentile, spread, table

SHORT, LONG = 100, 100_000
TARGET = 1.5


async def run(options: Options) -> list[Row]:
    print(
        "From a turn's settings to its decision, in this process on SQLite: resolve, load through\n"
        "the store's threads, count the head's tokens, decide. The messages carry their token\n"
        "counts, as stored ones do. The two conversations take turns.\n"
    )
    async with database():
        row = await _stored(options)
    _pure(options)
    return [row]


# ---- with storage ------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Case:
    """One conversation with a question on which a decision is to be made."""

    decider: Any
    context: Any

    async def decide(self) -> Decision:
        from chatsite.conversations.path.loading import load_path

        loaded = await load_path(**self.path)
        round_decision = await self.decider.decide_round(self.context, loaded)
        found: Decision = round_decision.decision
        return found

    async def micros(self) -> float:
        began = time.perf_counter()
        await self.decide()
        return (time.perf_counter() - began) * 1e6

    @property
    def path(self) -> dict[str, Any]:
        """What is read for it."""
        context = self.context
        return {
            "owner": context.owner,
            "conversation": context.conversation,
            "reach": context.reach,
        }

    async def queries(self) -> int:
        """How many queries read the path."""
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        from chatsite.conversations.path.loading import load_path
        from chatsite.storage import reading

        def counted() -> int:
            with CaptureQueriesContext(connection) as queries:
                load_path.here(**self.path)
            return len(queries)

        return await reading(counted)()


async def _stored(options: Options) -> Row:
    from chatsite import storage

    times = options.times(301, 51)
    try:
        short, long = await _case(SHORT), await _case(LONG)
        for _ in range(20):  # every thread of the store opens its connection
            await short.micros()
            await long.micros()
        base, ours = [], []
        for _ in range(times):
            base.append(await short.micros())
            ours.append(await long.micros())
        queries = await short.queries(), await long.queries()
    finally:
        storage.close()
    _print(times, base, ours, queries)
    ratio = statistics.median(ours) / statistics.median(base)
    return Row(
        what=f"a decision under lastN 20: {SHORT:,} / {LONG:,} stored messages",
        baseline=f"{statistics.median(base) / 1000:.2f} ms, {queries[0]} queries",
        ours=f"{statistics.median(ours) / 1000:.2f} ms, {queries[1]} queries",
        ratio=f"{ratio:.2f}",
        target=f"ratio at most {TARGET}, 3 queries",
    )


async def _case(count: int) -> Case:
    """A conversation of `count` messages; the turn before its question has a stored receipt."""
    from django.conf import settings

    from chatsite.agents.catalogue import Catalogue
    from chatsite.conversations.owners import Owner
    from chatsite.conversations.records import NewTurn
    from chatsite.conversations.turn.begin import begin_turn
    from chatsite.conversations.turn.end import end_turn
    from chatsite.storage import reading
    from chatsite.turns.agents.resolved_agent import resolve_agent
    from chatsite.turns.context.decider import Decider
    from chatsite.turns.context.turn_context import Contexts, PageRequest
    from tests.fakes.openai_provider import provider_at

    owner = Owner(guest="bench")
    id = await reading(conversation)(owner.guest, count - 3)
    who = resolve_agent(
        Catalogue(settings.AGENTS_DIR).get("demo"), {"openai": provider_at(None, api_key=None)}
    )
    contexts = Contexts(environment={}, resolve_agent=lambda agent, model="", *, staff=False: who)
    page = PageRequest(owner=owner, conversation=id, agent="demo", query="")
    case = Case(Decider(), contexts.of(page))

    async def ask() -> Any:
        new = NewTurn(
            owner=owner,
            conversation=id,
            agent="demo",
            client_id=str(uuid.uuid4()),
            answer=str(uuid.uuid4()),
            reach=case.context.reach,
        )
        return await begin_turn(new, user=counted_message("user"), greeting=())

    turn = await ask()
    decision = await case.decide()
    answer = counted_message("assistant")
    await end_turn(
        turn=turn.turn,
        state="complete",
        text=answer.content,
        tokens=answer.tokens,
        finish_reason="stop",
        receipt=decision.to_stored(),
    )
    await ask()
    return case


def _print(times: int, base: list[float], ours: list[float], queries: tuple[int, int]) -> None:
    head = ("stored messages", "decisions", "ms: median (min to max)", "p95, ms", "queries")
    lines = [
        [
            f"{stored:,}",
            str(times),
            spread([value / 1000 for value in values], digits=2),
            f"{percentile(values, 95) / 1000:.2f}",
            str(query_count),
        ]
        for stored, values, query_count in ((SHORT, base, queries[0]), (LONG, ours, queries[1]))
    ]
    print(table(head, lines))


# ---- without -----------------------------------------------------------------------------------
def _pure(options: Options) -> None:
    """Measure `decide` alone on a thousand loaded messages; without a target."""
    times = options.times(31, 9)
    entries = tuple(
        Entry(message=counted_message("assistant" if n % 2 else "user"), seq=n + 1)
        for n in range(1001)
    )
    transcript = Transcript(entries=entries)
    head, window = Head.of(None, ()), Window(size=128_000, reply=1024)
    lines = []
    for policy in ("none", "lastN", "all"):
        settings = resolve(environment={}, url={}, template={"historyPolicy": policy})
        taken = []
        for _ in range(times):
            began = time.perf_counter()
            decide(transcript, settings, head=head, window=window, agent="demo")
            taken.append((time.perf_counter() - began) * 1e6)
        lines.append([policy, str(times), spread(taken, digits=0)])
    print("\n`decide` alone, everything loaded:\n")
    print(table(("policy", "decisions", "us for 1,000 loaded messages"), lines))
