"""A search among a million messages, through the index of words and by reading every text."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.database import database
from tests.bench.figures import Options, Row, ratios, spread, table

MANY, QUICK = 1_000_000, 50_000
IN_ONE = 5_000
# A message of 110 words, as the million of 791 MB that the search before was measured on.
WORDS = 110
FLUSHED = 50
RARE = "albatross"
# In five messages; in one of some hundred; in nearly all; the beginning of many words.
ASKED = {
    "a rare word": RARE,
    "two words": f"{RARE} baba",
    "a common word": "baba",
    "a beginning": "bab",
}


async def run(options: Options) -> list[Row]:
    count, times = QUICK if options.quick else MANY, options.times(7, 3)
    print(f"Searches among {count:,} messages of one person, in storage.\n")
    async with database():
        print(await asyncio.to_thread(_build, count))
        found = await asyncio.to_thread(_measure, times)
    rows = []
    for name, (before, now) in found.items():
        target = "at most a tenth" if name == "a rare word" else ""
        rows.append(
            Row(
                what=f"search for {name} among {count:,} messages",
                baseline=f"{spread(before, digits=0)} ms (every text is read)",
                ours=f"{spread(now)} ms",
                ratio=spread(ratios(now, before), digits=4),
                target=target,
            )
        )
    return rows


def _vocabulary() -> list[str]:
    syllables = [f"{one}{other}" for one in "bdfgklmnprst" for other in "aeiou"]
    return ["".join(one) for one in itertools.product(syllables, repeat=2)] + [
        "".join(one) for one in itertools.islice(itertools.product(syllables, repeat=3), 40_000)
    ]


def _texts(count: int) -> Iterator[str]:
    """Words as often as in a language: the n-th most frequent one with a weight of 1/n."""
    words, chance = _vocabulary(), random.Random(7)
    weights = list(itertools.accumulate(1 / place for place in range(1, len(words) + 1)))
    pool = [" ".join(chance.choices(words, cum_weights=weights, k=WORDS)) for _ in range(20_000)]
    for number in range(count):
        yield f"{chance.choice(pool)}{f' {RARE}' if number % (count // 5) == 7 else ''}"


def _build(count: int) -> str:
    """Store the messages and index them; what the index costs, in Markdown."""
    from django.db import connection, transaction

    from chatsite.conversations.database.statements import MESSAGES
    from chatsite.conversations.models import Conversation, Message
    from chatsite.conversations.search.word_index import index_words
    from chatsite.storage import flush_write_log, next_piece

    now, texts = datetime.now(UTC), _texts(count)
    for _ in range(count // IN_ONE):
        row = Conversation.objects.create(
            id=uuid.uuid4(), guest="ada", agent="demo", title="bench", created=now, updated=now
        )
        with transaction.atomic():
            MESSAGES.insert(
                Message(
                    id=uuid.uuid4(),
                    conversation=row,
                    seq=seq,
                    turn_seq=seq,
                    role="user",
                    content=next(texts),
                    created=now,
                )
                for seq in range(1, IN_ONE + 1)
            )
    file = Path(connection.settings_dict["NAME"])
    before, pieces, more = _size(file), [], True
    while more:
        ended, steps = False, index_words.pieces()
        while not ended:
            began = time.perf_counter()
            ended, result = next_piece(steps)
            pieces.append(1000 * (time.perf_counter() - began))
        more = bool(result)
        if len(pieces) % FLUSHED == 0:
            flush_write_log.here()  # as the server does every few seconds
    added = _size(file) - before
    return table(
        ("indexing", ""),
        (
            ["a piece of the writing thread, ms", spread(pieces)],
            ["a message, ms", f"{sum(pieces) / count:.3f}"],
            ["bytes a message", f"{added / count:,.0f}, of {before / count:,.0f}"],
        ),
    )


def _size(file: Path) -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return file.stat().st_size


def _measure(times: int) -> dict[str, tuple[list[float], list[float]]]:
    """Milliseconds before and now, by what is looked for."""
    from chatsite.conversations.owners import Owner
    from chatsite.conversations.search.text_search import search_text

    owner = Owner(guest="ada")
    found: dict[str, tuple[list[float], list[float]]] = {}
    for name, text in ASKED.items():
        before, now = [], []
        for _ in range(times):
            began = time.perf_counter()
            _read_all(text)
            between = time.perf_counter()
            page = search_text.here(owner=owner, text=text)
            before.append(1000 * (between - began))
            now.append(1000 * (time.perf_counter() - between))
            assert page.hits
        found[name] = before, now
    return found


def _read_all(text: str) -> list[object]:
    """The search as it was before the index: which conversations have the text, the newest 200."""
    from django.db.models import Q

    from chatsite.conversations.models import Conversation, Message

    said = Message.objects.filter(
        conversation__user=None, conversation__guest="ada", on_path=True, content__icontains=text
    )
    rows = Conversation.objects.filter(user=None, guest="ada", deleted=None).filter(
        Q(title__icontains=text) | Q(id__in=said.values("conversation"))
    )
    return list(rows.order_by("-updated")[:200])
