"""Turns with tools at Anthropic: the fake server refuses whatever its rules don't allow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import pytest_asyncio

import chatsite.providers.anthropic.provider as anthropic_provider
from chatsite.providers.anthropic.provider import AnthropicProvider
from chatsite.turns.agents.resolved_agent import ResolvedAgent, resolve_agent
from tests.conversations.builders import new_id
from tests.fakes.anthropic_provider import provider_at
from tests.fakes.anthropic_server import FakeAnthropic
from tests.turns.conftest import World, read_until_end, template
from tests.turns.test_rounds import Lookup, stored_messages

CALLS = 'lookup:{"of": 2}|lookup:{"of": "boom"}|nothing.here:{"a": [1'
DIRECTIVE = f"[[before=I look.;think=2;redacted=1;calls={CALLS};rounds=2;text=Four.]]"
WAITING_DIRECTIVE = '[[think=1;calls=lookup:{"of": 3}|lookup:{"of": "wait"}]]'


@dataclass
class Claude(World):
    claude: AnthropicProvider = field(kw_only=True)
    model: str = field(kw_only=True)

    def resolve_agent(self, agent: str, model: str = "", *, staff: bool = False) -> ResolvedAgent:
        said = {"llm.anthropic": {"model": self.model, "maxTokens": 500}}
        made = template(nodes=["llm.anthropic"], nodeConfigurations=said)
        return replace(resolve_agent(made, {"anthropic": self.claude}), tools=self.tools)


@pytest.fixture
def fake() -> Iterator[FakeAnthropic]:
    with FakeAnthropic() as server:
        yield server


@pytest_asyncio.fixture
async def provider(fake: FakeAnthropic) -> AsyncIterator[AnthropicProvider]:
    made = provider_at(fake.base_url)
    yield made
    await made.aclose()


@pytest.mark.slow
@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-haiku-4-5"])
async def test_rounds_a_stop_and_a_cut_make_requests_that_are_accepted(
    fake: FakeAnthropic, provider: AnthropicProvider, world: World, model: str
) -> None:
    tool = Lookup()
    claude = Claude(claude=provider, model=model, tools=(tool,))
    page_request = claude.page_request()
    _, ended = await claude.run_turn(page_request, DIRECTIVE)
    assert ended.message is not None
    assert (ended.state, ended.message.message.content) == ("complete", "Four.")
    assert [kinds(body) for body in fake.requests] == [
        ["text"],
        ["text", *answered(model), *["tool_result"] * 3],
        ["text", *[*answered(model), *["tool_result"] * 3] * 2],
    ]

    _, reader = await claude.turns.snapshots.open(page_request)
    await claude.turns.send(page_request, client_id=new_id(), text=WAITING_DIRECTIVE)
    await asyncio.wait_for(tool.waiting.wait(), 5)
    await claude.turns.stop(page_request.owner, page_request.conversation)
    _, ended = await read_until_end(reader)
    assert ended.state == "stopped"

    for query in ("", "historyPolicy=lastN&historyLength=2", "historyPolicy=none"):
        _, ended = await claude.run_turn(replace(page_request, query=query), "[[text=Yes.]]")
        assert ended.state == "complete"
    assert fake.problems == []
    rows = await claude.run(stored_messages, page_request)
    assert all(content for role, content, _ in rows if role == "tool")


async def test_each_request_names_the_response_before_it(
    fake: FakeAnthropic,
    provider: AnthropicProvider,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(anthropic_provider, "_OFFICIAL", "127.0.0.1")
    claude = Claude(claude=provider, model="claude-haiku-4-5", tools=(Lookup(),))
    page_request = claude.page_request()
    _, first = await claude.run_turn(page_request, '[[calls=lookup:{"of": 2};text=Four.]]')
    _, second = await claude.run_turn(replace(page_request, query="historyPolicy=none"), "And?")
    named = [body["diagnostics"]["previous_message_id"] for body in fake.requests]
    assert named == [None, "msg_01", "msg_02"]
    reported = (await claude.receipt(first))["reported"]
    assert reported["response"] == "msg_02" and "miss" not in reported
    assert (await claude.receipt(second))["reported"]["miss"] == "messages_changed"


def kinds(body: dict[str, Any]) -> list[str]:
    return [block["type"] for message in body["messages"] for block in message["content"]]


def answered(model: str) -> list[str]:
    """Haiku 4.5 isn't asked to think here."""
    thinking = ["thinking", "redacted_thinking"] if model == "claude-opus-5-5" else []
    return [*thinking, "text", *["tool_use"] * 3]
