"""Tool servers that describe a tool badly, or answer with an error, through the application."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import crude_mcp_server
from tests.fakes.openai_server import FakeOpenAI
from tests.person import PATIENCE, Page, Person
from tests.running import Server
from tests.story.agents import write_agent
from tests.story.conftest import provider_environment


@pytest.fixture(scope="module")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("faulty")
    write_agent(folder / "agents", "demo", nodes=["llm.openai", "mcp.crude"])
    script = str(Path(crude_mcp_server.__file__))
    program = {"command": sys.executable, "args": ["-S", script, "faulty"]}
    (folder / "tools.json").write_text(json.dumps({"mcpServers": {"crude": program}}))
    own = {"AGENTS_DIR": str(folder / "agents"), "TOOLS_FILE": str(folder / "tools.json")}
    with Server(folder / "var", **provider_environment(fake, **own)) as running:
        yield running
    assert "Traceback" not in running.log, running.log


async def page_with_tools(ada: Person) -> Page:
    page = await ada.page()
    async with asyncio.timeout(PATIENCE):
        while not page.snapshot["agent"]["tools"]:
            page.snapshot = await page.open()
    return page


async def call(page: Page, name: str, arguments: str = "{}") -> dict[str, Any]:
    before = len(page.events)
    await page.say(f"[[calls=crude__{name}:{arguments};text=Done.]]")
    ended = [event for event in page.events[before:] if event["type"] == "call_ended"]
    result: dict[str, Any] = json.loads(ended[0]["message"]["content"])
    return result


async def test_a_faulty_tool_is_named_and_the_others_work(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await page_with_tools(ada)
        agent = page.snapshot["agent"]
        offered = {"crude__before", "crude__described", "crude__told", "crude__empty"}
        assert offered | {"crude__unsaid"} <= set(agent["tools"])
        reasons = {one["name"]: one["reason"] for one in agent["missing"]}
        assert "no JSON schema" in reasons["mcp.crude.no schema"]
        assert "no JSON schema" in reasons["mcp.crude.null"]
        for name in ("before", "empty", "unsaid"):
            assert "process" in await call(page, name)


async def test_an_error_of_a_tool_reaches_the_model_in_its_own_words(
    server: Server, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada:
        page = await page_with_tools(ada)
        process = (await call(page, "before"))["process"]
        for code in (-32000, -32603, 5):
            told = await call(page, "told", json.dumps({"code": code}))
            assert "no such table" in json.dumps(told) and "lost" not in json.dumps(told)
            sent = json.dumps(fake.requests[-1]["messages"])
            assert "no such table" in sent and "connection" not in sent
        assert (await call(page, "before"))["process"] == process
        assert "lost" in json.dumps(await call(page, "die"))
