"""A restored conversation keeps the settings of its file, as far as a person may choose them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from chatsite.conversations.files.export_format import SavedSettings
from chatsite.web.api.history import resume_settings
from tests.person import Person
from tests.running import Server


def saved_settings(policy: str = "lastN", **more: Any) -> SavedSettings:
    values = {"policy": policy, "length": 20, "selector": "lexical"}
    return SavedSettings.model_validate(values | more)


def resume(
    environment: Mapping[str, str],
    from_file: SavedSettings | None,
    template: Mapping[str, object] | None = None,
    *,
    settings: Any,
    kept: Mapping[str, str] | None = None,
    staff: bool = False,
) -> tuple[Mapping[str, str], str]:
    settings.HISTORY_ENVIRONMENT = environment
    return resume_settings(from_file, kept or {}, template or {}, staff=staff)


@pytest.mark.parametrize(
    ("from_file", "template", "choice"),
    [
        (None, {}, {}),
        (saved_settings(), {}, {}),
        (saved_settings(length=3), {}, {"historyLength": "3"}),
        (saved_settings(length=3), {"historyLength": 3}, {}),
        (saved_settings(), {"historyLength": 3}, {"historyLength": "20"}),
        (saved_settings("all", length=3), {}, {"historyPolicy": "all"}),
        (
            saved_settings("tokens", tokens=900),
            {},
            {"historyPolicy": "tokens", "historyTokens": "900"},
        ),
        (saved_settings("strategy"), {"historyPolicy": "strategy"}, {}),
    ],
)
def test_settings_that_differ_from_the_file_are_kept_as_a_choice(
    from_file: SavedSettings | None,
    template: dict[str, object],
    choice: dict[str, str],
    settings: Any,
) -> None:
    assert resume({}, from_file, template, settings=settings) == (choice, "")


def test_the_choice_in_the_file_comes_before_the_settings_of_its_last_turn(settings: Any) -> None:
    kept = {"historyPolicy": "none", "historyColour": "red"}
    found = resume({}, saved_settings("all", tokens=900), kept=kept, settings=settings)
    assert found == ({"historyPolicy": "none", "historyTokens": "900"}, "")
    assert resume({}, None, kept=kept, settings=settings) == ({"historyPolicy": "none"}, "")


@pytest.mark.parametrize(
    ("environment", "from_file", "note"),
    [
        (
            {"HISTORY_POLICY": "none", "HISTORY_REASON": "Data protection."},
            saved_settings(length=3),
            "Its last answer was decided under “your last 3 exchanges”. Here “only your new "
            "message” applies. Data protection.",
        ),
        (
            {"HISTORY_URL": "staff"},
            saved_settings("all"),
            "Its last answer was decided under “everything”. "
            "Here “your last 20 exchanges” applies.",
        ),
        (
            {"HISTORY_MAX_LENGTH": "20"},
            saved_settings(length=50),
            "Here “your last 20 exchanges” applies.",
        ),
        ({}, saved_settings("strategy"), "Here “your last 20 exchanges” applies."),
        ({}, saved_settings("lastn"), "the policy 'lastn', which isn't known here"),
        ({"HISTORY_TOKENS": "500"}, saved_settings(), "up to 500 tokens"),
    ],
)
def test_a_file_can_not_widen_locked_settings_and_a_note_says_so(
    environment: dict[str, str], from_file: SavedSettings, note: str, settings: Any
) -> None:
    choice, sentence = resume(environment, from_file, settings=settings)
    assert choice == {}
    assert note in sentence


def test_staff_keep_settings_that_only_staff_may_choose(settings: Any) -> None:
    found = resume({"HISTORY_URL": "staff"}, saved_settings("all"), settings=settings, staff=True)
    assert found == ({"historyPolicy": "all"}, "")


async def test_an_exported_conversation_is_imported_and_keeps_its_settings(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page(query="historyPolicy=lastN&historyLength=2")
        for text in ("One", "Two"):
            await page.say(text)
        file = await ada.ask("GET", f"/conversations/{page.conversation}/export")
        assert (file["settings"]["policy"], file["settings"]["length"]) == ("lastN", 2)
        assert file["settings"]["cleanup"] == "removeOldestMessages"
        assert file["asked"]["max_tokens"] > 0
        found = await ada.ask("POST", "/conversations/import", file)
        assert found["note"] == ""
        assert found["conversation"]["history"] == {"historyLength": "2"}
        again = await ada.page(found["conversation"]["id"])
        decided = (await again.preview("Three"))["decision"]
        assert decided["facts"]["length"] == "2"
        file["messages"][0]["kv"] = {"status": 7}
        refused = await ada.ask("POST", "/conversations/import", file, expect=400)
        assert refused["message"].startswith("This file isn't a Chatsite export: messages.0")
        listed = await ada.ask("GET", "/conversations")
        assert listed["count"] == 2
