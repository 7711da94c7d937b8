"""The table of models, the additions of an administrator, and the table of servers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.views.debug import SafeExceptionReporterFilter

from chatsite.errors import BadFile, BadSetting
from chatsite.providers.base.provider import Price
from chatsite.providers.known.models import (
    ModelFacts,
    ModelTable,
    ReportedModel,
    known_facts,
    read_table,
)
from chatsite.providers.known.models_file import ModelsFile, read_models_file
from chatsite.providers.known.servers import LOCAL, SERVERS, Keys, server_at


class TestTheTable:
    @pytest.mark.parametrize(
        ("server", "model", "window", "reasoning", "o200k"),
        [
            ("openai", "gpt-4o-mini-2024-07-18", 128_000, False, True),
            ("openai", "gpt-4.1-nano", 1_047_576, False, True),
            ("openai", "gpt-5.1-2025-11-13", 400_000, True, True),
            ("openai", "gpt-6-luna", 1_050_000, True, False),
            ("anthropic", "claude-sonnet-5-5", 1_000_000, True, False),
            ("anthropic", "claude-haiku-4-5-20251001", 200_000, False, False),
            ("anthropic", "claude-opus-9", 200_000, True, False),
            ("gemini", "gemini-3.8-flash", 1_048_576, False, False),
            ("groq", "openai/gpt-oss-120b", 131_072, False, False),
            ("openrouter", "anthropic/claude-opus-5", 1_000_000, True, False),
        ],
    )
    def test_a_name_belongs_to_the_longest_family_that_begins_it(
        self, server: str, model: str, window: int, reasoning: bool, o200k: bool
    ) -> None:
        facts = known_facts(server, model)
        assert facts is not None
        assert (facts.window, facts.reasoning, facts.o200k) == (window, reasoning, o200k)

    @pytest.mark.parametrize(
        ("server", "model"),
        [("openai", "gpt-40"), ("openai", "o1x"), ("groq", "gpt-4o"), ("ollama", "gpt-4o")],
    )
    def test_unlisted_models_are_not_guessed(self, server: str, model: str) -> None:
        assert known_facts(server, model) is None

    def test_every_server_elsewhere_has_a_default_model(self) -> None:
        """It isn't asked for its models: without a default nobody could choose it."""
        for server in SERVERS.values():
            assert server.local or server.default_model, server.name

    def test_every_default_model_is_in_it(self) -> None:
        for server in SERVERS.values():
            for model in (server.default_model, server.small_model):
                if model and server.name != "openrouter":
                    assert known_facts(server.name, model) is not None, (server.name, model)

    def test_tools_of_newer_models_need_their_reasoning_off(self) -> None:
        needs = {
            name: known_facts("openai", name) for name in ("gpt-5.6-terra", "gpt-4o", "gpt-6-astra")
        }
        assert {name: facts and facts.effort_with_tools for name, facts in needs.items()} == {
            "gpt-5.6-terra": "none",
            "gpt-4o": "",
            "gpt-6-astra": "",
        }
        assert needs["gpt-6-astra"] is not None and not needs["gpt-6-astra"].tools

    @pytest.mark.parametrize(
        ("row", "fault"),
        [
            ("{ window = 10, colour = 3 }", "colour"),
            ("{ longest = 10 }", "window"),
            ("{ window = true }", "window"),
            ('{ window = 10, takes = ["smell"] }', "takes"),
            ("{ window = 10, price = { input = 1.0 } }", "output"),
        ],
    )
    def test_a_wrong_line_is_named(self, row: str, fault: str) -> None:
        group = '[[groups]]\nserver = "openai"\npages = ["https://example.org"]\n[groups.models]\n'
        with pytest.raises(BadFile) as told:
            read_table(f'{group}"gpt-x" = {row}\n')
        assert told.value.key.startswith("groups.0.models.gpt-x")
        assert fault in f"{told.value.key} {told.value.message}"

    def test_every_group_names_its_pages_and_every_model_stands_once(self) -> None:
        group = (
            '[[groups]]\nserver = "openai"\npages = {}\n[groups.models]\n"m" = {{ window = 1 }}\n'
        )
        assert read_table(group.format('["p"]')) == {"openai": {"m": ModelFacts(window=1)}}
        with pytest.raises(BadFile, match="pages"):
            read_table(group.format("[]"))
        with pytest.raises(BadFile, match="twice"):
            read_table(group.format('["p"]') * 2)

    def test_an_administrator_wins_over_the_server_and_the_server_over_the_table(self) -> None:
        said = {
            "gpt-4o": ReportedModel(window=4_096),
            "small": ReportedModel(least=2_048, tools=False),
        }
        table = ModelTable(
            own={"openai:mine": ModelFacts(window=1_000)},
            reported=lambda server, model: said.get(model),
        )
        assert table.facts("openai", "mine") == ModelFacts(window=1_000)
        cut = table.facts("openai", "gpt-4o")
        assert cut is not None and (cut.window, cut.assumed, cut.tools) == (4_096, False, True)
        small = table.facts("openai", "small")
        assert small is not None and (small.window, small.assumed, small.tools) == (
            2_048,
            True,
            False,
        )
        assert table.facts("openai", "unknown") is None


