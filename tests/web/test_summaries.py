"""The summary over HTTP: what its owner may change, and how wrong requests are refused."""

from __future__ import annotations

import pytest

from tests.person import Person
from tests.running import Server
from tests.web.browser_requests import ask_from_page


async def test_a_conversation_without_a_summary_says_so_and_can_be_switched(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("Hello")
        path = f"/conversations/{page.conversation}/summary"
        empty = {"on": True, "current": 0, "versions": [], "earlier": False}
        assert await ada.ask("GET", path) == empty
        assert await ada.ask("POST", f"{path}/switch", {"on": False}) == empty | {"on": False}
        event = await page.until("summary_changed")
        assert event["summary"]["on"] is False
        again = await ada.page(page.conversation)
        assert again.snapshot["summary"] == event["summary"]


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("", '{"version": 1, "text": "  "}', "switch it off"),
        ("", '{"version": 1, "text": 7}', "switch it off"),
        ("", '{"version": true, "text": "x"}', "version is the number"),
        ("", '{"text": "x"}', "version is the number"),
        ("", '{"version": 1, "text": "\\u0000"}', "can't be stored"),
        ("", '{"version": 1, "text": "x", "query": 7}', "query is the page's own"),
        ("", "[]", "not a JSON object"),
        ("/switch", '{"on": "yes"}', "on is true or false"),
    ],
)
async def test_a_wrong_request_is_refused_with_the_reason(
    path: str, body: str, expected: str, server: Server
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("Hello")
        address = f"/conversations/{page.conversation}/summary{path}"
        answer = await ask_from_page(ada, "POST", address, data=body, type="application/json")
        assert answer.status == 400 and expected in answer.json["message"]
