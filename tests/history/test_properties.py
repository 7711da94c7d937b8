"""Every property that binds a policy, over conversations as hypothesis draws them."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from hypothesis import given, settings

from chatsite.conformance.cases import Case, turns_of
from chatsite.conformance.drawn import cases
from chatsite.conformance.loaded import as_loaded
from chatsite.conformance.seen import Refused, Seen
from chatsite.conformance.table import FUNCTION, PROPERTIES, checks_of
from chatsite.conformance.trying import needed_by
from chatsite.conformance.variants import (
    CLEANED,
    LEXICAL,
    STEPWISE,
    STRATEGY,
    SUMMARY,
    TOKENS,
    TRIAGE,
    VARIANTS,
    Variant,
)
from chatsite.history import POLICIES, apply_history_policy, reach
from chatsite.history.policies.base import Everything, Tokens

# Variants of a policy that is tried as well: most of what they run is the same.
OF_ANOTHER = (STEPWISE, TRIAGE, CLEANED)
# One example of these costs twice what one of the others does, and the suite has a quarter of an
# hour in all; `make properties` tries each 25,000 times.
DEAR = (TOKENS, LEXICAL, SUMMARY, STRATEGY)

tried = settings.get_profile(os.environ.get("HYPOTHESIS_PROFILE", "normal"))

NEVER_SENT = {"incomplete_tool_group", "empty"}
UNTOUCHED = {"system", "greeting", "current", "within_length", "within_budget", "over_length"}


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_policy_holds_every_property_that_binds_it(variant: Variant) -> None:
    checks = checks_of(variant.name)
    examples = tried.max_examples // (4 if variant in (*OF_ANOTHER, *DEAR) else 1)

    @settings(tried, max_examples=examples)
    @given(case=cases())
    def holds(case: Case) -> None:
        seen = seen_or_too_large(case, variant)
        if seen is not None:
            for check in checks:
                check(seen)
            check_marks(seen)
            check_horizon(seen)
            check_loaded_part(seen)
            check_plain_function(seen)

    holds()


def seen_or_too_large(case: Case, variant: Variant) -> Seen | None:
    """None where head and current turn alone don't fit: checked to be true, and said."""
    try:
        return variant.see(case)
    except Refused as refusal:
        needed = needed_by(variant, case)
        assert needed > case.limit, refusal
        assert f"{needed:,}" in str(refusal)
        return None


def check_loaded_part(seen: Seen) -> None:
    """A policy with a reach decides the same on what the store loads for it."""
    wanted = reach(seen.record.settings, room=seen.case.window.room)
    if isinstance(wanted, Everything):
        return
    if isinstance(wanted, Tokens) and NEVER_SENT & set(seen.reasons.values()):
        return  # storage counts what can't be sent, so that less is read
    hits = seen.case.evidence.recall.hits if seen.case.evidence.recall else ()
    found = frozenset(hit.seq for hit in hits if seen.subject == LEXICAL)
    part = as_loaded(seen.case.transcript, wanted, also=found)
    decision = seen.subject.see(replace(seen.case, transcript=part)).record
    assert decision.request == seen.record.request
    # Above what was not read nobody can tell that a pinned turn touches the tail.
    for turn in seen.older:
        if (seen.record.horizon or 0) <= turn[0].seq < (decision.horizon or 0):
            assert seen.is_spared(turn) or turn[0].seq not in seen.sent
    assert (decision.horizon or 0) >= (seen.record.horizon or 0)
    assert decision.stored == seen.record.stored
    assert decision.leading <= seen.record.leading


def check_marks(seen: Seen) -> None:
    """What people left out or asked to forget is not sent; greetings and background are not."""
    turns = turns_of(seen.entries)
    if turns[0][0].message.role != "user":
        assert not seen.sent & {entry.seq for entry in turns[0]}
    there = seen.sent | seen.quoted
    assert all(e.seq >= seen.marker or e in seen.current for e in seen.entries if e.seq in there)
    for turn in seen.older:
        left_out = [entry for entry in turn if entry.excluded]
        whole = any(e.message.role != "assistant" or e.message.calls for e in left_out)
        background = [entry for entry in turn if entry.message.source != "web"]
        if background and not seen.is_spared(turn):
            whole = whole or turn[0] in background
            left_out = left_out + background
        assert not seen.sent & {entry.seq for entry in (turn if whole else left_out)}


def check_horizon(seen: Seen) -> None:
    """What lies below the line is sent, but for what is left out by itself; above lies the rest."""
    horizon = seen.record.horizon
    greetings = {"greeting", "system", "incomplete_tool_group"}
    if horizon is None:
        firsts = [turn[0].seq for turn in seen.older]
        assert not firsts or firsts[0] in seen.sent or not seen.sent & set(firsts)
        return
    turns = [*seen.older, seen.current]
    begins = [turn[0].seq for turn in turns]
    assert horizon in begins
    below = [turn for turn in turns if turn[0].seq >= horizon]
    alone = {"excluded", "background", "above_marker", "followed"}
    for turn in below:
        is_sent = any(entry.seq in seen.sent for entry in turn)
        assert is_sent or seen.reasons[turn[0].seq] in alone
    assert any(e.seq < horizon and seen.reasons[e.seq] not in greetings for e in seen.entries)


def check_plain_function(seen: Seen) -> None:
    """Where nothing is marked or broken and there is room, the plain function chooses the same."""
    answered = seen.subject.name == "none" and len(seen.current) > 1
    policy = POLICIES.get(seen.subject.name)
    plain = policy is not None and policy.cut_list is not None and not answered
    if not plain or not set(seen.reasons.values()) <= UNTOUCHED:
        return
    messages = [entry.message for entry in seen.entries]
    chosen = apply_history_policy(messages, policy=seen.subject.name, length=seen.case.length)
    greetings = {id(e.message) for e in seen.entries if seen.reasons[e.seq] == "greeting"}
    said = [message for message in chosen if id(message) not in greetings]
    if seen.subject.name == "all":  # it returns its input, system messages in their places
        said.sort(key=lambda message: message.role != "system")
    assert said == seen.history


def test_the_table_speaks_of_every_property_and_policy() -> None:
    assert {variant.policy for variant in VARIANTS} == set(POLICIES.names)
    assert list(PROPERTIES) == [f"P{number}" for number in range(1, 27)]
    everything = {variant.name for variant in VARIANTS} | {FUNCTION}
    for name, bound in PROPERTIES.items():
        assert set(bound.absent) <= everything, name
        assert all(bound.absent.values()), f"{name}: an absence needs its reason"
        checks = bound.checks or bound.of_record
        assert checks or set(bound.absent) == everything, f"{name} is checked nowhere"