class TestServers:
    def test_each_has_a_key_or_runs_on_this_machine(self) -> None:
        assert set(LOCAL) == {"ollama", "lmstudio", "llama-server"}
        for server in SERVERS.values():
            assert server.local == (not server.key)
            assert server.address == server.name.upper().replace("-", "_") + "_BASE_URL"

    def test_another_address_offers_nothing_that_only_the_providers_own_does(self) -> None:
        there = server_at(SERVERS["openai"], "http://10.0.0.5:8000/v1")
        assert there.label == "OpenAI-compatible server", "an address is for nobody but staff"
        assert (there.small_model, there.bound, there.files) == ("", "max_tokens", False)
        assert there.key == "OPENAI_API_KEY"
        assert server_at(there, "http://10.0.0.5:8000/v1") is there
        assert server_at(SERVERS["ollama"], "http://10.0.0.5:8000/v1").label == "Ollama"

    def test_keys_are_never_printed(self) -> None:
        keys = Keys({"OPENAI_API_KEY": "sk-canary", "GROQ_API_KEY": ""})
        assert dict(keys) == {"OPENAI_API_KEY": "sk-canary"}
        assert repr(keys) == "Keys(OPENAI_API_KEY)" and "canary" not in f"{keys} {[keys]}"
        variables = Keys({"DATABASE_URL": "sk-canary"})
        reported = SafeExceptionReporterFilter().cleanse_setting("VARIABLES", variables)
        assert "canary" not in repr(reported)


FILE: dict[str, Any] = {
    "servers": {
        "vllm": {"label": "vLLM", "base_url": "http://10.0.0.5:8000/v1/", "key": "VLLM_KEY"},
        "groq": {"default_model": "llama-3.3-70b-versatile"},
    },
    "models": {
        "vllm:qwen": {
            "window": 32_768,
            "takes": ["image"],
            "tools": False,
            "longest": 4_096,
            "tokenizer": "o200k",
            "price": {"input": 1, "cached": 0.1, "output": 2.5},
        },
        "openai:gpt-4o-mini": {"price": {"input": 0, "output": 0}},
    },
    "offered": ["vllm:*", "openai:gpt-4o-mini", "vllm:*"],
}


def parsed(document: object) -> ModelsFile:
    return read_models_file(json.dumps(document), name="models.json")


