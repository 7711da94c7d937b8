"""The routes of a link's owner: list, make, change, take back; everybody else finds nothing."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tests.person import Person
from tests.running import Server
from tests.shares.conftest import ADA, BOB
from tests.shares.links import opened, share, signed_in
from tests.web.browser_requests import ask


def days_of(link: dict[str, str]) -> timedelta:
    return datetime.fromisoformat(link["ends"]) - datetime.fromisoformat(link["created"])


async def test_a_link_lasts_a_week_unless_its_owner_says_otherwise(server: Server) -> None:
    async with signed_in(server) as ada:
        page = await ada.page()
        await page.say("Mine")
        link = await share(ada, page)
        assert round(days_of(link) / timedelta(days=1)) == 7
        assert not any(link[name] for name in ("following", "receipts", "tools", "files"))
        changed = await ada.ask("PATCH", f"/shares/{link['id']}", {"days": 90, "receipts": True})
        assert round(days_of(changed["share"]) / timedelta(days=1)) == 90
        assert changed["share"]["receipts"] and not changed["share"]["files"]
        # The same link, which can be copied as often as its owner wants.
        assert changed["share"]["path"] == link["path"]
        listed = await ada.ask("GET", f"/conversations/{page.conversation}/shares")
        assert listed == {"shares": [changed["share"]], "why_not": "", "sign_in": False}


async def test_as_of_now_chosen_later_is_what_is_there_then(server: Server) -> None:
    async with signed_in(server) as ada:
        page = await ada.page()
        await page.say("First")
        link = await share(ada, page)
        await page.say("Second")
        await ada.ask("PATCH", f"/shares/{link['id']}", {"files": True})
        assert "Second" not in (await opened(server, link["path"])).text
        await ada.ask("PATCH", f"/shares/{link['id']}", {"following": False})
        assert "Second" in (await opened(server, link["path"])).text


@pytest.mark.parametrize(
    "body",
    [
        {"days": 0},
        {"days": 2},
        {"days": 36_500},
        {"days": None},
        {"days": True},
        {"days": "7"},
        {"files": "yes"},
        {"following": None},
        {"receipts": 1},
    ],
)
async def test_a_wish_that_is_not_one_is_refused(body: dict[str, object], server: Server) -> None:
    async with signed_in(server) as ada:
        page = await ada.page()
        await page.say("Mine")
        path = f"/conversations/{page.conversation}/shares"
        await ada.ask("POST", path, body, expect=400)
        assert (await ada.ask("GET", path))["shares"] == []


async def test_twenty_links_are_enough_and_an_empty_chat_has_none(server: Server) -> None:
    async with signed_in(server) as ada:
        page = await ada.page()
        path = f"/conversations/{page.conversation}/shares"
        await ada.ask("POST", path, {}, expect=404)  # it hasn't begun
        await page.say("Mine")
        links = [await share(ada, page) for _ in range(20)]
        assert len({link["path"] for link in links}) == 20
        refused = await ada.ask("POST", path, {}, expect=409)
        assert "at most 20 links" in refused["message"]
        await ada.ask("DELETE", f"/shares/{links[0]['id']}")
        await share(ada, page)


async def test_nobody_else_finds_a_link_to_change(server: Server) -> None:
    async with signed_in(server) as ada, signed_in(server, BOB) as bob, Person(server.url) as guest:
        page = await ada.page()
        await page.say("Mine")
        link = await share(ada, page)
        chat = f"/conversations/{page.conversation}/shares"
        own = f"/shares/{link['id']}"
        for person in (bob, guest):
            assert (await person.ask("GET", chat, expect=404))["code"] == "not_found"
            await person.ask("POST", chat, {}, expect=404)
            await person.ask("PATCH", own, {"days": 90}, expect=404)
            await person.ask("DELETE", own, expect=404)
        for method, path in (("POST", chat), ("PATCH", own), ("DELETE", own)):
            forged = await ask(ada, method, path, headers={"Origin": "http://evil.example"})
            assert forged.status == 403
        assert (await ada.ask("GET", chat))["shares"] == [link]
        assert (await opened(server, link["path"])).status == 200


async def test_a_guest_who_signs_in_takes_the_chat_along(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("Begun as a guest")
        path = f"/conversations/{page.conversation}/shares"
        refused = await ada.ask("POST", path, {}, expect=409)
        assert "Sign in" in refused["message"]
        await ada.sign_in(*ADA)
        assert "Begun as a guest" in (await opened(server, (await share(ada, page))["path"])).text
