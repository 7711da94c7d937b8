"""What `manage.py check` reports about agents and history settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.checks import CheckMessage
from django.core.checks.registry import registry
from django.db import connections
from pytest_django import Settings

from chatsite.checks import (
    check_proxies,
    check_templates,
    check_variables,
    check_vectors,
    register_checks,
)
from chatsite.providers.known.models import ModelFacts
from chatsite.providers.known.models_file import ModelsFile
from chatsite.providers.known.servers import Keys
from chatsite.providers.tokens.sentence_vectors import SentenceVectors
from chatsite.wiring.site import Site

SHIPPED = Path(__file__).parents[1] / "agents"
WriteAgent = Callable[..., None]


@pytest.fixture
def write_agent(tmp_path: Path, settings: Settings) -> WriteAgent:
    """Write templates into an empty folder of agents."""
    settings.AGENTS_DIR = tmp_path
    settings.HISTORY_ENVIRONMENT = {}

    def write(slug: str, chat: dict[str, object] | None = None, **more: object) -> None:
        template = {"name": slug, "personality": "You help.", "chatSettings": chat or {}, **more}
        (tmp_path / slug).mkdir()
        (tmp_path / slug / "template.json").write_text(json.dumps(template))

    return write


def ids_and_messages(messages: list[CheckMessage]) -> list[tuple[str | None, str]]:
    return [(message.id, message.msg) for message in messages]


def test_a_broken_template_is_a_warning_with_file_key_and_reason(write_agent: WriteAgent) -> None:
    write_agent("ada", name=3)
    (message,) = check_templates(None)
    assert message.id == "chatsite.W001"
    assert message.msg == "ada/template.json: name: must be text, not a number."
    assert not message.is_serious()


def test_unknown_keys_are_mentioned(write_agent: WriteAgent) -> None:
    write_agent("ada", {"colour": "red", "conversation": {"foo": 1}}, orchestration={"steps": [1]})
    places = ("orchestration", "chatSettings.colour", "chatSettings.conversation.foo")
    found = ids_and_messages(check_templates(None))
    assert [id for id, _ in found] == ["chatsite.I001"] * 3
    for (_, message), place in zip(found, places, strict=True):
        assert message.startswith(f"ada/template.json: {place}: ")


def test_an_example_turn_without_an_answer_and_a_switched_off_agent_are_mentioned(
    write_agent: WriteAgent,
) -> None:
    write_agent("ada", {"history": [{"role": "user", "content": "Hi"}]}, isEnabled=False)
    (turn, off) = check_templates(None)
    assert (turn.id, off.id) == ("chatsite.W002", "chatsite.I004")
    assert "without an answer" in turn.msg and "nobody is offered" in off.msg


def test_a_proxy_that_is_not_named_is_mentioned(settings: Settings) -> None:
    settings.BEHIND_TLS, settings.TRUSTED_PROXIES = True, []
    (message,) = check_proxies(None)
    assert "all visitors count as one address" in message.msg
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    assert check_proxies(None) == []


def test_an_agent_id_that_is_not_the_folder_is_mentioned(write_agent: WriteAgent) -> None:
    write_agent("ada", agentId="bob")
    (message,) = check_templates(None)
    assert message.id == "chatsite.I002"


def test_a_bad_history_setting_is_shown_as_passed_over(write_agent: WriteAgent) -> None:
    write_agent("ada", {"historyPolicy": "everything", "historyLength": "20", "historyTokens": 0})
    messages = check_templates(None)
    assert [message.id for message in messages] == ["chatsite.W002"] * 3
    policy, length, tokens = messages
    assert policy.msg.startswith("ada/template.json: chatSettings.historyPolicy: passed over: ")
    assert policy.hint == "What applies instead: lastN (built in)."
    assert length.hint == "What applies instead: 20 (built in)."
    assert tokens.hint == "What applies instead: the model's window (built in)."


def test_a_bad_triage_setting_is_shown_as_passed_over(write_agent: WriteAgent) -> None:
    write_agent("ada", {"historySelector": "Triage", "conversation": {"lookback_count": "25"}})
    write_agent("bob", {"conversation": "on"})
    selector, lookback, whole = check_templates(None)
    assert "chatSettings.historySelector: passed over: " in selector.msg
    assert "chatSettings.conversation.lookback_count: passed over: " in lookback.msg
    assert lookback.hint == "What applies instead: 25 (built in)."
    assert "bob/template.json: chatSettings.conversation: passed over: " in whole.msg


def test_an_unknown_cleanup_strategy_is_shown_as_passed_over(write_agent: WriteAgent) -> None:
    write_agent("ada", {"cacheCleanup": "KeepSystemPromptOnly"})
    (message,) = check_templates(None)
    assert message.id == "chatsite.W002"
    assert "chatSettings.cacheCleanup 'KeepSystemPromptOnly' is passed over." in message.msg
    assert message.msg.endswith(" keepSystemPromptOnly was probably meant.")
    assert message.hint == "What applies instead: removeOldestMessages (built in)."


def test_the_environment_does_not_hide_a_bad_value_in_a_template(
    write_agent: WriteAgent, settings: Settings
) -> None:
    write_agent("ada", {"historyLength": 2.5})
    settings.HISTORY_ENVIRONMENT = {"HISTORY_LENGTH": "3"}
    (message,) = check_templates(None)
    assert message.id == "chatsite.W002"


@pytest.mark.parametrize(
    ("chat", "source", "words"),
    [
        ({"historyPolicy": "strategy"}, None, "names the policy strategy, and there is no"),
        ({}, "x = 1", "Its strategy is broken (ada/strategy.py: it has no function build(ctx))."),
        ({}, "def build(ctx:", "(ada/strategy.py, line 1: it isn't valid Python"),
    ],
)
def test_a_strategy_that_is_broken_or_missing_is_a_warning(
    write_agent: WriteAgent, tmp_path: Path, chat: dict[str, object], source: str | None, words: str
) -> None:
    write_agent("ada", chat)
    if source is not None:
        (tmp_path / "ada" / "strategy.py").write_text(source)
    (message,) = check_templates(None)
    assert message.id == "chatsite.W004"
    assert words in message.msg
    assert "the newest turns within the budget are sent" in message.msg
    assert not message.is_serious()


def test_good_templates_and_an_empty_environment_give_no_message(
    write_agent: WriteAgent, settings: Settings
) -> None:
    settings.AGENTS_DIR = SHIPPED
    assert check_templates(None) == check_variables(None) == check_vectors(None) == []


@pytest.mark.parametrize(
    ("installed", "words"),
    [
        (True, "finds older messages by their words and by sentence vectors (wordllama)."),
        (False, "finds older messages by their words alone; `make embeddings` installs"),
    ],
)
def test_the_check_names_the_search_method_where_an_agent_searches(
    write_agent: WriteAgent,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    installed: bool,
    words: str,
) -> None:
    found = SentenceVectors(tmp_path) if installed else None
    monkeypatch.setattr(SentenceVectors, "find", lambda: found)
    write_agent("ada", {"historyPolicy": "relevant"})
    write_agent("bob", {"historyPolicy": "relevant", "historySelector": "triage"})
    write_agent("cleo")
    (message,) = check_vectors(None)
    assert message.id == "chatsite.I003"
    assert message.msg.startswith("ada: the policy relevant ")
    assert words in message.msg
    assert not message.is_serious()


def test_the_check_names_the_search_method_where_the_environment_lets_all_search(
    write_agent: WriteAgent, settings: Settings
) -> None:
    write_agent("ada")
    assert check_vectors(None) == []
    settings.HISTORY_ENVIRONMENT = {"HISTORY_POLICY": "relevant"}
    assert [message.id for message in check_vectors(None)] == ["chatsite.I003"]


WITHOUT_EFFECT: list[tuple[dict[str, str], str, str]] = [
    ({"HISTORY_LENGTH": "5"}, "HISTORY_LENGTH", "archivist (all), rewriter (none) doesn't use it"),
    ({"HISTORY_LENGTH": "0", "HISTORY_POLICY": "all"}, "HISTORY_LENGTH", "demo (all), "),
    ({"DEFAULT_HISTORY_LENGTH": "5"}, "DEFAULT_HISTORY_LENGTH", "archivist (all)"),
    ({"HISTORY_LOW_WATER": "60"}, "HISTORY_LOW_WATER", "policy of rewriter (none) doesn't use it"),
    ({"HISTORY_REASON": "Costs."}, "HISTORY_REASON", "no variable locks anything"),
    ({"HISTORY_MAX_LENGTH": "9", "HISTORY_POLICY": "lastN"}, "HISTORY_MAX_LENGTH", "no link"),
    ({"HISTORY_MAX_TOKENS": "9", "HISTORY_POLICY": "lastN"}, "HISTORY_MAX_TOKENS", "no link"),
    ({"HISTORY_URL": "staff", "HISTORY_POLICY": "all"}, "HISTORY_URL", "no link"),
    ({"HISTORY_URL": "off", "HISTORY_MAX_LENGTH": "9"}, "HISTORY_MAX_LENGTH", "HISTORY_URL is off"),
    ({"HISTORY_STEP": "5"}, "HISTORY_STEP", "archivist (all), rewriter (none) doesn't use it"),
    ({"HISTORY_SELECTOR": "triage"}, "HISTORY_SELECTOR", "archivist (all), demo (lastN)"),
    ({"HISTORY_FOLD_AT": "50%"}, "HISTORY_FOLD_AT", "archivist (all), demo"),
    ({"CONVERSATION_USE_SELECTION": "true"}, "CONVERSATION_USE_SELECTION", "no agent's selector"),
]


@pytest.mark.parametrize(("environment", "name", "why"), WITHOUT_EFFECT)
def test_a_variable_without_effect_is_named_with_the_reason(
    write_agent: WriteAgent, settings: Settings, environment: dict[str, str], name: str, why: str
) -> None:
    write_agent("demo", {"historyPolicy": "lastN"})
    write_agent("archivist", {"historyPolicy": "all"})
    write_agent("rewriter", {"historyPolicy": "none"})
    settings.HISTORY_ENVIRONMENT = environment
    (message,) = check_variables(None)
    assert message.id == "chatsite.W003"
    assert message.msg.startswith(f"{name} is set without effect: ")
    assert why in message.msg
    assert not message.is_serious()


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"HISTORY_LENGTH": " "},
        {"HISTORY_POLICY": "lastN", "HISTORY_LENGTH": "0", "HISTORY_REASON": "Costs."},
        {"HISTORY_URL": "off"},
        {"HISTORY_MAX_LENGTH": "5", "HISTORY_MAX_TOKENS": "900", "HISTORY_URL": "staff"},
        {"HISTORY_LOW_WATER": "60", "HISTORY_POLICY": "all"},
        {"HISTORY_STEP": "5", "HISTORY_POLICY": "lastN"},
        {
            "HISTORY_POLICY": "relevant",
            "HISTORY_SELECTOR": "triage",
            "CONVERSATION_ENABLED": "true",
        },
        {"CONVERSATION_PREVIOUS_TASKS_COUNT": "0"},
    ],
)
def test_variables_with_an_effect_are_not_mentioned(
    write_agent: WriteAgent, settings: Settings, environment: dict[str, str]
) -> None:
    write_agent("demo", {"historyPolicy": "lastN"})
    write_agent("archivist", {"historyPolicy": "all"})
    settings.HISTORY_ENVIRONMENT = environment
    assert check_variables(None) == []


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"CHAT_MODEL": "gpt-x"}, "CHAT_MODEL is set without effect: it names a model of a prov"),
        ({"FAST_MODEL": "groq:x"}, "FAST_MODEL is set without effect: it names a model of a prov"),
        ({"CHAT_MODEL": "openai:x", "MODEL_SERVERS_READY": {"openai"}}, ""),
        ({"CHAT_MODEL": "ollama:x", "LOCAL_SERVERS": True}, ""),
        ({"CHAT_MODEL": "ollama:x", "LOCAL_SERVERS": False}, "CHAT_MODEL is set without effect"),
        ({"API_KEYS": Keys({"GROQ_API_KEY": "k"}), "MODEL_CHOICE": "everyone"}, ""),
        (
            {"API_KEYS": Keys({"GROQ_API_KEY": "k"}), "MODEL_CHOICE": "off"},
            "GROQ_API_KEY is set without effect: no agent names llm.groq, and nobody may choose",
        ),
        ({"API_KEYS": Keys({"OPENAI_API_KEY": "k"}), "MODEL_CHOICE": "off"}, ""),
        (
            {"MODELS": ModelsFile(facts={"groq:x": ModelFacts(window=9)})},
            "MODELS_FILE: models.groq:x: no model of Groq can be asked.",
        ),
        ({"MODELS": ModelsFile(offered=("deepseek:*",))}, "MODELS_FILE: offered: deepseek:*"),
    ],
)
def test_a_model_or_a_key_that_nobody_can_use_is_named(
    write_agent: WriteAgent, settings: Settings, changed: dict[str, object], expected: str
) -> None:
    write_agent("demo", nodes=["llm.openai"])
    settings.LOCAL_SERVERS = False
    for name, value in changed.items():
        setattr(settings, name, value)
    messages = [message.msg for message in check_variables(None)]
    assert len(messages) == bool(expected) and "".join(messages).startswith(expected)


def test_the_checks_run_with_those_of_django() -> None:
    register_checks()
    assert {check_templates, check_variables, check_vectors} <= set(registry.get_checks())


async def test_a_starting_server_logs_the_search_method(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    settings: Settings,
    tmp_path: Path,
    transactional_db: None,
) -> None:
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    monkeypatch.setattr(SentenceVectors, "find", lambda: None)
    settings.AGENTS_DIR = settings.VAR_DIR = tmp_path
    site = Site()
    with caplog.at_level("INFO", "chatsite"):
        await site.start()
    await site.stop()
    (line,) = [line for line in caplog.messages if line.startswith("The selector lexical ")]
    assert "`make embeddings` installs sentence vectors" in line
