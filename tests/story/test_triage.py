"""A fast model chooses what is sent: the receipt says it, the provider's request proves it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.person import Page, Person
from tests.running import Server
from tests.story.agents import write_agent
from tests.story.conftest import asking

TURNS = 12
FACT = "My dog is called Rex."
ALL_KEPT = "nothing of the last 25 turns is left out while there is room."


@pytest.fixture(scope="module")
def own_fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as running:
        yield running


@pytest.fixture
def fake(own_fake: FakeOpenAI) -> FakeOpenAI:
    own_fake.script.clear()
    return own_fake


@pytest.fixture(scope="module")
def server(own_fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    agents = tmp_path_factory.mktemp("agents")
    chosen = {"historyPolicy": "relevant", "historySelector": "triage"}
    write_agent(agents, "careful", {**chosen, "conversation": {"context_truncation": 30}})
    write_agent(agents, "hasty", {**chosen, "conversation": {"selection_timeout": 0.3}})
    environment = asking(own_fake, AGENTS_DIR=str(agents), FAST_MODEL="tiny")
    with Server(tmp_path_factory.mktemp("triage"), **environment) as running:
        yield running
    assert "Traceback" not in running.log, running.log


async def restored(person: Person, *, agent: str = "careful", query: str = "") -> Page:
    """A conversation of twelve turns; the first holds a fact and a long answer."""
    said = [{"role": "user", "content": FACT}, {"role": "assistant", "content": "Noted. " * 20}]
    for number in range(1, TURNS):
        said.append({"role": "user", "content": f"question {number}"})
        said.append({"role": "assistant", "content": f"answer {number}"})
    saved = {
        "format": "chatsite.conversation",
        "version": 1,
        "agent": agent,
        "title": "Rex",
        "messages": said,
    }
    made = await person.ask("POST", "/conversations/import", saved)
    return await person.page(made["conversation"]["id"], agent=agent, query=query)


def sent(fake: FakeOpenAI) -> list[str]:
    """What the answer was asked with, the instructions left out."""
    return [message["content"] for message in fake.requests[-1]["messages"][1:]]


def questions(*numbers: int) -> list[str]:
    return [text for n in numbers for text in (f"question {n}", f"answer {n}")]


async def test_the_chosen_turns_are_sent_in_their_places(server: Server, fake: FakeOpenAI) -> None:
    async with Person(server.url) as ada:
        page = await restored(ada)
        before = len(fake.requests)
        fake.script.extend(['Sure: {"relevant": [4, 0, 0, 77]}', "Rex."])
        ended = await page.say("What is my dog called?")
        assert ended["message"]["content"] == "Rex."
        asked, answered = fake.requests[before:]
        assert (asked["model"], answered["model"]) == ("tiny", "gpt-6-luna")
        assert FACT in asked["messages"][1]["content"]
        assert sent(fake) == [
            FACT,
            "Noted. Noted. Noted. Noted. No […shortened]",
            *questions(4, 7, 8, 9, 10, 11),
            "What is my dog called?",
        ]
        receipt = ended["receipt"]
        told = receipt["reports"]["triage"]
        assert (told["result"], told["model"]) == ("chosen", "tiny")
        assert (told["candidates"], told["chosen"]) == (7, 2)
        assert told["prompt"] > 100 and told["completion"] == 6 and told["milliseconds"] >= 0
        verdicts = {v["first"]: (v["sent"], v["reason"]) for v in receipt["verdicts"]}
        assert verdicts[1] == (True, "relevant")
        assert verdicts[3] == (False, "not_relevant")
        assert verdicts[9] == (True, "relevant")
        assert verdicts[15] == (True, "within_length")
        assert receipt["notes"] == []
        assert receipt["facts"]["sent"] == 2 * 7 + 1


@pytest.mark.parametrize(
    ("script", "agent", "result", "why"),
    [
        ("The first, I think.", "hasty", "unreadable", "tiny didn't say readably"),
        ("[[mode=503]]", "hasty", "error", "the provider has a problem of its own"),
        ("[[mode=hang0]]", "hasty", "timeout", "after 0.3 seconds"),
    ],
)
async def test_without_a_choice_all_of_the_lookback_is_sent_and_the_receipt_says_why(
    server: Server, fake: FakeOpenAI, script: str, agent: str, result: str, why: str
) -> None:
    async with Person(server.url) as ada:
        page = await restored(ada, agent=agent)
        fake.script.extend([script, "Rex."])
        ended = await page.say("What is my dog called?")
        assert ended["state"] == "complete"
        assert sent(fake)[0] == FACT and len(sent(fake)) == 2 * TURNS + 1
        receipt = ended["receipt"]
        assert receipt["reports"]["triage"]["result"] == result
        assert receipt["reports"]["triage"]["asked"] is True
        (note,) = receipt["notes"]
        assert why in note and note.endswith(ALL_KEPT)
        oldest = next(v for v in receipt["verdicts"] if v["first"] == 1)
        assert oldest["sent"] and "no model has chosen" in oldest["sentence"]


async def test_a_preview_asks_no_model(server: Server, fake: FakeOpenAI) -> None:
    async with Person(server.url) as ada:
        page = await restored(ada)
        before = len(fake.requests)
        decision = (await page.preview("What is my dog called?"))["decision"]
        assert len(fake.requests) == before
        assert decision["notes"] == [
            "Which older turns go along is chosen on sending: tiny is asked about 7 of them."
        ]
        assert decision["reports"]["triage"]["result"] == "on sending"


async def test_stop_while_it_is_asked_stops_the_question(server: Server, fake: FakeOpenAI) -> None:
    async with Person(server.url) as ada:
        page = await restored(ada)
        fake.script.append("[[mode=hang0]]")
        await page.send("What is my dog called?")
        await page.until("turn_started")
        await _until(fake, 1)
        await page.command("stop")
        ended = await page.until("turn_ended")
        assert (ended["state"], ended["message"]) == ("stopped", None)
        await _until(fake, 0)


async def _until(fake: FakeOpenAI, in_flight: int) -> None:
    async with asyncio.timeout(10):
        while fake.in_flight != in_flight:  # noqa: ASYNC110 - the server lives in another thread
            await asyncio.sleep(0.01)


def quoted(texts: list[str]) -> list[str]:
    return [text for text in texts if "It will rain" in text]


async def test_what_a_background_task_wrote_goes_with_the_message_that_follows_it(
    server: Server, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada:
        page = await restored(ada, query="historyPolicy=lastN&historyLength=3")
        said = server.manage(
            "add_message", page.conversation, "--source", "briefing", "It will rain at noon."
        )
        assert said == f"Stored as message {2 * TURNS + 1} of {page.conversation}.\n"
        again = await ada.page(page.conversation, agent="careful", query=page.query)
        shown: dict[str, Any] = again.snapshot["messages"][-1]
        assert (shown["content"], shown["source"]) == ("It will rain at noon.", "briefing")

        fake.script.append("Take an umbrella.")
        ended = await again.say("What does that mean for me?")
        (note,) = quoted(sent(fake))
        assert sent(fake)[-2] == note and note != "It will rain at noon."
        verdict = next(v for v in ended["receipt"]["verdicts"] if v["first"] == 2 * TURNS + 1)
        assert (verdict["sent"], verdict["reason"], verdict["quoted"]) == (True, "followed", True)

        fake.script.append("You're welcome.")
        await again.say("Thanks!")
        assert quoted(sent(fake)) == [], "it is part of no history"
        assert "What does that mean for me?" in sent(fake)
