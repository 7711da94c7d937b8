"""The time to find older messages, in a conversation of usual length and in a huge one."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count, islice
from typing import TypeVar

import psutil

from chatsite.history.lexical.index import Index, Line
from chatsite.history.lexical.ranking import question_in_chat, recall_messages
from chatsite.providers.tokens.passage_vectors import PassageVectors
from chatsite.providers.tokens.sentence_vectors import SentenceVectors
from chatsite.turns.evidence.index_cache import CHUNK
from tests.bench import dialogues, long_answers
from tests.bench.figures import Options, Row, percentile, spread, table
from tests.bench.selection import lines_of

USUAL, HUGE = 600, 50_000
WARM_MS = {USUAL: 5, HUGE: 50}
FIRST_MS = {"words": 200, "words and vectors": 400}
MIB = 1024 * 1024

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """An endless source of lines, and questions about them."""

    source: str
    lines: Callable[[], Iterator[Line]]
    questions: tuple[str, ...]


async def run(options: Options) -> list[Row]:
    talk = _locomo_talk(options) if "locomo" in options.data else _random_talk()
    print(
        f"Text: {talk.source}. First: index the messages and ask. Warm: ask again, medians over\n"
        "questions. Memory: what the process grew by. The vectors' table is loaded before.\n"
    )
    vectors = SentenceVectors.find()
    kinds: dict[str, SentenceVectors | None] = {"words": None}
    if vectors is not None:
        vectors.split(["Loads the table."])
        kinds["words and vectors"] = vectors
    lines, rows = [], []
    for kind, found in kinds.items():
        for size in (USUAL, HUGE):
            if options.quick and size == HUGE:
                continue
            first, warm, grown = _measure(talk, size, found, options)
            cells = (spread(first, digits=0), spread(warm), f"{percentile(warm, 95):.1f}")
            lines.append([kind, f"{size:,}", *cells, f"{grown / MIB:.0f}"])
            first_target = f", first at most {FIRST_MS[kind]}" if size == USUAL else ""
            rows.append(
                Row(
                    what=f"recalling by {kind}, {size:,} messages",
                    baseline="-",
                    ours=f"warm {statistics.median(warm):.1f} ms, "
                    f"first {statistics.median(first):,.0f} ms, {grown / MIB:.0f} MiB",
                    target=f"warm at most {WARM_MS[size]} ms{first_target}",
                )
            )
    print(table(("by", "messages", "first, ms", "warm, ms", "warm p95", "MiB"), lines))
    return [*rows, *long_answers.measure(options)]


def _measure(
    talk: Talk, size: int, vectors: SentenceVectors | None, options: Options
) -> tuple[list[float], list[float], int]:
    """Returns the milliseconds of first questions and of warm ones, and the bytes of memory."""
    lines = list(islice(talk.lines(), size))
    firsts: list[float] = []
    for _ in range(options.times(5, 1) if size == USUAL else 1):
        before = psutil.Process().memory_info().rss
        index = Index()
        meaning = PassageVectors(vectors, index) if vectors else None

        def first(index: Index = index, meaning: PassageVectors | None = meaning) -> None:
            for start in range(0, size, CHUNK):
                texts = index.extend(lines[start : start + CHUNK])
                if meaning is not None:
                    meaning.add(texts)
            recall_messages(
                index, question_in_chat(talk.questions[0]), meaning=meaning, before=size + 1
            )

        firsts.append(_milliseconds(first))
    grown = psutil.Process().memory_info().rss - before
    warm = []
    for text in talk.questions[: options.times(151, 15)]:
        query = question_in_chat(text)
        warm.append(
            _milliseconds(partial(recall_messages, index, query, meaning=meaning, before=size + 1))
        )
    return firsts, warm, grown


def _milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - began)


def _locomo_talk(options: Options) -> Talk:
    """All conversations one after the other, repeated endlessly, each time years later."""
    read = dialogues.read(options.data["locomo"])
    questions = [question.text for found in read for question in found.questions]
    random.Random(1).shuffle(questions)

    def lines() -> Iterator[Line]:
        seq = 0
        for again in count():
            later = timedelta(days=2_000 * again)
            for found in read:
                for line in lines_of(found):
                    seq += 1
                    at = (line.at or datetime.now(UTC)) + later
                    yield replace(line, seq=seq, at=at)

    return Talk(source="LoCoMo, repeated", lines=lines, questions=tuple(questions))


def _random_talk() -> Talk:
    """Messages of 25 made-up words, whose frequencies are as uneven as in a natural language."""
    pick = random.Random(1)
    words = ["".join(pick.choices("bcdfghklmnprstvw" + "aeiou" * 3, k=7)) for _ in range(20_000)]
    weights = [1 / (30 + place) for place in range(len(words))]
    began = datetime(2026, 1, 1, tzinfo=UTC)

    def lines() -> Iterator[Line]:
        for seq in count(1):
            text = " ".join(pick.choices(words, weights, k=25))
            at = began + timedelta(minutes=seq, hours=12 * (seq // 30))
            yield Line(seq=seq, author="ua"[seq % 2], text=text, at=at)

    questions = (" ".join(pick.choices(words, weights, k=6)) for _ in range(200))
    return Talk(source="made words", lines=lines, questions=tuple(questions))
