"""docs/differences.md: every statement has a test that exists, or a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.named_tests import ROOT, is_a_test, rows

DOCUMENT = ROOT / "docs" / "differences.md"
# How many statements each of the five documents makes, in the order of the tables.
STATEMENTS = (33, 22, 22, 31, 30)


@dataclass(frozen=True)
class Statement:
    section: str
    words: str
    tests: tuple[str, ...]
    reason: str


def statements() -> Iterator[Statement]:
    for section, (words, shown, reason) in rows(DOCUMENT, heads=("statement", "---")):
        yield Statement(section, words, tuple(re.findall(r"`([^`]+)`", shown)), reason)


ALL = list(statements())


def test_every_statement_of_the_five_documents_is_there_once() -> None:
    sections = dict.fromkeys(one.section for one in ALL)
    counts = tuple(sum(one.section == section for one in ALL) for section in sections)
    assert counts == STATEMENTS
    assert len({(one.section, one.words) for one in ALL}) == sum(STATEMENTS)


@pytest.mark.parametrize("statement", ALL, ids=lambda one: one.words[:60])
def test_a_statement_has_a_test_that_exists_or_a_reason(statement: Statement) -> None:
    assert statement.tests or statement.reason
    assert [name for name in statement.tests if not is_a_test(name)] == []


def test_a_test_that_does_not_exist_is_noticed() -> None:
    assert is_a_test("tests/test_differences.py::test_a_test_that_does_not_exist_is_noticed")
    assert not is_a_test("tests/test_differences.py::test_nothing")
    assert not is_a_test("tests/test_nowhere.py::test_nothing")
    assert not is_a_test("tests/test_differences.py::is_a_test")
