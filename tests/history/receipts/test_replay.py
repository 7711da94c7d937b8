"""Rebuilding a request from its receipt and the stored messages, under every policy."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from chatsite.history import (
    AddedMessage,
    Decision,
    Entry,
    Evidence,
    Head,
    Hit,
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
from chatsite.history.path.added_messages import (
    CONTINUE_TEXT,
    continue_message,
    unfinished_message,
)
from chatsite.history.receipts.replay import StoredRequest, rebuild_messages
from chatsite.messages import Message, TokenCount, ToolCall

COUNT = TokenCount(count=100, tokenizer="words", basis="counted")
HEAD = Head.of(
    "You are Memo.", (Message.user("Two?", id="e1"), Message.assistant("2", id="e2"))
).counted([COUNT] * 3)


def path() -> tuple[Entry, ...]:
    """An instruction, eight turns (the third with a tool), and the current message."""
    messages = [Message.system("Speak plainly.", id="s")]
    for number in range(8):
        messages.append(Message.user(f"Question {number}", id=f"u{number}"))
        if number == 2:
            calls = (ToolCall(id="c", name="search", arguments={"for": "tides"}),)
            messages.append(Message.assistant(None, id="call", calls=calls))
            messages.append(Message.tool("High at noon.", id="result", call_id="c"))
        messages.append(Message.assistant(f"Answer {number}, which is longer.", id=f"a{number}"))
    messages.append(Message.user("And now?", id="now"))
    counted = [replace(message, tokens=COUNT) for message in messages]
    return tuple(Entry(message=message, seq=seq) for seq, message in enumerate(counted, 1))


SUMMARY = RunningSummary(
    id="v3", version=3, text="They spoke of tides.", first=2, last=9, messages=8, by="you",
    tokens=COUNT,
)  # fmt: skip
TEXT = replace(Message.user("Facts: none.", id="t"), tokens=COUNT)


def decision_on(template: dict[str, Any], evidence: Evidence) -> Decision:
    return decide(
        Transcript(entries=path()),
        resolve(environment={}, url={}, template=template),
        head=HEAD,
        window=Window(size=4_000, reply=100),
        evidence=evidence,
        agent="demo",
    )


def contents(messages: tuple[Message, ...]) -> list[tuple[object, ...]]:
    return [(m.role, m.content, m.calls, m.call_id) for m in messages]


def stored_request(decision: Decision, **more: Any) -> StoredRequest:
    receipt = json.loads(json.dumps(decision.to_dict()))  # as storage returns it
    stored = StoredRequest(
        agent="demo", receipt=receipt, entries=path(), summaries={"v3": SUMMARY.text}
    )
    return replace(stored, **more)


TRIAGE = {"historyPolicy": "relevant", "historySelector": "triage"}
CASES: dict[str, tuple[dict[str, Any], Evidence]] = {
    "none": ({"historyPolicy": "none"}, Evidence()),
    "lastN": ({"historyPolicy": "lastN", "historyLength": 3}, Evidence()),
    "all": ({"historyPolicy": "all"}, Evidence()),
    "tokens": ({"historyPolicy": "tokens", "historyTokens": 1_200}, Evidence()),
    "relevant": (
        {"historyPolicy": "relevant", "historyTokens": 2_200},
        Evidence(recall=Recall(hits=(Hit(seq=2, score=2.0, why="it shares a word"),))),
    ),
    "triage": (
        TRIAGE | {"conversation": {"context_truncation": 8, "always_include_recent": 1}},
        Evidence(triaged=TriageChoice(turns=frozenset({2, 6}))),
    ),
    "summary": ({"historyPolicy": "summary", "historyTokens": 1_500}, Evidence(summary=SUMMARY)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_rebuilt_request_is_identical(name: str) -> None:
    decision = decision_on(*CASES[name])
    messages, differences = rebuild_messages(stored_request(decision), HEAD)
    assert differences == ()
    assert contents(messages) == contents(decision.request)


def test_the_cases_contain_what_their_names_say() -> None:
    layouts = {name: decision_on(*case).to_dict()["layout"] for name, case in CASES.items()}
    kinds = {name: {item.get("kind") for item in layouts[name]} for name in layouts}
    assert "recalled" in kinds["relevant"] and "summary" in kinds["summary"]
    assert any("shortened" in item for item in layouts["triage"])


def test_later_changes_are_named() -> None:
    summary = stored_request(decision_on(*CASES["summary"]))
    _, deleted = rebuild_messages(replace(summary, summaries={}), HEAD)
    assert deleted == ("The summary that was sent isn't stored any more.",)
    _, edited = rebuild_messages(replace(summary, summaries={"v3": "They spoke of fog."}), HEAD)
    assert edited == ("The summary reads differently now.",)
    relevant = stored_request(decision_on(*CASES["relevant"]))
    _, missing = rebuild_messages(replace(relevant, entries=path()[2:]), HEAD)
    assert any("which was quoted, isn't stored any more" in one for one in missing)
    _, other = rebuild_messages(relevant, Head.of("You are someone else.", ()))
    assert other[0].startswith("The agent was changed since")


def test_a_strategys_own_text_cannot_be_rebuilt_from_its_fingerprint() -> None:
    choice = StrategyChoice(slots=(StrategySlot(name="facts", priority=1, items=(TEXT, 12, 13)),))
    decision = decision_on({"historyPolicy": "strategy"}, Evidence(chosen=choice))
    messages, differences = rebuild_messages(stored_request(decision), HEAD)
    assert len(differences) == 1 and "only its fingerprint" in differences[0]
    without = [one for one in contents(decision.request) if one[1] != TEXT.content]
    assert contents(messages) == without


class TestContinued:
    """A request to continue an answer: the answer's beginning, then the instruction."""

    answer = "Answer 7, which is longer."

    def receipt(self, *, before: int = 9) -> dict[str, Any]:
        receipt = decision_on({"historyPolicy": "all"}, Evidence()).to_dict()
        beginning = unfinished_message(Message.assistant(self.answer, id="a7"), before)
        further = AddedMessage.of(beginning, "continue", sources=[19], id=str(before))
        instruction = AddedMessage.of(continue_message(), "continue")
        run = {"first": 1, "last": 18}
        return receipt | {"layout": [run, further.to_dict(), instruction.to_dict()]}

    def rebuild(
        self, receipt: dict[str, Any], entries: tuple[Entry, ...]
    ) -> tuple[list[str | None], tuple[str, ...]]:
        messages, differences = rebuild_messages(
            StoredRequest(agent="demo", receipt=receipt, entries=entries, summaries={}), HEAD
        )
        return [message.content for message in messages[-2:]], differences

    def test_the_request_ends_as_before_even_if_the_answer_has_grown(self) -> None:
        assert path()[18].message.content == self.answer
        assert self.rebuild(self.receipt(), path()) == ([self.answer[:9], CONTINUE_TEXT], ())

    def test_an_answer_that_was_edited_or_deleted_is_named(self) -> None:
        edited = replace(path()[18], message=replace(path()[18].message, content="Other."))
        _, differences = self.rebuild(self.receipt(), (*path()[:18], edited))
        assert differences == ("The answer that was continued reads differently now.",)
        _, differences = self.rebuild(self.receipt(), path()[:18])
        assert differences == ("The answer that was continued isn't stored any more.",)
