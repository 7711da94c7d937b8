from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from chatsite.errors import ProviderError
from chatsite.messages import Message
from chatsite.providers.anthropic.provider import AnthropicProvider
from chatsite.providers.base.provider import Provider, Request
from chatsite.providers.echo import EchoProvider
from chatsite.providers.embedded.engine import Engine
from chatsite.providers.embedded.provider import EmbeddedProvider
from chatsite.providers.openai.provider import OpenAIProvider
from tests.fakes.anthropic_provider import provider_at as anthropic_at
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.openai_provider import provider_at
from tests.fakes.openai_server import FakeOpenAI

# With this list mypy checks that each of them implements the protocol.
PROVIDERS: list[Provider] = [
    EchoProvider(),
    provider_at(None),
    anthropic_at("http://127.0.0.1:9"),
    EmbeddedProvider(Engine(log_path=Path("unused"))),
]


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.kind)
def test_a_provider_names_a_model_and_counts_for_it_before_anything_runs(
    provider: Provider,
) -> None:
    model = provider.model(None)
    assert model.provider == provider.kind
    assert model.name and model.label and model.window >= 4096
    assert provider.tokenizer(model).name
    assert provider.status().state in ("ready", "loading")


def test_the_small_model_is_labelled_as_one() -> None:
    model = PROVIDERS[-1].model("gpt-4o")
    assert model.label == "SmolLM2 135M, on this machine"
    assert "demonstration" in model.note and "often wrong" in model.note


async def test_no_server_gets_headers_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The headers may hold a gateway's key, which any server of the same dialect would get."""
    for name in ("ORG_ID", "PROJECT_ID", "ADMIN_KEY"):
        monkeypatch.setenv(f"OPENAI_{name}", "canary")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "canary")
    for sdk in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{sdk}_CUSTOM_HEADERS", "X-Gateway: canary\nAuthorization: canary")
    asked = Request(
        conversation="c", messages=(Message.user("Hi", id="u"),), model="m", max_tokens=9
    )
    with FakeOpenAI() as openai, FakeAnthropic() as anthropic:
        here: list[tuple[OpenAIProvider | AnthropicProvider, FakeOpenAI]] = [
            (provider_at(openai.base_url, server="groq"), openai),
            (anthropic_at(anthropic.base_url), anthropic),
        ]
        for provider, server in here:
            with suppress(ProviderError):
                [chunk async for chunk in provider.stream(asked)]
            assert server.headers and "canary" not in str(server.headers)
            await provider.aclose()
