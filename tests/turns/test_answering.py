"""Which model answers for an agent, and what the page is told about it."""

from __future__ import annotations

import pytest

from chatsite.errors import ProviderError
from chatsite.messages import Message
from chatsite.providers.base.provider import Model, Provider
from chatsite.providers.echo import EchoProvider
from chatsite.turns.agents.resolved_agent import resolve_agent
from tests.turns.conftest import settings_for, template


class NamedProvider(EchoProvider):
    """Echo under another name, with a window of its own."""

    def __init__(self, kind: str, window: int = 4096) -> None:
        super().__init__()
        self.kind, self._window = kind, window

    def model(self, name: str | None) -> Model:
        return Model(
            provider=self.kind, name=name or "own choice", label="", window=self._window, note=""
        )


def echo_providers(*kinds: str) -> dict[str, Provider]:
    return {kind: NamedProvider(kind) for kind in kinds}


@pytest.mark.parametrize(
    ("nodes", "reachable", "expected"),
    [
        (["llm.openai"], ["echo", "embedded", "openai"], "openai"),
        (["llm.openai"], ["echo", "embedded"], "embedded"),
        (["llm.openai"], ["echo"], "echo"),
        (["llm.anthropic", "llm.openai"], ["echo", "embedded", "openai"], "openai"),
        (["llm.openai", "llm.embedded"], ["echo", "embedded"], "embedded"),
        (["llm.embedded", "llm.openai"], ["echo", "embedded", "openai"], "embedded"),
        ([], ["echo", "embedded", "openai"], "embedded"),
        ([], ["echo", "openai"], "echo"),
        (["llm.groq"], ["openai"], None),
    ],
)
def test_the_first_provider_that_can_be_reached_answers(
    nodes: list[str], reachable: list[str], expected: str | None
) -> None:
    if expected is None:
        with pytest.raises(ProviderError) as error:
            resolve_agent(template(nodes=nodes), echo_providers(*reachable))
        assert error.value.code == "no_provider"
    else:
        found = resolve_agent(template(nodes=nodes), echo_providers(*reachable))
        assert found.provider.kind == found.model.provider == expected


def test_an_agent_whose_provider_has_no_key_says_so() -> None:
    found = resolve_agent(template(nodes=["llm.anthropic"]), echo_providers("echo", "embedded"))
    assert found.note == "This agent is made for Anthropic, which has no key here."
    assert resolve_agent(template(nodes=["llm.openai"]), echo_providers("openai")).note == ""
    assert resolve_agent(template(), echo_providers("embedded")).note == ""
    both = template(nodes=["llm.openai", "llm.embedded"])
    assert "key" not in resolve_agent(both, echo_providers("echo")).note


def test_the_trained_sentence_replaces_the_personality_only_where_it_was_trained() -> None:
    trained = template(**settings_for("embedded", useTrainedPersonality=True))
    plain = template(**settings_for("embedded"))
    sentence = "You are the model that was trained."
    engine, echo = echo_providers("embedded", "echo"), echo_providers("echo")
    assert resolve_agent(trained, engine, trained_system=sentence).system == sentence
    assert resolve_agent(trained, engine, trained_system="").system == "You are Memo."
    assert resolve_agent(trained, echo, trained_system=sentence).system == "You are Memo."
    assert resolve_agent(plain, engine, trained_system=sentence).system == "You are Memo."


def test_the_reply_never_takes_more_than_half_the_window() -> None:
    wide = template(**settings_for("openai", maxTokens=5000))
    found = resolve_agent(wide, {"openai": NamedProvider("openai", window=4000)})
    assert (found.window.size, found.window.reply) == (4000, 2000)
    assert found.request("c", ()).max_tokens == 2000


def test_the_request_carries_the_templates_settings() -> None:
    found = resolve_agent(
        template(**settings_for("openai", model="m1", temperature=0.5, topP=0.9, maxTokens=7)),
        echo_providers("openai"),
    )
    request = found.request("c", (Message.user("Hi", id="m"),))
    assert (request.model, request.temperature, request.top_p, request.max_tokens) == (
        "m1",
        0.5,
        0.9,
        7,
    )


def test_the_head_is_the_personality_and_then_the_prefilled_turns() -> None:
    prefilled = [{"role": "user", "content": "Two?"}, {"role": "assistant", "content": "2"}]
    found = resolve_agent(template(chatSettings={"history": prefilled}), echo_providers("echo"))
    head = [(message.role, message.content) for message in found.head.messages]
    assert head == [("system", "You are Memo."), ("user", "Two?"), ("assistant", "2")]
    assert (
        found.head.hash
        == found.head.hash
        != resolve_agent(template(), echo_providers("echo")).head.hash
    )


class TestAModelThatIsSetOrChosen:
    def test_the_administrators_model_overrides_the_chosen_one_and_that_the_templates(self) -> None:
        agent = template(**settings_for("openai", model="m1"))
        providers = echo_providers("openai", "ollama", "echo")
        assert resolve_agent(agent, providers).full_name == "openai:m1"
        assert (
            resolve_agent(agent, providers, chosen="ollama:llama3:8b").full_name
            == "ollama:llama3:8b"
        )
        both = resolve_agent(agent, providers, chat_model="openai:m2", chosen="ollama:llama3:8b")
        assert (both.full_name, both.note) == ("openai:m2", "")
        assert resolve_agent(agent, providers, chat_model="embedded").full_name == "openai:m1"

    def test_a_model_that_cant_be_reached_or_is_refused_is_skipped_with_a_note(self) -> None:
        agent, providers = template(nodes=["llm.openai"]), echo_providers("openai")
        unreachable = resolve_agent(agent, providers, chosen="ollama:llama3")
        assert unreachable.full_name == "openai:own choice"
        assert unreachable.note.startswith(
            "ollama:llama3, which was chosen here, can't be reached now."
        )
        refused = resolve_agent(
            agent, providers, chosen="openai:dear", refused="It isn't offered any more."
        )
        assert refused.model.name == "own choice"
        assert refused.note.startswith("It isn't offered any more.")
        other = resolve_agent(
            agent, providers, chat_model="openai:m2", chosen="ollama:x", refused="No."
        )
        assert (other.model.name, other.note) == ("m2", "No.  answers.")  # a model without label
        locked = resolve_agent(agent, providers, chat_model="groq:x")
        assert locked.note.startswith("The administrator's model groq:x can't be reached.")

    def test_a_chosen_model_gets_the_parameters_of_the_agent(self) -> None:
        agent = template(**settings_for("openai", model="m1", temperature=0.5, maxTokens=77))
        found = resolve_agent(agent, echo_providers("openai", "ollama"), chosen="ollama:llama3")
        assert (found.model_settings.temperature, found.model_settings.max_tokens) == (0.5, 77)
        assert found.request("c", ()).model == "llama3"

    def test_an_agent_made_for_a_server_that_doesnt_run_says_so(self) -> None:
        found = resolve_agent(template(nodes=["llm.ollama"]), echo_providers("echo"))
        assert found.note == "This agent is made for Ollama, which can't be reached here."
