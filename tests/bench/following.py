"""What it costs that a page follows an answer which another server writes."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from tests.bench.figures import Options, Row, percentile, spread, verdict
from tests.bench.people import (
    DEFLATE,
    PATIENCE,
    TimedAnswer,
    page_answer,
    page_asker,
    question,
)
from tests.bench.processes import fake_provider
from tests.bench.sites import Crowd, Site, Used, on_postgresql, shown
from tests.person import Page, Person

SETTLE_SECONDS = 1.0
# Microseconds of CPU that following from another server may add to a token.
ADDED = 15.0
SAME, OTHER = "the same server", "another server"
# A page gets a frame every 35 ms: of two tokens at 50 a second, of one at 5.
CROWDS = (Crowd(50, 300, 50, 1.0), Crowd(400, 40, 5, 8.0))


@dataclass(frozen=True, slots=True)
class Pass:
    """What the pages got that didn't ask; microseconds of CPU a token."""

    answers: Sequence[TimedAnswer]
    used: Used


async def run(options: Options) -> list[Row]:
    print(
        "Everybody has two pages of one conversation, and asks on the first. The second one is of\n"
        "the same server, or of another one. CPU is that of both servers with both pages.\n"
    )
    rows = []
    with fake_provider() as provider, on_postgresql(provider, 2) as site:
        await site.warm()
        for crowd in CROWDS:
            found: dict[str, list[Pass]] = defaultdict(list)
            for number in range(options.times(7, 1)):
                for where in (SAME, OTHER)[:: -1 if number % 2 else 1]:
                    found[where].append(await _pass(site, crowd, where))
            rows += _rows(crowd, found)
    return rows


async def _pass(site: Site, crowd: Crowd, where: str) -> Pass:
    prompt = question(tokens=crowd.tokens, rate=crowd.rate, stamped=True)
    writing, other = site.urls
    async with _pairs(writing, other if where == OTHER else writing, crowd.people) as pairs:
        await asyncio.sleep(SETTLE_SECONDS)
        before = site.used()

        async def later(number: int, asking: Page, following: Page) -> TimedAnswer:
            await asyncio.sleep(crowd.seconds * number / crowd.people)
            ask, began = page_asker(asking), time.monotonic()
            _, answer = await asyncio.gather(ask(prompt), page_answer(following, began))
            return answer

        async with asyncio.timeout(PATIENCE):
            answers = await asyncio.gather(*(later(n, *pair) for n, pair in enumerate(pairs)))
        await asyncio.sleep(SETTLE_SECONDS)
        used = site.used() - before
    return Pass(answers, used.per(crowd.people * crowd.tokens, 1e-6))


@asynccontextmanager
async def _pairs(asking: str, following: str, count: int) -> AsyncIterator[list[tuple[Page, Page]]]:
    """Two pages of each person's conversation, at these servers."""
    async with AsyncExitStack() as stack:
        people = [
            await stack.enter_async_context(Person(asking, compress=DEFLATE)) for _ in range(count)
        ]
        found = []
        for person in people:
            page = await person.page()
            found.append((page, await person.page(page.conversation, at=following)))
        yield found


def _rows(crowd: Crowd, found: dict[str, list[Pass]]) -> list[Row]:
    what = f"{crowd.people} answers of {crowd.rate} tokens a second followed"
    same, other = ([one.used for one in found[where]] for where in (SAME, OTHER))
    added = [there.servers - here.servers for there, here in zip(other, same, strict=True)]
    holds = statistics.median(added) <= ADDED

    def lags(where: str) -> str:
        late = [1000 * lag for one in found[where] for each in one.answers for lag in each.lags()]
        return " / ".join(f"{percentile(late, percent):.1f}" for percent in (50, 95, 99))

    def wrong(where: str) -> str:
        return str(sum(each.wrong(crowd.tokens) for one in found[where] for each in one.answers))

    return [
        Row(
            what=f"{what}: CPU a token, with the page that asks",
            baseline=f"from {SAME} {shown(same, 'us', digits=0)}",
            ours=f"from {OTHER} {shown(other, 'us', digits=0)}",
            ratio=f"added {spread(added)} us",
            target=verdict(f"at most {ADDED:.0f} us added", holds),
        ),
        Row(
            what=f"{what}: lag of a token, p50 / p95 / p99",
            baseline=f"{lags(SAME)} ms",
            ours=f"{lags(OTHER)} ms",
        ),
        Row(
            what=f"{what}: tokens lost or doubled",
            baseline=wrong(SAME),
            ours=wrong(OTHER),
            target=verdict("0", wrong(OTHER) == "0"),
        ),
    ]
