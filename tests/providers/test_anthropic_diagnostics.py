"""Anthropic says itself why less of a prompt was in its cache than before."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest
import pytest_asyncio

import chatsite.providers.anthropic.provider as anthropic_provider
from chatsite.messages import Message
from chatsite.providers.anthropic.provider import AnthropicProvider
from chatsite.providers.base.provider import Finished, Request, Usage
from tests.fakes.anthropic_provider import provider_at
from tests.fakes.anthropic_server import FakeAnthropic

ASKED = (Message.system("Be brief.", id="s"), Message.user("Who? [[text=I.]]", id="u"))
GONE_ON = (*ASKED, Message.assistant("I.", id="a"), Message.user("Why? [[text=So.]]", id="v"))
EDITED = (ASKED[0], replace(ASKED[1], content="What? [[text=I.]]"), *GONE_ON[2:])


@pytest.fixture
def fake() -> Iterator[FakeAnthropic]:
    with FakeAnthropic() as server:
        yield server
        assert server.problems == []


@pytest_asyncio.fixture
async def provider(
    fake: FakeAnthropic, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[AnthropicProvider]:
    """The fake stands at Anthropic's own address."""
    monkeypatch.setattr(anthropic_provider, "_OFFICIAL", "127.0.0.1")
    made = provider_at(fake.base_url)
    yield made
    await made.aclose()


async def usage(
    provider: AnthropicProvider, messages: tuple[Message, ...], *, after: str = ""
) -> Usage:
    request = Request(
        conversation="c",
        messages=messages,
        model="claude-haiku-4-5",
        max_tokens=100,
        after=after,
    )
    chunks = [chunk async for chunk in provider.stream(request)]
    assert isinstance(chunks[-1], Finished)
    return chunks[-1].usage


async def test_a_request_names_the_response_before_and_is_told_where_they_part(
    fake: FakeAnthropic, provider: AnthropicProvider
) -> None:
    first = await usage(provider, ASKED)
    assert (first.response, first.miss) == ("msg_01", None)
    second = await usage(provider, GONE_ON, after="msg_01")
    assert (second.response, second.miss) == ("msg_02", None)
    third = await usage(provider, EDITED, after="msg_02")
    assert third.miss == "messages_changed"
    other = await usage(provider, (Message.system("Be long.", id="s"), ASKED[1]), after="msg_03")
    assert other.miss == "system_changed"
    assert (await usage(provider, ASKED, after="msg_99")).miss == "previous_message_not_found"
    named = [body["diagnostics"]["previous_message_id"] for body in fake.requests]
    assert named == [None, "msg_01", "msg_02", "msg_03", "msg_99"]


async def test_a_server_of_another_address_is_not_asked(fake: FakeAnthropic) -> None:
    provider = provider_at(fake.base_url)
    found = await usage(provider, EDITED, after="msg_01")
    await provider.aclose()
    assert (found.response, found.miss) == (None, None)
    assert "diagnostics" not in fake.requests[-1]
