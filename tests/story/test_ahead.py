"""With the real model: a message that is left out is removed from the model's cache before the next
message, and is restored when it is included again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.person import Person
from tests.running import Server
from tests.story.agents import brief_demo

pytestmark = pytest.mark.engine

BOATS = (
    "The red boat lies at the long quay and belongs to the keeper.",
    "The blue boat lies beside the crane, and nobody has seen its owner since the spring.",
    "The green boat sails on Monday with ropes and papers for the office on the other side.",
)
FILE = {
    "format": "chatsite.conversation",
    "version": 1,
    "agent": "demo",
    "title": "Boats",
    "messages": [
        {"role": role, "content": text}
        for boat in BOATS
        for role, text in (("user", f"{boat} " * 3), ("assistant", f"I know. {boat}"))
    ],
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    # The answers' text doesn't matter, and a small model may write hundreds of tokens.
    agents = str(brief_demo(tmp_path / "agents", tokens=6))
    with Server(
        tmp_path / "var", CHAT_ENGINE="auto", HISTORY_POLICY="all", AGENTS_DIR=agents
    ) as server:
        yield server


async def test_a_message_left_out_is_trimmed_before_the_next_message(server: Server) -> None:
    async with Person(server.url) as ada:
        view = await ada.ask("POST", "/conversations/import", FILE)
        page = await ada.ready_page(view["conversation"]["id"])
        blue = page.snapshot["messages"][2:4]

        async def trim_blue() -> int:
            """Leave the blue boat out; return how many cells remain."""
            cells = await ada.cells(page.conversation)
            await ada.leave_out(blue)
            return await ada.fewer_cells(page.conversation, cells)

        async def say(text: str) -> Any:
            ended = await page.say(text)
            assert ended["state"] == "complete", ended
            return ended["receipt"]["cache"]

        assert (await say("Which boat is green? One word."))["origin"] == "none"
        left = await trim_blue()
        await ada.leave_out(blue, on=False)
        again = await say("Which boat is blue? One word.")
        # No message was sent while it was left out, so the model reads nothing again.
        assert again["origin"] == "session" and again["reused"] == again["expected"] > left
        left = await trim_blue()
        after = await say("Which boat is red? One word.")
        assert (after["origin"], after["shifted"]) == ("slot", 0)
        assert after["reused"] == after["expected"] >= left - 1
