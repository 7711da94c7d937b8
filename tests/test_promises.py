"""docs/promises.md: every promise has a test that exists, or a reason."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from tests.named_tests import ROOT, is_a_test, rows

DOCUMENT = ROOT / "docs" / "promises.md"
PROMISES = 54


@dataclass(frozen=True)
class Promise:
    number: int
    words: str
    tests: tuple[str, ...]
    reason: str


ALL = [
    Promise(int(number), words, tuple(re.findall(r"`([^`]+)`", shown)), reason)
    for _, (number, words, shown, reason) in rows(DOCUMENT, heads=("number", "---"))
]


def test_every_promise_is_there_once_and_in_its_order() -> None:
    assert [promise.number for promise in ALL] == list(range(1, PROMISES + 1))
    assert len({promise.words for promise in ALL}) == PROMISES


@pytest.mark.parametrize("promise", ALL, ids=lambda one: f"{one.number}: {one.words[:60]}")
def test_a_promise_has_a_test_that_exists_or_a_reason(promise: Promise) -> None:
    assert promise.tests or promise.reason
    assert [name for name in promise.tests if not is_a_test(name)] == []
