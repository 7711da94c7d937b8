"""A small model asked once, over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from chatsite.agents.template_file import parse_template
from chatsite.errors import ProviderError
from chatsite.messages import Message
from chatsite.providers.base.provider import Provider, Usage
from chatsite.providers.base.thoughts import SHORTEST_BOUND
from chatsite.providers.echo import EchoProvider
from chatsite.providers.openai.provider import OpenAIProvider
from chatsite.turns.agents.resolved_agent import ResolvedAgent, resolve_agent
from chatsite.turns.evidence.completion import Completion, Unfinished, complete, side_model
from tests.fakes.openai_provider import provider_at
from tests.fakes.openai_server import FakeOpenAI


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture
async def provider(fake: FakeOpenAI) -> AsyncIterator[OpenAIProvider]:
    made = provider_at(fake.base_url)
    yield made
    await made.aclose()


async def ask(
    provider: Provider, text: str, *, model: str = "small", seconds: float = 20.0
) -> Completion:
    return await complete(
        provider,
        provider.model(model),
        [Message.system("Be brief.", id="s"), Message.user(text, id="u")],
        conversation="c",
        max_tokens=50,
        seconds=seconds,
    )


async def test_the_whole_answer_comes_with_model_usage_and_time(provider: OpenAIProvider) -> None:
    done = await ask(provider, "[[text=Rex is a dog.]]")
    assert done.text == "Rex is a dog."
    assert done.model.name == "small"
    assert done.usage == Usage(prompt=14, cached=0, completion=4)
    assert 0 <= done.milliseconds < 20_000


async def test_thoughts_between_tags_are_no_part_of_it(provider: OpenAIProvider) -> None:
    assert (await ask(provider, "[[text=<think>Hm.</think> A dog.]]")).text == "A dog."
    assert (await ask(provider, "[[text=<think>A dog.]]")).text == "<think>A dog."


async def test_it_asks_for_little_thinking_and_no_invention(
    provider: OpenAIProvider, fake: FakeOpenAI
) -> None:
    await ask(provider, "Hello")
    asked = fake.requests[-1]
    assert (asked["model"], asked["max_tokens"], asked["temperature"]) == ("small", 50, 0.0)
    assert "reasoning_effort" not in asked
    await ask(provider, "Hello", model="gpt-6-luna")
    asked = fake.requests[-1]
    assert asked["reasoning_effort"] == "low" and "temperature" not in asked
    assert asked["max_completion_tokens"] == 50 + 4_096, "room to think"


@pytest.mark.parametrize(
    ("directive", "usage"),
    [
        ("mode=length;tokens=3", Usage(prompt=11, cached=0, completion=3)),
        ("mode=content_filter;tokens=3", Usage(prompt=11, cached=0, completion=3)),
        ("tokens=60", Usage(prompt=11, cached=0, completion=50)),
    ],
)
async def test_half_an_answer_is_discarded_and_its_cost_is_reported(
    provider: OpenAIProvider, directive: str, usage: Usage
) -> None:
    with pytest.raises(Unfinished) as raised:
        await ask(provider, f"[[{directive}]]")
    assert raised.value.usage == usage
    assert raised.value.code == "interrupted"


async def test_an_answer_without_end_stops_at_what_its_tokens_may_have(
    provider: OpenAIProvider, fake: FakeOpenAI
) -> None:
    """Not every server ends at so many tokens."""
    with pytest.raises(Unfinished) as raised:
        await ask(provider, "[[tokens=20000;over=1]]")
    assert len(raised.value.text) == SHORTEST_BOUND
    assert raised.value.usage == Usage()
    async with asyncio.timeout(5):
        while fake.in_flight:  # noqa: ASYNC110 - the server lives in another thread
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("mode", ["500", "401", "cut", "cleancut", "malformed"])
async def test_a_failure_is_reported_as_the_providers(provider: OpenAIProvider, mode: str) -> None:
    with pytest.raises(ProviderError):
        await ask(provider, f"[[mode={mode}]]")


@pytest.mark.parametrize("mode", ["hang0", "hang", "slow"])
async def test_the_timeout_covers_the_whole_call_and_stops_the_provider(
    provider: OpenAIProvider, fake: FakeOpenAI, mode: str
) -> None:
    with pytest.raises(TimeoutError):
        await ask(provider, f"[[mode={mode};tokens=40]]", seconds=0.2)
    async with asyncio.timeout(5):
        while fake.in_flight:  # noqa: ASYNC110 - the server lives in another thread
            await asyncio.sleep(0.005)


class TestTheModel:
    def who(self, provider: Provider) -> ResolvedAgent:
        described = {"name": "Memo", "personality": "", "nodes": [f"llm.{provider.kind}"]}
        configured = {f"llm.{provider.kind}": {"model": "big"}}
        return resolve_agent(
            parse_template("demo", {**described, "nodeConfigurations": configured}),
            {provider.kind: provider},
        )

    def named(self, provider: Provider, name: str) -> str | None:
        model = side_model(self.who(provider), name)
        return model.name if model else None

    def openai(self, url: str | None, **more: str) -> OpenAIProvider:
        return provider_at(url, **more)

    @pytest.mark.parametrize(
        ("url", "more", "name", "expected"),
        [
            (None, {}, "fast", "gpt-6-luna"),
            (None, {"fast": "tiny"}, "fast", "tiny"),
            (None, {"model": "other"}, "fast", "other"),
            (None, {"model": "other", "fast": "tiny"}, "fast", "tiny"),
            (None, {}, "gpt-x", "gpt-x"),
            ("http://127.0.0.1:9/v1", {}, "fast", "big"),
            ("http://127.0.0.1:9/v1", {"model": "other"}, "fast", "other"),
            ("http://127.0.0.1:9/v1", {"fast": "tiny"}, "fast", "tiny"),
            ("http://127.0.0.1:9/v1", {}, "gpt-x", "gpt-x"),
            ("http://127.0.0.1:9/v1", {"model": "other"}, "gpt-x", "other"),
        ],
    )
    def test_fast_is_the_providers_small_model(
        self, url: str | None, more: dict[str, str], name: str, expected: str
    ) -> None:
        assert self.named(self.openai(url, **more), name) == expected

    @pytest.mark.parametrize("name", ["fast", "gpt-x"])
    def test_without_a_model_that_can_judge_there_is_no_small_model(self, name: str) -> None:
        assert self.named(EchoProvider(), name) is None

    def test_the_small_models_window_is_known(self) -> None:
        model = side_model(self.who(self.openai(None)), "fast")
        assert model is not None and model.window > 1_000_000 and not model.note
