"""A conversation from a file goes on as it was decided, as far as a link may have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from chatsite.conversations.files.export_format import SavedSettings
from chatsite.web.api.resume import ResumedSettings, resume_settings
from tests.person import Person
from tests.running import Server


def saved(policy: str = "lastN", **more: Any) -> SavedSettings:
    values = {"policy": policy, "length": 20, "selector": "lexical"}
    return SavedSettings.model_validate(values | more)


def under(
    environment: Mapping[str, str],
    said: SavedSettings | None,
    template: Mapping[str, object] | None = None,
    *,
    settings: Any,
    staff: bool = False,
) -> ResumedSettings:
    settings.HISTORY_ENVIRONMENT = environment
    return resume_settings(said, template or {}, staff=staff)


@pytest.mark.parametrize(
    ("said", "template", "query"),
    [
        (None, {}, ""),
        (saved(), {}, ""),
        (saved(length=3), {}, "historyLength=3"),
        (saved(length=3), {"historyLength": 3}, ""),
        (saved(), {"historyLength": 3}, "historyLength=20"),
        (saved("all", length=3), {}, "historyPolicy=all"),
        (saved("tokens", tokens=900), {}, "historyPolicy=tokens&historyTokens=900"),
        (saved("strategy"), {"historyPolicy": "strategy"}, ""),
    ],
)
def test_the_address_says_what_would_be_otherwise(
    said: SavedSettings | None, template: dict[str, object], query: str, settings: Any
) -> None:
    assert under({}, said, template, settings=settings) == ResumedSettings(query=query)


@pytest.mark.parametrize(
    ("environment", "said", "note"),
    [
        (
            {"HISTORY_POLICY": "none", "HISTORY_REASON": "Data protection."},
            saved(length=3),
            "Its last answer was decided under “last 3 user messages”. Here “only this message” "
            "applies. Data protection.",
        ),
        (
            {"HISTORY_URL": "staff"},
            saved("all"),
            "Its last answer was decided under “everything”. Here “last 20 user messages” applies.",
        ),
        ({"HISTORY_MAX_LENGTH": "20"}, saved(length=50), "Here “last 20 user messages” applies."),
        ({}, saved("strategy"), "Here “last 20 user messages” applies."),
        ({}, saved("lastn"), "the policy 'lastn', which isn't known here"),
        ({"HISTORY_TOKENS": "500"}, saved(), "up to 500 tokens"),
    ],
)
def test_no_file_widens_what_is_locked_and_it_is_said(
    environment: dict[str, str], said: SavedSettings, note: str, settings: Any
) -> None:
    resumed = under(environment, said, settings=settings)
    assert resumed.query == ""
    assert note in resumed.note


def test_staff_may_have_what_only_staff_may_choose(settings: Any) -> None:
    found = under({"HISTORY_URL": "staff"}, saved("all"), settings=settings, staff=True)
    assert found == ResumedSettings(query="historyPolicy=all")


async def test_what_is_exported_is_imported_and_goes_on_as_it_was(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page(query="historyPolicy=lastN&historyLength=2")
        for text in ("One", "Two"):
            await page.say(text)
        file = await ada.ask("GET", f"/conversations/{page.conversation}/export")
        assert (file["settings"]["policy"], file["settings"]["length"]) == ("lastN", 2)
        assert file["settings"]["cleanup"] == "removeOldestMessages"
        assert file["asked"]["max_tokens"] > 0
        found = await ada.ask("POST", "/conversations/import", file)
        assert (found["query"], found["note"]) == ("historyLength=2", "")
        again = await ada.page(found["conversation"]["id"], query=found["query"])
        decided = (await again.preview("Three"))["decision"]
        assert decided["facts"]["length"] == "2"
        file["messages"][0]["kv"] = {"status": 7}
        refused = await ada.ask("POST", "/conversations/import", file, expect=400)
        assert refused["message"].startswith(
            "This isn't a conversation saved by Chatsite: messages.0"
        )
        listed = await ada.ask("GET", "/conversations")
        assert listed["count"] == 2
