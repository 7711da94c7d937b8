"""What changed since the request before, through the whole application, in two dialects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.openai_server import FakeOpenAI
from tests.person import Person
from tests.running import Server
from tests.story.agents import write_agent

LONG = "The quay costs more than the survey said it would. " * 120
SUM = 'calculator:{"expression": "6 * 7"}'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("since")
    with FakeOpenAI() as openai, FakeAnthropic() as anthropic:
        for dialect in ("openai", "anthropic"):
            write_agent(folder / "agents", dialect, nodes=[f"llm.{dialect}", "calculator"])
        environment: dict[str, Any] = {
            "AGENTS_DIR": str(folder / "agents"),
            "OPENAI_API_KEY": "sk-test",
            "OPENAI_BASE_URL": openai.base_url,
            "ANTHROPIC_API_KEY": "sk-test",
            "ANTHROPIC_BASE_URL": anthropic.base_url,
            "LOCAL_SERVERS": "off",
        }
        with Server(folder / "var", **environment) as running:
            yield running
            running.kill()


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
async def test_a_mark_an_edit_and_rounds_of_tools_are_told_apart(
    server: Server, dialect: str
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page(agent=dialect, query="historyPolicy=all")

        async def since(text: str) -> Any:
            ended = await page.say(f"{LONG} [[{text}]]")
            receipt = await ada.ask("GET", f"/turns/{ended['turn']}/receipt")
            return receipt.get("since")

        assert await since("text=One.") is None
        # Both requests of the turn begin with the one before, and nothing of it was kept.
        rounds = await since(f"calls={SUM};text=42.;cached=0")
        assert (rounds["cause"], rounds["reported"]) == ("provider", 0)
        assert rounds["predicted"] == rounds["available"] > 0
        came = [one for one in rounds["segments"] if one["change"] == "came"]
        assert sum(one["messages"] for one in came) == 4  # answer, question, call and result
        now = await ada.page(page.conversation, agent=dialect)
        users = [one for one in now.snapshot["messages"] if one["role"] == "user"]
        await ada.ask("PATCH", f"/messages/{users[0]['id']}", {"excluded": True})
        marked = await since("text=Two.;cached=0")
        assert (marked["cause"], marked["values"]["mark"]) == ("mark", "excluded")
        changed = {"text": f"Or less? {LONG}"}
        await ada.ask("PUT", f"/messages/{users[1]['id']}/text", changed)
        edited = await since("text=Three.;cached=0")
        assert (edited["cause"], edited["values"]["seq"]) == ("edited", users[1]["seq"])
        await ada.ask("DELETE", f"/messages/{users[1]['id']}")
        gone = await since("text=Four.;cached=0")
        assert (gone["cause"], gone["values"]["how"]) == ("edited", "went")
