"""The policies that a page offers, and those a turn is compared under."""

from __future__ import annotations

from typing import Any

import pytest

from chatsite.history import POLICIES
from chatsite.history.settings.offers import PolicyOffers, SettingSources, alternatives, offers


def sources(
    environment: dict[str, str] | None = None,
    url: dict[str, str] | None = None,
    template: dict[str, Any] | None = None,
    *,
    conversation: dict[str, str] | None = None,
    url_allowed: bool = True,
) -> SettingSources:
    return SettingSources(
        environment=environment or {},
        url=url or {},
        template=template or {},
        conversation=conversation or {},
        url_allowed=url_allowed,
    )


def offered(where: SettingSources) -> PolicyOffers:
    return offers(where, where.resolve())


def keys(found: PolicyOffers, *, allowed: bool | None = None) -> list[str]:
    return [one.key for one in found.all if allowed in (None, one.allowed)]


def test_every_policy_can_be_offered() -> None:
    everything = [
        offered(sources(template={"historyPolicy": policy, "historySelector": "triage"}))
        for policy in POLICIES.names
    ]
    assert {one.policy for found in everything for one in found.all} == set(POLICIES.names)


def test_policies_that_an_agent_must_allow_are_offered_if_its_template_names_them() -> None:
    plain = ["none", "lastN", "all", "tokens", "relevant lexical"]
    assert keys(offered(sources()), allowed=True) == plain
    named = offered(sources(template={"historyPolicy": "summary"}))
    assert keys(named, allowed=True) == [*plain, "summary"]
    triage = {"historyPolicy": "relevant", "historySelector": "triage"}
    found = offered(sources(template=triage))
    assert keys(found, allowed=True) == [*plain, "relevant triage"]
    assert [one.key for one in found.all if one.in_force] == ["relevant triage"]


def test_choosing_an_offer_makes_it_apply() -> None:
    for template in ({}, {"historyPolicy": "relevant", "historySelector": "triage"}):
        where = sources(template=template, url={"historyPolicy": "none", "historyTokens": "900"})
        for offer in (one for one in offered(where).all if one.allowed):
            applied = where.after(offer.changes).resolve()
            assert [one.key for one in offers(where, applied).all if one.in_force] == [offer.key]
            assert applied.tokens.value == 900


def test_policies_that_cant_be_chosen_are_listed_with_the_reason() -> None:
    found = {one.key: one for one in offered(sources()).all}
    assert list(found) == [policy.key for policy in POLICIES.rows]
    assert found["summary"].why == found["strategy"].why == "only for agents that are made for it"
    assert not found["summary"].allowed and not found["summary"].changes


def test_a_choice_starts_from_the_one_that_is_kept_and_from_what_the_address_decides() -> None:
    where = sources(
        url={"historyPolicy": "none", "historyLength": "many", "debug": "true"},
        conversation={"historyLength": "4", "historyTokens": "900"},
    )
    found = offered(where)
    assert found.kept == {"historyPolicy": "none", "historyLength": "4", "historyTokens": "900"}
    chosen = where.after({"historyPolicy": "lastN", "historyTokens": None})
    assert chosen.conversation == {"historyPolicy": "lastN", "historyLength": "4"}
    assert chosen.url == {"debug": "true"}


@pytest.mark.parametrize(
    ("values", "link"),
    [
        ({}, {"historyPolicy": "lastN", "historyLength": "20"}),
        (
            {"historyPolicy": "all", "historyTokens": "900"},
            {"historyPolicy": "all", "historyTokens": "900"},
        ),
        (
            {"historyPolicy": "relevant", "historyLength": "7"},
            {"historyPolicy": "relevant", "historySelector": "lexical"},
        ),
    ],
)
def test_a_link_holds_the_settings_in_force_and_nothing_that_the_policy_ignores(
    values: dict[str, str], link: dict[str, str]
) -> None:
    found = offered(sources(conversation=values))
    assert found.link == link
    linked = sources(url=dict(found.link)).resolve()
    assert linked.words == sources(conversation=values).resolve().words


def test_an_offer_changes_only_what_it_needs() -> None:
    found = {one.key: one.changes for one in offered(sources()).all}
    assert found["relevant lexical"] == {"historyPolicy": "relevant", "historySelector": None}
    triage = {"historyPolicy": "relevant", "historySelector": "triage"}
    found = {one.key: one.changes for one in offered(sources(template=triage)).all}
    assert found["relevant lexical"]["historySelector"] == "lexical"


@pytest.mark.parametrize(
    ("where", "why"),
    [
        (sources({"HISTORY_POLICY": "lastN"}), "the environment sets HISTORY_POLICY"),
        (sources({"HISTORY_URL": "off"}, url_allowed=False), "HISTORY_URL is off"),
        (sources({"HISTORY_URL": "staff"}, url_allowed=False), "only staff"),
    ],
)
def test_if_nothing_can_be_chosen_every_offer_gives_the_reason(
    where: SettingSources, why: str
) -> None:
    found = offered(where)
    assert why in found.closed
    assert keys(found, allowed=True) == []
    assert {one.why for one in found.all} == {found.closed}
    assert [one.key for one in found.all if one.in_force] == ["lastN"]


def test_a_bound_on_links_refuses_only_offers_beyond_it() -> None:
    found = offered(sources({"HISTORY_MAX_LENGTH": "20"}))
    assert found.closed == ""
    assert keys(found, allowed=True) == ["none", "lastN"]
    assert "HISTORY_MAX_LENGTH" in next(one.why for one in found.all if one.key == "all")


def test_a_turn_is_compared_under_every_policy_in_two_lengths() -> None:
    where = sources(template={"historyPolicy": "summary", "historyLength": 12})
    found = alternatives(where, where.resolve())
    assert [one.label for one in found] == [
        "none", "lastN 5", "lastN 12", "all", "tokens", "relevant", "summary",
    ]  # fmt: skip
    assert [one.label for one in found if one.in_force] == ["summary"]
    short = next(one for one in found if one.label == "lastN 5")
    assert where.after(short.changes).resolve().length.value == 5


def test_the_comparison_includes_locked_policies_and_keeps_all_other_settings() -> None:
    where = sources({"HISTORY_POLICY": "lastN", "HISTORY_LENGTH": "5", "HISTORY_TOKENS": "700"})
    found = alternatives(where, where.resolve())
    assert [one.label for one in found] == ["none", "lastN 5", "all", "tokens", "relevant"]
    assert all("HISTORY_POLICY" in one.why for one in found)
    assert {one.settings.tokens.value for one in found} == {700}
    assert [one.settings.policy.value for one in found][2] == "all"


def test_a_length_beyond_the_bound_on_links_is_shown_and_can_not_be_chosen() -> None:
    where = sources({"HISTORY_MAX_LENGTH": "3"}, template={"historyLength": 2})
    lengths = {one.label: one.why for one in alternatives(where, where.resolve())}
    assert lengths["lastN 2"] == "" and "HISTORY_MAX_LENGTH" in lengths["lastN 5"]


def test_only_triage_asks_a_model_before_its_result_is_known() -> None:
    triage = {"historyPolicy": "relevant", "historySelector": "triage"}
    where = sources(template=triage)
    found = alternatives(where, where.resolve())
    assert [one.label for one in found if one.asks_model] == ["relevant, triage"]
    assert where.resolve().with_values({"policy": "all"}).selector.value == "triage"
