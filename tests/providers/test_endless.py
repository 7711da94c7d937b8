"""An answer is bounded, whatever a server sends: what is kept of it, its calls, its silence, and
the body of an error."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import httpx2
import pytest

from chatsite.errors import ProviderError
from chatsite.messages import Message
from chatsite.providers.anthropic.provider import AnthropicProvider
from chatsite.providers.base.provider import (
    CallBegun,
    Chunk,
    Finished,
    ReasoningPiece,
    Request,
    TextPiece,
    Usage,
)
from chatsite.providers.base.received import LONGEST_ID, LONGEST_NAME, MOST_CALLS
from chatsite.providers.http import transport
from chatsite.providers.http.streaming import Timeouts
from chatsite.providers.openai.provider import OpenAIProvider
from tests.fakes import anthropic_provider, openai_provider
from tests.providers.chunks import joined
from tests.providers.endless import (
    CHAT_END,
    CHAT_HI,
    CLAUDE_END,
    CLAUDE_HI,
    HALF_A_MILLION,
    Endless,
    begin,
    chat,
    chat_call,
    event,
    grow,
    many,
    tool,
)

pytestmark = pytest.mark.slow

Pieces = Callable[[], Iterable[bytes]]
Dialect = Callable[[Endless, float], OpenAIProvider | AnthropicProvider]
X = HALF_A_MILLION


def openai(server: Endless, patience: float) -> OpenAIProvider:
    timeouts = Timeouts(first_token=patience, between_tokens=patience)
    return openai_provider.provider_at(server.base_url, timeouts=timeouts)


def anthropic(server: Endless, patience: float) -> AnthropicProvider:
    timeouts = Timeouts(first_token=patience, between_tokens=patience)
    return anthropic_provider.provider_at(server.root, api_key="sk-ant", timeouts=timeouts)


async def ask(
    dialect: Dialect, server: Endless, *, patience: float = 5.0
) -> tuple[list[Chunk], Finished | ProviderError]:
    """The chunks, and how the answer ended; then nothing is read any more."""
    messages = (Message.user("Hello", id="u"),)
    model = "gpt-4o-mini" if dialect is openai else "claude-haiku-4-5"
    request = Request(conversation="c", messages=messages, model=model, max_tokens=1000)
    provider = dialect(server, patience)
    chunks: list[Chunk] = []
    end: Finished | ProviderError
    try:
        async with asyncio.timeout(60):
            async for chunk in provider.stream(request):
                chunks.append(chunk)
        assert isinstance(last := chunks.pop(), Finished)
        end = last
    except ProviderError as error:
        end = error
    async with asyncio.timeout(60):
        while server.in_flight:  # noqa: ASYNC110 - the server lives in another thread
            await asyncio.sleep(0.005)
    await provider.aclose()
    return joined(chunks), end


def detail(**fields: Any) -> bytes:
    return chat({"reasoning_details": [fields]})


def signed(number: int) -> bytes:
    call = {"index": 0, "function": {}, "extra_content": {"google": X + str(number)}}
    return chat({"tool_calls": [call]})


def with_id(number: int) -> bytes:
    return chat({"tool_calls": [{"index": number, "id": X, "function": {"name": "clock"}}]})


CHAT_KEPT: dict[str, Callable[[int], bytes]] = {
    "encrypted": lambda n: detail(type="reasoning.encrypted", index=n, data=X),
    "encrypted in one place": lambda n: detail(type="reasoning.encrypted", index=0, data=X),
    "a detail that grows": lambda n: detail(type="reasoning.text", index=0, text=X),
    "a new signature": lambda n: detail(type="reasoning.text", index=0, signature=X + str(n)),
    "a name of a field": lambda n: detail(
        type="reasoning.text", index=0, text="", **{X + str(n): 1}
    ),
    "nested": lambda n: detail(type="reasoning.encrypted", index=n, data=[[{"a": X}]]),
    "numbers": lambda n: detail(type="t", index=n, data=[1000] * 80_000),
    "signed calls": signed,
    "ids": with_id,
    "names": lambda n: chat_call(n, name=X),
    "arguments": lambda n: chat_call(0, name="clock", arguments=X),
    "arguments of many": lambda n: chat_call(n, name="clock", arguments=X),
    "an object": lambda n: chat_call(0, name="clock", arguments={"a": X}),
    "other details": lambda n: chat({"reasoning_details": [{}] * 10_000}),
}
CLAUDE_KEPT: dict[str, Callable[[int], bytes]] = {
    "redacted": lambda n: begin(n + 1, "redacted_thinking", data=X),
    "redacted in one place": lambda n: begin(1, "redacted_thinking", data=X),
    "signed at once": lambda n: begin(n + 1, "thinking", thinking="", signature=X),
    "signatures": lambda n: grow(0, "signature_delta", signature=X),
    "input at once": lambda n: tool(n + 1, input={"a": X}),
    "input": lambda n: tool(n + 1) + grow(n + 1, "input_json_delta", partial_json=X),
    "names": lambda n: tool(n + 1, name=X),
    "ids": lambda n: tool(n + 1, id=X),
    "unknown": lambda n: begin(n + 1, "web_search_tool_result", content=X),
    "places": lambda n: begin(X + str(n), "text", text=""),  # type: ignore[arg-type]
    "empty": lambda n: b"".join(begin(n * 500 + m, "text", text="") for m in range(500)),
}
KEPT: list[tuple[Dialect, bytes, Callable[[int], bytes], bytes]] = [
    *((openai, CHAT_HI, piece, CHAT_END) for piece in CHAT_KEPT.values()),
    *((anthropic, CLAUDE_HI, piece, CLAUDE_END) for piece in CLAUDE_KEPT.values()),
]


@pytest.mark.parametrize(
    ("dialect", "hi", "piece", "end"), KEPT, ids=[*CHAT_KEPT, *(f"claude {n}" for n in CLAUDE_KEPT)]
)
async def test_what_is_kept_beside_the_text_is_bounded(
    dialect: Dialect, hi: bytes, piece: Callable[[int], bytes], end: bytes
) -> None:
    with Endless(lambda: itertools.chain([hi], many(piece), [end])) as server:
        chunks, ended = await ask(dialect, server)
        assert server.written < 20_000_000  # the most of it in buffers
    assert isinstance(ended, Finished)
    assert (ended.reason, ended.metadata, ended.calls) == ("length", "", ())
    assert chunks[0] == TextPiece("hi")
    begun = [chunk.name for chunk in chunks if isinstance(chunk, CallBegun)]
    assert all(len(name) <= LONGEST_NAME for name in begun)


@pytest.mark.parametrize(
    ("dialect", "piece"),
    [
        (openai, lambda n: chat({"reasoning_content": X})),
        (
            anthropic,
            lambda n: begin(n, "thinking", thinking="") + grow(n, "thinking_delta", thinking=X),
        ),
    ],
)
async def test_reasoning_is_bounded_for_whoever_reads_it(
    dialect: Dialect, piece: Callable[[int], bytes]
) -> None:
    with Endless(lambda: many(piece)) as server:
        chunks, ended = await ask(dialect, server)
    assert isinstance(ended, Finished) and ended.reason == "length"
    assert sum(len(one.text) for one in chunks if isinstance(one, ReasoningPiece)) <= 1_000_000


def chat_calls(number: int) -> Iterator[bytes]:
    return many(lambda n: chat_call(n, name="clock", arguments="{}"), of=number)


def nameless_calls(number: int) -> Iterator[bytes]:
    """The second of these can't belong to the first, whose arguments are whole."""
    return many(lambda n: chat_call(None, name="clock", arguments="{}"), of=number)


