"""Which servers can be asked, what they report of their models, and that nobody waits for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from chatsite.providers.known.models import ModelFacts
from chatsite.providers.known.server_models import JsonClient
from chatsite.providers.known.servers import SERVERS, Server
from chatsite.providers.reachable import Providers
from tests.fakes.openai_server import FakeOpenAI, refused_url

OLLAMA: dict[str, Any] = {
    "/v1/models": {
        "data": [
            {"id": name, "owned_by": "library"} for name in ("big:7b", "cut:latest", "nomic-embed")
        ]
    },
    "/api/tags": {
        "models": [
            {"name": "big:7b", "digest": "a"},
            {"name": "cut:latest", "digest": "b"},
            {"name": "nomic-embed", "digest": "c"},
        ]
    },
    "/api/ps": {"models": [{"name": "cut:latest", "context_length": 4_096}]},
    "/api/show": lambda asked: {
        "big:7b": {
            "parameters": 'stop "<|end|>"\nnum_ctx    16384',
            "capabilities": ["completion", "tools", "vision"],
            "model_info": {"llama.context_length": 131_072},
        },
        "cut:latest": {"capabilities": ["completion"]},
        "nomic-embed": {"capabilities": ["embedding"]},
    }[asked["model"]],
}
LMSTUDIO: dict[str, Any] = {
    "/v1/models": {"data": [{"id": name} for name in ("open", "closed", "vectors")]},
    "/api/v0/models": {
        "data": [
            {"id": "open", "type": "vlm", "loaded_context_length": 8_192},
            {"id": "closed", "type": "llm", "max_context_length": 32_768},
            {"id": "vectors", "type": "embeddings"},
        ]
    },
}
LLAMA_SERVER: dict[str, Any] = {
    "/v1/models": {"data": [{"id": "one.gguf", "owned_by": "llamacpp"}]},
    "/props": {"default_generation_settings": {"n_ctx": 2_048}, "modalities": {"vision": False}},
}
VLLM: dict[str, Any] = {"/v1/models": {"data": [{"id": "qwen", "max_model_len": 32_768}]}}


def moved(**urls: str) -> dict[str, Server]:
    """The table, with these servers at other addresses and no other one on this machine."""
    nowhere = {name: refused_url() for name, server in SERVERS.items() if server.local}
    given = {name.replace("_", "-"): url for name, url in urls.items()}
    return {
        name: replace(server, base_url={**nowhere, **given}.get(name, server.base_url))
        for name, server in SERVERS.items()
    }


@asynccontextmanager
async def looked(
    servers: Mapping[str, Server], *, ready: tuple[str, ...] = (), **more: Any
) -> AsyncIterator[Providers]:
    """After one look; nothing is left open."""
    found = Providers(servers=servers, ready=ready, **{"keys": {}, **more})
    try:
        await found.discovery.look()
        yield found
    finally:
        await found.aclose()


@pytest.fixture(scope="module")
def local() -> Iterator[dict[str, Server]]:
    """Ollama, LM Studio and llama-server, all running."""
    with ExitStack() as stack:
        fakes = {
            name: stack.enter_context(FakeOpenAI(pages=pages))
            for name, pages in (
                ("ollama", OLLAMA),
                ("lmstudio", LMSTUDIO),
                ("llama_server", LLAMA_SERVER),
            )
        }
        yield moved(**{name: fake.base_url for name, fake in fakes.items()})


async def test_servers_on_this_machine_are_found_with_models_and_windows(
    local: dict[str, Server],
) -> None:
    async with looked(local) as providers:
        assert list(providers.reachable()) == ["ollama", "lmstudio", "llama-server"]
        listed = {name: list(models) for name, models in providers.discovery.found.items()}
        assert listed == {
            "ollama": ["big:7b", "cut:latest"],  # no models that only make vectors
            "lmstudio": ["open", "closed"],
            "llama-server": ["one.gguf"],
        }
        known = {
            (server, model): (facts.window, facts.assumed, sorted(facts.takes), facts.tools)
            for server, models in listed.items()
            for model in models
            if (facts := providers.table.facts(server, model))
        }
        assert known == {
            ("ollama", "big:7b"): (16_384, False, ["image"], True),
            ("ollama", "cut:latest"): (4_096, False, [], False),
            ("lmstudio", "open"): (8_192, False, ["image"], True),
            ("lmstudio", "closed"): (4_096, True, [], True),
            ("llama-server", "one.gguf"): (2_048, False, [], True),
        }
        short = providers.table.facts("ollama", "cut")
        assert short is not None and short.window == 4_096
        model = providers.reachable()["ollama"].model(None)
        assert (model.provider, model.name, model.window) == ("ollama", "big:7b", 16_384)


async def test_nothing_is_found_where_nothing_runs_or_nobody_wants_to_look(
    local: dict[str, Server],
) -> None:
    async with looked(moved()) as providers:
        assert providers.reachable() == {}
    async with looked(local, look=False) as providers:
        assert providers.reachable() == {}


async def test_a_named_server_is_reachable_at_once_and_reports_windows_later() -> None:
    with FakeOpenAI(pages=VLLM) as fake:
        servers = moved(openai=fake.base_url)
        providers = Providers(servers=servers, ready=["openai"], keys={}, look=False)
        try:
            assert list(providers.reachable()) == ["openai"]
            assert providers.table.facts("openai", "qwen") is None
            await providers.discovery.look()
            facts = providers.table.facts("openai", "qwen")
            assert facts is not None and (facts.window, facts.assumed) == (32_768, False)
            own = {"openai:qwen": ModelFacts(window=100)}
            async with looked(servers, ready=("openai",), own=own) as knowing:
                assert knowing.table.facts("openai", "qwen") == ModelFacts(window=100)
        finally:
            await providers.aclose()


async def test_well_known_servers_are_not_asked_for_known_models() -> None:
    keys = {"OPENAI_API_KEY": "sk-a", "ANTHROPIC_API_KEY": "sk-b"}
    async with looked(moved(), ready=("openai", "anthropic"), keys=keys) as providers:
        found = providers.reachable()
        assert {name: provider.model(None).name for name, provider in found.items()} == {
            "openai": "gpt-6-luna",
            "anthropic": "claude-sonnet-5-5",
        }
        assert providers.discovery.found == {}
        assert "sk-a" not in repr(found) and "sk-b" not in repr(vars(found["anthropic"]).keys())


async def test_a_server_that_stops_is_gone_after_the_next_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chatsite.providers.reachable.AGAIN_SECONDS", 0.0)
    with FakeOpenAI(pages=OLLAMA) as fake:
        async with looked(moved(ollama=fake.base_url)) as providers:
            assert "ollama" in providers.reachable()
            fake.behaviour.pages["/v1/models"] = "no list"
            await providers.discovery.look()
            assert providers.reachable() == {}


async def test_ollama_is_asked_again_for_missing_details_and_removed_models() -> None:
    pages = dict(OLLAMA)
    del pages["/api/show"]
    with FakeOpenAI(pages=pages) as fake:
        async with looked(moved(ollama=fake.base_url)) as providers:
            ollama = providers.reachable()["ollama"]
            assert ollama.model(None).name == "big:7b" and not ollama.model(None).takes
            listed = pages["/v1/models"]["data"]
            server = providers.servers["ollama"]
            fake.behaviour.pages["/api/show"] = OLLAMA["/api/show"]
            await providers.discovery._ask(server)
            assert ollama.model(None).takes == {"image"}
            fake.behaviour.pages["/v1/models"] = {"data": listed[1:]}
            await providers.discovery._ask(server)
            assert providers.reachable()["ollama"].model(None).name == "cut:latest"


async def test_nobody_waits_for_a_server_that_hangs_and_each_look_is_one() -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(reader)
        came.set()
        await reader.read()
        writer.close()

    asked, came = list[asyncio.StreamReader](), asyncio.Event()
    async with await asyncio.start_server(hang, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        providers = Providers(
            servers=moved(ollama=f"http://127.0.0.1:{port}/v1"), ready=(), keys={}
        )
        started = time.perf_counter()
        for _ in range(50):
            assert providers.reachable() == {}
        assert time.perf_counter() - started < 0.5
        await asyncio.wait_for(came.wait(), 10)
        assert providers.discovery.looking
        await providers.aclose()
        assert len(asked) == 1 and not providers.discovery.looking


async def test_invalid_answers_are_none_and_redirects_not_followed() -> None:
    answers = [
        b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/v1\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n{no",
        b"HTTP/1.1 401 No\r\ncontent-length: 2\r\n\r\n{}",
        b"rubbish\r\n\r\n",
    ]
    heads: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answers[len(heads) - 1])
        writer.close()

    questions = JsonClient()
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1/models"
        try:
            assert [await questions.ask(url, key="sk-1") for _ in answers] == [None] * 4
        finally:
            await questions.aclose()
    assert len(heads) == 4 and all(b"Bearer sk-1" in head for head in heads)


class TestTheAdministratorsModel:
    def name(self, said: str, *ready: str) -> str:
        return Providers(ready=ready, keys={}, chat_model=said, look=False).chat_model

    def test_a_provider_before_the_colon_is_the_server(self) -> None:
        assert self.name("anthropic:claude-x", "openai") == "anthropic:claude-x"
        assert self.name("ollama:llama3:8b") == "ollama:llama3:8b"
        assert self.name("") == ""

    def test_a_name_alone_belongs_to_the_server_that_has_it_or_to_the_first(self) -> None:
        assert self.name("claude-sonnet-5", "openai", "anthropic") == "anthropic:claude-sonnet-5"
        assert self.name("llama3:8b", "openai", "anthropic") == "openai:llama3:8b"
        assert self.name("llama3:8b") == "llama3:8b", "it can't be reached, and the page says so"

    async def test_it_answers_with_the_configured_model_for_every_agent(self) -> None:
        providers = Providers(ready=["openai"], keys={}, chat_model="own", fast_model="tiny")
        try:
            provider = providers.reachable()["openai"]
            assert provider.model("gpt-4o").name == "own"
            small = provider.small()
            assert small is not None and small.name == "tiny"
        finally:
            await providers.aclose()
