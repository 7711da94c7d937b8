"""Whatever the history decides to send, the body is one that Anthropic accepts."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsite.conformance.cases import Case
from chatsite.conformance.drawn import cases
from chatsite.conformance.seen import Refused
from chatsite.conformance.variants import VARIANTS, Variant
from chatsite.errors import NotFound, ProviderError
from chatsite.messages import Attachment, Message, ToolCall
from chatsite.providers.anthropic import AnthropicProvider
from chatsite.providers.anthropic_body import Body, body_of
from chatsite.providers.anthropic_tokens import ClaudeEstimate
from chatsite.providers.anthropic_wire import EARLIER, GO_ON
from chatsite.providers.base import Content, Request, ToolSpec
from chatsite.providers.models import ModelTable
from tests.fakes.anthropic_provider import provider_at
from tests.fakes.anthropic_rules import problems
from tests.fakes.anthropic_server import FakeAnthropic

MODELS = ("claude-opus-5-5", "claude-haiku-4-5", "claude-sonnet-4-6", "claude-next", "llama3")
CLOCK = ToolSpec(name="clock", description="", parameters={"type": "object"})


def body(*messages: Message, model: str = "claude-haiku-4-5", **more: Any) -> Body:
    known: dict[str, Any] = {"conversation": "c", "messages": messages, "max_tokens": 300}
    made = body_of(
        Request(**(known | {"model": model} | more)),
        server="anthropic",
        facts=ModelTable().facts("anthropic", model),
        sources={},
        official=True,
    )
    assert problems(made.value, version=made.version or "2026-10-21") == []
    return made


def said(made: Body) -> list[tuple[str, list[str]]]:
    """Roles with their texts, calls and results."""
    return [
        (
            message["role"],
            [
                block.get("text") or block.get("id") or block["tool_use_id"]
                for block in message["content"]
            ],
        )
        for message in made.value["messages"]
    ]


@settings(max_examples=60, deadline=None)
@given(
    case=cases(),
    variant=st.sampled_from(VARIANTS),
    model=st.sampled_from(MODELS),
    effort=st.sampled_from((None, "none", "low", "max")),
    tools=st.booleans(),
)
def test_every_history_makes_a_valid_request(
    case: Case, variant: Variant, model: str, effort: str | None, tools: bool
) -> None:
    try:
        seen = variant.see(case)
    except Refused:
        return
    options = {"reasoning_effort": effort} if effort else {}
    body(
        *seen.request,
        model=model,
        options=options,
        temperature=1.7,
        top_p=0.5,
        tools=(CLOCK,) if tools else (),
    )


def test_neighbours_are_one_message_and_blank_text_is_none() -> None:
    made = body(
        Message.system("One.", id="1"),
        Message.user("Quoted.", id="2"),
        Message.user("Asked.", id="3"),
        Message.assistant(" \n", id="4"),
        Message.system("Two.", id="5"),
        Message.user("Again.", id="6"),
    )
    assert said(made) == [("user", ["Quoted.", "Asked.", "Again."])]
    assert [block["text"] for block in made.value["system"]] == ["One.", "Two."]


def test_a_history_that_begins_or_ends_with_an_answer_says_so() -> None:
    made = body(Message.assistant("Hello!", id="1"), Message.user("Hi", id="2"))
    assert said(made) == [("user", [EARLIER]), ("assistant", ["Hello!"]), ("user", ["Hi"])]
    made = body(Message.user("Tell me", id="1"), Message.assistant("Once upon ", id="2"))
    assert said(made) == [("user", ["Tell me"]), ("assistant", ["Once upon "]), ("user", [GO_ON])]


def test_calls_of_any_provider_get_ids_that_are_taken_and_are_unique() -> None:
    def round_of(id: str, name: str) -> tuple[Message, ...]:
        calls = (ToolCall(id=id, name=name), ToolCall(id="call:1/ü", name="clock"))
        return (
            Message.assistant("Look.", id="a", calls=calls),
            Message.tool("1", id="b", call_id="call:1/ü"),
            Message.tool('{"error": {"name": "Oh", "message": "No."}}', id="c", call_id=id),
        )

    made = body(
        Message.user("Hi", id="u"), *round_of("call_0", "a.b"), *round_of("call_0", "clock")
    )
    hashed = said(made)[1][1][2]
    assert said(made)[1:] == [
        ("assistant", ["Look.", "call_0", hashed]),
        ("user", [hashed, "call_0"]),
        ("assistant", ["Look.", "call_0_2", f"{hashed}_2"]),
        ("user", [f"{hashed}_2", "call_0_2"]),
    ]
    results = made.value["messages"][2]["content"]
    assert [block.get("is_error", False) for block in results] == [False, True]
    # Without tools of its own the request defines what stands in its history, and forbids it.
    assert [tool["name"] for tool in made.value["tools"]] == ["a_b", "clock"]
    assert made.value["tool_choice"] == {"type": "none"}


def test_a_temperature_is_sent_where_a_model_takes_one() -> None:
    """Under the version of the API that still does; never with thinking, nor beside top_p."""
    asked = {"temperature": 1.7, "top_p": 0.9}
    found = {}
    for model, effort in (
        ("claude-haiku-4-5", None),
        ("claude-haiku-4-5", "low"),
        ("claude-opus-5-5", None),
        ("llama3", None),
    ):
        options = {"reasoning_effort": effort} if effort else {}
        made = body(Message.user("Hi", id="u"), model=model, options=options, **asked)
        found[model, effort] = made.version, made.value.get("temperature"), "top_p" in made.value
    assert found == {
        ("claude-haiku-4-5", None): ("2023-06-01", 1.0, False),
        ("claude-haiku-4-5", "low"): (None, None, False),
        ("claude-opus-5-5", None): (None, None, False),
        ("llama3", None): ("2023-06-01", 1.0, False),
    }
    assert body(Message.user("Hi", id="u"), top_p=0.9).value["top_p"] == 0.9


def test_the_reply_is_bounded_by_what_the_model_can_say() -> None:
    for model, longest in (("claude-haiku-4-5", 64_000), ("claude-opus-5-5", 128_000)):
        made = body(Message.user("Hi", id="u"), model=model, max_tokens=1_000_000)
        assert made.value["max_tokens"] == longest


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def answer(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


HI = {"type": "text", "text": "Hi"}
CALL = {"type": "tool_use", "id": "t1", "name": "clock", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "12:00"}
TOOLS = {"tools": [{"name": "clock", "input_schema": {"type": "object"}}]}
GIF = {"type": "base64", "media_type": "image/bmp", "data": "AAAA"}
MARKED = HI | {"cache_control": {"type": "ephemeral"}}
UNSIGNED = {"type": "thinking", "thinking": "So.", "signature": "forged"}
THINKS = {"thinking": {"type": "adaptive"}}


@pytest.mark.parametrize(
    ("messages", "more", "problem"),
    [
        ([], {}, "at least one"),
        ([answer(HI), user(HI)], {}, "first must be"),
        ([user(HI), answer(HI)], {}, "prefill"),
        ([user(HI), user(HI)], {}, "alternate"),
        ([user(HI | {"text": " "})], {}, "whitespace"),
        ([user()], {}, "non-empty"),
        ([user(HI), answer(CALL), user(HI)], TOOLS, "directly after"),
        ([user(HI), answer(CALL), user(HI, RESULT)], TOOLS, "before everything else"),
        ([user(HI), answer(CALL), user(RESULT)], {}, "must define tools"),
        ([user(RESULT)], TOOLS, "result without its call"),
        ([user(HI), *[answer(CALL), user(RESULT)] * 2], TOOLS, "unique"),
        ([user(*[MARKED] * 5)], {}, "at most 4"),
        ([user({"type": "image", "source": GIF})], {}, "image/bmp"),
        ([user(HI), answer(UNSIGNED, HI), user(HI)], THINKS, "invalid signature"),
        ([user(HI), answer(UNSIGNED, HI), user(HI)], {}, "has none"),
        ([user(HI)], {"thinking": {"type": "disabled"}}, "not supported"),
        ([user(HI)], {"temperature": 1.0}, "not permitted"),
        ([user(HI)], {"seed": 1}, "extra input"),
        ([user(HI)], {"max_tokens": 0}, "max_tokens"),
    ],
)
def test_the_rules_find_what_the_provider_would_refuse(
    messages: list[dict[str, Any]], more: dict[str, Any], problem: str
) -> None:
    body = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": messages}
    assert any(problem in found for found in problems(body | more))


class Stored:
    """Files of one owner, as far as a request names them."""

    def __init__(self) -> None:
        self.references: dict[tuple[str, str], str] = {}

    async def content(self, attachment: Attachment) -> Content:
        if attachment.id == "gone":
            raise NotFound("This file isn't stored any more.")
        return Content(f"bytes of {attachment.id}".encode(), attachment.mime_type or "")

    async def text(self, attachment: Attachment) -> str:
        return ""

    async def reference(self, attachment: Attachment, *, at: str) -> str | None:
        return self.references.get((attachment.id, at))

    async def remember(self, attachment: Attachment, *, at: str, reference: str | None) -> None:
        self.references[attachment.id, at] = reference or ""
        if reference is None:
            del self.references[attachment.id, at]


PNG = Attachment(
    id="png", name="a.png", size=9, modality="image", mime_type="image/png", width=750, height=100
)
PDF = Attachment(
    id="pdf",
    name="plan.pdf",
    size=9,
    modality="document",
    mime_type="application/pdf",
    characters=3_001,
)
GONE = Attachment(id="gone", name="b.png", size=9, modality="image", mime_type="image/png")
SHOWN = Message.user("What is this?", PNG, PDF, GONE, id="u")


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeAnthropic]:
    with FakeAnthropic() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def keeping(fake: FakeAnthropic) -> AsyncIterator[AnthropicProvider]:
    made = provider_at(fake.base_url, api_key="sk-ant-canary", files=True)
    yield made
    await made.aclose()


async def send(provider: AnthropicProvider, files: Stored, message: Message = SHOWN) -> None:
    known: dict[str, Any] = {"conversation": "c", "model": "claude-haiku-4-5", "max_tokens": 9}
    async for _ in provider.stream(Request(messages=(message,), files=files, **known)):
        pass


@pytest.mark.asyncio(loop_scope="module")
async def test_files_go_along_where_the_server_keeps_none(fake: FakeAnthropic) -> None:
    """Before the text that is about them; one that isn't there any more is left to its name."""
    provider = provider_at(fake.base_url)
    await send(provider, Stored())
    await provider.aclose()

    def source(id: str, kind: str) -> dict[str, str]:
        data = base64.b64encode(f"bytes of {id}".encode()).decode()
        return {"type": "base64", "media_type": kind, "data": data}

    image, document, text = fake.requests[-1]["messages"][0]["content"]
    assert image == {"type": "image", "source": source("png", "image/png")}
    pdf = source("pdf", "application/pdf")
    assert document == {"type": "document", "title": "plan.pdf", "source": pdf}
    assert text["text"] == "What is this?"
    assert fake.problems == []


