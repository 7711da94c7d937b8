"""Which source decides: environment, URL, conversation, template, default, in this order."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from chatsite.errors import BadSetting
from chatsite.history import (
    ENVIRONMENT_NAMES,
    URL_NAMES,
    Everything,
    Setting,
    Settings,
    SourceValue,
    Users,
    first_values,
    may_use_url,
    reach,
    resolve,
)
from chatsite.history.settings.table import ROWS

SOURCES = ("environment", "URL", "conversation", "template", "built in")
POLICY_NAME = dict.fromkeys(SOURCES, "historyPolicy") | {"environment": "HISTORY_POLICY"}
LENGTH_NAME = dict.fromkeys(SOURCES, "historyLength") | {"environment": "HISTORY_LENGTH"}
# What a person chooses by.
CHOSEN = ("URL", "conversation")


def resolved(
    environment: dict[str, str] | None = None,
    url: str = "",
    template: dict[str, object] | None = None,
    *,
    url_allowed: bool = True,
) -> Settings:
    return resolve(
        environment=environment or {},
        url=first_values(url),
        template=template or {},
        url_allowed=url_allowed,
    )


def value_from(
    setting: Setting[str] | Setting[int] | Setting[int | None], source: str
) -> SourceValue:
    return next(value for value in setting.said if value.source == source)


@pytest.mark.parametrize("policies", list(itertools.product((None, "set"), repeat=4)))
@pytest.mark.parametrize("lengths", list(itertools.product((None, "set"), repeat=4)))
def test_the_strongest_source_that_sets_a_value_decides(
    policies: tuple[str | None, ...], lengths: tuple[str | None, ...]
) -> None:
    """All 256 combinations of sources that set a policy and that set a length."""
    policy_of = dict(zip(SOURCES, ("none", "all", "tokens", "lastN"), strict=False))
    length_of = dict(zip(SOURCES, (2, 5, 6, 7), strict=False))
    setting_policy = {source for source, given in zip(SOURCES, policies, strict=False) if given}
    setting_length = {source for source, given in zip(SOURCES, lengths, strict=False) if given}
    locked = "environment" in setting_policy | setting_length

    given: dict[str, dict[str, Any]] = {source: {} for source in SOURCES}
    for source in setting_policy:
        given[source][POLICY_NAME[source]] = policy_of[source]
    for source in setting_length:
        number = length_of[source]
        given[source][LENGTH_NAME[source]] = number if source == "template" else str(number)
    settings = resolve(
        environment=given["environment"],
        url=given["URL"],
        conversation=given["conversation"],
        template=given["template"],
    )

    def winner(sources: set[str]) -> str:
        return next(
            s for s in SOURCES if s in sources | {"built in"} and not (locked and s in CHOSEN)
        )

    assert settings.policy.source == winner(setting_policy)
    assert settings.policy.value == policy_of.get(settings.policy.source, "lastN")
    assert settings.length.source == winner(setting_length)
    assert settings.length.value == length_of.get(settings.length.source, 20)
    assert settings.locked is locked
    for setting, sources in ((settings.policy, setting_policy), (settings.length, setting_length)):
        check_outcomes(setting, sources=sources, locked=locked)


def check_outcomes(
    setting: Setting[str] | Setting[int], *, sources: set[str], locked: bool
) -> None:
    assert [value.source for value in setting.said] == list(SOURCES)
    assert all(value.why for value in setting.said)
    for value in setting.said:
        if value.source == setting.source:
            expected = "won"
        elif value.source == "built in":
            expected = "overruled"
        elif value.source not in sources:
            expected = "absent"
        else:
            expected = "locked" if value.source in CHOSEN and locked else "overruled"
        assert value.outcome == expected


def test_the_environment_is_shown_as_the_source_with_a_lock_and_the_url_as_overruled() -> None:
    settings = resolved(
        {"HISTORY_POLICY": "lastN", "HISTORY_LENGTH": "2"}, "historyPolicy=all&debug=true"
    )
    assert (settings.policy.value, settings.policy.source) == ("lastN", "environment")
    assert (settings.length.value, settings.length.source) == (2, "environment")
    assert settings.locked and settings.lock_reason
    lost = value_from(settings.policy, "URL")
    assert (lost.name, lost.raw, lost.outcome) == ("historyPolicy", "all", "locked")
    assert "HISTORY_POLICY" in lost.why


@pytest.mark.parametrize(
    "variable",
    ["HISTORY_POLICY", "HISTORY_LENGTH", "HISTORY_TOKENS", "HISTORY_LOW_WATER"]
    + [
        f"{prefix}DEFAULT_HISTORY_{name}"
        for prefix in ("", "NEXT_PUBLIC_")
        for name in ("POLICY", "LENGTH")
    ],
)
def test_any_history_variable_locks_every_url_parameter(variable: str) -> None:
    value = "lastN" if variable.endswith("POLICY") else "40"
    settings = resolved(
        {variable: value}, "historyPolicy=all&historyLength=500&historyTokens=900000"
    )
    assert settings.locked
    for setting in (settings.policy, settings.length, settings.tokens):
        assert value_from(setting, "URL").outcome == "locked"
        assert setting.source != "URL"


def test_settings_missing_in_the_environment_come_from_the_template() -> None:
    settings = resolved(
        {"HISTORY_LENGTH": "2"}, "historyPolicy=all", {"historyPolicy": "none", "historyLength": 9}
    )
    assert (settings.policy.value, settings.policy.source) == ("none", "template")
    assert settings.length.value == 2


@pytest.mark.parametrize("blank", ["", " ", "\t\n"])
def test_a_blank_variable_is_not_set(blank: str) -> None:
    settings = resolved(dict.fromkeys(ENVIRONMENT_NAMES, blank), "historyPolicy=all")
    assert settings.policy.value == "all"
    assert not settings.locked


def test_zero_in_the_environment_is_a_value() -> None:
    settings = resolved({"HISTORY_LENGTH": "0"}, "historyLength=5")
    assert settings.length.value == 0
    assert settings.locked
    assert reach(settings, room=8_192) == Users(1)


def test_a_reason_alone_locks_nothing() -> None:
    settings = resolved({"HISTORY_REASON": "Costs."}, "historyPolicy=all")
    assert settings.policy.source == "URL"
    assert (settings.locked, settings.lock_reason) == (False, "")


def test_the_administrators_reason_is_shown_with_the_lock() -> None:
    settings = resolved({"HISTORY_POLICY": "none", "HISTORY_REASON": " To keep costs low. "})
    assert settings.lock_reason == "To keep costs low."


def test_two_variables_that_disagree_stop_the_start_and_are_both_named() -> None:
    with pytest.raises(BadSetting) as refusal:
        resolved({"HISTORY_LENGTH": "3", "NEXT_PUBLIC_DEFAULT_HISTORY_LENGTH": "4"})
    assert "HISTORY_LENGTH is '3'" in refusal.value.message
    assert "NEXT_PUBLIC_DEFAULT_HISTORY_LENGTH is '4'" in refusal.value.message


def test_two_variables_that_agree_are_allowed() -> None:
    settings = resolved({"DEFAULT_HISTORY_LENGTH": "+3", "NEXT_PUBLIC_DEFAULT_HISTORY_LENGTH": "3"})
    assert settings.length.value == 3
    first, second = settings.length.said[:2]
    assert (first.name, first.outcome) == ("DEFAULT_HISTORY_LENGTH", "won")
    assert (second.name, second.outcome) == ("NEXT_PUBLIC_DEFAULT_HISTORY_LENGTH", "overruled")
    assert "DEFAULT_HISTORY_LENGTH" in second.why


BAD_NUMBERS = [
    "2.5",
    "1e3",
    "0x10",
    "-1",
    "12abc",
    "٣",
    "1000001",
    "9" * 5_000,
    "++2",
    "1 2",
    "1_000",
    "²",
]


@pytest.mark.parametrize("text", BAD_NUMBERS)
def test_a_bad_length_in_the_environment_stops_the_start(text: str) -> None:
    with pytest.raises(BadSetting) as refusal:
        resolved({"HISTORY_LENGTH": text})
    assert refusal.value.message.startswith("HISTORY_LENGTH is ")
    assert "a whole number from 0 to 1,000,000" in refusal.value.message
    assert len(refusal.value.message) < 250


@pytest.mark.parametrize("text", BAD_NUMBERS)
def test_a_bad_length_in_the_url_is_passed_over_and_shown(text: str) -> None:
    settings = resolve(environment={}, url={"historyLength": text}, template={"historyLength": 7})
    assert (settings.length.value, settings.length.source) == (7, "template")
    claim = value_from(settings.length, "URL")
    assert claim.outcome == "bad"
    assert claim.raw is not None and claim.raw[:20] == text[:20] and len(claim.raw) < 100
    assert "whole number" in claim.why


@pytest.mark.parametrize(
    ("text", "length"),
    [("5", 5), (" 5 ", 5), ("+5", 5), ("%2B5", 5), ("007", 7), ("0", 0), ("1000000", 1_000_000)]
    + [("0" * 5_000 + "7", 7)],
)
def test_a_length_may_have_blanks_around_it_and_one_plus(text: str, length: int) -> None:
    assert resolved(url=f"historyLength={text}").length.value == length


@pytest.mark.parametrize("value", [20.0, "20", True, False, -1, 1_000_001, [], {}, [20], 2.5])
def test_a_template_length_is_a_json_integer(value: object) -> None:
    settings = resolved(template={"historyLength": value})
    assert (settings.length.value, settings.length.source) == (20, "built in")
    assert value_from(settings.length, "template").outcome == "bad"


def test_null_in_a_template_counts_as_absent() -> None:
    settings = resolved(template={"historyPolicy": None, "historyLength": None})
    assert value_from(settings.policy, "template").outcome == "absent"
    assert value_from(settings.length, "template").outcome == "absent"


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("lastn", "lastN"),
        ("ALL", "all"),
        ("last_n", "lastN"),
        ("None", "none"),
        ("last N", "lastN"),
    ],
)
def test_a_near_miss_of_a_policy_says_what_was_meant(value: str, meant: str) -> None:
    with pytest.raises(BadSetting, match=f"HISTORY_POLICY is .*; {meant} was probably meant"):
        resolved({"HISTORY_POLICY": value})
    for settings in (
        resolve(environment={}, url={"historyPolicy": value}, template={}),
        resolved(template={"historyPolicy": value}),
    ):
        assert settings.policy.value == "lastN"
        assert settings.policy.source == "built in"
        bad = next(claim for claim in settings.policy.said if claim.outcome == "bad")
        assert f"{meant} was probably meant" in bad.why


@pytest.mark.parametrize("value", ["everything", "token", "relevance", "summaries", "", 7])
def test_an_unknown_policy_never_means_all(value: object) -> None:
    settings = resolved(template={"historyPolicy": value})
    assert settings.policy.value == "lastN"
    claim = value_from(settings.policy, "template")
    assert claim.outcome == "bad"
    assert "none, lastN, all" in claim.why


@pytest.mark.parametrize(
    "name", ["historypolicy", "HistoryPolicy", "history_policy", "history-policy"]
)
def test_a_near_miss_of_a_name_is_shown_and_does_not_count(name: str) -> None:
    for settings in (resolved(url=f"{name}=all"), resolved(template={name: "all"})):
        assert settings.policy.value == "lastN"
        shown = next(claim for claim in settings.policy.said if claim.name == name)
        assert (shown.raw, shown.outcome) == ("all", "bad")
        assert "historyPolicy" in shown.why


def test_a_blank_url_value_is_absent_and_the_first_of_several_counts() -> None:
    assert resolved(url="historyLength=3&historyLength=9").length.value == 3
    settings = resolved(url="historyLength=&historyLength=9", template={"historyLength": 4})
    assert settings.length.value == 4
    assert value_from(settings.length, "URL").outcome == "absent"


def test_only_the_bad_part_of_a_url_is_passed_over() -> None:
    settings = resolved(url="historyPolicy=nonsense&historyLength=4")
    assert (settings.policy.source, settings.length.source) == ("built in", "URL")


def test_a_links_value_is_made_printable_and_short() -> None:
    settings = resolved(url="historyPolicy=%00%1b%5b2J" + "x" * 5_000)
    raw = value_from(settings.policy, "URL").raw
    assert raw is not None and raw.isprintable() and len(raw) < 100


@pytest.mark.parametrize(
    ("rule", "staff", "allowed"),
    [("", False, True), ("everyone", False, True), ("staff", False, False), ("staff", True, True)]
    + [("off", False, False), ("off", True, False)],
)
def test_history_url_decides_who_may_use_url_parameters(
    rule: str, staff: bool, allowed: bool
) -> None:
    environment = {"HISTORY_URL": rule}
    assert may_use_url(environment, staff=staff) is allowed
    settings = resolved(environment, "historyPolicy=all", url_allowed=allowed)
    assert settings.policy.source == ("URL" if allowed else "built in")
    assert not settings.locked
    if not allowed:
        claim = value_from(settings.policy, "URL")
        assert claim.outcome == "not allowed"
        assert "HISTORY_URL" in claim.why


def test_off_applies_even_if_the_caller_allows_url_parameters() -> None:
    settings = resolved({"HISTORY_URL": "off"}, "historyPolicy=all", url_allowed=True)
    assert settings.policy.source == "built in"


@pytest.mark.parametrize(
    ("name", "value"),
    [("HISTORY_URL", "Staff"), ("HISTORY_MAX_LENGTH", "many"), ("HISTORY_MAX_TOKENS", "0")]
    + [("HISTORY_TOKENS", "0"), ("HISTORY_LOW_WATER", "101"), ("HISTORY_LOW_WATER", "0")],
)
def test_every_bad_variable_stops_the_start_by_its_name(name: str, value: str) -> None:
    with pytest.raises(BadSetting, match=f"^{name} is '{value}': allowed "):
        resolved({name: value})


def test_the_words_that_describe_the_settings() -> None:
    assert resolved().words == "your last 20 exchanges"
    assert resolved(url="historyLength=1").words == "only this exchange"
    assert resolved(url="historyLength=0").words == "only this exchange"
    assert resolved(url="historyPolicy=none").words == "only your new message"
    words = resolved(url="historyPolicy=all&historyTokens=2000").words
    assert words == "everything, up to 2,000 tokens"


def test_the_reach_of_a_policy_is_the_part_the_store_must_load() -> None:
    assert reach(resolved(url="historyLength=3"), room=8_192) == Users(3)
    assert reach(resolved(url="historyPolicy=none"), room=8_192) == Users(1)
    assert reach(resolved(url="historyPolicy=all"), room=8_192) == Everything()


def test_the_names_of_url_parameters_and_variables() -> None:
    assert URL_NAMES == ("historyPolicy", "historyLength", "historyTokens", "historySelector")
    further = ("DEFAULT_HISTORY_", "NEXT_PUBLIC_DEFAULT_HISTORY_")
    aliases = {f"{prefix}{name}" for prefix in further for name in ("POLICY", "LENGTH")}
    beside = {"HISTORY_REASON", "HISTORY_URL", "HISTORY_MAX_LENGTH", "HISTORY_MAX_TOKENS"}
    own = {row.environment[0] for row in ROWS.values()}
    assert len(set(ENVIRONMENT_NAMES)) == len(ENVIRONMENT_NAMES)
    assert set(ENVIRONMENT_NAMES) == aliases | beside | own


def test_every_parameter_of_a_link_begins_with_history() -> None:
    """By that the page leaves them out of links to other chats (`net/address.js`)."""
    assert [name for name in URL_NAMES if not name.startswith("history")] == []
