"""With the real model: what the panel predicts of the model's cache is what the engine reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.person import Person
from tests.running import Server
from tests.story.agents import brief_demo

pytestmark = pytest.mark.engine


async def test_the_answer_before_is_predicted_to_be_in_the_cache(tmp_path: Path) -> None:
    agents = str(brief_demo(tmp_path / "agents", tokens=30))
    with Server(
        tmp_path / "var", CHAT_ENGINE="auto", HISTORY_POLICY="all", AGENTS_DIR=agents
    ) as server:
        async with Person(server.url) as ada:
            page = await ada.ready_page()
            for text in ("What is a harbour?", "And a quay?", "Which one is larger?"):
                ended = await page.say(text)
                assert ended["state"] == "complete", ended
                receipt = await ada.ask("GET", f"/turns/{ended['turn']}/receipt")
                if since := receipt.get("since"):
                    assert abs(since["predicted"] - since["reported"]) <= 2, since
                    assert since["cause"] == ""
            assert receipt["since"]["predicted"] > receipt["leading"] + 5
