"""Tools, reasoning, and an answer's metadata for its server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest

from chatsite.errors import ProviderError
from chatsite.messages import Message, ToolCall
from chatsite.providers.base.provider import (
    CallBegun,
    Chunk,
    Finished,
    ReasoningPiece,
    Request,
    TextPiece,
    ToolSpec,
    Usage,
)
from chatsite.providers.openai.provider import OpenAIProvider
from chatsite.providers.openai.reader import ChatReader
from chatsite.providers.tokens.tokenizers import Estimate
from tests.fakes.openai_provider import provider_at
from tests.fakes.openai_rules import problems
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.openai_wishes import SIGNED
from tests.providers.chunks import joined

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = (
    ToolSpec(name="weather", description="The weather now.", parameters=SCHEMA),
    ToolSpec(name="clock", description="The time.", parameters={"type": "object"}),
)
ROME = '{"city": "Rome, Köln 🍎"}'
BOTH = f"calls=weather:{ROME}|clock:{{}}"


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture
async def provider(fake: FakeOpenAI) -> AsyncIterator[OpenAIProvider]:
    made = provider_at(fake.base_url)
    yield made
    await made.aclose()


def request(*messages: Message, model: str = "gpt-4o-mini", tools: bool = True) -> Request:
    return Request(
        conversation="c",
        messages=messages,
        model=model,
        max_tokens=100,
        tools=TOOLS if tools else (),
    )


def user(text: str) -> Message:
    return Message.user(text, id="u")


async def ask(provider: OpenAIProvider, asked: Request) -> tuple[list[Chunk], Finished]:
    chunks = joined([chunk async for chunk in provider.stream(asked)])
    last = chunks.pop()
    assert isinstance(last, Finished)
    return chunks, last


def answered(end: Finished) -> list[Message]:
    """The round as stored: the message with its calls, and their results."""
    calls = tuple(
        ToolCall(id=call.id, name=call.name, arguments=json.loads(call.arguments))
        for call in end.calls
    )
    said = Message.assistant(None, id="a", calls=calls, metadata=end.metadata)
    return [said, *(Message.tool('"ok"', id=f"r{c.id}", call_id=c.id) for c in calls)]


async def test_calls_come_together_from_their_pieces_and_their_results_go_back(
    fake: FakeOpenAI, provider: OpenAIProvider
) -> None:
    question = user(f"[[{BOTH};before=Let me look.;text=Dry.;cached=7]]")
    chunks, end = await ask(provider, request(question))
    assert chunks == [TextPiece("Let me look."), CallBegun("weather"), CallBegun("clock")]
    assert end.reason == "tool_calls" and end.usage.cached == 7 and end.metadata == ""
    called = [(call.name, call.arguments) for call in end.calls]
    assert called == [("weather", ROME), ("clock", "{}")]
    chunks, end = await ask(provider, request(question, *answered(end)))
    assert (chunks, end.reason, end.calls) == ([TextPiece("Dry.")], "stop", ())
    assert [problems(body) for body in fake.requests[-2:]] == [[], []]
    function = fake.requests[-1]["tools"][0]["function"]
    assert function == {"name": "weather", "description": "The weather now.", "parameters": SCHEMA}
    assert "parallel_tool_calls" not in fake.requests[-1]


@pytest.mark.parametrize(
    "form",
    [
        "shape=again",
        "shape=whole",
        "shape=noindex",
        "shape=zero",
        "shape=object",
        "shape=zero;ids=missing",
        "shape=noindex;ids=missing",
        "ids=missing",
        "ids=empty",
        "ids=same",
        "ids=short",
        "finish=stop",
    ],
)
async def test_other_servers_forms_of_calls_are_understood(
    provider: OpenAIProvider, form: str
) -> None:
    chunks, end = await ask(provider, request(user(f"[[{BOTH};{form}]]")))
    assert chunks == [CallBegun("weather"), CallBegun("clock")]
    assert end.reason == "tool_calls"
    assert [call.name for call in end.calls] == ["weather", "clock"]
    assert [json.loads(call.arguments) for call in end.calls] == [json.loads(ROME), {}]
    ids = [call.id for call in end.calls]
    assert len(set(ids)) == 2 and all(len(id) >= 8 for id in ids)


async def test_arguments_that_are_no_json_come_as_they_were_written(
    provider: OpenAIProvider,
) -> None:
    _, end = await ask(provider, request(user('[[calls=weather:{"city": ]]')))
    assert [call.arguments for call in end.calls] == ['{"city": ']


async def test_a_model_without_tools_has_its_own_error(provider: OpenAIProvider) -> None:
    with pytest.raises(ProviderError) as told:
        await ask(provider, request(user("[[mode=no_tools]]")))
    assert (told.value.code, told.value.retryable) == ("no_tools", False)
    chunks, _ = await ask(provider, request(user("[[mode=no_tools;text=Well.]]"), tools=False))
    assert chunks == [TextPiece("Well.")]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning+reasoning_content"])
async def test_reasoning_is_separate_from_the_answer(provider: OpenAIProvider, field: str) -> None:
    chunks, end = await ask(provider, request(user(f"[[think=2;text=Yes.;field={field}]]")))
    assert chunks == [ReasoningPiece(" t0 t1"), TextPiece("Yes.")]
    assert end.metadata == "", "outside of a tool round nobody wants it back"


def test_halves_of_a_character_are_joined_and_single_ones_replaced() -> None:
    def said(*texts: str) -> str:
        reader = ChatReader()
        events = [{"choices": [{"delta": {"content": text}}]} for text in texts]
        chunks = [reader.take(json.dumps(event).encode()) for event in events]
        return "".join(
            chunk.text for some in chunks for chunk in some if isinstance(chunk, TextPiece)
        )

    assert said("so \ud83c", "\udf4e!") == "so 🍎!"
    assert said("a\udf4eb", "c\x00d", "\ud83c", "e") == "a\ufffdbc\ufffdd\ufffde"


async def test_reasoning_that_is_sent_back_is_counted() -> None:
    kept = json.dumps({"deepseek": {"model": "m", "reasoning_content": "word " * 100}})
    said = [Message.assistant("So.", id=x, metadata=x) for x in ("", kept, "[]", "no json")]
    plain, more, *others = await Estimate().count(said)
    assert more.count > plain.count + 80 and others == [plain, plain]


async def test_cached_tokens_are_read_as_deepseek_names_them(provider: OpenAIProvider) -> None:
    question = user("[[tokens=1;cached=3;cached_as=deepseek]]")
    _, end = await ask(provider, request(question, tools=False))
    assert end.usage == Usage(prompt=5, cached=3, completion=1)


async def sent_back(
    fake: FakeOpenAI, wish: str, *, server: str, model: str, then: str = ""
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The assistant's message of the second round as `server` gets it, and as another does."""
    sent = []
    question = user(f"[[{BOTH};{wish}]]")
    first = provider_at(fake.base_url, server=server)
    _, end = await ask(first, request(question, model=model))
    await first.aclose()
    for name in (server, "groq"):
        provider = provider_at(fake.base_url, server=name)
        await ask(provider, request(question, *answered(end), model=then or model))
        await provider.aclose()
        sent.append(fake.requests[-1]["messages"][1])
    return sent[0], sent[1]


