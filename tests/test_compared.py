"""docs/compared.md: 94 features, each with one verdict, and a heading that counts them rightly."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

TEXT = (Path(__file__).resolve().parent.parent / "docs" / "compared.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|([^|]*)\| ([^|]+) \|$", re.MULTILINE)
ROWS = ROW.findall(TEXT)


def test_the_94_features_are_all_there_in_their_order() -> None:
    assert [int(number) for number, *_ in ROWS] == list(range(1, 95))


def test_the_heading_counts_the_verdicts() -> None:
    counted = Counter(verdict for _, _, verdict, _, _ in ROWS)
    said = re.search(r"\*\*(\d+) yes\*\*, \*\*(\d+) partly\*\* and \*\*(\d+) no\*\*", TEXT)
    assert said is not None
    assert [counted.pop(word) for word in ("yes", "partly", "no")] == [
        int(n) for n in said.groups()
    ]
    assert not counted


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_says_how_or_what_is_missing(row: tuple[str, ...]) -> None:
    _, _, verdict, how, best = row
    assert best.strip()
    assert verdict == "no" or how.strip()
