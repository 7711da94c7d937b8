"""A turn's receipt goes over the socket once; a page that puts it together has the stored one."""

from __future__ import annotations

import json
from typing import Any

from tests.person import Page, Person
from tests.running import Server


def frames_with(page: Page, key: str) -> list[str]:
    """The types of the frames that arrived with this key anywhere in them."""
    return [event["type"] for event in page.events if f'"{key}":' in json.dumps(event)]


async def stored(person: Person, turn: str) -> dict[str, Any]:
    """Without the difference to the request before, which nobody stores."""
    found: dict[str, Any] = await person.ask("GET", f"/turns/{turn}/receipt")
    found.pop("since", None)
    return found


async def test_the_verdicts_of_a_turn_are_on_the_wire_once(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("What would a quay cost?")
        page.events.clear()
        ended = await page.say("And a pier?")
        assert frames_with(page, "verdicts") == ["decided"]
        assert frames_with(page, "settings") == ["decided"]
        assert frames_with(page, "sentence") == [], "these are made when somebody looks"
        last = page.events[-1]
        assert last["reported"]["reported"]["completion"] > 0
        assert ended["receipt"] == await stored(ada, ended["turn"])
        again = await ada.page(page.conversation)
        assert again.snapshot["receipt"] == ended["receipt"]


async def test_a_page_that_opens_meanwhile_has_the_whole_receipt(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("Hello")
        await page.send("[[tokens=80;rate=80]]")
        await page.until("delta")
        other = await ada.page(page.conversation)
        assert other.snapshot["receipt"]["turn"] == other.snapshot["turn"]["id"]
        ended = await other.until("turn_ended")
        assert ended["receipt"] == await stored(ada, ended["turn"])
        assert frames_with(other, "verdicts") == ["snapshot"]
        assert (await page.until("turn_ended"))["receipt"] == ended["receipt"]


async def test_the_receipt_of_a_running_turn_is_shown_to_who_looks_at_it(server: Server) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob:
        page = await ada.page()
        await page.send("[[tokens=80;rate=80]]")
        decided = await page.until("decided")
        shown = await stored(ada, decided["turn"])
        assert shown["turn"] == decided["turn"] and "completion" not in shown["reported"]
        assert shown["verdicts"][-1]["sentence"] == "the message being asked"
        await bob.ask("GET", f"/turns/{decided['turn']}/receipt", expect=404)
        await page.until("turn_ended")
        assert (await stored(ada, decided["turn"]))["reported"]["completion"] > 0