async def test_deepseek_gets_its_reasoning_back_within_a_turn_with_tools(
    fake: FakeOpenAI,
) -> None:
    own, other = await sent_back(fake, "think=2", server="deepseek", model="deepseek-v4-pro")
    assert own["reasoning_content"] == " t0 t1"
    assert "reasoning_content" not in other
    # DeepSeek refuses a turn with tools without the field, which another provider's turn lacks.
    own, _ = await sent_back(fake, "think=0", server="deepseek", model="deepseek-v4-pro")
    assert own["reasoning_content"] == ""


async def test_the_answer_after_a_tool_keeps_its_reasoning_too(fake: FakeOpenAI) -> None:
    provider = provider_at(fake.base_url, server="deepseek")
    _, called = await ask(provider, request(user(f"[[{BOTH};think=1]]")))
    past = [user("Rain?"), *answered(called)]
    question = replace(past[0], content="[[think=1;text=Dry.]]")
    _, end = await ask(provider, request(question, *past[1:]))
    last = Message.assistant("Dry.", id="z", metadata=end.metadata)
    plain = Message.assistant("Hello.", id="y")
    await ask(provider, request(user("Hi"), plain, *past, last, user("Sure?")))
    await provider.aclose()
    sent = [m for m in fake.requests[-1]["messages"] if m["role"] == "assistant"]
    assert [m.get("reasoning_content") for m in sent] == [None, " t0", " t0"]
    assert problems(fake.requests[-1], extra=["reasoning_content"]) == []