class TestTheFile:
    def test_it_adds_servers_models_and_offers(self) -> None:
        file = parsed(FILE)
        vllm = file.servers["vllm"]
        assert (vllm.base_url, vllm.key, vllm.dialect) == (
            "http://10.0.0.5:8000/v1",
            "VLLM_KEY",
            "openai",
        )
        assert file.own == {"vllm", "groq"} and set(SERVERS) < set(file.servers)
        assert file.servers["groq"].key == "GROQ_API_KEY"
        assert file.servers["groq"].default_model == "llama-3.3-70b-versatile"
        assert file.facts["vllm:qwen"] == ModelFacts(
            window=32_768,
            takes=frozenset({"image"}),
            tools=False,
            longest=4_096,
            o200k=True,
            price=Price(1.0, 0.1, 2.5),
        )
        mini = file.facts["openai:gpt-4o-mini"]
        assert (mini.window, mini.price) == (128_000, Price(0.0, None, 0.0))
        assert file.offered == ("vllm:*", "openai:gpt-4o-mini")
        assert parsed({}) == ModelsFile()

    @pytest.mark.parametrize(
        ("document", "place", "said"),
        [
            ([], "", "must be an object"),
            ({"server": {}}, "", "allowed are servers, models, offered"),
            ({"servers": {"echo": {"base_url": "http://x/v1"}}}, "servers.echo", "no name for"),
            ({"servers": {"a b": {"base_url": "http://x/v1"}}}, "servers.a b", "no name for"),
            ({"servers": {"mine": {}}}, "servers.mine", "needs a base_url"),
            ({"servers": {"mine": {"url": "x"}}}, "servers.mine", "has 'url'"),
            ({"servers": {"mine": {"base_url": "10.0.0.5"}}}, "servers.mine.base_url", "http://"),
            (
                {"servers": {"mine": {"base_url": "http://me:pw@x/v1"}}},
                "servers.mine.base_url",
                "without a name, a password",
            ),
            (
                {"servers": {"mine": {"base_url": "http://x/v1", "dialect": "gemini"}}},
                "servers.mine.dialect",
                "one of: openai, anthropic",
            ),
            ({"models": {"gpt-4o": {}}}, "models.gpt-4o", "must be server:model"),
            ({"models": {"vllm:x": {"window": 1}}}, "models.vllm:x", "must be server:model"),
            ({"models": {"ollama:x": {}}}, "models.ollama:x", "needs a window"),
            ({"models": {"ollama:x": {"window": "8k"}}}, "models.ollama:x.window", "whole number"),
            ({"models": {"ollama:x": {"window": True}}}, "models.ollama:x.window", "whole number"),
            (
                {"models": {"ollama:x": {"window": 9, "takes": ["smell"]}}},
                "models.ollama:x.takes",
                "one of: image, pdf, audio, video",
            ),
            (
                {"models": {"ollama:x": {"window": 9, "price": {"input": 1}}}},
                "models.ollama:x.price",
                "needs output",
            ),
            ({"offered": ["gpt-4o"]}, "offered.0", "provider:model or provider:*"),
            ({"offered": "openai:*"}, "offered", "must be a list"),
        ],
    )
    def test_an_error_names_its_place(self, document: object, place: str, said: str) -> None:
        with pytest.raises(BadSetting) as bad:
            parsed(document)
        assert bad.value.message.startswith(f"MODELS_FILE='models.json': {place}".rstrip())
        assert said in bad.value.message

    @pytest.mark.parametrize("key", ["sk-proj-abc123", "SECRET_KEY", 7, ["VLLM_KEY"]])
    def test_a_key_in_it_is_refused_and_not_repeated(self, key: object) -> None:
        server = {"base_url": "http://x/v1", "key": key}
        with pytest.raises(BadSetting) as bad:
            parsed({"servers": {"mine": server}})
        assert "servers.mine.key must be the name of the environment variable" in bad.value.message
        assert str(key) not in bad.value.message

    @pytest.mark.parametrize(
        ("text", "said"),
        [("{", "not JSON"), ('{"models": {}, "models": {}}', "twice"), ("[" * 100_000, "deep")],
    )
    def test_invalid_json_is_an_error(self, text: str, said: str) -> None:
        with pytest.raises(BadSetting, match=said):
            read_models_file(text, name="models.json")
