"""HISTORY_MAX_LENGTH and HISTORY_MAX_TOKENS: how far a link may go."""

from __future__ import annotations

import pytest

from chatsite.history import Settings, first_values, resolve

LONGEST = {"HISTORY_MAX_LENGTH": "30"}
LARGEST = {"HISTORY_MAX_TOKENS": "2000"}


def linked(
    environment: dict[str, str], url: str, template: dict[str, object] | None = None
) -> Settings:
    return resolve(environment=environment, url=first_values(url), template=template or {})


def refused(settings: Settings) -> str:
    """Why the link was refused; "" if it wasn't."""
    values = [*settings.policy.said, *settings.length.said, *settings.tokens.said]
    return " ".join(value.why for value in values if value.outcome == "not allowed")


@pytest.mark.parametrize(
    ("url", "length"), [("historyLength=30", 30), ("historyLength=31", 20), ("historyLength=0", 0)]
)
def test_a_link_may_ask_for_the_maximum_length_and_no_more(url: str, length: int) -> None:
    settings = linked(LONGEST, url)
    assert settings.length.value == length
    assert ("HISTORY_MAX_LENGTH" in refused(settings)) is (length == 20)
    assert not settings.locked


def test_the_policy_all_from_a_link_exceeds_any_maximum() -> None:
    settings = linked(LONGEST, "historyPolicy=all")
    assert settings.policy.value == "lastN"
    assert "at most 30 user messages" in refused(settings)


def test_a_maximum_of_zero_acts_as_one() -> None:
    settings = linked({"HISTORY_MAX_LENGTH": "0"}, "historyLength=1")
    assert settings.length.source == "URL"


def test_a_link_may_not_turn_none_into_more_than_the_maximum() -> None:
    template: dict[str, object] = {"historyPolicy": "none", "historyLength": 50}
    settings = linked(LONGEST, "historyPolicy=lastN", template)
    assert settings.policy.value == "none"
    assert linked(LONGEST, "historyPolicy=lastN&historyLength=9", template).policy.value == "lastN"


def test_a_link_may_always_ask_for_less() -> None:
    template: dict[str, object] = {"historyPolicy": "all", "historyLength": 50}
    assert linked(LONGEST, "historyPolicy=lastN", template).policy.value == "lastN"
    assert linked(LARGEST, "historyPolicy=lastN", template).policy.value == "lastN"
    assert linked(LONGEST | LARGEST, "historyPolicy=none", template).policy.value == "none"
    assert linked(LARGEST, "historyLength=4", template).length.value == 4


def test_the_maxima_do_not_bind_template_and_environment() -> None:
    template: dict[str, object] = {"historyPolicy": "all", "historyTokens": 9_000}
    settings = linked(LONGEST | LARGEST, "", template)
    assert (settings.policy.value, settings.tokens.value) == ("all", 9_000)
    settings = linked(LONGEST | LARGEST | {"HISTORY_LENGTH": "500"}, "")
    assert settings.length.value == 500


@pytest.mark.parametrize(("tokens", "allowed"), [(2_000, True), (2_001, False)])
def test_a_link_may_ask_for_the_maximum_of_tokens_and_no_more(tokens: int, allowed: bool) -> None:
    settings = linked(LARGEST, f"historyTokens={tokens}")
    assert settings.tokens.value == (tokens if allowed else None)
    assert ("HISTORY_MAX_TOKENS" in refused(settings)) is not allowed


@pytest.mark.parametrize("url", ["historyPolicy=all", "historyLength=1000000"])
def test_under_a_maximum_of_tokens_a_link_to_more_turns_needs_a_budget(
    url: str,
) -> None:
    settings = linked(LARGEST, url)
    assert (settings.policy.value, settings.length.value) == ("lastN", 20)
    assert "add historyTokens=2000" in refused(settings)
    settings = linked(LARGEST, f"{url}&historyTokens=2000")
    assert not refused(settings)
    assert (settings.policy.value, settings.length.value) != ("lastN", 20)


def test_a_template_with_a_small_budget_lets_a_link_ask_for_more_turns() -> None:
    settings = linked(LARGEST, "historyPolicy=all", {"historyTokens": 1_000})
    assert settings.policy.value == "all"
    settings = linked(LARGEST, "historyPolicy=all", {"historyTokens": 8_000})
    assert settings.policy.value == "lastN"


def test_a_links_selector_has_the_same_maximum_as_its_policy() -> None:
    template: dict[str, object] = {
        "historyPolicy": "relevant",
        "historySelector": "triage",
        "conversation": {"lookback_count": 4},
    }
    for environment, why in (
        ({"HISTORY_MAX_LENGTH": "5"}, "at most 5 user messages"),
        ({"HISTORY_MAX_TOKENS": "1000"}, "add historyTokens=1000"),
    ):
        settings = resolve(
            environment=environment, url={"historySelector": "lexical"}, template=template
        )
        assert settings.selector.value == "triage"
        value = next(value for value in settings.selector.said if value.source == "URL")
        assert value.outcome == "not allowed" and why in value.why


def test_a_link_may_choose_these_policies_only_if_the_template_names_them() -> None:
    for name, values in (
        ("historyPolicy", ("summary", "strategy")),
        ("historySelector", ("triage",)),
    ):
        for value in values:
            url = {name: value}
            refused = resolve(environment={}, url=url, template={})
            allowed = resolve(environment={}, url=url, template={name: value})
            found = [
                settings.policy if name == "historyPolicy" else settings.selector
                for settings in (refused, allowed)
            ]
            assert (found[0].value == value, found[1].value == value) == (False, True)
            claim = next(claim for claim in found[0].said if claim.source == "URL")
            assert claim.outcome == "not allowed" and name in claim.why