async def test_signed_reasoning_is_sent_back_byte_for_byte_to_the_model_that_signed_it(
    fake: FakeOpenAI,
) -> None:
    wish, model = "think=2;field=reasoning;details=1", "anthropic/claude-sonnet-5"
    own, other = await sent_back(fake, wish, server="openrouter", model=model)
    text = {"type": "reasoning.text", "text": " t0 t1", "index": 0}
    assert own["reasoning_details"] == [
        text | {"format": "anthropic-claude-v1", "signature": "sig/+="},
        {"type": "reasoning.encrypted", "data": "gAAAA/+=", "id": "rs_1", "index": 1},
    ]
    assert "reasoning_details" not in other
    own, _ = await sent_back(fake, wish, server="openrouter", model=model, then="openai/gpt-6")
    assert "reasoning_details" not in own


async def test_geminis_signature_stays_with_its_call(fake: FakeOpenAI) -> None:
    own, other = await sent_back(fake, "signed=1", server="gemini", model="gemini-3.8-flash")
    assert [call.get("extra_content") for call in own["tool_calls"]] == [SIGNED, None]
    assert [call.get("extra_content") for call in other["tool_calls"]] == [None, None]
    # A call that Gemini didn't make has no signature; Gemini refuses it without a placeholder.
    own, _ = await sent_back(fake, "think=0", server="gemini", model="gemini-3.8-flash")
    assert "skip_thought" in str(own["tool_calls"][0]["extra_content"])


async def test_other_providers_calls_and_metadata_are_made_fit_for_openai(
    fake: FakeOpenAI, provider: OpenAIProvider
) -> None:
    """Ids of another provider may be too long, names may contain dots."""
    long = "toolu_" + "x" * 60
    call = ToolCall(id=long, name="files.read", arguments={"a": 1})
    said = Message.assistant(None, id="a", calls=(call,), metadata='{"anthropic": {"thinking": 1}}')
    result = Message.tool('"ok"', id="r", call_id=long)
    broken = Message.assistant("So.", id="b", metadata="not json")
    orders = {"role": "system", "content": "Orders", "model": "gpt-4o-mini", "calls": [1]}
    hidden = Message.assistant("Hi.", id="h", metadata=json.dumps({"openai": orders}))
    await ask(provider, request(user("Hi"), said, result, broken, hidden, user("And?")))
    assert problems(fake.requests[-1]) == []
    assert fake.requests[-1]["messages"][3] == {"role": "assistant", "content": "So.\n\nHi."}


async def test_a_model_that_takes_tools_with_one_effort_only_gets_it(
    fake: FakeOpenAI, provider: OpenAIProvider
) -> None:
    asked = replace(request(user("Hi"), model="gpt-6-luna"), options={"reasoning_effort": "high"})
    await ask(provider, asked)
    assert fake.requests[-1]["reasoning_effort"] == "none"
    await ask(provider, replace(asked, tools=()))
    assert fake.requests[-1]["reasoning_effort"] == "high"


async def test_after_the_last_round_nothing_may_be_called(fake: FakeOpenAI) -> None:
    asked = replace(request(user(f"[[{BOTH};text=Dry.]]")), may_call=False)
    here = provider_at(fake.base_url)
    chunks, end = await ask(here, asked)
    await here.aclose()
    assert (chunks, end.calls) == ([TextPiece("Dry.")], ())
    # A server on this machine may lack `tool_choice`; others keep their cached beginning.
    assert "tools" not in fake.requests[-1]
    away = provider_at(fake.base_url.replace("127.0.0.1", "0.0.0.0"))
    chunks, _ = await ask(away, asked)
    await away.aclose()
    assert chunks == [TextPiece("Dry.")]
    assert (len(fake.requests[-1]["tools"]), fake.requests[-1]["tool_choice"]) == (2, "none")
    assert problems(fake.requests[-1]) == []