@pytest.mark.asyncio(loop_scope="module")
async def test_a_file_is_given_once_and_once_more_when_it_was_forgotten(
    fake: FakeAnthropic, keeping: AnthropicProvider
) -> None:
    files = Stored()

    def uploads() -> int:
        return fake.asked.count("POST /v1/files")

    await send(keeping, files)
    await send(keeping, files)
    assert uploads() == 2
    named = [
        block["source"]
        for block in fake.requests[-1]["messages"][0]["content"]
        if block["type"] != "text"
    ]
    assert [fake.files[one["file_id"]].data for one in named] == [b"bytes of png", b"bytes of pdf"]
    # What the provider was given tells nothing more of it, nor does what is remembered.
    assert {(kept.name, kept.mime_type) for kept in fake.files.values()} == {
        ("file", "image/png"),
        ("file", "application/pdf"),
    }
    assert "canary" not in str(files.references)
    fake.files.clear()
    before = len(fake.requests)
    await send(keeping, files)
    assert (uploads(), len(fake.requests) - before) == (4, 2)
    assert fake.problems == []


@pytest.mark.asyncio(loop_scope="module")
async def test_a_refusal_of_a_file_is_a_refusal_when_it_comes_again(
    fake: FakeAnthropic, keeping: AnthropicProvider
) -> None:
    before = len(fake.requests)
    with pytest.raises(ProviderError) as caught:
        await send(keeping, Stored(), Message.user("[[mode=file_refused]]", PNG, id="u"))
    assert caught.value.code == "bad_request"
    assert len(fake.requests) == before + 2


async def test_an_estimate_counts_pictures_and_pages() -> None:
    words = Message.user("word " * 100, id="u")
    for finer, text, whole in ((False, 115, 100), (True, 150, 100)):
        estimate = ClaudeEstimate(finer=finer)
        plain, picture, large, pages = await estimate.count(
            [
                words,
                Message.user("word " * 100, PNG, id="u"),
                Message.user("word " * 100, GONE, id="u"),
                Message.user("word " * 100, PDF, id="u"),
            ]
        )
        assert plain == pytest.approx(text, abs=5)
        assert picture - plain == pytest.approx(whole, abs=10)
        assert large - plain > 1_590 and pages - plain > 4_000
