"""What people may choose from for an agent, and why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from chatsite.providers.known.facts import ModelFacts, ReportedModel
from chatsite.providers.known.models import ModelTable
from chatsite.providers.known.servers import SERVERS, Server
from chatsite.turns.agents.model_choice import ModelChoice
from chatsite.turns.agents.resolved_agent import resolve_agent
from tests.turns.conftest import template
from tests.turns.test_answering import NamedProvider, echo_providers


@dataclass
class Known:
    """What is known of servers, said by the test."""

    found: dict[str, dict[str, ReportedModel]] = field(default_factory=dict)
    own: dict[str, ModelFacts] = field(default_factory=dict)
    chat_model: str = ""
    servers: Mapping[str, Server] = field(default_factory=lambda: SERVERS)

    def facts(self, server: str, model: str) -> ModelFacts | None:
        return ModelTable(own=self.own).facts(server, model)

    def listed(self) -> Mapping[str, Mapping[str, ReportedModel]]:
        return self.found

    def described(self) -> Mapping[str, ModelFacts]:
        return self.own


AGENT = template(
    nodes=["llm.anthropic", "llm.openai"],
    nodeConfigurations={
        "llm.openai": {"model": "gpt-4o-mini"},
        "llm.anthropic": {"model": "claude-haiku-5-5"},
    },
)
THERE = echo_providers("echo", "embedded", "openai", "ollama", "groq")
OLLAMA = {"ollama": {"llama3:8b": ReportedModel(), "qwen3": ReportedModel()}}


def choosing(
    known: Known | None = None, *, who: str = "everyone", offered: tuple[str, ...] | None = None
) -> ModelChoice:
    return ModelChoice(who=who, offered=offered, reach=known or Known(found=OLLAMA))


def listed(made: ModelChoice, *, staff: bool = False) -> dict[str, Any]:
    return made.choices(resolve_agent(AGENT, THERE), THERE, staff=staff)


def names(found: dict[str, Any]) -> dict[str, list[str]]:
    return {group["title"]: [each["name"] for each in group["models"]] for group in found["groups"]}


def test_offered_are_the_agents_own_what_runs_here_and_what_a_key_opens() -> None:
    found = listed(choosing())
    assert (found["own"], found["locked"]) == ("openai:gpt-4o-mini", "")
    assert names(found) == {
        "This agent's own": ["openai:gpt-4o-mini", "anthropic:claude-haiku-5-5"],
        "On this machine": ["embedded:own choice"],
        "OpenAI": ["openai:own choice"],
        "Ollama, on this machine": ["ollama:llama3:8b", "ollama:qwen3"],
        "Groq": ["groq:own choice"],
    }
    own, missing = found["groups"][0]["models"]
    assert own == {
        "name": "openai:gpt-4o-mini",
        "label": "",
        "window": 4_096,
        "assumed": False,
        "price": {"prompt": 0.15, "cached": 0.075, "completion": 0.6},
        "takes": [],
        "tools": False,
        "why_not": "",
    }
    assert missing["why_not"] == "Anthropic has no key here."
    llama = found["groups"][3]["models"][0]
    assert (llama["assumed"], llama["price"]) == (True, None)


def test_where_a_file_says_what_is_offered_it_is_that_and_the_agents_own() -> None:
    own = {"groq:fast": ModelFacts(window=9)}
    made = choosing(
        Known(found=OLLAMA, own=own), offered=("groq:fast", "ollama:*", "gemini:x", "embedded:*")
    )
    assert names(listed(made)) == {
        "This agent's own": ["openai:gpt-4o-mini", "anthropic:claude-haiku-5-5"],
        "Groq": ["groq:fast"],
        "Ollama, on this machine": ["ollama:llama3:8b", "ollama:qwen3"],
        "On this machine": ["embedded:own choice"],
    }
    assert made.refused("groq:fast", AGENT, THERE, staff=False) == ""
    assert "isn't offered any more" in made.refused("groq:dear", AGENT, THERE, staff=False)
    assert made.refused("openai:gpt-4o-mini", AGENT, THERE, staff=False) == ""
    assert made.refused("", AGENT, THERE, staff=False) == ""


@pytest.mark.parametrize(
    ("who", "chat_model", "staff", "why"),
    [
        ("everyone", "openai:x", True, "set the model"),
        ("off", "", True, "lets nobody"),
        ("staff", "", False, "only staff"),
        ("staff", "", True, ""),
    ],
)
def test_who_may_not_choose_is_told_why_and_shown_the_agents_own_alone(
    who: str, chat_model: str, staff: bool, why: str
) -> None:
    made = choosing(Known(found=OLLAMA, chat_model=chat_model), who=who)
    found = listed(made, staff=staff)
    refused = made.refused("ollama:qwen3", AGENT, THERE, staff=staff)
    assert bool(why) == bool(refused) == (len(found["groups"]) == 1)
    assert why in found["locked"] and why in refused


def test_a_server_of_the_administrators_own_offers_what_it_lists_or_is_said_to_have() -> None:
    vllm = Server(name="vllm", label="vLLM", dialect="openai", base_url="http://10.0.0.5/v1")
    known = Known(servers={**SERVERS, "vllm": vllm}, own={"vllm:qwen": ModelFacts(window=9)})
    there = {"vllm": NamedProvider("vllm"), "echo": NamedProvider("echo")}
    found = choosing(known).choices(resolve_agent(template(), there), there, staff=False)
    assert names(found)["vLLM"] == ["vllm:own choice", "vllm:qwen"]
