"""Whatever the history decides to send, the body is one that Anthropic accepts."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from chatsite.messages import Message, ToolCall
from chatsite.providers.anthropic.request import MessagesRequest, build_request
from chatsite.providers.base.provider import Request, ToolSpec
from chatsite.providers.base.role_order import EARLIER, GO_ON
from chatsite.providers.known.models import ModelTable
from conformance_kit.strategies.adapter import PolicyCase
from conformance_kit.strategies.cases import cases
from conformance_kit.trials import PolicyRefused
from tests.conformance.built_in.variants import VARIANTS, Variant
from tests.examples import some
from tests.fakes.anthropic_rules import problems

MODELS = ("claude-opus-5-5", "claude-haiku-4-5", "claude-sonnet-4-6", "claude-next", "llama3")
CLOCK = ToolSpec(name="clock", description="", parameters={"type": "object"})


def body(*messages: Message, model: str = "claude-haiku-4-5", **more: Any) -> MessagesRequest:
    known: dict[str, Any] = {"conversation": "c", "messages": messages, "max_tokens": 300}
    made = build_request(
        Request(**(known | {"model": model} | more)),
        server="anthropic",
        facts=ModelTable().facts("anthropic", model),
        sources={},
        official=True,
    )
    assert problems(made.body, version=made.version or "2026-10-21") == []
    return made


def said(made: MessagesRequest) -> list[tuple[str, list[str]]]:
    """Roles with their texts, calls and results."""
    return [
        (
            message["role"],
            [
                block.get("text") or block.get("id") or block["tool_use_id"]
                for block in message["content"]
            ],
        )
        for message in made.body["messages"]
    ]


@settings(max_examples=some(60), deadline=None)
@given(
    case=cases(),
    variant=st.sampled_from(VARIANTS),
    model=st.sampled_from(MODELS),
    effort=st.sampled_from((None, "none", "low", "max")),
    tools=st.booleans(),
)
def test_every_history_makes_a_valid_request(
    case: PolicyCase, variant: Variant, model: str, effort: str | None, tools: bool
) -> None:
    try:
        trial = variant.run(case)
    except PolicyRefused:
        return
    options = {"reasoning_effort": effort} if effort else {}
    body(
        *trial.request,
        model=model,
        options=options,
        temperature=1.7,
        top_p=0.5,
        tools=(CLOCK,) if tools else (),
    )


def test_neighbours_become_one_message_and_blank_text_is_dropped() -> None:
    made = body(
        Message.system("One.", id="1"),
        Message.user("Quoted.", id="2"),
        Message.user("Asked.", id="3"),
        Message.assistant(" \n", id="4"),
        Message.system("Two.", id="5"),
        Message.user("Again.", id="6"),
    )
    assert said(made) == [("user", ["Quoted.", "Asked.", "Again."])]
    assert [block["text"] for block in made.body["system"]] == ["One.", "Two."]


def test_a_history_that_begins_or_ends_with_an_answer_gets_a_user_message() -> None:
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
    results = made.body["messages"][2]["content"]
    assert [block.get("is_error", False) for block in results] == [False, True]
    # Without tools of its own the request defines those of its history, and forbids them.
    assert [tool["name"] for tool in made.body["tools"]] == ["a_b", "clock"]
    assert made.body["tool_choice"] == {"type": "none"}


def test_a_temperature_is_sent_where_a_model_takes_one() -> None:
    """With the version of the API that still takes one; never with thinking or top_p."""
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
        found[model, effort] = made.version, made.body.get("temperature"), "top_p" in made.body
    assert found == {
        ("claude-haiku-4-5", None): ("2023-06-01", 1.0, False),
        ("claude-haiku-4-5", "low"): (None, None, False),
        ("claude-opus-5-5", None): (None, None, False),
        ("llama3", None): ("2023-06-01", 1.0, False),
    }
    assert body(Message.user("Hi", id="u"), top_p=0.9).body["top_p"] == 0.9


def test_the_reply_is_bounded_by_the_model() -> None:
    for model, longest in (("claude-haiku-4-5", 64_000), ("claude-opus-5-5", 128_000)):
        made = body(Message.user("Hi", id="u"), model=model, max_tokens=1_000_000)
        assert made.body["max_tokens"] == longest
