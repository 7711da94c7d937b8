"""Searches among a million messages on SQLite and on PostgreSQL, each in a process of its own; on
SQLite also by the version before, and by reading every text."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from tests.bench.figures import Options, Row, percentile, ratios, spread, table, verdict
from tests.postgres import Postgres
from tests.running import ROOT

MANY, QUICK = 1_000_000, 50_000
SQLITE, POSTGRESQL, BEFORE = "SQLite", "PostgreSQL", "SQLite, before"
# The highest ratio of one version to the one before.
MOST = 1.02
_SEARCHER = Path(__file__).with_name("searcher.py")

# By what is searched for and by whom: the milliseconds of each round.
Times = Mapping[str, list[Sequence[float]]]


class Searcher:
    """A process that searches in one database whenever it is asked."""

    def __init__(self, asks: IO[str], answers: IO[str]) -> None:
        self._asks, self._answers = asks, answers
        # What is found, and what filling took.
        self.first: Mapping[str, Any] = json.loads(answers.readline())
        self.times: Times = {name: [] for name in self.first["hits"]}
        self.cpu: Times = {name: [] for name in self.first["hits"]}

    def go(self) -> None:
        for name, taken in self._answer("search").items():
            times, cpu = zip(*taken, strict=True)
            self.times[name].append(times)
            self.cpu[name].append(cpu)

    def read_all(self) -> float:
        return float(self._answer("read"))

    def _answer(self, line: str) -> Any:
        print(line, file=self._asks, flush=True)
        return json.loads(self._answers.readline())


async def run(options: Options) -> list[Row]:
    count, times = QUICK if options.quick else MANY, options.times(9, 3)
    print(
        f"Searches among {count:,} messages of 60 words, by an owner of a fifth and one of 200 of\n"
        "them, with weighing and places of the words. The databases take turns.\n"
    )
    with ExitStack() as stack:
        file = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "bench.sqlite3"
        found = {SQLITE: stack.enter_context(_searcher(file=file, count=count))}
        if options.before:
            before = _searcher(file=file, root=options.before.resolve())
            found[BEFORE] = stack.enter_context(before)
        postgres = stack.enter_context(Postgres())
        found[POSTGRESQL] = stack.enter_context(_searcher(url=postgres.url, count=count))
        _compare_hits(found)
        for number in range(times):
            for one in list(found.values())[:: -1 if number % 2 else 1]:
                one.go()
        read = [found[SQLITE].read_all() for _ in range(3)]
    _print_costs(found)
    rows = [_row(name, found) for name in found[SQLITE].times]
    return [*rows, *_before_rows(found), _read_row(count, read, found[SQLITE])]


@contextmanager
def _searcher(
    *, file: Path | None = None, url: str = "", count: int = 0, root: Path = ROOT
) -> Iterator[Searcher]:
    process = subprocess.Popen(
        [sys.executable, str(_SEARCHER), str(file or ""), str(count)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "TEST_DATABASE_URL": url},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin and process.stdout
    try:
        yield Searcher(process.stdin, process.stdout)
    finally:
        process.stdin.close()
        process.wait(timeout=60)
        process.stdout.close()


def _compare_hits(found: Mapping[str, Searcher]) -> None:
    wanted = found[SQLITE].first["hits"]
    for name, one in found.items():
        other = [what for what, hits in one.first["hits"].items() if hits != wanted[what]]
        assert not other, f"{name} finds the same as SQLite, in the same order: {other}"


# ---- output -------------------------------------------------------------------------------------
def _print_costs(found: Mapping[str, Searcher]) -> None:
    costs = [found[name].first["costs"] for name in (SQLITE, POSTGRESQL)]
    lines = [[what, *(cost[what] for cost in costs)] for what in costs[0]]
    print(table(("filling", SQLITE, POSTGRESQL), lines))


def _row(name: str, found: Mapping[str, Searcher]) -> Row:
    ours, baseline = found[POSTGRESQL].times[name], found[SQLITE].times[name]
    return Row(
        what=f"search for {name}, p50 / p95",
        baseline=f"{_shown(baseline)} ms ({SQLITE})",
        ours=f"{_shown(ours)} ms ({POSTGRESQL})",
        ratio=spread(ratios(_medians(ours), _medians(baseline)), digits=2),
    )


def _before_rows(found: Mapping[str, Searcher]) -> Iterator[Row]:
    """Of the version before, where it is measured: CPU, which other work on the machine changes
    less."""
    if BEFORE not in found:
        return
    for name, taken in found[SQLITE].cpu.items():
        ours, before = _medians(taken), _medians(found[BEFORE].cpu[name])
        ratio = ratios(ours, before)
        yield Row(
            what=f"CPU of a search for {name} on SQLite",
            baseline=f"before {spread(before, digits=2)} ms",
            ours=f"{spread(ours, digits=2)} ms",
            ratio=spread(ratio, digits=2),
            target=verdict(f"at most {MOST}", statistics.median(ratio) <= MOST),
        )


def _read_row(count: int, read: Sequence[float], sqlite: Searcher) -> Row:
    ours = _medians(sqlite.times["a rare word, the owner of many"])
    return Row(
        what=f"search for a rare word among {count // 5:,} messages of one owner, {count:,} in all",
        baseline=f"{spread(read, digits=0)} ms (every text is read)",
        ours=f"{spread(ours)} ms",
        target=verdict("at most a tenth", statistics.median(ours) <= statistics.median(read) / 10),
    )


def _medians(rounds: Sequence[Sequence[float]]) -> list[float]:
    return [statistics.median(one) for one in rounds]


def _shown(rounds: Sequence[Sequence[float]]) -> str:
    every = [one for taken in rounds for one in taken]
    return f"{percentile(every, 50):.2f} / {percentile(every, 95):.2f}"
