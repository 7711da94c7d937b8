"""Every property that binds a policy, over conversations as hypothesis draws them."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from hypothesis import given, settings

from chatsite.conformance.cases import Case, as_loaded, cases, turns_of
from chatsite.conformance.properties import PLENTY, Seen, is_spared, marker, see
from chatsite.conformance.table import PROPERTIES, checks_of
from chatsite.errors import PromptTooLarge
from chatsite.history import POLICIES, apply_history_policy, reach
from chatsite.history.policies import Users

tried = settings.get_profile(os.environ.get("HYPOTHESIS_PROFILE", "normal"))

ALWAYS = ("system", "prefilled", "current")
UNTOUCHED = {"system", "greeting", "current", "within_length", "within_budget", "over_length"}


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_a_policy_holds_every_property_that_binds_it(policy: str) -> None:
    checks = checks_of(policy)

    @tried
    @given(case=cases())
    def holds(case: Case) -> None:
        seen = seen_or_too_large(case, policy)
        if seen is not None:
            for check in checks:
                check(seen)
            check_marks(seen)
            check_horizon(seen)
            check_loaded_part(seen)
            check_plain_function(seen)

    holds()


def seen_or_too_large(case: Case, policy: str) -> Seen | None:
    """None where head and current turn alone don't fit: checked to be true, and said."""
    try:
        return see(case, policy)
    except PromptTooLarge as refusal:
        whole = see(replace(case, window=PLENTY, budget=None), policy)
        always = sum(part.tokens for part in whole.decision.parts if part.name in ALWAYS)
        room = case.window.size - case.window.reply
        assert always > min(room, case.budget or room)
        assert f"{always:,}" in refusal.message
        return None


def check_loaded_part(seen: Seen) -> None:
    """A policy with a reach decides the same on what the store loads for it."""
    wanted = reach(seen.decision.settings)
    if isinstance(wanted, Users):
        part = as_loaded(seen.case.transcript, users=wanted.users)
        decision = see(replace(seen.case, transcript=part), seen.policy).decision
        assert decision.request == seen.decision.request
        assert decision.horizon == seen.decision.horizon
        assert decision.stored == seen.decision.stored
        assert decision.leading <= seen.decision.leading


def check_marks(seen: Seen) -> None:
    """What people left out or asked to forget is not sent; greetings and background are not."""
    turns = turns_of(seen.entries)
    if turns[0][0].message.role != "user":
        assert not seen.sent & {entry.seq for entry in turns[0]}
    assert all(
        e.seq >= marker(seen) or e in seen.current for e in seen.entries if e.seq in seen.sent
    )
    for turn in seen.older:
        left_out = [entry for entry in turn if entry.excluded]
        whole = any(e.message.role != "assistant" or e.message.calls for e in left_out)
        background = [entry for entry in turn if entry.message.source != "web"]
        if background and not is_spared(seen, turn):
            whole = whole or turn[0] in background
            left_out = left_out + background
        assert not seen.sent & {entry.seq for entry in (turn if whole else left_out)}


def check_horizon(seen: Seen) -> None:
    """What lies below the line is sent, but for what is left out by itself; above lies the rest."""
    horizon = seen.decision.horizon
    greetings = {"greeting", "system", "incomplete_tool_group"}
    if horizon is None:
        firsts = [turn[0].seq for turn in seen.older]
        assert not firsts or firsts[0] in seen.sent or not seen.sent & set(firsts)
        return
    turns = [*seen.older, seen.current]
    begins = [turn[0].seq for turn in turns]
    assert horizon in begins and horizon in seen.sent
    below = [turn for turn in turns if turn[0].seq >= horizon]
    alone = {"excluded", "background", "above_marker"}
    assert all(turn[0].seq in seen.sent or seen.reasons[turn[0].seq] in alone for turn in below)
    assert any(e.seq < horizon and seen.reasons[e.seq] not in greetings for e in seen.entries)


def check_plain_function(seen: Seen) -> None:
    """Where nothing is marked or broken and there is room, the plain function chooses the same."""
    answered = seen.policy == "none" and len(seen.current) > 1
    if answered or not set(seen.reasons.values()) <= UNTOUCHED:
        return
    messages = [entry.message for entry in seen.entries]
    chosen = apply_history_policy(messages, policy=seen.policy, length=seen.case.length)
    greetings = {id(e.message) for e in seen.entries if seen.reasons[e.seq] == "greeting"}
    said = [message for message in chosen if id(message) not in greetings]
    if seen.policy == "all":  # it returns its input, system messages in their places
        said.sort(key=lambda message: message.role != "system")
    assert said == seen.history


def test_the_table_speaks_of_every_property_and_policy() -> None:
    assert list(PROPERTIES) == [f"P{number}" for number in range(1, 24)]
    for name, bound in PROPERTIES.items():
        assert set(bound.absent) <= set(POLICIES), name
        assert all(bound.absent.values()), f"{name}: an absence needs its reason"
        assert bound.checks or set(bound.absent) == set(POLICIES), f"{name} is checked nowhere"
