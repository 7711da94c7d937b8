"""Figures and their output: medians, spread, ratios, tables in Markdown."""

from __future__ import annotations

import math
import os
import platform
import statistics
import timeit
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# Milliseconds between tokens that are sent every 20 ms: the most on a machine that is idle.
SMOOTH = 40.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`quick`: a third of the repetitions or fewer, to check that the benches run.

    `data` are the files of conversations that some benches read, by their set's name in
    `dialogues.SOURCES`; it lacks those that weren't given. `before` is a checkout of another
    version to measure beside this one, `chainlit` an interpreter with Chainlit, to measure it, too.
    """

    quick: bool = False
    data: Mapping[str, Path] = field(default_factory=dict)
    before: Path | None = None
    chainlit: Path | None = None

    def times(self, full: int, quick: int) -> int:
        """The number of repetitions; both are odd, so that the median is a measured value."""
        assert full % 2 and quick % 2
        return quick if self.quick else full


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the summary. `target` is empty if there is none."""

    what: str
    baseline: str
    ours: str
    ratio: str = ""
    target: str = ""


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile: always a measured value, never an interpolated one."""
    ordered = sorted(values)
    return ordered[max(math.ceil(len(ordered) * percent / 100), 1) - 1]


def spread(values: Sequence[float], *, digits: int = 1) -> str:
    """Median with the smallest and the largest value."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"


def ratios(ours: Sequence[float], baseline: Sequence[float]) -> list[float]:
    """The ratio of each repetition, because other load on the machine slows both its sides."""
    return [one / other for one, other in zip(ours, baseline, strict=True)]


def verdict(target: str, holds: bool) -> str:
    return f"{target}: {'holds' if holds else 'MISSED'}"


def judge(target: str, holds: bool, *, gap: float) -> str:
    """The verdict on a target of times. A missed one says little if the machine was busy: if `gap`,
    the 99th percentile of the direct client's own gaps in milliseconds, isn't under SMOOTH."""
    busy = " on a busy machine" if gap >= SMOOTH else ""
    return f"{verdict(target, holds)}{busy} (direct gaps p99 {gap:.0f} ms)"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    padded = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([padded[0], rule, *padded[1:]])


def summary(rows: Iterable[Row]) -> str:
    head = ("what", "baseline", "ours", "ratio", "target")
    return table(head, ((r.what, r.baseline, r.ours, r.ratio, r.target) for r in rows))


def machine() -> str:
    """The machine in one line. The load shows other users of the machine; the time of the sum
    (10 to 15 us on a current desktop) shows how much of a core was available."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    loop = min(timeit.repeat("sum(range(1000))", number=500, repeat=9)) / 500 * 1e6
    return (
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} cores, load {load}, sum(range(1000)) in {loop:.0f} us"
    )
