"""docs/differences.md: every statement has a test that exists, or a reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
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
    section = ""
    for line in DOCUMENT.read_text().splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif line.startswith("| ") and section and not line.startswith("| statement "):
            words, shown, reason = (cell.strip() for cell in line.strip("|").split("|"))
            yield Statement(section, words, tuple(re.findall(r"`([^`]+)`", shown)), reason)


ALL = list(statements())


@cache
def names_in(file: str) -> frozenset[str]:
    """The tests of a file by their names after `::`."""
    found: set[str] = set()
    for node in ast.parse((ROOT / file).read_text()).body:
        if isinstance(node, ast.ClassDef):
            methods = (
                one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
            )
            found |= {f"{node.name}::{one.name}" for one in methods}
        elif isinstance(node, FUNCTIONS):
            found.add(node.name)
    return frozenset(name for name in found if name.rpartition("::")[2].startswith("test_"))


def is_a_test(name: str) -> bool:
    file, _, rest = name.partition("::")
    return (ROOT / file).is_file() and rest in names_in(file)


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
