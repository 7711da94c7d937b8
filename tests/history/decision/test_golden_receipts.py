"""Receipts keep their form: the same path gives the same JSON, byte for byte.

`golden_receipts.jsonl` holds one receipt a line as it is stored, `golden_shown_receipts.jsonl` the
same ones as they are shown. To rewrite both after an intended change of a form:
`GOLDEN=write .venv/bin/python -m pytest tests/history/decision/test_golden_receipts.py`.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chatsite.history import (
    Entry,
    Evidence,
    Hit,
    NotLoaded,
    Previous,
    Recall,
    RunningSummary,
    StrategyChoice,
    StrategySlot,
    Transcript,
    TriageChoice,
    Window,
    decide,
    resolve,
)
from chatsite.history.decision.receipt import show_receipt
from chatsite.messages import Message, TokenCount, ToolCall
from conformance_kit.cases import with_tokens
from conformance_kit.strategies.adapter import counted_head
from tests.conformance.built_in.variants import cleaner

TEXT = with_tokens(Message.user("I like tea.", id="t1"))
FILES = {
    "stored": Path(__file__).with_name("golden_receipts.jsonl"),
    "shown": Path(__file__).with_name("golden_shown_receipts.jsonl"),
}
EVIDENCE = Evidence(
    previous=Previous(head_hash=counted_head().hash, layout=(), cut=15, under="tokens  400 40"),
    recall=Recall(hits=(Hit(seq=7, score=1.0, why="it says tea"),)),
    triaged=TriageChoice(turns=frozenset({3})),
    summary=RunningSummary(
        id="s1",
        version=2,
        text="They spoke of tea.",
        first=1,
        last=4,
        messages=4,
        by="small",
        tokens=TokenCount(count=12, tokenizer="test", basis="counted"),
    ),
    chosen=StrategyChoice(
        slots=(
            StrategySlot(
                name="notes", priority=2, items=(with_tokens(Message.user("I like tea.", id="t1")),)
            ),
            StrategySlot(name="history", priority=1, items=(5, 6, 13)),
        )
    ),
    notes=("A note.",),
    reports={"lexical": {"hits": 1}},
)
CASES: dict[str, dict[str, object]] = {
    "none": {"historyPolicy": "none"},
    "lastN": {"historyPolicy": "lastN", "historyLength": 3, "historyStep": 2},
    "all": {"historyPolicy": "all"},
    "cleaned": {"historyPolicy": "all"},
    "tokens": {"historyPolicy": "tokens", "historyTokens": 400},
    "lexical": {"historyPolicy": "relevant", "historyTokens": 400},
    "triage": {"historyPolicy": "relevant", "historySelector": "triage"},
    "triage off": {
        "historyPolicy": "relevant",
        "historySelector": "triage",
        "conversation": {"enabled": False},
    },
    "summary": {"historyPolicy": "summary", "historyTokens": 400},
    "strategy": {"historyPolicy": "strategy", "historyTokens": 400},
}


def lines_of(form: str) -> list[str]:
    return FILES[form].read_text(encoding="utf-8").splitlines()


def path() -> Transcript:
    """Nine turns: one pinned, one excluded, a tool call, and a background task's note."""
    entries: list[Entry] = []
    for turn in range(9):
        seq = 2 * turn + 1
        question = with_tokens(Message.user(f"Question {seq} " + "tea " * 20, id=f"m{seq}"))
        answer = Message.assistant(f"Answer {seq + 1} " + "milk " * 20, id=f"m{seq + 1}")
        entries += [
            Entry(message=question, seq=seq, pinned=turn == 1, excluded=turn == 4),
            Entry(message=with_tokens(answer), seq=seq + 1),
        ]
    call = replace(Message.assistant("", id="m19"), calls=(ToolCall(id="c1", name="clock"),))
    result = Message.tool("Noon.", call_id="c1", id="m20")
    note = replace(Message.assistant("Rain is coming.", id="m21"), source="scheduled")
    entries += [
        Entry(message=with_tokens(message), seq=seq)
        for seq, message in enumerate((call, result, note), 19)
    ]
    entries.append(Entry(message=with_tokens(Message.user("And now?", id="m22")), seq=22))
    not_loaded = NotLoaded(messages=4, users=2, tokens=120, first=1, last=2)
    return Transcript(entries=tuple(entries[2:]), not_loaded=not_loaded)


def receipt(name: str, form: str) -> dict[str, Any]:
    decision = decide(
        path(),
        resolve(environment={"HISTORY_LOW_WATER": "40"}, url={}, template=CASES[name]),
        head=counted_head(prefilled=True),
        window=Window(700 if name == "cleaned" else 4_096, 256),
        evidence=EVIDENCE,
        agent="demo",
        cleanup=cleaner({"cacheCleanup": "removeOldestMessages"}) if name == "cleaned" else None,
    )
    return decision.to_stored() if form == "stored" else decision.to_dict()


@pytest.mark.parametrize("form", FILES)
def test_there_is_a_golden_receipt_for_every_case(form: str) -> None:
    if os.environ.get("GOLDEN") == "write":
        lines = (json.dumps([name, receipt(name, form)], ensure_ascii=False) for name in CASES)
        FILES[form].write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = [json.loads(line)[0] for line in lines_of(form)]
    assert found == list(CASES)


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("name", CASES)
def test_a_receipt_is_equal_to_the_golden_one(name: str, form: str) -> None:
    golden = next(line for line in lines_of(form) if json.loads(line)[0] == name)
    now = json.dumps([name, receipt(name, form)], ensure_ascii=False)
    assert now == golden, "an intended change? The docstring says how to rewrite the files"


@pytest.mark.parametrize("name", CASES)
def test_the_golden_stored_receipt_is_shown_as_the_golden_shown_one(name: str) -> None:
    """What the stored form leaves out is what a default says: for good, also where one changes."""
    stored, shown = (dict(map(json.loads, lines_of(form)))[name] for form in FILES)
    assert show_receipt(stored) == shown
    assert show_receipt(shown) == shown, "receipts of before were stored as they are shown"