def calls_at_once(number: int) -> list[bytes]:
    call = {"function": {"name": "clock", "arguments": "{}"}}
    return [chat({"tool_calls": [{**call, "index": n} for n in range(number)]})]


def claude_calls(number: int) -> Iterator[bytes]:
    return many(lambda n: tool(n + 1, id=f"toolu_{n}"), of=number)


@pytest.mark.parametrize(
    ("dialect", "calls"),
    [
        (openai, chat_calls),
        (openai, nameless_calls),
        (openai, calls_at_once),
        (anthropic, claude_calls),
    ],
)
async def test_calls_have_a_number(
    dialect: Dialect, calls: Callable[[int], Iterable[bytes]]
) -> None:
    hi, end = (CHAT_HI, CHAT_END) if dialect is openai else (CLAUDE_HI, CLAUDE_END)
    ends = []
    for number in (MOST_CALLS, MOST_CALLS + 1, 4_000):
        with Endless(lambda n=number: itertools.chain([hi], calls(n), [end])) as server:  # type: ignore[misc]
            chunks, ended = await ask(dialect, server)
        assert chunks[0] == TextPiece("hi") and len(chunks) <= MOST_CALLS + 1
        assert isinstance(ended, Finished)
        ends.append((ended.reason, len(ended.calls)))
    assert ends == [("tool_calls", MOST_CALLS), ("length", 0), ("length", 0)]


