"""Which models people may choose for an agent, and why others can't be chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from chatsite.providers.known.models import ModelFacts, ReportedModel
from chatsite.providers.known.servers import SERVERS, Server
from chatsite.providers.reachable import Providers
from chatsite.turns.agents.model_choice import ModelChoice
from chatsite.turns.agents.resolved_agent import resolve_agent
from tests.turns.conftest import template
from tests.turns.test_answering import NamedProvider, echo_providers


def known_servers(
    *,
    found: dict[str, dict[str, ReportedModel]] | None = None,
    own: dict[str, ModelFacts] | None = None,
    chat_model: str = "",
    servers: Mapping[str, Server] = SERVERS,
) -> Providers:
    """Servers that listed the models in `found`."""
    known = Providers(
        servers=servers, ready=(), keys={}, own=own, chat_model=chat_model, look=False
    )
    known.discovery.found = found or {}
    return known


AGENT = template(
    nodes=["llm.anthropic", "llm.openai"],
    nodeConfigurations={
        "llm.openai": {"model": "gpt-4o-mini"},
        "llm.anthropic": {"model": "claude-haiku-5-5"},
    },
)
PROVIDERS = echo_providers("echo", "embedded", "openai", "ollama", "groq")
OLLAMA = {"ollama": {"llama3:8b": ReportedModel(), "qwen3": ReportedModel()}}


def model_choice(
    servers: Providers | None = None,
    *,
    who: str = "everyone",
    offered: tuple[str, ...] | None = None,
) -> ModelChoice:
    return ModelChoice(who=who, offered=offered, remote=servers or known_servers(found=OLLAMA))


def listed(made: ModelChoice, *, staff: bool = False) -> dict[str, Any]:
    return made.choices(resolve_agent(AGENT, PROVIDERS), PROVIDERS, staff=staff)


def names(found: dict[str, Any]) -> dict[str, list[str]]:
    return {group["title"]: [each["name"] for each in group["models"]] for group in found["groups"]}


def test_the_offer_holds_the_agents_model_local_models_and_those_with_a_key() -> None:
    found = listed(model_choice())
    assert (found["own"], found["locked"]) == ("openai:gpt-4o-mini", "")
    assert names(found) == {
        "This agent's models": ["openai:gpt-4o-mini", "anthropic:claude-haiku-5-5"],
        "On this machine": ["embedded:own choice"],
        "OpenAI": ["openai:own choice"],
        "Ollama, on this machine": ["ollama:llama3:8b", "ollama:qwen3"],
        "Groq": ["groq:own choice"],
    }
    own, missing = found["groups"][0]["models"]
    assert own == {
        "name": "openai:gpt-4o-mini",
        "server": "OpenAI",
        "label": "",
        "window": 4_096,
        "assumed": False,
        "price": {"prompt": 0.15, "cached": 0.075, "completion": 0.6},
        "takes": [],
        "tools": False,
        "why_not": "",
    }
    assert missing["why_not"] == "Anthropic needs an API key (ANTHROPIC_API_KEY)."
    llama = found["groups"][3]["models"][0]
    assert (llama["assumed"], llama["price"]) == (True, None)


def test_a_file_of_offered_models_limits_the_offer_to_them_and_the_agents_own() -> None:
    own = {"groq:fast": ModelFacts(window=9)}
    made = model_choice(
        known_servers(found=OLLAMA, own=own),
        offered=("groq:fast", "ollama:*", "gemini:x", "embedded:*"),
    )
    assert names(listed(made)) == {
        "This agent's models": ["openai:gpt-4o-mini", "anthropic:claude-haiku-5-5"],
        "Groq": ["groq:fast"],
        "Ollama, on this machine": ["ollama:llama3:8b", "ollama:qwen3"],
        "On this machine": ["embedded:own choice"],
    }
    assert made.refused("groq:fast", AGENT, PROVIDERS, staff=False) == ""
    assert "isn't offered any more" in made.refused("groq:dear", AGENT, PROVIDERS, staff=False)
    assert made.refused("openai:gpt-4o-mini", AGENT, PROVIDERS, staff=False) == ""
    assert made.refused("", AGENT, PROVIDERS, staff=False) == ""


@pytest.mark.parametrize(
    ("who", "chat_model", "staff", "why"),
    [
        ("everyone", "openai:x", True, "set the model"),
        ("off", "", True, "lets nobody"),
        ("staff", "", False, "only staff"),
        ("staff", "", True, ""),
    ],
)
def test_people_who_may_not_choose_see_the_agents_model_alone_and_the_reason(
    who: str, chat_model: str, staff: bool, why: str
) -> None:
    made = model_choice(known_servers(found=OLLAMA, chat_model=chat_model), who=who)
    found = listed(made, staff=staff)
    refused = made.refused("ollama:qwen3", AGENT, PROVIDERS, staff=staff)
    assert bool(why) == bool(refused) == (len(found["groups"]) == 1)
    assert why in found["locked"] and why in refused


def test_a_server_of_the_administrator_offers_its_listed_and_configured_models() -> None:
    vllm = Server(name="vllm", label="vLLM", dialect="openai", base_url="http://10.0.0.5/v1")
    known = known_servers(
        servers={**SERVERS, "vllm": vllm}, own={"vllm:qwen": ModelFacts(window=9)}
    )
    there = {"vllm": NamedProvider("vllm"), "echo": NamedProvider("echo")}
    found = model_choice(known).choices(resolve_agent(template(), there), there, staff=False)
    assert names(found)["vLLM"] == ["vllm:own choice", "vllm:qwen"]
