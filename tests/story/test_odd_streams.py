"""Answers of servers that stream in their own way, through the whole application."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.openai_server import FakeOpenAI
from tests.person import Person
from tests.providers.odd_streams import (
    OPENAI,
    answer,
    body,
    chat,
    chunk,
    directive,
    document,
    line,
)
from tests.running import Server
from tests.story.agents import write_agent

GOOD = "Good day, 東京 🍎"
WORDS = ("Good", " day", ", 東京", " 🍎")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("streams")
    for dialect in ("openai", "anthropic"):
        write_agent(folder / "agents", dialect, nodes=[f"llm.{dialect}", "calculator"])
    with FakeOpenAI() as openai, FakeAnthropic() as anthropic:
        environment: dict[str, Any] = {
            "AGENTS_DIR": str(folder / "agents"),
            "OPENAI_API_KEY": "sk-test",
            "OPENAI_BASE_URL": openai.base_url,
            "ANTHROPIC_API_KEY": "sk-test",
            "ANTHROPIC_BASE_URL": anthropic.base_url,
        }
        with Server(folder / "var", **environment) as running:
            yield running
        assert "Traceback" not in running.log, running.log


def streams(dialect: str) -> dict[str, bytes]:
    lines = answer(dialect, *WORDS)
    middle = len(lines) // 2
    odd = {
        "empty": b"data:",
        "blanks": b"data:  ",
        "null": b"data: null",
        "nonsense": b"data: ping",
        "half": b'data: {"x',
    }
    found = {name: body([*lines[:middle], one, *lines[middle:]]) for name, one in odd.items()}
    found |= {f"{name} first": body([one, *lines]) for name, one in odd.items()}
    return found | {
        "mark": b"\xef\xbb\xbf" + body(lines),
        "single line ends": body(lines, between=b"\n"),
        "no last blank line": body(lines, last=b""),
        "garbage behind": body([*lines, b"data: }{", b"<html>"]),
        "document": json.dumps(document(dialect, GOOD)).encode(),
        "long document": json.dumps(document(dialect, GOOD), indent=1).encode(),
        "document in a list": json.dumps([document(dialect, GOOD)]).encode(),
        "field in capitals": body(lines).replace(b"data: ", b"DATA : "),
        "field twice": body(lines).replace(b"data: ", b"data: data: "),
        "no field at the end": body([*lines[:-2], *(one[6:] for one in lines[-2:])])
        if dialect == OPENAI
        else body(lines).replace(b"data: ", b""),
    }


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
async def test_an_odd_line_costs_no_answer(server: Server, dialect: str) -> None:
    async with Person(server.url) as ada:
        for name, sent in streams(dialect).items():
            page = await ada.page(agent=dialect)
            kind = "application/json" if "document" in name else "text/event-stream"
            ended = await page.say(directive(sent, type=kind))
            found = (ended["state"], ended["message"]["content"], ended["problem"])
            assert found == ("complete", GOOD, None), name


def without_reason() -> bytes:
    return body([*chat(*WORDS, finish=None, done=False), b"data: [DONE] "])


def in_messages() -> bytes:
    said = [line(chunk(None, message={"content": word})) for word in WORDS]
    return body([*said, b"data: [DONE]"])


@pytest.mark.parametrize(
    "sent",
    [
        without_reason(),
        in_messages(),
        body(chat([{"type": "text", "text": "Good day"}, {"type": "text", "text": ", 東京 🍎"}])),
        body(
            [
                *chat(*WORDS, finish=None, done=False),
                line(chunk(None, "stop", message={"content": GOOD})),
            ]
        ),
    ],
    ids=["no reason", "message", "parts", "message at the end"],
)
async def test_other_forms_of_an_answer_are_answers(server: Server, sent: bytes) -> None:
    async with Person(server.url) as ada:
        page = await ada.page(agent=OPENAI)
        ended = await page.say(directive(sent))
        assert (ended["state"], ended["message"]["content"]) == ("complete", GOOD)
        assert (await page.say("And now?"))["state"] == "complete"


async def test_an_error_in_place_of_an_answer_does_not_promise_a_part_of_it(
    server: Server,
) -> None:
    async with Person(server.url) as ada:
        for error, code in (({"code": "402"}, "quota"), ({"code": "401"}, "key_refused")):
            page = await ada.page(agent=OPENAI)
            ended = await page.say(directive(body([line({"error": error})])))
            assert ended["problem"]["code"] == code
            assert "part received" not in ended["problem"]["message"]
        page = await ada.page(agent=OPENAI)
        ended = await page.say(directive(body([b"data: what"] * 3)))
        assert (ended["state"], ended["problem"]["code"]) == ("failed", "malformed")
        assert "part received" not in ended["problem"]["message"]


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
async def test_what_comes_in_place_of_an_answer_says_why(server: Server, dialect: str) -> None:
    told = {
        b'event: error\ndata: {"message":"Insufficient balance"}': "quota",
        b'data: {"error_type":"context_length_exceeded","error_message":"No"}': "too_large",
        b'data: {"detail":"The context window is full"}': "too_large",
        b"data: error: Incorrect API key provided, invalid_api_key": "key_refused",
        b"<!doctype html>\n<html><title>Gateway</title></html>": "malformed",
    }
    async with Person(server.url) as ada:
        for form, code in told.items():
            page = await ada.page(agent=dialect)
            ended = await page.say(directive(body([form])))
            problem = ended["problem"]
            assert (ended["state"], problem["code"]) == ("failed", code), form
            assert "part received" not in problem["message"] and "kept" in problem["message"]
            assert (await page.say("And now?"))["state"] == "complete"


async def test_a_call_that_begins_under_anothers_index_is_a_call_of_its_own(
    server: Server,
) -> None:
    def called(index: int, arguments: str, **more: Any) -> bytes:
        function = {"arguments": arguments, **({"name": "calculator"} if more else {})}
        return line(chunk({"tool_calls": [{"index": index, "function": function, **more}]}))

    sent = body(
        [
            called(0, '{"expression": "2+3"}', id="call_aaaaaaaa"),
            called(0, "", id="call_bbbbbbbb"),
            called(1, '{"expression": "10*4"}'),
            line(chunk({}, "tool_calls")),
            b"data: [DONE]",
        ]
    )
    async with Person(server.url) as ada:
        page = await ada.page(agent=OPENAI)
        await page.send(directive(sent))
        results = [(await page.until("call_ended"))["message"]["content"] for _ in "12"]
        assert [json.loads(result)["result"] for result in results] == ["5", "40"]
        await page.command("stop")
        await page.until("turn_ended")


SUM = '{"expression": "2+3"}'
CALLS: dict[str, list[dict[str, Any]]] = {
    "encoded twice": [
        {"index": 0, "function": {"name": "calculator", "arguments": json.dumps(SUM)}}
    ],
    "no function": [{"name": "calculator", "arguments": {"expression": "2+3"}}],
    "parameters": [{"function": {"name": "calculator", "parameters": json.loads(SUM)}}],
}


@pytest.mark.parametrize("calls", CALLS.values(), ids=CALLS)
async def test_calls_in_other_forms_are_run(server: Server, calls: list[dict[str, Any]]) -> None:
    sent = body([line(chunk({"tool_calls": calls})), line(chunk({}, "stop")), b"data: [DONE]"])
    async with Person(server.url) as ada:
        page = await ada.page(agent=OPENAI)
        await page.send(directive(sent))
        result = (await page.until("call_ended"))["message"]["content"]
        assert json.loads(result)["result"] == "5"
        await page.command("stop")
        await page.until("turn_ended")
