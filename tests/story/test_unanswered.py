"""A message whose answer failed isn't sent again with later ones, until somebody includes it."""

from __future__ import annotations

from urllib.parse import urlencode

from tests.fakes.openai_server import FakeOpenAI
from tests.person import Page, Person
from tests.running import Server

FAILS = "Where is the quay? [[mode=400]]"


def sent(fake: FakeOpenAI) -> list[str]:
    """The user messages of the last request."""
    return [m["content"] for m in fake.requests[-1]["messages"] if m["role"] == "user"]


async def ask(page: Page, text: str) -> str:
    """Run a turn; the id of the user message."""
    await page.send(text)
    started = await page.until("turn_started")
    await page.until("turn_ended")
    return str(started["messages"][-1]["id"])


async def test_a_failed_message_is_left_out_until_it_is_included(
    server: Server, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        failed = await ask(page, FAILS)
        await ask(page, "Are you there?")
        assert sent(fake) == ["Are you there?"]
        why = await ada.ask("GET", f"/messages/{failed}/why?{urlencode({'query': ''})}")
        assert why["fixes"] == ["include", "pin", "ask"]
        assert why["sentences"][0] == (
            "It dropped out of the context at turn 2, 1 exchange later, when you sent “Are you "
            "there?”: its answer failed."
        )
        told = await ada.ask("PATCH", f"/messages/{failed}", {"unanswered": False})
        assert told["state"] == "complete"
        await ask(page, "And now?")
        assert sent(fake) == [f"{FAILS}\n\nAre you there?", "And now?"]


async def test_a_pin_includes_it_too(server: Server, fake: FakeOpenAI) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        failed = await ask(page, FAILS)
        await ada.ask("PATCH", f"/messages/{failed}", {"pinned": True})
        await ask(page, "Are you there?")
        assert sent(fake) == [f"{FAILS}\n\nAre you there?"]
