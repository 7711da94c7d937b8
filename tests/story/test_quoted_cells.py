"""With the real model: a quote that stays in its place stays in the model's cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.person import Person
from tests.quoted_talk import CAT, WEATHER
from tests.running import Server
from tests.story.agents import brief_demo

pytestmark = pytest.mark.engine

TEXTS = [(CAT, "A fine name for a cat.")] + [
    (f"Tell me of {what}.", f"The {what} fell on the roofs and the roads all day. " * 6)
    for what in WEATHER
]
FILE = {
    "format": "chatsite.conversation",
    "version": 1,
    "agent": "demo",
    "title": "A cat",
    "messages": [
        {"role": role, "content": text}
        for turn in TEXTS
        for role, text in zip(("user", "assistant"), turn, strict=True)
    ],
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    agents = str(brief_demo(tmp_path / "agents", tokens=6))
    more: dict[str, Any] = {"HISTORY_POLICY": "relevant", "HISTORY_TOKENS": "800"}
    with Server(tmp_path / "var", CHAT_ENGINE="auto", AGENTS_DIR=agents, **more) as running:
        yield running


async def test_the_next_message_reuses_the_cells_of_a_quote_in_the_middle(server: Server) -> None:
    async with Person(server.url) as ada:
        view = await ada.ask("POST", "/conversations/import", FILE)
        page = await ada.ready_page(view["conversation"]["id"])

        async def say(text: str) -> dict[str, Any]:
            ended = await page.say(text)
            assert ended["state"] == "complete", ended
            receipt: dict[str, Any] = ended["receipt"]
            return receipt

        asked = await say("I forgot. What was the cat called?")
        cells = await ada.cells(page.conversation)
        then = await say("Good.")
        [cat] = [one for one in asked["verdicts"] if one["quoted"] and one["first"] == 1]
        [still] = [one for one in then["verdicts"] if one["quoted"] and one["first"] == 1]
        assert still["before"] == cat["before"] == 2 * len(TEXTS) + 1
        cache = then["cache"]
        assert (cache["origin"], cache["shifted"]) == ("slot", 0)
        assert cache["reused"] == cache["expected"] >= cells - 1
