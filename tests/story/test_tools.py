"""Rounds of tools through the whole application: every request follows the provider's rules."""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import anthropic_rules, mcp_server, openai_rules
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.openai_server import FakeOpenAI
from tests.person import PATIENCE, Page, Person
from tests.running import Server
from tests.story.agents import write_agent

SUM = 'calculator:{"expression": "6 * 7"}'
CALLS = f"{SUM}|nothing:{{}}|calculator:[1|fake__fail:{{}}"
ROUNDS = f"[[before=I look.;calls={CALLS};rounds=2;text=42.]]"
WAITS = f'[[calls=fake__slow:{{"seconds": 600}}|{SUM}]]'
POLICIES = (
    "historyPolicy=lastN&historyLength=2",
    "historyPolicy=tokens&historyTokens=1600",
    "historyPolicy=relevant&historyTokens=1600",
    "historyPolicy=none",
    "historyPolicy=all",
)


@pytest.fixture(scope="module")
def fakes() -> Iterator[dict[str, FakeOpenAI]]:
    with FakeOpenAI() as openai, FakeAnthropic() as anthropic:
        yield {"openai": openai, "anthropic": anthropic}


@pytest.fixture(scope="module")
def server(
    fakes: dict[str, FakeOpenAI], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("tools")
    for dialect in fakes:
        nodes = [f"llm.{dialect}", "calculator", "mcp.fake", "weather"]
        write_agent(folder / "agents", dialect, nodes=nodes)
    program = {"command": sys.executable, "args": [str(Path(mcp_server.__file__))]}
    (folder / "tools.json").write_text(json.dumps({"mcpServers": {"fake": program}}))
    environment: dict[str, Any] = {
        "AGENTS_DIR": str(folder / "agents"),
        "TOOLS_FILE": str(folder / "tools.json"),
        "OPENAI_API_KEY": "sk-test",
        "OPENAI_BASE_URL": fakes["openai"].base_url,
        "ANTHROPIC_API_KEY": "sk-test",
        "ANTHROPIC_BASE_URL": fakes["anthropic"].base_url,
        "LOCAL_SERVERS": "off",
    }
    with Server(folder / "var", **environment) as running:
        yield running
        running.kill()


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
async def test_rounds_failures_a_stop_and_every_trimming_make_valid_requests(
    server: Server, fakes: dict[str, FakeOpenAI], dialect: str
) -> None:
    fake = fakes[dialect]
    async with Person(server.url) as ada:
        page = await ada.page(agent=dialect)
        ended = await page.say(f"How much? {ROUNDS}")
        assert (ended["state"], ended["message"]["content"]) == ("complete", "42.")
        assert [len(round["calls"]) for round in ended["receipt"]["rounds"]] == [4, 4, 0]
        assert results(page)[:4] == [{"exact": True, "result": "42"}, *[FAILED] * 3]

        await page.send(f"Wait. {WAITS}")
        started = await page.until("calls_started")
        assert [m["state"] for m in started["messages"]] == ["complete", "running", "running"]
        assert json.loads((await page.until("call_ended"))["message"]["content"])["result"] == "42"
        await page.command("stop")
        ended = await page.until("turn_ended")
        assert ended["state"] == "stopped" and len(ended["messages"]) == 1

        for query in POLICIES:
            page.query = query
            ended = await page.say(f"Once more, how much? {ROUNDS}")
            assert ended["state"] == "complete", ended["problem"]
        # Each stored call has exactly one result. A page shows the newest 60 messages.
        call_ids, result_ids = stored_calls(await page.open())
        assert call_ids == result_ids and len(call_ids) > 30
    assert len(fake.requests) >= 3 * (1 + len(POLICIES))
    for body in fake.requests:
        rules: Any = openai_rules if dialect == "openai" else anthropic_rules
        assert rules.problems(body) == []


FAILED = "failed"


def results(page: Page) -> list[Any]:
    """The results of the calls, in the order of the calls."""
    places: dict[str, Any] = {}
    for event in page.events:
        if event["type"] == "calls_started":
            places |= {m["id"]: None for m in event["messages"] if m["role"] == "tool"}
        if event["type"] == "call_ended":
            result = json.loads(event["message"]["content"])
            failed = isinstance(result, dict) and "error" in result
            places[event["message"]["id"]] = FAILED if failed else result
    return list(places.values())


def stored_calls(snapshot: dict[str, Any]) -> tuple[list[str], list[str]]:
    messages = snapshot["messages"]
    calls = [call["id"] for m in messages if m["role"] == "assistant" for call in m["calls"]]
    return calls, [m["call_id"] for m in messages if m["role"] == "tool"]


async def test_the_missing_tools_of_an_agent_are_named_and_it_still_chats(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page(agent="openai")
        agent = page.snapshot["agent"]
        async with asyncio.timeout(PATIENCE):
            # While it starts, the tool server counts as missing.
            while any(one["name"] == "mcp.fake" for one in agent["missing"]):
                agent = (await page.open())["agent"]
        assert agent["missing"] == [
            {"name": "weather", "reason": "there is no tool of that name here"}
        ]
        assert {"calculator", "fake__add"} <= set(agent["tools"])
        ended = await page.say(f"Hello {uuid.uuid4().hex}")
        assert ended["state"] == "complete"
