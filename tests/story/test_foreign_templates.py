"""Agents in the shapes of AgentDock's templates load and chat, and say what they don't get here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.openai_server import FakeOpenAI
from tests.person import PATIENCE, Page, Person
from tests.running import Server
from tests.story.agents import write_agent
from tests.story.foreign_templates import SHAPES, STEPS, write_foreign_agents

GROUNDING = "Google Search grounding isn't available here: this agent looks nothing up."
FEW_SHOT = [
    {"role": "system", "content": "You translate."},
    {"role": "user", "content": "Into French: the sea is grey."},
    {"role": "assistant", "content": "La mer est grise."},
]


@pytest.fixture(scope="module")
def fakes() -> Iterator[dict[str, FakeOpenAI]]:
    with FakeOpenAI() as chat, FakeAnthropic() as anthropic:
        others = dict.fromkeys(("gemini", "groq", "deepseek", "cerebras", "openai"), chat)
        yield {"anthropic": anthropic, **others}


@pytest.fixture(scope="module")
def server(
    fakes: dict[str, FakeOpenAI], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("foreign")
    agents = write_foreign_agents(folder / "agents")
    write_agent(agents, "fewshot", {"history": FEW_SHOT})
    write_agent(agents, "unanswered", {"history": [*FEW_SHOT, FEW_SHOT[1]]})
    write_agent(agents, "wrong", {"conversation": {"lookback": 3}}, isEnabled=False)
    environment: dict[str, Any] = {"AGENTS_DIR": str(agents), "LOCAL_SERVERS": "off"}
    for llm, fake in fakes.items():
        environment |= {f"{llm.upper()}_API_KEY": "sk", f"{llm.upper()}_BASE_URL": fake.base_url}
    with Server(folder / "var", **environment) as running:
        yield running
    assert "Traceback" not in running.log, running.log


async def test_all_that_are_switched_on_are_offered_and_none_is_broken(server: Server) -> None:
    async with Person(server.url) as ada:
        offered = (await ada.page_data())["agents"]
    assert {agent["slug"] for agent in offered} == {*SHAPES, "fewshot", "unanswered"} - {"asleep"}
    assert [agent["slug"] for agent in offered if agent["broken"]] == []


@pytest.mark.parametrize("slug", sorted(set(SHAPES) - {"asleep"}))
async def test_each_chats_and_names_on_its_card_what_is_missing(
    slug: str, server: Server, fakes: dict[str, FakeOpenAI]
) -> None:
    llm, tools, more = SHAPES[slug]
    async with Person(server.url) as ada:
        page = await ada.page(agent=slug)
        ended = await page.say("Hello [[text=Ahoy.]]")
        card = page.snapshot["agent"]
    assert (ended["state"], ended["message"]["content"]) == ("complete", "Ahoy.")
    assert ended["receipt"]["facts"]["policy"] == more.get("policy", "lastN")
    body = fakes[llm].requests[-1]
    assert f"You are {slug}.\nYou answer in tests." in json.dumps(body).replace("\\n", "\n")
    assert body["temperature"] == 0.7 and body["max_tokens"] == 4096
    assert {gone["name"] for gone in card["missing"]} == set(tools)
    unused = {key["key"].rpartition(".")[2]: key["sentence"] for key in card["unused"]}
    assert set(unused) == expected_unused(more)
    assert unused.get("useSearchGrounding", GROUNDING) == GROUNDING
    assert all(sentence.endswith(".") for sentence in unused.values())
    notes = more.get("notes")
    assert card["notes"] == ([notes] if notes else [])
    assert card["placeholder"] == more.get("placeholderText", "")


def expected_unused(more: dict[str, Any]) -> set[str]:
    found = {"orchestration", "tokenOptimization", "maxConcurrency"} & set(more)
    found |= {"safetySettings"} if "grounded" in more else set()
    found |= {"useSearchGrounding"} if more.get("grounded") else set()
    return found | ({"useCustomApiKey", "apiKey", "provider"} if "key" in more else set())


async def test_the_check_names_every_key_without_effect(server: Server) -> None:
    said = server.manage("check")
    for place in (
        "steps/template.json: orchestration: Its steps aren't followed here",
        "steps/template.json: options.tokenOptimization: ",
        f"grounded-1/template.json: nodeConfigurations.llm.gemini.useSearchGrounding: {GROUNDING}",
        "grounded-1/template.json: nodeConfigurations.llm.gemini.safetySettings: ",
        "sunk/template.json: maxConcurrency: ",
        "insight/template.json: nodeConfigurations.llm.cerebras.provider: ",
        "asleep/template.json: isEnabled: is false, so nobody is offered the agent",
        "unanswered/template.json: chatSettings.history.3: ",
        "wrong/template.json: chatSettings.conversation.lookback: ",
    ):
        assert place in said, place


# ---- an agent that is switched off ------------------------------------------------------------
async def test_an_agent_that_is_switched_off_takes_no_message_and_its_talks_stay(
    server: Server,
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page(agent="guide")
        await page.say("Remember the Heron. [[text=I will.]]")
        await switch_off(server, ada, "guide")
        again = await ada.page(page.conversation, agent="guide")
        assert "I will." in [message["content"] for message in again.snapshot["messages"]]
        card = again.snapshot["agent"]
        assert card["name"] == "Guide" and "switched off" in card["broken"]["reason"]
        await again.send("Are you there?")
        refused = await again.event()
        assert refused["type"] == "refused" and refused["code"] == "agent_off"
        assert "switched off" in refused["message"] and "can be read" in refused["message"]
        saved = await ada.ask("GET", f"/conversations/{page.conversation}/export")
        assert [message["role"] for message in saved["messages"]] == [
            "assistant",
            "user",
            "assistant",
        ]
        await ada.ask("GET", f"/turns/{turn_of(again)}/receipt")


def turn_of(page: Page) -> str:
    found: str = page.snapshot["messages"][-1]["turn"]
    return found


async def switch_off(server: Server, person: Person, slug: str) -> None:
    """Change the template, and wait until the server has read it again."""
    file = Path(server.environment["AGENTS_DIR"]) / slug / "template.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "isEnabled": False}))
    async with asyncio.timeout(PATIENCE):
        while slug in {agent["slug"] for agent in (await person.page_data())["agents"]}:
            pass


# ---- the conversation that a template begins with ---------------------------------------------
async def test_instructions_before_example_turns_join_the_personality(
    server: Server, fakes: dict[str, FakeOpenAI]
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page(agent="fewshot")
        ended = await page.say("The wind is high. [[text=Le vent est fort.]]")
    assert ended["state"] == "complete"
    first, *turns = fakes["openai"].requests[-1]["messages"]
    assert first == {
        "role": "system",
        "content": "You are fewshot. You answer in tests.\n\nYou translate.",
    }
    assert turns[:2] == FEW_SHOT[1:] and len(turns) == 3
    parts = {part["name"]: part["tokens"] for part in ended["receipt"]["parts"]}
    assert parts["prefilled"] > 0
    sent = sum(tokens for name, tokens in parts.items() if name not in ("reply", "free"))
    assert sent == ended["receipt"]["prompt_tokens"]


async def test_an_example_turn_without_an_answer_is_named_and_the_agent_answers(
    server: Server, fakes: dict[str, FakeOpenAI]
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page(agent="unanswered")
        ended = await page.say("Hello [[text=Salut.]]")
        (unused,) = page.snapshot["agent"]["unused"]
    assert ended["state"] == "complete"
    assert fakes["openai"].requests[-1]["messages"][1:3] == FEW_SHOT[1:]
    assert unused["key"] == "chatSettings.history.3"
    assert "a user message without an answer" in unused["sentence"]


def test_the_shapes_are_as_many_as_the_public_templates() -> None:
    """Counted in AgentDock's agents/ at 4d9eb73."""
    assert len(SHAPES) == 35
    found = [llm for llm, _, _ in SHAPES.values()]
    assert {llm: found.count(llm) for llm in found} == {
        "anthropic": 11,
        "gemini": 17,
        "groq": 4,
        "deepseek": 2,
        "cerebras": 1,
    }
    assert sum(more.get("orchestration") == STEPS for _, _, more in SHAPES.values()) == 6
