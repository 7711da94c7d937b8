"""The settings of triage: their sources, and the errors for bad values."""

from __future__ import annotations

from typing import Any

import pytest

from chatsite.errors import BadSetting
from chatsite.history import Settings, resolve
from chatsite.history.settings.table import CONVERSATION_ROWS

BUILT_IN = {
    "enabled": True,
    "lookback_count": 25,
    "context_recency_hours": 0.0,
    "context_min_messages": 10,
    "skip_selection_threshold": 3,
    "always_include_recent": 5,
    "use_selection": True,
    "selection_model": "fast",
    "selection_timeout": 30.0,
    "context_truncation": 0,
    "previous_tasks_count": 3,
    "talk_context_limit": 100,
}
# Name, text in a variable, value in a template, and the value that both result in.
VALUES: list[tuple[str, str, object, object]] = [
    ("enabled", "false", False, False),
    ("lookback_count", "0", 0, 0),
    ("context_recency_hours", "1.5", 1.5, 1.5),
    ("context_recency_hours", "24", 24, 24.0),
    ("context_min_messages", "0", 0, 0),
    ("skip_selection_threshold", "0", 0, 0),
    ("always_include_recent", "0", 0, 0),
    ("use_selection", "false", False, False),
    ("selection_model", "gpt-x", "gpt-x", "gpt-x"),
    ("selection_timeout", "0.5", 0.5, 0.5),
    ("context_truncation", "500", 500, 500),
    ("previous_tasks_count", "0", 0, 0),
    ("talk_context_limit", "1", 1, 1),
]
WHOLE = "a whole number from 0"
BAD: list[tuple[str, str, object, str]] = [
    ("enabled", "True", "true", "true, false"),
    ("use_selection", "1", 1, "true, false"),
    ("lookback_count", "-1", -1, WHOLE),
    ("lookback_count", "2.0", 2.0, WHOLE),
    ("context_min_messages", "ten", "10", WHOLE),
    ("skip_selection_threshold", "1e1", True, WHOLE),
    ("always_include_recent", "1000001", 1_000_001, WHOLE),
    ("context_truncation", "٣", [3], WHOLE),
    ("previous_tasks_count", "0x3", {"n": 3}, WHOLE),
    ("talk_context_limit", "0", 0, "a whole number from 1"),
    ("context_recency_hours", "-0.5", -0.5, "a number from 0 up to"),
    ("context_recency_hours", "1e3", "1", "a number from 0 up to"),
    ("context_recency_hours", "nan", float("nan"), "a number from 0 up to"),
    ("context_recency_hours", "9" * 5000, 10**400, "a number from 0 up to"),
    ("selection_timeout", "0", 0, "a number above 0"),
    ("selection_timeout", "0.000", float("inf"), "a number above 0"),
    ("selection_timeout", ".5", True, "a number above 0"),
    ("selection_model", "two words", "two words", "a name"),
    ("selection_model", "x" * 81, 4, "a name"),
]


def resolved(
    environment: dict[str, str] | None = None, conversation: object = None, **chat: object
) -> Settings:
    template = {**chat, **({"conversation": conversation} if conversation is not None else {})}
    return resolve(environment=environment or {}, url={}, template=template)


def values(settings: Settings) -> dict[str, object]:
    return {name: settings.all[name].value for name in CONVERSATION_ROWS}


def outcomes(settings: Settings, name: str) -> list[tuple[str, str]]:
    return [(value.source, value.outcome) for value in settings.all[name].said]


def test_the_defaults_apply_if_nothing_is_set() -> None:
    settings = resolved()
    assert values(settings) == BUILT_IN
    assert {setting.source for setting in settings.all.values()} == {"built in"}
    names = [name for row in CONVERSATION_ROWS.values() for name in row.environment]
    assert names == [f"CONVERSATION_{name.upper()}" for name in BUILT_IN]


@pytest.mark.parametrize(("name", "variable", "value", "meant"), VALUES)
def test_the_environment_comes_before_the_template(
    name: str, variable: str, value: object, meant: object
) -> None:
    by_template = resolved(None, {name: value}).all[name]
    assert (by_template.value, by_template.source) == (meant, "template")
    assert type(by_template.value) is type(BUILT_IN[name])
    of_template = {name: BUILT_IN[name]}
    both = resolved({f"CONVERSATION_{name.upper()}": variable}, of_template)
    assert (both.all[name].value, both.all[name].source) == (meant, "environment")
    assert outcomes(both, name) == [
        ("environment", "won"),
        ("template", "overruled"),
        ("built in", "overruled"),
    ]


@pytest.mark.parametrize(("name", "variable", "value", "allowed"), BAD)
def test_a_bad_variable_stops_the_start_and_a_bad_template_is_passed_over_and_shown(
    name: str, variable: str, value: object, allowed: str
) -> None:
    with pytest.raises(BadSetting) as stopped:
        resolved({f"CONVERSATION_{name.upper()}": variable})
    message = str(stopped.value)
    assert message.startswith(f"CONVERSATION_{name.upper()} is {variable[:80]!r}"[:60]), message
    assert allowed in message
    setting = resolved(None, {name: value}).all[name]
    assert (setting.value, setting.source) == (BUILT_IN[name], "built in")
    bad = setting.said[1]
    assert (bad.name, bad.outcome) == (f"conversation.{name}", "bad")
    assert allowed in bad.why


def test_a_blank_variable_is_not_set() -> None:
    settings = resolved({"CONVERSATION_LOOKBACK_COUNT": " "}, {"lookback_count": 7})
    assert settings.lookback_count.value == 7


@pytest.mark.parametrize("value", [[], "on", True, 3])
def test_a_value_that_is_not_an_object_is_passed_over_and_shown(value: object) -> None:
    settings = resolved(None, value)
    assert values(settings) == BUILT_IN
    (bad,) = (value for value in settings.enabled.said if value.outcome == "bad")
    assert bad.name == "conversation" and "an object" in bad.why


def test_near_misses_are_named() -> None:
    settings = resolved(None, {"lookbackCount": 3}, Conversation={"enabled": False})
    (bad,) = (value for value in settings.lookback_count.said if value.outcome == "bad")
    assert bad.name == "conversation.lookbackCount" and "lookback_count was probably" in bad.why
    (bad,) = (value for value in settings.enabled.said if value.outcome == "bad")
    assert bad.name == "Conversation" and "conversation was probably meant" in bad.why
    assert settings.enabled.value is True


def test_they_do_not_lock_the_address_and_cannot_be_set_in_it() -> None:
    settings = resolve(
        environment={"CONVERSATION_ENABLED": "false"},
        url={"historyLength": "2", "enabled": "true", "conversation": "{}"},
        template={},
    )
    assert not settings.locked
    assert settings.length.value == 2
    assert settings.enabled.value is False


def test_they_are_encoded_with_their_sources() -> None:
    settings = resolved({"CONVERSATION_USE_SELECTION": "false"})
    assert set(BUILT_IN) < set(settings.all)
    encoded: Any = settings.use_selection.to_dict()
    assert encoded["value"] is False
    assert encoded["source"] == "environment"
    assert [value["raw"] for value in encoded["said"]] == ["false", None, "true"]
