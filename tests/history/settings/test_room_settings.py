"""A room's file decides between the environment and the agent's template."""

from __future__ import annotations

import pytest

from chatsite.history import resolve
from chatsite.history.settings.offers import SettingSources, offers
from chatsite.history.settings.stored_settings import read_settings, show_settings, store_settings
from chatsite.history.settings.table import CONVERSATION_ROWS

TEMPLATE = {"historyPolicy": "all", "historyLength": 7}


def test_the_room_comes_before_the_template() -> None:
    settings = resolve(environment={}, url={}, template=TEMPLATE, room={"historyPolicy": "lastN"})
    assert (settings.policy.value, settings.policy.source) == ("lastN", "room")
    assert (settings.length.value, settings.length.source) == (7, "template")
    assert settings.sources_in_words == "room, length: template"


def test_the_environment_comes_before_the_room() -> None:
    settings = resolve(
        environment={"HISTORY_POLICY": "none"},
        url={},
        template=TEMPLATE,
        room={"historyPolicy": "lastN", "historyLength": 3},
    )
    assert (settings.policy.value, settings.policy.source) == ("none", "environment")
    assert (settings.length.value, settings.length.source) == (3, "room")


@pytest.mark.parametrize("name", ["summary", "strategy"])
def test_the_administrators_file_may_choose_what_only_a_template_may_allow(name: str) -> None:
    settings = resolve(environment={}, url={}, template={}, room={"historyPolicy": name})
    assert (settings.policy.value, settings.policy.source) == (name, "room")


def test_no_bound_of_a_link_holds_for_the_administrators_file() -> None:
    settings = resolve(
        environment={"HISTORY_MAX_LENGTH": "2", "HISTORY_URL": "off"},
        url={},
        template={},
        room={"historyLength": 50},
    )
    assert settings.length.value == 50


def test_a_bad_value_of_the_room_is_passed_over_and_shown() -> None:
    settings = resolve(environment={}, url={}, template=TEMPLATE, room={"historyPolicy": "last"})
    assert (settings.policy.value, settings.policy.source) == ("all", "template")
    said = next(one for one in settings.policy.said if one.source == "room")
    assert said.outcome == "bad"


def test_all_twelve_settings_of_the_conversation_may_stand_in_the_rooms_file() -> None:
    room = {"conversation": {"lookback_count": 3, "talk_context_limit": 40, "enabled": True}}
    settings = resolve(
        environment={"CONVERSATION_LOOKBACK_COUNT": "9"},
        url={},
        template={"conversation": {"talk_context_limit": 50, "selection_timeout": 2}},
        room=room,
    )
    assert len(CONVERSATION_ROWS) == 12
    assert settings.lookback_count.source == "environment"
    assert (settings.talk_context_limit.value, settings.talk_context_limit.source) == (40, "room")
    assert settings.selection_timeout.source == "template"
    assert settings.talk_limit == 40


def test_a_receipt_keeps_what_the_room_said() -> None:
    settings = resolve(
        environment={},
        url={},
        template=TEMPLATE,
        room={"historyPolicy": "lastN", "conversation": {"talk_context_limit": 40}},
    )
    read = read_settings(store_settings(settings))
    shown = show_settings(read)
    assert shown["policy"]["source"] == "room"
    assert shown["conversation"]["talk_context_limit"]["value"] == 40
    assert read.terms == settings.terms


def test_nothing_can_be_chosen_in_the_page_for_a_room() -> None:
    sources = SettingSources(environment={}, url={}, template=TEMPLATE, room={})
    offered = offers(sources, sources.resolve())
    assert offered.closed == "the administrator has set this room's memory"
    assert not any(one.allowed for one in offered.all)


def test_a_section_with_one_setting_leaves_the_others_as_they_are_built_in() -> None:
    room = {"conversation": {"talk_context_limit": 40}}
    settings = resolve(environment={}, url={}, template={}, room=room)
    assert settings.lookback_count.value == 25
    assert settings.always_include_recent.value == 5
