"""Which settings of an agent reach the model; the receipt names those that don't."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.openai_server import FakeOpenAI
from tests.files.sample_files import pdf
from tests.person import Person
from tests.running import Server
from tests.story.agents import write_agent
from tests.web.browser_requests import attach_file

TOLD = {"temperature": 0.7, "maxTokens": 4096}
THINKS = "thinks, and takes no such setting then"
# The model, what its template says besides TOLD, what is sent of it, and why the rest isn't.
ANTHROPIC: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "claude-3-haiku-20240307": (
        {"maxTokens": 5000},
        {"temperature": 0.7, "max_tokens": 4096},
        "maxTokens 5,000 is taken as 4,096: claude-3-haiku-20240307 gives no longer reply.",
    ),
    "claude-3-5-sonnet-20241022": (
        {"reasoningEffort": "high"},
        {"temperature": 0.7, "max_tokens": 4096},
        "reasoningEffort is not sent: the model can't think.",
    ),
    "claude-3-7-sonnet-20250219": ({}, {"temperature": 0.7, "max_tokens": 4096}, ""),
    "claude-opus-4-1-20250805": ({}, {"temperature": 0.7, "max_tokens": 4096}, ""),
    "claude-sonnet-4-20250514": (
        {"topP": 0.9, "seed": 7},
        {"temperature": 0.7, "max_tokens": 4096},
        "seed is not sent: Anthropic's interface has no such setting. topP is not sent: the model "
        "takes one of the two, and temperature is set.",
    ),
    "us.anthropic.claude-sonnet-4-5": (
        {"temperature": 1.4},
        {"temperature": 1.0, "max_tokens": 4096},
        "temperature 1.4 is sent as 1, the highest that it takes.",
    ),
    "claude-haiku-4-5": (
        {"reasoningEffort": "low"},
        {"max_tokens": 8192},
        "temperature is not sent: claude-haiku-4-5 takes no such setting while it thinks.",
    ),
    "claude-opus-4-6": (
        {"reasoningEffort": "xhigh", "stopSequences": ["END", " "]},
        {"max_tokens": 20_480},
        "temperature is not sent: claude-opus-4-6 takes no such setting while it thinks. Blank "
        "stopSequences are not sent: Anthropic's interface refuses them. reasoningEffort xhigh is "
        "sent as high, the nearest that the model has.",
    ),
    "claude-opus-4-7": (
        {},
        {"max_tokens": 4096},
        "temperature is not sent: claude-opus-4-7 takes no such setting.",
    ),
}
CHAT: dict[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {
    "gemini-2.0-flash-exp": ("gemini", {}, {"temperature": 0.7, "max_tokens": 4096}, ""),
    "gemini-3.8-flash": (
        "gemini",
        {"reasoningEffort": "low"},
        {"temperature": 0.7, "max_tokens": 20_480},
        "reasoningEffort is not sent: gemini-3.8-flash isn't known to take it.",
    ),
    "gpt-5": (
        "openai",
        {"topP": 0.9, "stopSequences": ["END"], "reasoningEffort": "low"},
        {"reasoning_effort": "low", "max_completion_tokens": 8192},
        f"temperature, topP and stopSequences are not sent: gpt-5 {THINKS}.",
    ),
    "gpt-4": (
        "openai",
        {"maxTokens": 6000},
        {"temperature": 0.7, "max_tokens": 4096},
        "maxTokens 6,000 is taken as 4,096: half of the model's window is kept for the prompt.",
    ),
}
SETTINGS = ("temperature", "top_p", "seed", "stop", "reasoning_effort")
BOUNDS = ("max_tokens", "max_completion_tokens")


def slug_of(model: str) -> str:
    return model.replace(".", "-")


@pytest.fixture(scope="module")
def fakes() -> Iterator[dict[str, FakeOpenAI]]:
    with FakeOpenAI() as chat, FakeAnthropic() as anthropic:
        yield {"openai": chat, "gemini": chat, "anthropic": anthropic}


@pytest.fixture(scope="module")
def server(
    fakes: dict[str, FakeOpenAI], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("parameters")
    for model, (said, *_) in ANTHROPIC.items():
        write(folder / "agents", "anthropic", model, said)
    for model, (llm, said, *_) in CHAT.items():
        write(folder / "agents", llm, model, said)
    environment: dict[str, Any] = {
        "AGENTS_DIR": str(folder / "agents"),
        "LOCAL_SERVERS": "off",
        # What is said here holds at every address.
        "MODELS_FILE": str(folder / "models.json"),
    }
    for llm, fake in fakes.items():
        environment |= {f"{llm.upper()}_API_KEY": "sk", f"{llm.upper()}_BASE_URL": fake.base_url}
    (folder / "models.json").write_text(json.dumps({"servers": {"openai": {"files": True}}}))
    with Server(folder / "var", **environment) as running:
        yield running
    assert "Traceback" not in running.log, running.log


def write(agents: Path, llm: str, model: str, said: dict[str, Any]) -> None:
    settings = {"model": model, **TOLD, **said}
    node = f"llm.{llm}"
    write_agent(agents, slug_of(model), nodes=[node], nodeConfigurations={node: settings})


async def receipt_of(server: Server, model: str) -> dict[str, Any]:
    async with Person(server.url) as ada:
        page = await ada.page(agent=slug_of(model))
        preview = (await page.preview("Hello"))["decision"]
        ended = await page.say("Hello [[text=Hi.]]")
    assert ended["state"] == "complete", ended
    receipt: dict[str, Any] = ended["receipt"]
    assert preview["dropped"] == receipt["dropped"]
    return receipt


@pytest.mark.parametrize("model", ANTHROPIC)
async def test_a_claude_model_gets_the_settings_that_it_takes_and_the_receipt_names_the_others(
    model: str, server: Server, fakes: dict[str, FakeOpenAI]
) -> None:
    _, sent, dropped = ANTHROPIC[model]
    receipt = await receipt_of(server, model)
    body = fakes["anthropic"].requests[-1]
    assert {name: body[name] for name in (*SETTINGS, "max_tokens") if name in body} == sent
    assert receipt["asked"].get("temperature") == sent.get("temperature")
    assert " ".join(receipt["dropped"]) == dropped
    assert fakes["anthropic"].problems == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("model", CHAT)
async def test_a_model_of_chat_completions_gets_what_it_takes_and_no_room_for_thinking_it_does_not(
    model: str, server: Server, fakes: dict[str, FakeOpenAI]
) -> None:
    llm, _, sent, dropped = CHAT[model]
    receipt = await receipt_of(server, model)
    body = fakes[llm].requests[-1]
    assert {name: body[name] for name in (*SETTINGS, *BOUNDS) if name in body} == sent
    assert {name: receipt["asked"].get(name) for name in SETTINGS} == {
        name: body.get(name) for name in SETTINGS
    }
    assert " ".join(receipt["dropped"]) == dropped


async def test_a_server_that_keeps_files_is_sent_a_file_once_whatever_its_address(
    server: Server, fakes: dict[str, FakeOpenAI]
) -> None:
    fake = fakes["openai"]
    async with Person(server.url) as ada:
        page = await ada.page(agent="gpt-5")
        plan = await attach_file(ada, pdf("The quay is 40 m long."), name="plan.pdf")
        await page.say("Read it. [[text=Read.]]", attachments=[plan["id"]])
        await page.say("Again. [[text=Again.]]")
    bodies = [json.dumps(body) for body in fake.requests[-2:]]
    assert all("file_id" in body for body in bodies)
    assert sum(asked == "POST /v1/files" for asked in fake.asked) == 1
