"""Whatever is sent, roles alternate in both dialects, and nothing of it is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsite.messages import Attachment, Message, ToolCall
from chatsite.providers.anthropic.request import build_request
from chatsite.providers.base.provider import Request
from chatsite.providers.embedded.prompt import spoken_messages
from chatsite.providers.openai.wire import wire_messages
from conformance_kit.strategies.adapter import PolicyCase
from conformance_kit.strategies.cases import cases
from conformance_kit.trials import PolicyRefused
from tests.conformance.built_in.variants import VARIANTS, Variant
from tests.examples import some
from tests.fakes.anthropic_rules import problems
from tests.fakes.openai_rules import problems as openai_problems
from tests.fakes.openai_rules import template_problem

IMAGE = {"type": "base64", "media_type": "image/png", "data": "cG5n"}
PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}}


def openai(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    files = {file.id: PART for message in messages for file in message.attachments}
    sent = wire_messages(messages, parts=files)
    assert template_problem(sent) == ""
    assert openai_problems({"model": "m", "messages": sent}) == []
    return sent


def anthropic(messages: tuple[Message, ...]) -> dict[str, Any]:
    files = {file.id: IMAGE for message in messages for file in message.attachments}
    asked = Request(conversation="c", messages=messages, model="claude-haiku-4-5", max_tokens=9)
    made = build_request(asked, server="anthropic", facts=None, sources=files, official=True)
    assert problems(made.body) == []
    return made.body


def strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in strings(one)]
    if isinstance(value, list):
        return [text for one in value for text in strings(one)]
    return [value] if isinstance(value, str) else []


def check(messages: tuple[Message, ...]) -> None:
    """Both dialects take it, and it holds every text in its order, every call and every file."""
    said, blocks = openai(messages), anthropic(messages)
    order = [m for m in messages if m.role == "system"] + [
        m for m in messages if m.role != "system"
    ]
    for wire in (said, [blocks.get("system", []), blocks["messages"]]):
        whole = "\0".join(strings(wire))
        place = 0
        for message in order:
            if message.content and message.content.strip():
                found = whole.find(message.content, place)
                assert found >= 0, f"{message.id} is missing, or in another place"
                place = found + len(message.content)
    calls = sum(len(message.calls) for message in messages)
    files = sum(len(message.attachments) for message in messages)
    parts = [part for m in said if isinstance(m["content"], list) for part in m["content"]]
    assert sum(len(m.get("tool_calls", ())) for m in said) == calls
    assert sum(part["type"] != "text" for part in parts) == files
    kinds = [block["type"] for m in blocks["messages"] for block in m["content"]]
    assert (kinds.count("tool_use"), kinds.count("tool_result")) == (calls, calls)
    assert kinds.count("image") + kinds.count("document") == files


@settings(max_examples=some(150), deadline=None)
@given(case=cases(), variant=st.sampled_from(VARIANTS))
def test_every_policy_makes_requests_that_strict_templates_take(
    case: PolicyCase, variant: Variant
) -> None:
    try:
        trial = variant.run(case)
    except PolicyRefused:
        return
    said = wire_messages(trial.request)
    assert template_problem(said) == ""
    bare = tuple(message.to_text_only() for message in trial.request)
    check(bare)
    assert template_problem(spoken_messages(bare)) == ""


# A letter a message: s instructions, u a user, f with a file, F with a file and no text, q quotes,
# y a summary, a an answer, e an empty one, w one of whitespace, c a call, t its result, p two calls
# and their results, r a message of a room.
TABLE = (
    "u", "uu", "uuu", "uau", "uauu", "uuau", "ueu", "uweu", "ueueu", "auu", "aau", "au", "a", "ua",
    "uaa", "uaau", "suau", "ssuu", "usu", "uasu", "sasu", "yu", "yuau", "yuauu", "uaqu", "yqu",
    "uaququ", "ququ", "uaqf", "fu", "uf", "ff", "fuf", "Fu", "uF", "FF", "qF", "uct", "uctu",
    "uctau", "uactau", "uctctu", "upau", "upu", "uctaau", "ructu", "rrr", "rraru", "uctuu", "euau",
    "uctfu", "sqfu", "saau", "eu", "s", "uctsu", "ppu",
)  # fmt: skip


def messages_of(letter: str, number: int) -> list[Message]:
    id, text = f"m{number}", f"Text {number}."
    file = Attachment(id=f"f{number}", name=f"{number}.png", size=9, modality="image")
    calls = (ToolCall(id="c1", name="clock"), ToolCall(id="c2", name="clock"))
    results = [Message.tool(f"{text}{call.id}", id=call.id, call_id=call.id) for call in calls]
    return {
        "s": [Message.system(text, id=id)],
        "u": [Message.user(text, id=id)],
        "r": [Message.user(text, id=id, speaker=f"P{number}").as_read()],
        "f": [Message.user(f"{text}\n\nFile: {file.name}", file, id=id)],
        "F": [Message.user(f"File: {file.name}", file, id=id)],
        "q": [Message.user(text, id=f"recalled-{number}")],
        "y": [Message.user(text, id="summary")],
        "a": [Message.assistant(text, id=id)],
        "e": [Message.assistant("", id=id)],
        "w": [Message.assistant(" \n", id=id)],
        "c": [Message.assistant(text, id=id, calls=calls[:1])],
        "t": [Message.tool(text, id=id, call_id="c1")],
        "p": [Message.assistant(None, id=id, calls=calls), *results],
    }[letter]


def conversation(letters: str) -> tuple[Message, ...]:
    return tuple(m for n, letter in enumerate(letters) for m in messages_of(letter, n))


@pytest.mark.parametrize("letters", TABLE)
def test_strict_servers_take_it_whole(letters: str) -> None:
    check(conversation(letters))
    assert template_problem(spoken_messages(conversation(letters))) == ""


def test_neighbours_are_joined_with_an_empty_line_and_quotes_with_a_rule() -> None:
    assert openai(conversation("suaququ"))[3:] == [
        {
            "role": "user",
            "content": "Text 3.\n\n---\n\nText 4.\n\nText 5.\n\n---\n\nText 6.",
        }
    ]
    one, other = conversation("ss")[:2]
    assert openai((one, other, *conversation("uu")))[0]["content"] == "Text 0.\n\nText 1."


def test_files_stay_between_the_texts_that_they_came_with() -> None:
    [message] = openai(conversation("ufu"))
    text = {"type": "text", "text": "Text 0.\n\nText 1.\n\nFile: 1.png"}
    assert message["content"] == [text, PART, {"type": "text", "text": "Text 2."}]


def test_the_history_keeps_its_cache_mark_while_quotes_change() -> None:
    sent = anthropic(conversation("suaqu"))["messages"]
    marked = [b["text"] for m in sent for b in m["content"] if "cache_control" in b]
    assert marked == ["Text 2.", "Text 4."]


def test_a_result_without_its_call_is_left_out() -> None:
    alone = Message.tool("Lost.", id="t", call_id="c9")
    [message] = openai((*conversation("u"), alone, *conversation("u")))
    assert message == {"role": "user", "content": "Text 0.\n\nText 0."}
