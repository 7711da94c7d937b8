"""The form in which a decision is stored and shown."""

from __future__ import annotations

import json

import pytest

from chatsite.history import Decision, Entry, Head, Transcript, Window, decide, resolve
from chatsite.history.settings.table import HISTORY_ROWS
from chatsite.messages import Message, TokenCount
from conformance_kit.cases import with_tokens
from conformance_kit.strategies.adapter import counted_head


def decision_on(environment: dict[str, str], template: dict[str, object]) -> Decision:
    entries = (
        Entry(message=with_tokens(Message.user("One?", id="1")), seq=1),
        Entry(message=with_tokens(Message.assistant("One.", id="2")), seq=2),
        Entry(message=with_tokens(Message.user("Two?", id="3")), seq=3),
    )
    return decide(
        Transcript(entries=entries),
        resolve(environment=environment, url={}, template=template),
        head=counted_head(),
        window=Window(4_096, 256),
        agent="demo",
    )


def facts(environment: dict[str, str], template: dict[str, object]) -> object:
    return decision_on(environment, template).to_dict()["facts"]


def test_the_facts_are_policy_length_source_and_messages() -> None:
    assert facts({}, {"historyPolicy": "lastN", "historyLength": 3}) == {
        "policy": "lastN",
        "length": "3",
        "source": "template",
        "stored": 3,
        "sent": 3,
    }


@pytest.mark.parametrize(
    ("environment", "template", "length", "source"),
    [
        ({"HISTORY_LENGTH": "0"}, {}, "0, acts as 1", "built in, length: environment"),
        ({"HISTORY_POLICY": "lastN"}, {"historyLength": 7}, "7", "environment, length: template"),
        ({"HISTORY_POLICY": "all"}, {"historyLength": 7}, "", "environment"),
        ({}, {"historyPolicy": "none"}, "", "template"),
        ({}, {}, "20", "built in"),
    ],
)
def test_length_and_source_are_worded_for_the_reader(
    environment: dict[str, str], template: dict[str, object], length: str, source: str
) -> None:
    found = facts(environment, template)
    assert isinstance(found, dict)
    assert (found["length"], found["source"]) == (length, source)


def test_a_receipt_is_json_and_holds_everything_the_page_reads() -> None:
    decision = decision_on({"HISTORY_POLICY": "lastN"}, {})
    receipt = json.loads(json.dumps(decision.to_dict()))
    assert set(receipt) == {
        *("version", "agent", "settings", "locked", "lock_reason", "in_words", "facts"),
        *("verdicts", "parts", "window", "reply", "budget", "limit", "prompt_tokens"),
        *("horizon", "leading", "head", "cut", "under", "cleanup", "gave_way"),
        *("layout", "quoted"),
        *("notes", "reports", "exchanges"),
    }
    assert set(receipt["settings"]) == {*HISTORY_ROWS, "conversation"}
    assert [part["name"] for part in receipt["parts"]] == [
        *("system", "prefilled", "history", "current", "reply", "free")
    ]
    assert sum(part["tokens"] for part in receipt["parts"]) == receipt["window"] == 4_096
    assert receipt["limit"] == 3_840
    assert receipt["in_words"] == decision.settings.words == "your last 20 exchanges"
    assert receipt["head"] == {"hash": counted_head().hash, "messages": 1}
    assert set(receipt["verdicts"][0]) == {
        *("first", "last", "messages", "role", "sent", "quoted", "before", "reason", "sentence"),
        *("tokens", "basis"),
    }


def test_a_sum_has_the_basis_of_its_weakest_count() -> None:
    estimate = TokenCount(count=5, tokenizer="estimate", basis="estimated")
    head = Head.of("Be kind.").counted([estimate])
    entry = Entry(message=with_tokens(Message.user("Hi", id="1")), seq=1)
    decision = decide(
        Transcript(entries=(entry,)),
        resolve(environment={}, url={}, template={}),
        head=head,
        window=Window(100, 10),
        agent="demo",
    )
    basis = {part.name: part.basis for part in decision.parts}
    assert (basis["system"], basis["current"], basis["free"]) == (
        "estimated",
        "counted",
        "estimated",
    )


def test_the_hash_of_a_head_depends_on_its_roles_and_texts() -> None:
    plain = Head.of("Be kind.")
    assert plain.hash == Head.of("Be kind.").hash
    assert len(plain.hash) == 64
    others = [
        Head.of("Be brief."),
        Head.of(None),
        Head.of("Be kind.", [Message.user("Hi", id="1")]),
        Head.of("Be kind.", [Message.assistant("Hi", id="1")]),
    ]
    assert len({plain.hash, *(other.hash for other in others)}) == 5


def test_system_messages_of_a_head_come_first() -> None:
    head = Head.of("Be kind.", [Message.user("Hi", id="1"), Message.system("And brief.", id="2")])
    assert [message.role for message in head.messages] == ["system", "system", "user"]
    assert head.prefilled == 1
