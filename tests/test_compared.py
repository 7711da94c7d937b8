"""The comparison with other chats counts what it lists; what is there names tests that exist."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from tests.running import ROOT

DOCUMENT = (ROOT / "docs" / "evidence" / "compared.md").read_text()
COUNTED = r"Of the (\d+) Chatsite has \*\*(\d+)\*\*, \*\*(\d+) partly\*\* and \*\*(\d+) not\*\*\."
STARTS = re.compile(r"(partly|no)\b")


class Row(NamedTuple):
    features: list[str]
    answers: list[str]
    shown_by: list[str]

    @property
    def verdicts(self) -> list[str]:
        """ "yes", "partly" or "no" for each feature: a row's answers are its features' one by one
        where one of them is no yes."""
        said = [found[1] if (found := STARTS.match(one)) else "yes" for one in self.answers]
        return said if set(said) != {"yes"} else ["yes"] * len(self.features)


def rows() -> list[Row]:
    cells = [
        [one.strip() for one in line.strip("|").split("|")]
        for line in DOCUMENT.splitlines()
        if line.startswith("| ") and not line.startswith("| feature |")
    ]
    return [
        Row(feature.split("; "), answer.split("; "), re.findall(r"`([\w/]+)`", tests))
        for feature, answer, _, tests in cells
    ]


ROWS = rows()


def test_the_numbers_in_the_text_are_those_of_the_table() -> None:
    verdicts = [one for row in ROWS for one in row.verdicts]
    found = re.search(COUNTED, DOCUMENT)
    assert found
    counted = [len(verdicts), *(verdicts.count(one) for one in ("yes", "partly", "no"))]
    assert [int(one) for one in found.groups()] == counted
    assert f"The {counted[0]} features" in DOCUMENT


@pytest.mark.parametrize("row", ROWS, ids=["; ".join(row.features) for row in ROWS])
def test_what_is_there_names_tests_that_exist(row: Row) -> None:
    assert len(row.verdicts) == len(row.features)
    assert bool(row.shown_by) == ("yes" in row.verdicts)
    for name in row.shown_by:
        assert "def test_" in (ROOT / "tests" / f"{name}.py").read_text()
