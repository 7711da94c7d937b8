"""A fast model chooses the turns to send: the receipt records them, the request proves it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.person import Page, Person
from tests.running import Server
from tests.story.agents import write_agent
from tests.story.conftest import provider_environment

TURNS = 12
FACT = "My dog is called Rex."
ALL_SENT = "nothing of the last 25 turns is left out while there is room."


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
    triage = {"historyPolicy": "relevant", "historySelector": "triage"}
    write_agent(agents, "careful", {**triage, "conversation": {"context_truncation": 30}})
    write_agent(agents, "hasty", {**triage, "conversation": {"selection_timeout": 0.3}})
    environment = provider_environment(own_fake, AGENTS_DIR=str(agents), FAST_MODEL="tiny")
    with Server(tmp_path_factory.mktemp("triage"), **environment) as running:
        yield running
    assert "Traceback" not in running.log, running.log


async def import_conversation(person: Person, *, agent: str = "careful", query: str = "") -> Page:
    """Import a conversation of twelve turns, whose first has a fact and a long answer; open it."""
    messages = [{"role": "user", "content": FACT}, {"role": "assistant", "content": "Noted. " * 20}]
    for number in range(1, TURNS):
        messages.append({"role": "user", "content": f"question {number}"})
        messages.append({"role": "assistant", "content": f"answer {number}"})
    saved = {
        "format": "chatsite.conversation",
        "version": 1,
        "agent": agent,
        "title": "Rex",
        "messages": messages,
    }
    imported = await person.ask("POST", "/conversations/import", saved)
    return await person.page(imported["conversation"]["id"], agent=agent, query=query)


def sent(fake: FakeOpenAI) -> list[str]:
    """The texts of the last request without the instructions."""
    return [message["content"] for message in fake.requests[-1]["messages"][1:]]


def questions(*numbers: int) -> list[str]:
    return [text for n in numbers for text in (f"question {n}", f"answer {n}")]


async def test_the_chosen_turns_are_sent_in_their_order(server: Server, fake: FakeOpenAI) -> None:
    async with Person(server.url) as ada:
        page = await import_conversation(ada)
        before = len(fake.requests)
        fake.script.extend(['Sure: {"relevant": [4, 0, 0, 77]}', "Rex."])
        ended = await page.say("What is my dog called?")
        assert ended["message"]["content"] == "Rex."
        selection, request = fake.requests[before:]
        assert (selection["model"], request["model"]) == ("tiny", "gpt-6-luna")
        assert FACT in selection["messages"][1]["content"]
        assert sent(fake) == [
            FACT,
            "Noted. Noted. Noted. Noted. No […shortened]",
            *questions(4, 7, 8, 9, 10, 11),
            "What is my dog called?",
        ]
        receipt = ended["receipt"]
        report = receipt["reports"]["triage"]
        assert (report["result"], report["model"]) == ("chosen", "tiny")
        assert (report["candidates"], report["chosen"]) == (7, 2)
        assert report["prompt"] > 100 and report["completion"] == 6 and report["milliseconds"] >= 0
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
        ("[[mode=503]]", "hasty", "error", "the provider reported an internal error"),
        ("[[mode=hang0]]", "hasty", "timeout", "after 0.3 seconds"),
    ],
)
async def test_without_a_choice_the_whole_lookback_is_sent_and_the_receipt_says_why(
    server: Server, fake: FakeOpenAI, script: str, agent: str, result: str, why: str
) -> None:
    async with Person(server.url) as ada:
        page = await import_conversation(ada, agent=agent)
        fake.script.extend([script, "Rex."])
        ended = await page.say("What is my dog called?")
        assert ended["state"] == "complete"
        assert sent(fake)[0] == FACT and len(sent(fake)) == 2 * TURNS + 1
        receipt = ended["receipt"]
        assert receipt["reports"]["triage"]["result"] == result
        assert receipt["reports"]["triage"]["asked"] is True
        (note,) = receipt["notes"]
        assert why in note and note.endswith(ALL_SENT)
        oldest = next(v for v in receipt["verdicts"] if v["first"] == 1)
        assert oldest["sent"] and "no model has chosen" in oldest["sentence"]


async def test_a_preview_sends_no_request_to_a_model(server: Server, fake: FakeOpenAI) -> None:
    async with Person(server.url) as ada:
        page = await import_conversation(ada)
        before = len(fake.requests)
        decision = (await page.preview("What is my dog called?"))["decision"]
        assert len(fake.requests) == before
        assert decision["notes"] == [
            "Which older turns go along is chosen on sending: tiny is asked about 7 of them."
        ]
        assert decision["reports"]["triage"]["result"] == "on sending"


async def test_stop_cancels_the_request_to_the_fast_model(server: Server, fake: FakeOpenAI) -> None:
    async with Person(server.url) as ada:
        page = await import_conversation(ada)
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
        while fake.in_flight != in_flight:  # noqa: ASYNC110 - the server runs in another thread
            await asyncio.sleep(0.01)


def quoted(texts: list[str]) -> list[str]:
    return [text for text in texts if "It will rain" in text]


async def test_a_message_of_a_background_task_is_sent_with_the_next_user_message(
    server: Server, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada:
        page = await import_conversation(ada, query="historyPolicy=lastN&historyLength=3")
        output = server.manage(
            "add_message", page.conversation, "--source", "briefing", "It will rain at noon."
        )
        assert output == f"Stored as message {2 * TURNS + 1} of {page.conversation}.\n"
        again = await ada.page(page.conversation, agent="careful", query=page.query)
        shown: dict[str, Any] = again.snapshot["messages"][-1]
        assert (shown["content"], shown["source"]) == ("It will rain at noon.", "briefing")

        fake.script.append("Take an umbrella.")
        ended = await again.say("What does that mean for me?")
        (note,) = quoted(sent(fake))
        assert sent(fake)[-1] == note
        assert note.endswith("It will rain at noon.\n\n---\n\nWhat does that mean for me?")
        verdict = next(v for v in ended["receipt"]["verdicts"] if v["first"] == 2 * TURNS + 1)
        assert (verdict["sent"], verdict["reason"], verdict["quoted"]) == (True, "followed", True)

        fake.script.append("You're welcome.")
        await again.say("Thanks!")
        assert quoted(sent(fake)) == [], "it is part of no history"
        assert "What does that mean for me?" in sent(fake)
