"""Thinking is sent back unchanged: the fake server checks every signature."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from chatsite.errors import ProviderError
from chatsite.messages import Message, ToolCall
from chatsite.providers.anthropic.parameters import choose_thinking, find_family
from chatsite.providers.anthropic.provider import AnthropicProvider
from chatsite.providers.anthropic.reader import AnthropicReader
from chatsite.providers.anthropic.request import MessagesRequest
from chatsite.providers.base.provider import (
    Finished,
    ReasoningPiece,
    Request,
    TextPiece,
    ToolSpec,
)
from tests.fakes.anthropic_provider import provider_at
from tests.fakes.anthropic_server import FakeAnthropic

CLOCK = ToolSpec(name="clock", description="Tells the time.", parameters={"type": "object"})
WISH = "[[text=Noon.;before=Let me look. ;think=3;redacted=1;calls=clock|clock;rounds=3]]"
HEAD = (Message.system("Be brief.", id="s"), Message.user("Hi", id="0"))
PAST = (*HEAD, Message.assistant("Hello!", id="1"), Message.user(WISH, id="2"))
THINKING = ("thinking", "redacted_thinking")

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeAnthropic]:
    with FakeAnthropic() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def provider(fake: FakeAnthropic) -> AsyncIterator[AnthropicProvider]:
    made = provider_at(fake.base_url)
    yield made
    await made.aclose()


@pytest.fixture(autouse=True)
def nothing_wrong(fake: FakeAnthropic) -> Iterator[None]:
    fake.problems.clear()
    yield
    assert fake.problems == []


async def next_round(
    provider: AnthropicProvider, messages: tuple[Message, ...], **more: Any
) -> tuple[Message, ...]:
    """The messages with one more answer and the results of its calls, as a turn stores them."""
    known: dict[str, Any] = {"conversation": "c", "max_tokens": 500, "model": "claude-opus-5-5"}
    asked = Request(**(known | {"messages": messages, "tools": (CLOCK,)} | more))
    text, thoughts, end = "", "", None
    async for chunk in provider.stream(asked):
        if isinstance(chunk, TextPiece):
            text += chunk.text
        elif isinstance(chunk, ReasoningPiece):
            thoughts += chunk.text
        elif isinstance(chunk, Finished):
            end = chunk
    assert end is not None
    calls = tuple(
        ToolCall(id=call.id, name=call.name, arguments=json.loads(call.arguments))
        for call in end.calls
    )
    id = str(len(messages))
    answer = Message.assistant(text, id=id, calls=calls, reasoning=thoughts, metadata=end.metadata)
    results = [
        Message.tool('{"time": "12:00"}', id=f"{id}-{number}", call_id=call.id)
        for number, call in enumerate(calls)
    ]
    return (*messages, answer, *results)


def thought(body: dict[str, Any]) -> list[dict[str, Any]]:
    blocks = [block for message in body["messages"] for block in message["content"]]
    return [block for block in blocks if block["type"] in THINKING]


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("claude-opus-5-5", {}),
        ("claude-sonnet-5-5", {"reasoning_effort": "high"}),
        ("claude-opus-4-6", {"reasoning_effort": "low"}),
        ("claude-haiku-4-5", {"reasoning_effort": "medium"}),
        ("claude-model-of-tomorrow", {}),
    ],
)
async def test_in_tool_rounds_thinking_is_sent_back_byte_for_byte(
    fake: FakeAnthropic, provider: AnthropicProvider, model: str, options: dict[str, object]
) -> None:
    messages: tuple[Message, ...] = PAST
    for made in range(4):
        messages = await next_round(provider, messages, model=model, options=options)
        back = thought(fake.requests[-1])
        assert [block["type"] for block in back] == [*THINKING] * made
        kept = [json.loads(said.metadata)["anthropic"]["blocks"] for said in rounds_of(messages)]
        signed = [block for blocks in kept for block in blocks if block["type"] in THINKING]
        assert back == signed[: 2 * made]
    assert messages[-1].content == "Noon."
    assert {said.reasoning for said in messages if said.calls} == {" t0 t1 t2"}
    # Also where no tool may be called any more.
    last = await next_round(provider, messages[:-1], model=model, options=options, may_call=False)
    assert (last[-1].content, len(thought(fake.requests[-1]))) == ("Noon.", 6)
    # In the next turn thinking may be left out, and the messages before it may change.
    following = (*messages, Message.user("[[tokens=1]]", id="next"))
    await next_round(provider, following, model=model, options=options)
    assert thought(fake.requests[-1]) == []
    await next_round(provider, following[2:], model=model, options=options)


def rounds_of(messages: tuple[Message, ...]) -> list[Message]:
    return [message for message in messages if message.metadata]


async def test_thinking_after_a_beginning_that_changed_is_left_out(
    fake: FakeAnthropic, provider: AnthropicProvider
) -> None:
    """A cut in the middle of a turn, other tools, one more instruction: each would be refused."""
    messages = await next_round(provider, PAST)
    other = replace(CLOCK, name="watch")
    for changed, more in (
        ((messages[0], *messages[3:]), {}),
        ((Message.system("Be kind.", id="k"), *messages), {}),
        (messages, {"tools": (CLOCK, other)}),
        (messages, {"tools": ()}),
    ):
        after = await next_round(provider, changed, **more)
        assert thought(fake.requests[-1]) == []
        # Later thinking is sent back again.
        if after[-1].role == "tool":
            await next_round(provider, after, **more)
            assert len(thought(fake.requests[-1])) == 2


@pytest.mark.parametrize("model", ["claude-haiku-5-5", "claude-haiku-4-5", "llama3"])
async def test_thinking_of_another_model_is_left_out(
    fake: FakeAnthropic, provider: AnthropicProvider, model: str
) -> None:
    """With a budget, a model that didn't think about its calls can't think about their results."""
    messages = await next_round(provider, PAST)
    await next_round(provider, messages, model=model, options={"reasoning_effort": "high"})
    assert thought(fake.requests[-1]) == []


@pytest.mark.parametrize(
    "change",
    [
        {"content": "Something else."},
        {"metadata": '{"anthropic": {"by": "anthropic:claude-opus-5-5"}}'},
        {"metadata": '{"openrouter": {"reasoning": "\\"anthropic\\""}}'},
        {"metadata": '["anthropic"'},
        {"metadata": '{"anthropic": {"by": "anthropic:claude-opus-5-5", "blocks": [{}]}}'},
        {"metadata": '{"anthropic": {"by": "anthropic:claude-opus-5-5", "blocks": [1]}}'},
    ],
)
async def test_thinking_that_no_longer_fits_its_message_is_left_out(
    fake: FakeAnthropic, provider: AnthropicProvider, change: dict[str, Any]
) -> None:
    messages = await next_round(provider, PAST)
    changed = [replace(said, **change) if said.calls else said for said in messages]
    await next_round(provider, tuple(changed))
    assert thought(fake.requests[-1]) == []


async def test_who_asks_for_no_thinking_gets_none_where_the_model_can_do_without(
    fake: FakeAnthropic, provider: AnthropicProvider
) -> None:
    said: dict[str, object] = {}
    for model in (
        "claude-opus-5",
        "claude-sonnet-5-5",
        "claude-opus-5-5",
        "claude-opus-4-8",
        "claude-haiku-4-5",
    ):
        await next_round(provider, PAST, model=model, options={"reasoning_effort": "none"})
        body = fake.requests[-1]
        said[model] = body.get("thinking", {}).get("type"), body.get("output_config")
    assert said == {
        "claude-opus-5": ("disabled", None),
        "claude-sonnet-5-5": ("between_tools", None),
        "claude-opus-5-5": ("adaptive", {"effort": "low"}),
        "claude-opus-4-8": (None, None),
        "claude-haiku-4-5": (None, None),
    }


@pytest.mark.parametrize(
    ("model", "wish", "effort"),
    [
        ("claude-opus-4-6", "xhigh", "high"),
        ("claude-opus-4-7", "xhigh", "xhigh"),
        ("us.anthropic.claude-opus-4-6-v1", "xhigh", "high"),
        ("anthropic/claude-opus-5.5", "minimal", "low"),
        ("claude-opus-5-5", "nonsense", None),
        ("claude-opus-5-5", None, None),
    ],
)
async def test_an_effort_that_a_model_lacks_is_the_next_lower_one(
    model: str, wish: str | None, effort: str | None
) -> None:
    said = choose_thinking(find_family(model), wish, reply=100, longest=None).params
    assert said.get("output_config", {}).get("effort") == effort
    assert said["thinking"] == {"type": "adaptive", "display": "summarized"}


@pytest.mark.parametrize(
    ("reply", "longest", "budget"),
    [(1_000, 64_000, 16_384), (60_000, 64_000, 16_384), (500, 3_000, 2_500), (500, 1_000, None)],
)
async def test_a_budget_leaves_room_for_the_answer(
    reply: int, longest: int, budget: int | None
) -> None:
    said = choose_thinking(find_family("claude-haiku-4-5"), "high", reply=reply, longest=longest)
    assert said.params.get("thinking", {}).get("budget_tokens") == budget
    assert budget is None or budget < min(reply + said.room, longest)


async def test_an_answers_metadata_can_be_stored_and_sent() -> None:
    """A character may arrive in halves, and a name may contain anything."""
    reader = AnthropicReader(MessagesRequest({"model": "m"}, "anthropic:m", "p"))
    blocks = [
        ({"type": "thinking", "thinking": "hm \ud83d"}, "\ude00\0 ok"),
        ({"type": "tool_use", "id": "toolu_1", "name": "x\ud83d", "input": {}}, None),
    ]
    for index, (block, more) in enumerate(blocks):
        event = {"type": "content_block_start", "index": index, "content_block": block}
        reader.take(json.dumps(event).encode())
        if more is not None:
            delta = {"type": "thinking_delta", "thinking": more}
            event = {"type": "content_block_delta", "index": index, "delta": delta}
            reader.take(json.dumps(event).encode())
    end_of_it = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
    reader.take(json.dumps(end_of_it).encode())
    end = reader.finished()
    kept = json.loads(end.metadata.encode())["anthropic"]["blocks"][0]
    assert kept["thinking"] == "hm 😀\ufffd ok"
    assert end.calls[0].name == "x\ufffd"
    reader = AnthropicReader(MessagesRequest({"model": "m"}, "anthropic:m", "p"))
    nameless = {"type": "tool_use", "id": 7, "name": "clock"}
    begin = {"type": "content_block_start", "index": 2, "content_block": nameless}
    with pytest.raises(ProviderError) as told:
        reader.take(json.dumps(begin).encode())
    assert told.value.code == "malformed"
