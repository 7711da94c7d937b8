"""The time of a warm search where answers are long, beside another version in turns."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

from chatsite.providers.tokens.sentence_vectors import SentenceVectors
from tests.bench.dialogues import read
from tests.bench.figures import Options, Row, percentile, spread, table
from tests.bench.selection import lines_of
from tests.running import ROOT

MESSAGES = 600
# The medians of the version that was measured first, in milliseconds.
MOST = {"words": 6.2, "words and vectors": 8.2}
_TIMER = Path(__file__).with_name("search_timer.py")


class Timer:
    """A process that has indexed the messages and times all questions whenever it is asked."""

    def __init__(self, asks: IO[str], answers: IO[str], given: str) -> None:
        self._asks, self._answers = asks, answers
        self.passages: int = self._answer(given)
        self.rounds: list[list[float]] = []

    def go(self) -> None:
        self.rounds.append(self._answer(""))

    def _answer(self, line: str) -> Any:
        print(line, file=self._asks, flush=True)
        return json.loads(self._answers.readline())

    @property
    def questions(self) -> list[float]:
        """The milliseconds of each question: the median of its rounds, the first left out."""
        return [statistics.median(times) for times in zip(*self.rounds[1:], strict=True)]


def measure(options: Options) -> Iterator[Row]:
    """Nothing without BEAM's file; without another version, only this one."""
    if "beam" not in options.data:
        return
    dialogue = read(options.data["beam"])[0]
    questions = [question.text for question in dialogue.questions]
    messages = [
        (line.seq, line.author, line.text, line.at.isoformat() if line.at else "")
        for line in islice(lines_of(dialogue), MESSAGES)
    ]
    versions = {"now": ROOT} | ({"before": options.before} if options.before else {})
    lines = []
    for by in MOST:
        vectors = by != "words"
        if vectors and SentenceVectors.find() is None:
            continue
        given = json.dumps({"lines": messages, "questions": questions, "vectors": vectors})
        with ExitStack() as stack:
            timers = {
                name: stack.enter_context(_timer(root.resolve(), given))
                for name, root in versions.items()
            }
            for number in range(options.times(15, 3) + 1):
                for timer in list(timers.values())[:: -1 if number % 2 else 1]:
                    timer.go()
        for name, timer in timers.items():
            taken = timer.questions
            lines.append([by, name, spread(taken), f"{percentile(taken, 95):.1f}"])
        yield _row(by, {name: timer.questions for name, timer in timers.items()})
    print(
        f"\n{MESSAGES} messages of BEAM, {timer.passages:,} passages, {len(questions)} questions, "
        "each version in its own process, in turns\n\n"
        f"{table(('by', 'version', 'warm, ms', 'warm p95'), lines)}"
    )


def _row(by: str, taken: Mapping[str, Sequence[float]]) -> Row:
    medians = {name: statistics.median(times) for name, times in taken.items()}
    before = medians.get("before")
    return Row(
        what=f"recalling by {by}, {MESSAGES} messages with long answers, warm",
        baseline=f"{before:.1f} ms" if before else "-",
        ours=f"{medians['now']:.1f} ms",
        ratio=f"{medians['now'] / before:.2f}" if before else "",
        target=f"not above the version before ({MOST[by]} ms where it was measured first)",
    )


@contextmanager
def _timer(root: Path, given: str) -> Iterator[Timer]:
    process = subprocess.Popen(
        [sys.executable, str(_TIMER)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin and process.stdout
    try:
        yield Timer(process.stdin, process.stdout, given)
    finally:
        process.stdin.close()
        process.wait(timeout=10)
        process.stdout.close()
