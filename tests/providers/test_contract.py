from __future__ import annotations

from pathlib import Path

import pytest

from chatsite.providers.base import Provider
from chatsite.providers.echo import EchoProvider
from chatsite.providers.embedded.engine import Engine
from chatsite.providers.embedded.provider import EmbeddedProvider
from tests.fakes.anthropic_provider import provider_at as anthropic_at
from tests.fakes.openai_provider import provider_at

# mypy checks with this list that each of them keeps the contract.
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


def test_the_small_model_is_called_what_it_is() -> None:
    model = PROVIDERS[-1].model("gpt-4o")
    assert model.label == "SmolLM2 135M, on this machine"
    assert "demonstration" in model.note and "larger model" in model.note
