"""An agent's strategy decides what is sent: over a socket, through storage, to the provider."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.files.sample_files import picture
from tests.person import Page, Person
from tests.running import Server
from tests.story.agents import PERSONALITY, write_agent
from tests.story.conftest import KEY, provider_environment
from tests.web.browser_requests import attach_file

TURNS = 6
CHOOSING = """
def build(ctx):
    print("nothing of this may reach anybody")
    said = ctx.history.recent(99)
    ctx.slots.add("history", said[-2:], priority=1)
    ctx.slots.add("system", f"You are talking about {len(said)} messages.")
    ctx.slots.add("first", [m for m in said if "question 1 " in m.content])
    ctx.slots.add("hint", "It was: " + ctx.input.split(" [")[0])
    ctx.slots.add("input", ctx.input)
"""
FAILING = """
import os

def build(ctx):
    if os.environ.get("OPENAI_API_KEY"):
        return
    raise RuntimeError(ctx.input)
"""
SEEING = """
def build(ctx):
    files = [file for message in ctx.history.recent(9) for file in message.attachments]
    lines = [f"{f.name}: {f.width}x{f.height}, {f.characters} characters" for f in files]
    ctx.slots.add("files", "; ".join(lines))
    ctx.slots.add("history", ctx.history.recent(9))
"""
SLOW = "def build(ctx):\n    while ctx.history.last_user(): pass\n"


@pytest.fixture(scope="module")
def strategic(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    agents = tmp_path_factory.mktemp("agents")
    for slug, source in {
        "chooser": CHOOSING,
        "failing": FAILING,
        "seeing": SEEING,
        "slow": SLOW,
    }.items():
        write_agent(agents, slug, {"historyPolicy": "strategy"})
        (agents / slug / "strategy.py").write_text(source)
    with Server(
        tmp_path_factory.mktemp("var"), **provider_environment(fake, AGENTS_DIR=str(agents))
    ) as running:
        yield running
    assert "Traceback" not in running.log, running.log
    assert "nothing of this" not in running.log


def question(number: int) -> str:
    return f"question {number} [[text=answer {number}]]"


async def talk(page: Page, turns: int) -> dict[str, Any]:
    ended: dict[str, Any] = {}
    for number in range(1, turns + 1):
        ended = await page.say(question(number))
        assert ended["state"] == "complete", ended
    receipt: dict[str, Any] = ended["receipt"]
    return receipt


def request_messages(fake: FakeOpenAI) -> list[tuple[str, Any]]:
    return [(m["role"], m["content"]) for m in fake.requests[-1]["messages"]]


async def test_the_provider_gets_what_the_strategy_chose(
    strategic: Server, fake: FakeOpenAI
) -> None:
    async with Person(strategic.url) as ada:
        page = await ada.page(agent="chooser")
        receipt = await talk(page, TURNS)
        assert request_messages(fake) == [
            (
                "system",
                f"{PERSONALITY.format(name='chooser')}\n\nYou are talking about 10 messages.",
            ),
            ("user", f"{question(1)}\n\n{question(5)}"),
            ("assistant", "answer 5"),
            ("user", f"It was: question 6\n\n{question(6)}"),
        ]
        assert receipt["facts"]["policy"] == "strategy"
        assert receipt["notes"] == []
        reasons = {verdict["reason"] for verdict in receipt["verdicts"]}
        assert {"strategy", "not_chosen", "current"} <= reasons
        preview = await page.preview("question 7")
        assert {"strategy", "not_chosen"} <= {v["reason"] for v in preview["decision"]["verdicts"]}


async def test_a_strategy_sees_the_true_size_of_a_picture_and_the_length_of_a_text(
    strategic: Server, fake: FakeOpenAI
) -> None:
    async with Person(strategic.url) as ada:
        page = await ada.page(agent="seeing")
        plan = await attach_file(ada, picture("PNG"), name="plan.png")
        notes = await attach_file(ada, b"The quay is 40 m long.", name="notes.txt")
        seen = await page.say("", attachments=[plan["id"], notes["id"]])
        assert seen["state"] == "complete", seen
        await page.say("How large is the plan? [[text=I see.]]")
    told = "plan.png: 40x30, 0 characters; notes.txt: 0x0, 22 characters"
    assert told in str(request_messages(fake))


async def test_the_files_of_a_message_that_a_strategy_chose_are_sent_with_it(
    strategic: Server, fake: FakeOpenAI
) -> None:
    async with Person(strategic.url) as ada:
        page = await ada.page(agent="seeing")
        plan = await attach_file(ada, picture("PNG"), name="plan.png")
        notes = await attach_file(ada, b"The quay is 40 m long.", name="notes.txt")
        await page.say("Look. [[text=Seen.]]", attachments=[plan["id"], notes["id"]])
        await page.say("How large is the plan? [[text=I see.]]")
    (parts,) = [content for _, content in request_messages(fake) if isinstance(content, list)]
    assert [part["type"] for part in parts] == ["text", "image_url"]
    assert "The quay is 40 m long." in parts[0]["text"]


async def test_a_failing_strategy_falls_back_to_the_newest_turns_and_a_note_says_so(
    strategic: Server, fake: FakeOpenAI
) -> None:
    async with Person(strategic.url) as ada:
        receipt = await talk(await ada.page(agent="failing"), 2)
        assert [role for role, _ in request_messages(fake)] == [
            "system",
            "user",
            "assistant",
            "user",
        ]
        assert receipt["notes"] == [
            "The agent's strategy failed: failing/strategy.py, line 7: RuntimeError. "
            "The newest turns within the budget are sent instead."
        ]
        assert KEY not in str(receipt)


async def test_a_strategy_that_never_ends_delays_an_answer_only_up_to_its_limit(
    strategic: Server, fake: FakeOpenAI
) -> None:
    async with Person(strategic.url) as ada:
        receipt = await talk(await ada.page(agent="slow"), 2)
        assert len(request_messages(fake)) == 4
        assert "it took longer than 2 seconds and was ended" in receipt["notes"][0]
