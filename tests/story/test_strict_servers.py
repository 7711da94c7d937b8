"""Servers that refuse: what a refusal teaches is used at once, and from then on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import tiktoken

from chatsite.providers.tokens.tokenizers import TOKENS_FOLDER
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.strict_server import (
    StrictAnthropic,
    Strictness,
    StrictOpenAI,
    Wording,
    extra_forbidden,
    not_both,
    too_high,
    unknown_field,
    unsupported,
    with_numbers,
    without_numbers,
)
from tests.person import Person
from tests.running import Server
from tests.story.agents import write_agent
from tests.story.conftest import provider_environment

REPLY = 500


@contextmanager
def serving(folder: Path, fake: FakeOpenAI, *, window: int = 4_096) -> Iterator[Server]:
    """The site with an agent that has tools and every setting, at a model of this window."""
    settings = {
        "maxTokens": REPLY,
        "temperature": 0.5,
        "topP": 0.9,
        "seed": 3,
        "stopSequences": ["@"],
    }
    write_agent(
        folder / "agents",
        "demo",
        nodes=["llm.openai", "calculator", "clock"],
        nodeConfigurations={"llm.openai": settings},
    )
    (folder / "models.json").write_text(
        json.dumps({"models": {"openai:small": {"window": window}}})
    )
    environment = provider_environment(
        fake,
        AGENTS_DIR=str(folder / "agents"),
        MODELS_FILE=str(folder / "models.json"),
        CHAT_MODEL="openai:small",
    )
    with Server(folder / "var", **environment) as server:
        yield server
    assert "Traceback" not in server.log, server.log


def digests(turn: int) -> str:
    """A line of eight digests in hexadecimal."""
    return "k " + " ".join(hashlib.sha256(f"{turn}.{n}".encode()).hexdigest() for n in range(8))


def o200k(text: str) -> int:
    os.environ["TIKTOKEN_CACHE_DIR"] = str(TOKENS_FOLDER)
    return len(tiktoken.get_encoding("o200k_base").encode_ordinary(text))


COUNTS: list[Callable[[str], int]] = [
    o200k,
    lambda text: len(text) // 2,
    lambda text: len(text.encode()) * 9 // 10,
]


@pytest.mark.parametrize(
    ("count", "too_long"),
    [
        (COUNTS[0], with_numbers),
        (COUNTS[1], without_numbers),
        pytest.param(COUNTS[0], without_numbers, marks=pytest.mark.thorough),
        pytest.param(COUNTS[1], with_numbers, marks=pytest.mark.thorough),
        pytest.param(COUNTS[2], with_numbers, marks=pytest.mark.thorough),
        pytest.param(COUNTS[2], without_numbers, marks=pytest.mark.thorough),
    ],
)
async def test_a_server_that_counts_otherwise_refuses_no_turn(
    tmp_path: Path, count: Callable[[str], int], too_long: Any
) -> None:
    in_stream = count is COUNTS[1]
    strictness = Strictness(count=count, window=4_096, too_long=too_long, in_stream=in_stream)
    with StrictOpenAI(strictness) as fake, serving(tmp_path, fake) as server:
        async with Person(server.url) as ada:
            page = await ada.page()
            for turn in range(14):
                before = len(strictness.refusals)
                ended = await page.say(digests(turn))
                assert ended["state"] == "complete", (turn, ended["problem"])
                assert len(strictness.refusals) <= before + 1, turn
    assert len(strictness.refusals) <= (1 if too_long is with_numbers else 2)


async def test_what_a_refusal_taught_is_said_and_holds_for_the_next_request(tmp_path: Path) -> None:
    strictness = Strictness(count=lambda text: len(text) * 2, window=4_096, too_long=with_numbers)
    with StrictOpenAI(strictness) as fake, serving(tmp_path, fake) as server:
        async with Person(server.url) as ada:
            page = await ada.page()
            while not strictness.refusals:
                ended = await page.say("The harbour lies in the north of the town. " * 8)
            assert ended["state"] == "complete"
            waiting = [event for event in page.events if event["type"] == "waiting"]
            assert "counted" in waiting[-1]["sentence"]
            receipt = ended["receipt"]
            assert any("refused them as too many" in note for note in receipt["notes"])
            assert receipt["rounds"][0]["retried"] in receipt["notes"]
            # The meter and the preview: all parts of the window together.
            decision = (await page.preview("And now?"))["decision"]
            whole = sum(part["tokens"] for part in decision["parts"])
            assert whole < 4_096 and whole == sum(part["tokens"] for part in receipt["parts"])
            asked = len(fake.requests)
            for _ in range(3):
                ended = await page.say("The harbour lies in the north of the town. " * 8)
                assert ended["state"] == "complete"
            assert len(fake.requests) == asked + 3 and len(strictness.refusals) == 1


async def test_a_message_that_can_not_fit_any_more_says_so(tmp_path: Path) -> None:
    strictness = Strictness(count=lambda text: len(text) * 2, window=4_096, too_long=with_numbers)
    with StrictOpenAI(strictness) as fake, serving(tmp_path, fake) as server:
        async with Person(server.url) as ada:
            page = await ada.page()
            ended = await page.say("The harbour lies in the north of the town. " * 60)
            assert ended["problem"]["code"] == "prompt_too_large"
            assert len(fake.requests) == 1
            await page.send("The harbour lies in the north of the town. " * 60)
            assert (await page.until("refused"))["code"] == "prompt_too_large"
            assert len(fake.requests) == 1
            assert (await page.say("Hello"))["state"] == "complete"


FIELDS = ("stream_options", "tools", "temperature", "top_p", "seed", "stop", "max_tokens")


@pytest.mark.parametrize(
    ("words", "in_stream"),
    [
        (unknown_field, False),
        (unsupported, True),
        pytest.param(unknown_field, True, marks=pytest.mark.thorough),
        pytest.param(extra_forbidden, False, marks=pytest.mark.thorough),
        pytest.param(extra_forbidden, True, marks=pytest.mark.thorough),
        pytest.param(unsupported, False, marks=pytest.mark.thorough),
    ],
)
async def test_refused_fields_are_left_out_at_once_and_from_then_on(
    tmp_path: Path, words: Wording, in_stream: bool
) -> None:
    strictness = Strictness(refused=dict.fromkeys(FIELDS, words), in_stream=in_stream)
    with StrictOpenAI(strictness) as fake, serving(tmp_path, fake) as server:
        async with Person(server.url) as ada:
            page = await ada.page()
            ended = await page.say("What is 2 + 2?")
            assert ended["state"] == "complete", ended["problem"]
            assert len(strictness.refusals) == len(FIELDS)
            last = fake.requests[-1]
            assert not set(FIELDS) & set(last)
            assert last["max_completion_tokens"] == REPLY
            notes = " ".join(ended["receipt"]["notes"])
            assert all(name in notes for name in ("stream_options", "top_p", "max_tokens"))
            assert "can't use tools" in notes
            asked = len(fake.requests)
            ended = await page.say("And 3 + 3?")
            assert ended["state"] == "complete" and len(fake.requests) == asked + 1
            receipt = ended["receipt"]
            assert "seed" not in receipt["asked"] and "tools" not in receipt["asked"]
            assert "refused" in " ".join(receipt["dropped"])


async def test_of_two_settings_that_exclude_each_other_one_is_sent(tmp_path: Path) -> None:
    strictness = Strictness(refused={"top_p": not_both, "max_tokens": too_high})
    with StrictOpenAI(strictness) as fake, serving(tmp_path, fake) as server:
        async with Person(server.url) as ada:
            page = await ada.page()
            ended = await page.say("Hello")
            assert ended["state"] == "complete", ended["problem"]
            assert len(strictness.refusals) == 2
            last = fake.requests[-1]
            assert last["temperature"] == 0.5 and "top_p" not in last
            assert not {"max_tokens", "max_completion_tokens"} & set(last)
            assert "top_p" in " ".join(ended["receipt"]["notes"])
            dropped = " ".join((await page.say("And now?"))["receipt"]["dropped"])
            assert "topP is not sent" in dropped and "temperature" not in dropped


async def test_one_tool_that_a_server_refuses_costs_neither_the_answer_nor_the_others(
    tmp_path: Path,
) -> None:
    strictness = Strictness(faulty="calculator")
    with StrictOpenAI(strictness) as fake, serving(tmp_path, fake) as server:
        async with Person(server.url) as ada:
            page = await ada.page()
            ended = await page.say("Hello")
            assert ended["state"] == "complete", ended["problem"]
            assert "calculator" in " ".join(ended["receipt"]["notes"])
            assert (await page.say("And now?"))["state"] == "complete"
            assert len(strictness.refusals) == 1
            sent = [tool["function"]["name"] for tool in fake.requests[-1]["tools"]]
            assert sent and "calculator" not in sent


async def test_a_refusal_for_another_reason_costs_no_field(tmp_path: Path) -> None:
    def blocked(name: str) -> tuple[int, Any]:
        said = "The message about tools can't be accepted here."
        return 400, {"error": {"message": said, "code": "content_policy"}}

    strictness = Strictness(refused={"messages": blocked})
    with StrictOpenAI(strictness) as fake, serving(tmp_path, fake) as server:
        async with Person(server.url) as ada:
            page = await ada.page()
            ended = await page.say("Buy tools")
            assert ended["state"] == "failed" and len(fake.requests) <= 2
            strictness.refused = {}
            assert (await page.say("Good day"))["state"] == "complete"
            assert fake.requests[-1]["tools"]


@pytest.mark.parametrize("in_stream", [False, pytest.param(True, marks=pytest.mark.thorough)])
async def test_fields_of_the_other_dialect_are_left_out_too(
    tmp_path: Path, in_stream: bool
) -> None:
    refused = ("cache_control", "temperature", "stop_sequences", "tools")
    settings = {"model": "claude-opus-4-1-20250805", "temperature": 0.5, "stopSequences": ["@"]}
    write_agent(
        tmp_path / "agents",
        "demo",
        nodes=["llm.anthropic", "calculator"],
        nodeConfigurations={"llm.anthropic": settings},
    )
    with StrictAnthropic(refused, in_stream=in_stream) as fake:
        environment: dict[str, Any] = {
            "AGENTS_DIR": str(tmp_path / "agents"),
            "ANTHROPIC_API_KEY": "sk",
            "ANTHROPIC_BASE_URL": fake.base_url,
        }
        with Server(tmp_path / "var", **environment) as server:
            async with Person(server.url) as ada:
                page = await ada.page()
                ended = await page.say("Hello")
                assert ended["state"] == "complete", ended["problem"]
                assert len(fake.requests) == len(refused) + 1
                notes = " ".join(ended["receipt"]["notes"])
                assert "temperature" in notes and "cache_control" in notes
                assert (await page.say("And now?"))["state"] == "complete"
                assert len(fake.requests) == len(refused) + 2
                assert not any(f'"{name}"' in json.dumps(fake.requests[-1]) for name in refused)
