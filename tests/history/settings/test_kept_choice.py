"""The choice kept with a conversation: who overrules it, what bounds it, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.history import POLICIES, Settings, SourceValue, resolve
from chatsite.history.policies.base import Users
from chatsite.history.policies.cuts import acting_length
from chatsite.history.settings.offers import SettingSources

NAMES = ("historyPolicy", "historyLength", "historyTokens", "historySelector")
LOSSES = ("overruled", "locked", "bad", "not allowed")

numbers = st.one_of(st.integers(0, 60).map(str), st.sampled_from(["", "many", "2.5", "-1", "0"]))
policies = st.sampled_from([*POLICIES.names, "", "ALL", "everything"])
selectors = st.sampled_from([*POLICIES.selectors, "", "best"])
choices = st.fixed_dictionaries(
    {},
    optional={
        "historyPolicy": policies,
        "historyLength": numbers,
        "historyTokens": st.one_of(numbers, st.integers(1, 9_000).map(str)),
        "historySelector": selectors,
    },
)
templates = st.fixed_dictionaries(
    {},
    optional={
        "historyPolicy": st.sampled_from([*POLICIES.names, "ALL", 3]),
        "historyLength": st.integers(-1, 60),
        "historyTokens": st.integers(0, 9_000),
        "historySelector": st.sampled_from([*POLICIES.selectors, "best"]),
    },
)
environments = st.fixed_dictionaries(
    {},
    optional={
        "HISTORY_POLICY": st.sampled_from(list(POLICIES.names)),
        "HISTORY_LENGTH": st.integers(0, 60).map(str),
        "HISTORY_URL": st.sampled_from(["everyone", "staff", "off"]),
        "HISTORY_MAX_LENGTH": st.integers(0, 30).map(str),
        "HISTORY_MAX_TOKENS": st.integers(1, 5_000).map(str),
    },
)
links: st.SearchStrategy[dict[str, str]] = st.one_of(st.just({}), choices)


def claims(settings: Settings) -> dict[str, SourceValue]:
    """What became of the kept choice, by name."""
    found = (settings.policy, settings.length, settings.tokens, settings.selector)
    said = [one for setting in found for one in setting.said if one.source == "conversation"]
    return {one.name: one for one in said}


@given(environments, links, choices, templates, st.booleans())
def test_the_first_source_that_counts_wins_and_every_other_is_shown_with_a_reason(
    environment: dict[str, str],
    url: dict[str, str],
    conversation: dict[str, str],
    template: dict[str, Any],
    allowed: bool,
) -> None:
    settings = resolve(
        environment=environment,
        url=url,
        conversation=conversation,
        template=template,
        url_allowed=allowed,
    )
    order = ["environment", "URL", "conversation", "template", "built in"]
    for setting in (settings.policy, settings.length, settings.tokens, settings.selector):
        assert list(dict.fromkeys(one.source for one in setting.said)) == order
        won = [place for place, one in enumerate(setting.said) if one.outcome == "won"]
        assert [setting.said[place].source for place in won] == [setting.source]
        for place, one in enumerate(setting.said):
            assert one.why
            assert (one.raw is None) == (one.outcome == "absent") or one.source == "built in"
            if place < won[0]:
                assert one.outcome in ("absent", "locked", "bad", "not allowed")
            elif place > won[0]:
                assert one.outcome != "won"
    for name, said in claims(settings).items():
        given = conversation.get(name, "")
        assert said.raw == (given or None)
        assert said.outcome in (("won", *LOSSES) if given else ("absent",))


@given(environments, choices, templates, st.booleans())
def test_where_a_person_may_not_choose_a_kept_choice_changes_nothing(
    environment: dict[str, str], conversation: dict[str, str], template: dict[str, Any], staff: bool
) -> None:
    sources = SettingSources(
        environment=environment,
        url={},
        template=template,
        conversation=conversation,
        url_allowed=staff,
    )
    if not sources.why_closed:
        return
    kept = sources.resolve()
    without = resolve(environment=environment, url={}, template=template, url_allowed=staff)
    assert kept.words == without.words
    assert (kept.length.value, kept.length.source) == (without.length.value, without.length.source)
    for said in claims(kept).values():
        if said.raw is not None:
            assert said.outcome in ("locked", "not allowed")
            assert "the choice kept with this conversation" in said.why


@given(links, choices, templates, st.integers(0, 30), st.integers(1, 5_000))
def test_neither_a_kept_choice_nor_a_link_beside_it_sends_more_than_the_maxima(
    url: dict[str, str],
    conversation: dict[str, str],
    template: dict[str, Any],
    length: int,
    tokens: int,
) -> None:
    """What an agent itself asks for is no choice: it may be more than the maxima."""
    limits = {"HISTORY_MAX_LENGTH": str(length), "HISTORY_MAX_TOKENS": str(tokens)}
    settings = resolve(environment=limits, url=url, conversation=conversation, template=template)
    chosen = ("URL", "conversation")
    if settings.length.source in chosen:
        assert settings.length.value <= acting_length(length)
    if settings.tokens.source in chosen:
        assert settings.tokens.value is not None and settings.tokens.value <= tokens
    if settings.policy.source in chosen or settings.selector.source in chosen:
        agents = resolve(environment=limits, url={}, template=template)
        assert turns(settings) <= max(turns(agents), acting_length(length))


def turns(settings: Settings) -> float:
    reach = settings.listed_policy.reach(settings.terms)
    return reach.users if isinstance(reach, Users) else float("inf")


@given(choices, templates)
def test_a_kept_choice_switches_on_nothing_that_the_agent_does_not_name(
    conversation: dict[str, str], template: dict[str, Any]
) -> None:
    settings = resolve(environment={}, url={}, conversation=conversation, template=template)
    policy = settings.listed_policy
    if policy.needs_naming:
        named = template.get("historySelector" if policy.selector else "historyPolicy")
        assert named in (policy.selector or policy.name, None if policy.selector else policy.name)
        assert named is not None


@given(choices, templates)
def test_a_choice_means_the_same_in_a_link_and_kept_with_the_conversation(
    choice: dict[str, str], template: dict[str, Any]
) -> None:
    limits = {"HISTORY_MAX_LENGTH": "20", "HISTORY_MAX_TOKENS": "3000"}
    kept = resolve(environment=limits, url={}, conversation=choice, template=template)
    linked = resolve(environment=limits, url=choice, template=template)
    assert kept.words == linked.words
    for name, said in claims(kept).items():
        found = (linked.policy, linked.length, linked.tokens, linked.selector)
        other = next(
            one
            for setting in found
            for one in setting.said
            if one.source == "URL" and one.name == name
        )
        assert said.outcome == other.outcome


@pytest.mark.parametrize(
    ("environment", "choice", "name", "outcome", "why"),
    [
        (
            {"HISTORY_LENGTH": "2"}, {"historyPolicy": "none"}, "historyPolicy", "locked",
            "the environment sets HISTORY_LENGTH, so the choice kept with this conversation "
            "doesn't apply",
        ),
        (
            {"HISTORY_URL": "off"}, {"historyPolicy": "none"}, "historyPolicy", "not allowed",
            "the choice kept with this conversation doesn't apply on this server "
            "(HISTORY_URL is off)",
        ),
        (
            {"HISTORY_MAX_LENGTH": "10"}, {"historyLength": "30"}, "historyLength", "not allowed",
            "the choice kept with this conversation may ask for at most 10 user messages here "
            "(HISTORY_MAX_LENGTH)",
        ),
        (
            {"HISTORY_MAX_TOKENS": "2000"}, {"historyPolicy": "all"}, "historyPolicy",
            "not allowed",
            "the choice kept with this conversation may ask for at most 2,000 tokens here "
            "(HISTORY_MAX_TOKENS): choose a budget of at most 2,000 tokens, too",
        ),
        (
            {}, {"historyPolicy": "summary"}, "historyPolicy", "not allowed",
            "the choice kept with this conversation may choose summary only where the agent's "
            "template names it (historyPolicy)",
        ),
        (
            {}, {"historyPolicy": "lastn"}, "historyPolicy", "bad",
            "allowed are none, lastN, all, tokens, relevant, summary, strategy; lastN was "
            "probably meant",
        ),
    ],
)  # fmt: skip
def test_a_kept_choice_that_is_passed_over_says_why(
    environment: dict[str, str], choice: dict[str, str], name: str, outcome: str, why: str
) -> None:
    settings = resolve(environment=environment, url={}, conversation=choice, template={})
    said = claims(settings)[name]
    assert (said.outcome, said.why) == (outcome, why)
    assert settings.policy.value == "lastN"


def test_only_staff_may_choose_where_links_are_for_staff() -> None:
    environment, choice = {"HISTORY_URL": "staff"}, {"historyPolicy": "none"}

    def policy(*, allowed: bool) -> str:
        return resolve(
            environment=environment, url={}, conversation=choice, template={}, url_allowed=allowed
        ).policy.value

    assert policy(allowed=True) == "none"
    assert policy(allowed=False) == "lastN"


def test_a_link_comes_before_the_kept_choice_and_says_so() -> None:
    settings = resolve(
        environment={},
        url={"historyPolicy": "none"},
        conversation={"historyPolicy": "all", "historyTokens": "900"},
        template={},
    )
    assert (settings.policy.value, settings.policy.source) == ("none", "URL")
    assert (settings.tokens.value, settings.tokens.source) == (900, "conversation")
    said = claims(settings)["historyPolicy"]
    assert (said.outcome, said.why) == ("overruled", "the URL (historyPolicy) comes first")


def test_a_number_may_be_kept_as_a_number() -> None:
    choice = {"historyLength": 3, "historyTokens": True}
    settings = resolve(environment={}, url={}, conversation=choice, template={})
    assert (settings.length.value, settings.length.source) == (3, "conversation")
    assert claims(settings)["historyTokens"].outcome == "bad"


def test_what_no_link_may_set_nothing_kept_sets_either() -> None:
    choice = {"historyLowWater": "90", "historyStep": "5", "historySummaryModel": "big"}
    settings = resolve(environment={}, url={}, conversation=choice, template={})
    assert (settings.low_water.value, settings.step.value) == (50, 1)
    assert all(one.source != "conversation" for one in settings.step.said)
