"""The function that cuts a list, against a table and an oracle of ten lines; a turn cuts by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsite.history import Entry, Transcript, Window, apply_history_policy, decide, resolve
from chatsite.history.policies import cuts
from chatsite.messages import Message
from conformance_kit.cases import with_tokens
from conformance_kit.strategies.adapter import counted_head
from tests.examples import some


def chat(letters: str) -> list[Message]:
    """One message for each letter: s system, u user, a assistant, t tool."""
    messages: list[Message] = []
    for place, letter in enumerate(letters):
        id = f"{place}{letter}"
        if letter == "s":
            messages.append(Message.system(id, id=id))
        elif letter == "u":
            messages.append(Message.user(id, id=id))
        elif letter == "a":
            messages.append(Message.assistant(id, id=id))
        else:
            messages.append(Message.tool(id, id=id, call_id=id))
    return messages


def ids(messages: Sequence[Message]) -> str:
    return " ".join(message.id for message in messages)


@pytest.mark.parametrize(
    ("letters", "policy", "length", "kept"),
    [
        ("", "lastN", 20, ""),
        ("suaua", "none", 20, "0s"),
        ("suau", "none", 20, "0s 3u"),
        ("uat", "none", 20, ""),
        ("uasua", "all", 1, "0u 1a 2s 3u 4a"),
        ("suauaua", "lastN", 2, "0s 3u 4a 5u 6a"),
        ("suauau", "lastN", 2, "0s 3u 4a 5u"),
        ("uaua", "lastN", 0, "2u 3a"),
        ("uaua", "lastN", -7, "2u 3a"),
        ("uaua", "lastN", 2, "0u 1a 2u 3a"),
        ("uaua", "lastN", 10**30, "0u 1a 2u 3a"),
        ("atuaua", "lastN", 2, "0a 1t 2u 3a 4u 5a"),
        ("atuaua", "lastN", 1, "4u 5a"),
        ("ataat", "lastN", 1, "0a 1t 2a 3a 4t"),
        ("uuuu", "lastN", 2, "2u 3u"),
        ("uatatatu", "lastN", 2, "0u 1a 2t 3a 4t 5a 6t 7u"),
        ("uasus", "lastN", 2, "2s 4s 0u 1a 3u"),
    ],
)
def test_it_keeps_the_messages_of_the_policy(
    letters: str, policy: str, length: int, kept: str
) -> None:
    assert ids(apply_history_policy(chat(letters), policy=policy, length=length)) == kept


def test_system_messages_can_be_left_out_except_under_all() -> None:
    messages = chat("sua")
    assert ids(apply_history_policy(messages, preserve_system=False)) == "1u 2a"
    assert ids(apply_history_policy(messages, policy="none", preserve_system=False)) == ""
    assert apply_history_policy(messages, policy="all", preserve_system=False) == messages


@pytest.mark.parametrize("policy", ["lastn", "ALL", "", "tokens"])
def test_an_unknown_policy_is_refused_and_never_means_all(policy: str) -> None:
    with pytest.raises(ValueError, match="is not one of none, lastN, all"):
        apply_history_policy(chat("ua"), policy=policy)


@pytest.mark.parametrize("length", [2.5, "2", None])
def test_a_length_that_is_not_a_whole_number_is_refused(length: object) -> None:
    with pytest.raises(TypeError):
        apply_history_policy(chat("ua"), length=length)  # type: ignore[arg-type]


def oracle(messages: list[Message], policy: str, length: int) -> list[Message]:
    """The same rules, implemented without turns."""
    system = [message for message in messages if message.role == "system"]
    rest = [message for message in messages if message.role != "system"]
    if policy == "all":
        return messages
    if policy == "none":
        return system + [message for message in rest[-1:] if message.role == "user"]
    users = [place for place, message in enumerate(rest) if message.role == "user"]
    length = max(length, 1)
    return system + (rest[users[-length] :] if len(users) > length else rest)


@settings(deadline=None, derandomize=True, database=None, max_examples=some(1_000))
@given(
    letters=st.text("suat", max_size=24),
    policy=st.sampled_from(("none", "lastN", "all")),
    length=st.integers(-2, 12),
)
def test_it_agrees_with_the_oracle(letters: str, policy: str, length: int) -> None:
    messages = chat(letters)
    before = list(messages)
    kept = apply_history_policy(messages, policy=policy, length=length)
    assert kept == oracle(messages, policy, length)
    assert apply_history_policy(kept, policy=policy, length=length) == kept
    assert messages == before


@pytest.mark.parametrize("policy", ["none", "lastN", "all"])
def test_what_a_turn_sends_is_its_result(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    results: list[list[Message]] = []

    def recorded(messages: Sequence[Message], **terms: Any) -> list[Message]:
        results.append(apply_history_policy(messages, **terms))
        return results[-1]

    monkeypatch.setattr(cuts, "apply_history_policy", recorded)
    talk = [with_tokens(message, 10) for message in chat("uauauauau")]
    decision = decide(
        Transcript(entries=tuple(Entry(message=m, seq=n) for n, m in enumerate(talk, 1))),
        resolve(environment={}, url={}, template={"historyPolicy": policy, "historyLength": 2}),
        head=counted_head(),
        window=Window(100_000, 256),
        agent="a",
    )
    [kept] = results
    assert list(decision.request)[-len(kept) :] == kept
    assert decision.sent == len(kept)


@pytest.mark.parametrize(("step", "kept"), [(1, "3u 4a 5u"), (2, "5u")])
def test_a_step_counts_the_messages_above_the_list(step: int, kept: str) -> None:
    cut = apply_history_policy(
        chat("auauau")[1:], policy="lastN", length=2, step=step, users_above=2
    )
    assert ids(cut) == kept
