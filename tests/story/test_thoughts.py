"""Thoughts between tags at an answer's beginning are shown as thoughts, and not sent again."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.openai_server import FakeOpenAI
from tests.person import Page, Person
from tests.running import Server
from tests.story.agents import write_agent

Fakes = dict[str, FakeOpenAI]


@pytest.fixture(scope="module")
def fakes() -> Iterator[Fakes]:
    with FakeOpenAI() as openai, FakeAnthropic() as anthropic:
        yield {"openai": openai, "anthropic": anthropic}


@pytest.fixture(scope="module")
def thinking(fakes: Fakes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("thoughts")
    for dialect in fakes:
        write_agent(folder / "agents", dialect, nodes=[f"llm.{dialect}", "calculator"])
    environment: dict[str, Any] = {
        "AGENTS_DIR": str(folder / "agents"),
        "OPENAI_API_KEY": "sk-test",
        "OPENAI_BASE_URL": fakes["openai"].base_url,
        "ANTHROPIC_API_KEY": "sk-test",
        "ANTHROPIC_BASE_URL": fakes["anthropic"].base_url,
    }
    with Server(folder / "var", **environment) as running:
        yield running
    assert "Traceback" not in running.log, running.log


def says(text: str, **more: str) -> str:
    encoded = base64.urlsafe_b64encode(text.encode()).decode()
    keys = {"b64": encoded, **more}
    return "[[" + ";".join(f"{key}={value}" for key, value in keys.items()) + "]]"


def streamed(page: Page, turn: str) -> str:
    """The turn's text as it was written; its end comes with `turn_ended`."""
    return "".join(
        event["text"]
        for event in page.events
        if event["type"] == "delta" and event["turn"] == turn and event["part"] == "text"
    )


def parts(message: dict[str, Any]) -> tuple[str, str]:
    return message["reasoning"], message["content"]


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
@pytest.mark.parametrize("crumbs", ["0", "1"])
async def test_thoughts_are_shown_apart_and_not_sent_again(
    thinking: Server, fakes: Fakes, dialect: str, crumbs: str
) -> None:
    async with Person(thinking.url) as ada:
        page = await ada.page(agent=dialect)
        tags = (("<think>", "</think>"), ("[THINK]", "[/THINK]"), ("<think >", "</think >"))
        for begin, end in tags:
            text = f"{begin}\nHm, well.\n{end}\n\nIt is 4."
            ended = await page.say(says(text, crumbs=crumbs))
            assert ended["state"] == "complete"
            assert parts(ended["message"]) == ("Hm, well.", "It is 4.")
            assert "It is 4.".startswith(streamed(page, ended["turn"]))
        stored = (await page.open())["messages"]
        assert [parts(m) for m in stored if m["role"] == "assistant"] == [
            ("Hm, well.", "It is 4.")
        ] * 3
        await page.say("And now?")
        sent = fakes[dialect].requests[-1]["messages"]
        said = [json.dumps(m["content"]) for m in sent if m["role"] == "assistant"]
        assert len(said) == 3 and all("It is 4." in one and "Hm" not in one for one in said)


@pytest.mark.parametrize(
    "text",
    [
        "Hm, well.\n</think>\n\nIt is 4.",
        "analysisHm, well.assistantfinalIt is 4.",
        "<think>Hm, well.</think>\n<answer>\nIt is 4.\n</answer>",
    ],
)
async def test_what_only_the_end_shows_is_folded_at_the_end(thinking: Server, text: str) -> None:
    async with Person(thinking.url) as ada:
        page = await ada.page(agent="openai")
        await page.send(says(text, rate="50"))
        ended = await page.until("turn_ended")
        assert parts(ended["message"]) == ("Hm, well.", "It is 4.")
        assert [parts(m) for m in (await page.open())["messages"][1:]] == [
            ("Hm, well.", "It is 4.")
        ]


async def test_an_answer_is_never_only_a_thought_that_has_no_end(thinking: Server) -> None:
    async with Person(thinking.url) as ada:
        page = await ada.page(agent="openai")
        text = "<think> is what models begin a thought with."
        await page.send(says(text, rate="50"))
        ended = await page.until("turn_ended")
        assert (ended["state"], ended["problem"]) == ("complete", None)
        assert (ended["message"]["content"], ended["message"]["reasoning"] or "") == (text, "")
        cut = await page.say(says("<think> So many words", mode="length"))
        assert cut["message"] is None or not cut["message"]["content"]
        assert cut["problem"]["code"] == "empty_answer"


@pytest.mark.parametrize(
    "text",
    [
        "Models write <think>x</think> first.",
        "`<think>` begins a thought, `</think>` ends it.",
        "```\n<think>\nx\n</think>\n```",
    ],
)
async def test_an_answer_about_the_tags_keeps_them(thinking: Server, text: str) -> None:
    async with Person(thinking.url) as ada:
        page = await ada.page(agent="openai")
        ended = await page.say(says(text))
        assert ended["message"]["content"] == text


async def test_thoughts_before_a_call_are_thoughts(thinking: Server) -> None:
    async with Person(thinking.url) as ada:
        page = await ada.page(agent="openai")
        call = 'calculator:{"expression": "2+2"}'
        ended = await page.say(
            f"[[before=<think>I must add.</think> I look.;calls={call};text=It is 4.]]"
        )
        assert ended["message"]["content"] == "It is 4."
        called = [m for m in (await page.open())["messages"] if m["role"] == "assistant"][0]
        assert parts(called) == ("I must add.", "I look.")
