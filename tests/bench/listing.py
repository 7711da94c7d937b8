"""A page of the sidebar, for somebody with few conversations and for somebody with many."""

from __future__ import annotations

import asyncio
import time
import uuid
from datetime import UTC, datetime, timedelta

from tests.bench.database import database
from tests.bench.figures import Options, Row, ratios, spread, table

FEW, MANY = 200, 20_000


async def run(options: Options) -> list[Row]:
    times = options.times(101, 11)
    print("The first page of the sidebar, and one from the middle of the list, read in storage.\n")
    async with database():
        few, many, middle = await asyncio.to_thread(_measure, times)
    head = ("conversations", "first page, ms", "a page from the middle, ms")
    print(
        table(
            head,
            (
                [f"{FEW:,}", spread(few, digits=2), ""],
                [f"{MANY:,}", spread(many, digits=2), spread(middle, digits=2)],
            ),
        )
    )
    first, further = ratios(many, few), ratios(middle, few)
    return [
        Row(
            what=f"a page of the sidebar at {MANY:,} conversations",
            baseline=f"{spread(few, digits=2)} ms ({FEW} conversations)",
            ours=f"{spread(many, digits=2)} ms; from the middle {spread(middle, digits=2)} ms",
            ratio=f"{spread(first, digits=2)}; {spread(further, digits=2)}",
            target="at most 1.2",
        )
    ]


def _measure(times: int) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds of each read."""
    from chatsite.conversations.models import Conversation
    from chatsite.conversations.owners import Owner
    from chatsite.conversations.path.queries import list_conversations

    now = datetime.now(UTC)
    for guest, count in (("few", FEW), ("many", MANY)):
        Conversation.objects.bulk_create(
            (
                Conversation(
                    id=uuid.uuid4(),
                    guest=guest,
                    agent="demo",
                    title=f"chat {number}",
                    created=now,
                    updated=now - timedelta(minutes=number),
                )
                for number in range(count)
            ),
            batch_size=500,
        )
    place = (now - timedelta(minutes=MANY // 2), uuid.uuid4())
    found: tuple[list[float], list[float], list[float]] = ([], [], [])
    for _ in range(times):
        for spent, guest, after in zip(
            found, ("few", "many", "many"), (None, None, place), strict=True
        ):
            began = time.perf_counter()
            rows, _ = list_conversations.here(owner=Owner(guest=guest), after=after)
            spent.append(1000 * (time.perf_counter() - began))
            assert len(rows) == 100
    return found