async def test_long_names_and_ids_are_not_kept() -> None:
    call = {"index": 0, "id": "i" * 5_000, "function": {"name": "n" * 5_000}}
    with Endless(lambda: [chat({"tool_calls": [call]}), CHAT_END]) as server:
        chunks, ended = await ask(openai, server)
    assert chunks == [CallBegun("n" * LONGEST_NAME)] and isinstance(ended, Finished)
    assert ended.calls[0].name == "n" * LONGEST_NAME and len(ended.calls[0].id) <= LONGEST_ID


async def test_where_one_call_ends_is_not_looked_for_without_end() -> None:
    """Each of these pieces may begin another call, if the call before is whole."""
    begun = chat_call(0, name="clock", arguments='{"a": "' + X)
    again = chat({"tool_calls": [{"index": 0, "function": {"name": "clock"}}] * 100})
    with Endless(lambda: [begun, *[again] * 200, CHAT_END]) as server:
        _, ended = await ask(openai, server)
    assert isinstance(ended, Finished) and ended.reason == "length"


CALL = chat_call(0, name="clock")
DETAIL = detail(type="reasoning.text", index=0, text="hm", signature="s")
THINKS = CLAUDE_HI + begin(1, "thinking", thinking="hm", signature="") + tool(2)
SILENT: dict[str, tuple[Dialect, bytes, bytes]] = {
    "empty call": (openai, CHAT_HI + CALL, chat({"tool_calls": [{"index": 0}]})),
    "call again": (openai, CHAT_HI + CALL, CALL),
    "no calls": (openai, CHAT_HI, chat({"tool_calls": []})),
    "empty detail": (openai, CHAT_HI + DETAIL, detail(type="reasoning.text", index=0, text="")),
    "signature": (openai, CHAT_HI + DETAIL, detail(type="reasoning.text", index=0, signature="s")),
    "empty text": (openai, CHAT_HI, chat({"content": "", "reasoning": ""})),
    "comment": (openai, CHAT_HI, b": ping\n\n"),
    "claude text": (anthropic, THINKS, grow(0, "text_delta", text="")),
    "claude thinking": (anthropic, THINKS, grow(1, "thinking_delta", thinking="")),
    "claude signature": (anthropic, THINKS, grow(1, "signature_delta", signature="")),
    "claude input": (anthropic, THINKS, grow(2, "input_json_delta", partial_json="")),
    "claude unknown": (anthropic, THINKS, grow(0, "some_delta", more="x")),
    "claude ping": (anthropic, THINKS, event({"type": "ping"})),
}


@pytest.mark.parametrize(("dialect", "first", "silence"), SILENT.values(), ids=SILENT)
async def test_events_that_say_nothing_are_a_silence(
    dialect: Dialect, first: bytes, silence: bytes
) -> None:
    with Endless(lambda: itertools.chain([first], itertools.repeat(silence)), pause=0.01) as server:
        async with asyncio.timeout(60):
            chunks, ended = await ask(dialect, server, patience=0.3)
    assert chunks[0] == TextPiece("hi")
    assert isinstance(ended, ProviderError) and ended.code == "timeout"


