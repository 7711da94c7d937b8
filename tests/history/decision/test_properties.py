"""Every property that binds a policy, checked on conversations that hypothesis generates."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from chatsite.history import POLICIES, apply_history_policy, reach
from chatsite.history.policies.base import Everything, Tokens
from conformance_kit.cases import split_turns
from conformance_kit.properties import PROPERTIES
from conformance_kit.search import needed_by
from conformance_kit.strategies.adapter import PolicyCase, PolicyTrial
from conformance_kit.strategies.cases import cases
from conformance_kit.trials import PolicyRefused
from tests.conformance.built_in.loaded_part import load_part
from tests.conformance.built_in.policy_properties import (
    POLICY_PROPERTIES,
    PolicyProperty,
    checks_of,
)
from tests.conformance.built_in.variants import (
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
from tests.examples import REPEATABLE

# Variants of a policy that is checked too: both run mostly the same code.
VARIANTS_OF_ANOTHER = (STEPWISE, TRIAGE, CLEANED)
# One example of these takes twice as long as one of the others, and the whole suite may take a
# quarter of an hour; `make properties` runs 25,000 examples of each.
EXPENSIVE = (TOKENS, LEXICAL, SUMMARY, STRATEGY)

NEVER_SENT = {"incomplete_tool_group", "empty"}
UNTOUCHED = {"system", "greeting", "current", "within_length", "within_budget", "over_length"}


@pytest.mark.examples
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_policy_holds_every_property_that_binds_it(variant: Variant) -> None:
    checks = checks_of(variant.name)
    examples = REPEATABLE.max_examples // (
        4 if variant in (*VARIANTS_OF_ANOTHER, *EXPENSIVE) else 1
    )

    @settings(REPEATABLE, max_examples=examples)
    @given(case=cases())
    def holds(case: PolicyCase) -> None:
        trial = trial_or_too_large(case, variant)
        if trial is not None:
            for check in checks:
                check(trial)
            check_marks(trial)
            check_horizon(trial)
            check_loaded_part(trial)
            check_plain_function(trial)

    holds()


def trial_or_too_large(case: PolicyCase, variant: Variant) -> PolicyTrial | None:
    """None if the head and the current turn alone don't fit; checks the refusal and its figure."""
    try:
        return variant.run(case)
    except PolicyRefused as refusal:
        needed = needed_by(variant, case)
        assert needed > case.limit, refusal
        assert f"{needed:,}" in str(refusal)
        return None


def check_loaded_part(trial: PolicyTrial) -> None:
    """A policy with a reach decides the same on what the store loads for it."""
    wanted = reach(trial.decision.settings, room=trial.case.window.room)
    if isinstance(wanted, Everything):
        return
    if isinstance(wanted, Tokens) and NEVER_SENT & set(trial.reasons.values()):
        return  # storage counts messages that can't be sent too, and loads fewer
    hits = trial.case.evidence.recall.hits if trial.case.evidence.recall else ()
    quoted = [seq for seqs in trial.case.quoted.values() for seq in seqs]
    sources = {*(hit.seq for hit in hits), *quoted}
    found = frozenset(sources if trial.subject == LEXICAL else ())
    decision = trial.subject.run(load_part(trial.case, wanted, also=found)).decision
    assert decision.request == trial.decision.request
    # Above a gap of messages that weren't loaded, a pinned turn isn't known to touch the tail.
    for turn in trial.older:
        if (trial.decision.horizon or 0) <= turn[0].seq < (decision.horizon or 0):
            assert trial.is_spared(turn) or turn[0].seq not in trial.sent
    assert (decision.horizon or 0) >= (trial.decision.horizon or 0)
    assert decision.stored == trial.decision.stored
    assert decision.leading <= trial.decision.leading


def check_marks(trial: PolicyTrial) -> None:
    """Excluded and forgotten messages aren't sent, nor are greetings and background messages."""
    turns = split_turns(trial.entries)
    if turns[0][0].message.role != "user":
        assert not trial.sent & {entry.seq for entry in turns[0]}
    there = trial.sent | trial.quoted
    assert all(e.seq >= trial.marker or e in trial.current for e in trial.entries if e.seq in there)
    for turn in trial.older:
        left_out = [entry for entry in turn if entry.excluded]
        whole = any(e.message.role != "assistant" or e.message.calls for e in left_out)
        background = [entry for entry in turn if entry.message.source != "web"]
        if background and not trial.is_spared(turn):
            whole = whole or turn[0] in background
            left_out = left_out + background
        assert not trial.sent & {entry.seq for entry in (turn if whole else left_out)}


def check_horizon(trial: PolicyTrial) -> None:
    """Turns below the horizon are sent unless excluded singly; above it is more than greetings."""
    horizon = trial.decision.horizon
    greetings = {"greeting", "system", "incomplete_tool_group"}
    if horizon is None:
        firsts = [turn[0].seq for turn in trial.older]
        assert not firsts or firsts[0] in trial.sent or not trial.sent & set(firsts)
        return
    turns = [*trial.older, trial.current]
    begins = [turn[0].seq for turn in turns]
    assert horizon in begins
    below = [turn for turn in turns if turn[0].seq >= horizon]
    alone = {"excluded", "background", "above_marker", "followed", "unanswered"}
    for turn in below:
        is_sent = any(entry.seq in trial.sent for entry in turn)
        assert is_sent or trial.reasons[turn[0].seq] in alone
    assert any(e.seq < horizon and trial.reasons[e.seq] not in greetings for e in trial.entries)


def check_plain_function(trial: PolicyTrial) -> None:
    """With nothing marked or broken and enough room, the plain function chooses the same."""
    answered = trial.subject.name == "none" and len(trial.current) > 1
    plain = trial.subject.name in ("none", "lastN", "all") and not answered
    if not plain or not set(trial.reasons.values()) <= UNTOUCHED:
        return
    messages = [entry.message for entry in trial.entries]
    expected = apply_history_policy(messages, policy=trial.subject.name, length=trial.case.length)
    greetings = {id(e.message) for e in trial.entries if trial.reasons[e.seq] == "greeting"}
    sent = [message for message in expected if id(message) not in greetings]
    if trial.subject.name == "all":  # it returns its input, system messages in their places
        sent.sort(key=lambda message: message.role != "system")
    assert sent == trial.history


def test_the_table_covers_every_property_and_policy() -> None:
    assert {variant.policy for variant in VARIANTS} == set(POLICIES.names)
    assert list(PROPERTIES) == [f"P{number}" for number in range(1, 32)]
    everything = {variant.name for variant in VARIANTS}
    assert set(POLICY_PROPERTIES) <= set(PROPERTIES)
    for name, bound in PROPERTIES.items():
        ours = POLICY_PROPERTIES.get(name, PolicyProperty())
        assert set(ours.absent) <= everything, name
        assert all(ours.absent.values()), f"{name}: an absence needs its reason"
        checks = bound.checks or ours.of_record
        assert checks or set(ours.absent) == everything, f"{name} is checked nowhere"
        assert bool(bound.checks) != bool(bound.unbound), f"{name}: a function isn't spoken of"
