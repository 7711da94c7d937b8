"""Numbers and how they are printed: medians, spread, ratios, tables in Markdown."""

from __future__ import annotations

import math
import os
import platform
import statistics
import timeit
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

# Milliseconds between two tokens that come every 20, on a machine that has time for them.
SMOOTH = 40.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`quick`: a third of the repetitions or fewer, to see that it runs.

    `locomo` is the file of conversations that some benches read; None where it isn't at hand.
    `before` is a checkout of another version to measure beside this one.
    """

    quick: bool = False
    locomo: Path | None = None
    before: Path | None = None

    def times(self, full: int, quick: int) -> int:
        """How often to repeat; both odd, so that the median is one of the measured values."""
        assert full % 2 and quick % 2
        return quick if self.quick else full


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the last table. `target` is the issue's, empty where it names none."""

    what: str
    baseline: str
    ours: str
    ratio: str = ""
    target: str = ""


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile: a value that was measured, never one in between."""
    ordered = sorted(values)
    return ordered[max(math.ceil(len(ordered) * percent / 100), 1) - 1]


def spread(values: Sequence[float], *, digits: int = 1) -> str:
    """Median with the smallest and the largest value."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"


def ratios(ours: Sequence[float], baseline: Sequence[float]) -> list[float]:
    """Repetition by repetition: what else runs on the machine slows both sides of one."""
    return [one / other for one, other in zip(ours, baseline, strict=True)]


def judged(target: str, holds: bool, *, gap: float) -> str:
    """A target of times, which means something only where the machine is quiet enough: where the
    99th percentile of the direct client's own gaps, in milliseconds, says so."""
    if gap >= SMOOTH:
        return f"{target}; not judged: direct gaps p99 {gap:.0f} ms, not under {SMOOTH:.0f}"
    return f"{target}: {'holds' if holds else 'MISSED'} (direct gaps p99 {gap:.0f} ms)"


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
    """Where this ran, in one line. The load says whether others used it too, and the sum, which
    takes 10 to 15 us on a desktop of these years, how much of a core was left."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    loop = min(timeit.repeat("sum(range(1000))", number=500, repeat=9)) / 500 * 1e6
    return (
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} cores, load {load}, sum(range(1000)) in {loop:.0f} us"
    )
