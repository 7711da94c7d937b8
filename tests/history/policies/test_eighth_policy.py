"""A policy is one module and one line in the table; everything else follows from the table."""

from __future__ import annotations

import json

import pytest

from chatsite.history import (
    POLICIES,
    Decision,
    Entry,
    Everything,
    Transcript,
    Window,
    decide,
    reach,
    resolve,
)
from chatsite.history.settings.offers import SettingSources, alternatives, offers
from chatsite.messages import Message
from conformance_kit.cases import with_tokens
from conformance_kit.strategies.adapter import counted_head
from tests.history.policies.every_other import EVERY_OTHER

NAME = EVERY_OTHER.name
LINK = {"historyPolicy": NAME}


@pytest.fixture(autouse=True)
def add_to_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the policy's one line to the table."""
    assert NAME not in POLICIES.names
    monkeypatch.setitem(POLICIES.by_name, NAME, (EVERY_OTHER,))


def sources(**url: str) -> SettingSources:
    return SettingSources(environment={}, url=url, template={})


def decision_with(turns: int = 6, *, window: int = 4_096) -> Decision:
    entries = [
        Entry(message=with_tokens(message), seq=seq)
        for seq, message in enumerate(
            [
                message
                for turn in range(1, turns + 1)
                for message in (
                    Message.user(f"Question {turn}?", id=f"u{turn}"),
                    Message.assistant(f"Answer {turn}.", id=f"a{turn}"),
                )
            ][:-1],
            1,
        )
    ]
    return decide(
        Transcript(entries=tuple(entries)),
        resolve(environment={}, url=LINK, template={}),
        head=counted_head(),
        window=Window(window, 256),
        agent="demo",
    )


@pytest.mark.parametrize(
    ("where", "source"),
    [
        ({"environment": {"HISTORY_POLICY": NAME}}, "environment"),
        ({"url": LINK}, "URL"),
        ({"template": LINK}, "template"),
    ],
)
def test_every_source_may_name_it(where: dict[str, dict[str, str]], source: str) -> None:
    settings = resolve(
        environment=where.get("environment", {}),
        url=where.get("url", {}),
        template=where.get("template", {}),
    )
    assert (settings.policy.value, settings.policy.source) == (NAME, source)
    assert settings.words == "every other turn"
    assert reach(settings, room=100) == Everything()


def test_a_near_miss_is_answered_with_the_right_name() -> None:
    settings = resolve(environment={}, url={"historyPolicy": "exampleeveryother"}, template={})
    value = next(one for one in settings.policy.said if one.source == "URL")
    assert f"{NAME} was probably meant" in value.why


def test_a_decision_sends_the_turns_it_chooses() -> None:
    sent = [message.id for message in decision_with().request]
    assert sent == ["personality", "u2", "a2", "u4", "a4", "u6"]


def test_its_turns_are_cut_when_the_window_is_small() -> None:
    assert len(decision_with(40, window=500).request) < len(decision_with(40).request)


def test_the_receipt_names_it() -> None:
    receipt = json.loads(json.dumps(decision_with().to_dict()))
    assert receipt["facts"]["policy"] == NAME
    assert receipt["in_words"] == "every other turn"
    assert receipt["under"] == "", "nothing was cut"
    assert decision_with(40, window=500).to_dict()["under"] == f"{NAME}   50"
    sentences = {verdict["reason"]: verdict["sentence"] for verdict in receipt["verdicts"]}
    assert sentences["over_length"] == "older than every other turn"


def test_the_page_offers_it_in_its_own_words() -> None:
    page = sources()
    offer = next(one for one in offers(page, page.resolve()).all if one.policy == NAME)
    assert offer.to_dict() == {
        "key": NAME,
        "policy": NAME,
        "title": "Every other turn",
        "about": "Half of the conversation, all the way back.",
        "first": False,
        "length": False,
        "in_force": False,
        "allowed": True,
        "why": "",
        "changes": {"historyPolicy": NAME, "historySelector": None},
    }
    linked = sources(**LINK)
    assert [one.key for one in offers(linked, linked.resolve()).all if one.in_force] == [NAME]


def test_the_comparison_of_a_turn_includes_it() -> None:
    page = sources()
    found = {one.key: one for one in alternatives(page, page.resolve())}
    assert found[NAME].label == NAME
    assert found[NAME].settings.active_policy is EVERY_OTHER
    assert not found[NAME].asks_model