GROWING: dict[str, tuple[Dialect, bytes, bytes, bytes]] = {
    "call": (openai, CALL, chat_call(0, arguments=" "), CHAT_END),
    "detail": (openai, b"", detail(type="reasoning.text", index=0, text="m"), CHAT_END),
    "claude input": (anthropic, THINKS, grow(2, "input_json_delta", partial_json=" "), CLAUDE_END),
    "claude thinking": (anthropic, THINKS, grow(1, "thinking_delta", thinking="m"), CLAUDE_END),
}


@pytest.mark.slow
@pytest.mark.parametrize(("dialect", "first", "piece", "end"), GROWING.values(), ids=GROWING)
async def test_what_grows_slowly_is_no_silence(
    dialect: Dialect, first: bytes, piece: bytes, end: bytes
) -> None:
    with Endless(lambda: [first, *[piece] * 12, end], pause=0.1) as server:
        _, ended = await ask(dialect, server, patience=0.5)
    assert isinstance(ended, Finished)


@pytest.mark.parametrize(
    ("dialect", "first", "end"),
    [
        (openai, CHAT_HI, chat({}, finish="stop")),
        (
            anthropic,
            CLAUDE_HI,
            event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        ),
    ],
)
async def test_an_answer_ends_once(
    dialect: Dialect, first: bytes, end: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatsite.providers.http.streaming._USAGE_SECONDS", 0.3)
    with Endless(lambda: itertools.chain([first], itertools.repeat(end)), pause=0.05) as server:
        async with asyncio.timeout(60):
            chunks, ended = await ask(dialect, server)
    assert chunks == [TextPiece("hi")]
    assert isinstance(ended, Finished) and ended.reason == "stop"


FLOODS = {
    "comments": b": x\n\n" * 20_000,
    "nothing": b"\n" * 100_000,
    "one event": b"data:\n" * 20_000,
    "pings": event({"type": "ping"}) * 2_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("dialect", [openai, anthropic])
@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
@pytest.mark.parametrize("begun", [False, True])
async def test_a_flood_that_says_nothing_ends(dialect: Dialect, flood: bytes, begun: bool) -> None:
    hi = CHAT_HI if dialect is openai else CLAUDE_HI
    pieces = itertools.chain([hi] * begun, itertools.repeat(flood))
    with Endless(lambda: pieces) as server:
        chunks, ended = await ask(dialect, server, patience=15)
        assert server.written < 20_000_000
    assert chunks == [TextPiece("hi")] * begun
    assert isinstance(ended, ProviderError) and ended.code == "malformed"


@pytest.mark.parametrize("dialect", [openai, anthropic])
@pytest.mark.parametrize(
    ("status", "code"), [("500 No", "provider_down"), ("401 No", "key_refused")]
)
async def test_an_error_has_an_end(dialect: Dialect, status: str, code: str) -> None:
    with Endless(lambda: itertools.repeat(b"x" * 65_536), head=f"HTTP/1.1 {status}\r\n") as server:
        _, ended = await ask(dialect, server)
        assert server.written < 20_000_000
    assert isinstance(ended, ProviderError) and ended.code == code


async def test_of_a_body_that_is_read_whole_not_everything_is_taken() -> None:
    with Endless(lambda: itertools.repeat(b"x" * 65_536), head="HTTP/1.1 200 OK\r\n") as server:
        async with transport.ServerClient(server.base_url, connect=1) as client:
            with pytest.raises(httpx2.RemoteProtocolError, match="BodyTooLong"):
                await client.get(server.base_url)


@pytest.mark.parametrize("count", [-5, 10**30, True, "7"])
async def test_a_count_that_no_answer_has_is_not_reported(count: object) -> None:
    usage = {"input_tokens": count, "output_tokens": count, "other": 7}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
    with Endless(lambda: [CLAUDE_HI, event(end), event({"type": "message_stop"})]) as server:
        _, ended = await ask(anthropic, server)
    assert isinstance(ended, Finished) and ended.usage == Usage()
