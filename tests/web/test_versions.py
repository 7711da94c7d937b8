"""Retried answers over socket and HTTP: every version stays, and every page shows the same one."""

from __future__ import annotations

import uuid

from tests.person import Page, Person
from tests.running import Server
from tests.web.browser_requests import ask_from_page


async def retry(page: Page, message: str) -> str:
    """The id of the new answer to the same message."""
    await page.command("again", agent=page.agent, client_id=str(uuid.uuid4()), message=message)
    started = await page.until("turn_started")
    assert started["gone_from"] == 3
    id: str = (await page.until("turn_ended"))["message"]["id"]
    return id


async def test_another_version_is_shown_on_every_page(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        first: str = (await page.say("One"))["message"]["id"]
        second = await retry(page, first)
        other = await ada.page(page.conversation)
        assert [m["id"] for m in other.snapshot["messages"]][-1] == second
        versions = other.snapshot["messages"][-1]["versions"]
        assert [one["id"] for one in versions] == [first, second]
        assert {one["model"] for one in versions} == {"Echo (no model)"}
        assert all(one["tokens"] > 0 and not one["edited"] for one in versions)
        answer = await ask_from_page(ada, "POST", f"/messages/{first}/show")
        assert (answer.status, answer.json) == (200, {"seq": 3})
        for each in (page, other):
            await each.until("path_changed")
            shown = await each.open()
            assert [m["id"] for m in shown["messages"]][-1] == first
            assert shown["receipt"]["turn"] == shown["messages"][-1]["turn"]
