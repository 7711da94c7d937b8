"""A turn ends exactly once, whatever the provider or the database does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from chatsite.conversations.models import Message as StoredMessage
from chatsite.errors import ProviderError, TooMany, TurnRunning
from chatsite.events import Delta, Snapshot
from chatsite.messages import Message, TokenCount
from chatsite.providers.base.provider import Chunk, Finished, ReasoningPiece, Request, TextPiece
from chatsite.providers.base.thoughts import LONGEST_ANSWER, SHORTEST_BOUND
from chatsite.providers.echo import WordCounter
from chatsite.turns.agents.resolved_agent import ResolvedAgent
from chatsite.turns.context.turn_context import PageRequest
from tests.conversations.builders import counted_totals, new_id, stored_totals
from tests.turns.conftest import World, endless_script, read_until_end, reply_script, settings_for


async def open_snapshot(world: World, page_request: PageRequest) -> Snapshot:
    snapshot, reader = await world.turns.snapshots.open(page_request)
    reader.close()
    return snapshot


async def begin_endless_turn(world: World, page_request: PageRequest) -> None:
    """Begin an endless answer and wait for its first words."""
    _, reader = await world.turns.snapshots.open(page_request)
    await world.turns.send(page_request, client_id=new_id(), text="Count")
    while not isinstance(await asyncio.wait_for(reader.read(), 20), Delta):
        pass
    reader.close()


class Panic(BaseException):
    """As PyO3 raises it: no Exception."""


class PanickingCounter(WordCounter):
    """Panics over what a model wrote."""

    async def count(self, messages: Sequence[Message]) -> list[TokenCount]:
        if any(message.role == "assistant" for message in messages):
            raise Panic
        return await super().count(messages)


class TestPanics:
    """What isn't an Exception ends a turn, too."""

    async def test_in_the_provider(self, world: World) -> None:
        world.provider.script = reply_script("Half", error=Panic())
        _, ended = await world.run_turn(world.page_request())
        assert ended.state == "interrupted" and ended.message is not None
        assert ended.message.message.content == "Half"
        assert ended.problem is not None and ended.problem.code == "internal"

    async def test_in_counting_the_answer(self, world: World) -> None:
        world.provider.tokenizer = lambda model: PanickingCounter()  # type: ignore[method-assign]
        _, ended = await world.run_turn(world.page_request())
        assert ended.state == "complete" and ended.message is not None

    @pytest.mark.slow
    async def test_in_storing_the_end(self, world: World) -> None:
        world.writes.failures["end_turn"] = 3
        world.writes.error = Panic()
        page_request = world.page_request()
        _, ended = await world.run_turn(page_request)
        assert ended.state == "interrupted"
        assert ended.problem is not None and ended.problem.code == "not_stored"
        assert (await world.run_turn(page_request))[1].state == "complete"


class TestStoringTheEnd:
    @pytest.mark.slow
    async def test_storing_the_end_is_retried(self, world: World) -> None:
        world.writes.failures["end_turn"] = 2
        page_request = world.page_request()
        _, ended = await world.run_turn(page_request)
        assert ended.state == "complete" and ended.message is not None
        assert (await open_snapshot(world, page_request)).messages[-1] == ended.message

    @pytest.mark.slow
    async def test_if_storing_never_succeeds_the_pages_are_told_and_the_next_turn_works(
        self, world: World
    ) -> None:
        world.writes.failures["end_turn"] = 3
        page_request = world.page_request()
        _, ended = await world.run_turn(page_request, "Hello")
        assert ended.state == "interrupted"
        assert ended.problem is not None and ended.problem.code == "not_stored"
        started = await world.turns.send(page_request, client_id=new_id(), text="Again")
        assert not started.resent
        _, reader = await world.turns.snapshots.open(page_request)
        _, ended = await read_until_end(reader)
        assert ended.state == "complete"
        assert await asyncio.to_thread(
            stored_totals, page_request.conversation
        ) == await asyncio.to_thread(counted_totals, page_request.conversation)

    @pytest.mark.slow
    async def test_opening_a_conversation_ends_a_turn_that_is_not_running(
        self, world: World
    ) -> None:
        world.writes.failures["end_turn"] = 3
        page_request = world.page_request()
        await world.run_turn(page_request, "Hello")
        assert (await open_snapshot(world, page_request)).turn is None

    async def test_a_failing_checkpoint_does_not_stop_the_turn(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("chatsite.turns.answer.checkpoints.SAVE_SECONDS", 0.02)
        world.writes.failures["checkpoint"] = 2
        world.provider.script = endless_script("word ")
        page_request = world.page_request()
        await begin_endless_turn(world, page_request)

        def saved() -> str:
            return StoredMessage.objects.get(role="assistant").content or ""

        async with asyncio.timeout(20):
            while not await world.run(saved):  # noqa: ASYNC110 (a row tells nobody)
                await asyncio.sleep(0.02)
        _, reader = await world.turns.snapshots.open(page_request)
        assert await world.turns.stop(page_request.owner, page_request.conversation)
        _, ended = await read_until_end(reader)
        assert ended.state == "stopped"


class TestWhatTheProviderDoes:
    @pytest.mark.parametrize("words", [1, 21_000, 600_000])
    @pytest.mark.parametrize(("tokens", "most"), [(100, SHORTEST_BOUND), (1_000, 20_000)])
    async def test_an_answer_without_end_ends_as_cut_off(
        self, world: World, words: int, tokens: int, most: int
    ) -> None:
        """By the tokens that were asked for; not every server ends at so many."""
        world.fields = settings_for("echo", maxTokens=tokens)
        world.provider.script = endless_script("word " * words, pause=0)
        _, ended = await world.run_turn(world.page_request())
        assert ended.state == "complete" and ended.message is not None
        assert ended.message.finish_reason == "length"
        assert len(ended.message.message.content or "") == most

    async def test_reasoning_without_end_ends_after_a_million_characters(
        self, world: World
    ) -> None:
        world.provider.script = endless_script("word " * 21_000, of=ReasoningPiece)
        _, ended = await world.run_turn(world.page_request())
        assert ended.problem is not None and "length limit" in ended.problem.message
        assert ended.message is not None
        assert len(ended.message.message.reasoning or "") > LONGEST_ANSWER - 105_000
        assert len(ended.message.message.reasoning or "") <= LONGEST_ANSWER

    @pytest.mark.slow
    async def test_an_answer_ends_when_the_quota_is_full(self, world: World, settings: Any) -> None:
        settings.WORDS_QUOTA_MILLION = 0.1  # of a guest: 25,000 characters
        world.fields = settings_for("echo", maxTokens=2_000)
        world.provider.script = endless_script("word " * 20)
        _, ended = await world.run_turn(world.page_request())
        assert ended.state == "interrupted" and ended.problem is not None
        assert ended.problem.code == "words_full" and ended.message is not None
        assert len(ended.message.message.content or "") > 25_000

    async def test_half_a_character_is_replaced_and_the_rest_is_stored(self, world: World) -> None:
        world.provider.script = reply_script("a\ud83d", "\0b", " 你好")
        page_request = world.page_request()
        text, ended = await world.run_turn(page_request)
        assert ended.state == "complete" and ended.message is not None
        assert ended.message.message.content == "a\ufffd\ufffdb 你好"
        assert ended.message.message.content.startswith(text)

    async def test_an_unexpected_error_is_reported_without_its_text(
        self, world: World, caplog: pytest.LogCaptureFixture
    ) -> None:
        world.provider.script = reply_script("So", error=ZeroDivisionError("secret"))
        _, ended = await world.run_turn(world.page_request())
        assert (ended.state, ended.problem and ended.problem.code) == ("interrupted", "internal")
        assert "secret" not in str(ended.to_dict())
        assert "ZeroDivisionError" in caplog.text

    async def test_an_error_of_the_provider_is_reported_with_its_sentence(
        self, world: World
    ) -> None:
        world.provider.script = reply_script(error=ProviderError("Busy.", code="rate_limited"))
        page_request = world.page_request()
        _, ended = await world.run_turn(page_request)
        assert (ended.state, ended.message) == ("failed", None)
        assert ended.problem is not None and ended.problem.message == "Busy."
        assert len((await open_snapshot(world, page_request)).messages) == 1

    async def test_a_stream_without_an_end_is_an_interrupted_turn(self, world: World) -> None:
        world.provider.script = reply_script("So", whole=False)
        _, ended = await world.run_turn(world.page_request())
        assert (ended.state, ended.problem and ended.problem.code) == (
            "interrupted",
            "interrupted",
        )

    async def test_a_stopped_turn_is_stopped_even_if_closing_the_stream_fails(
        self, world: World
    ) -> None:
        world.provider.script = endless_script("word ", closing=ValueError("closed badly"))
        page_request = world.page_request()
        await begin_endless_turn(world, page_request)
        _, reader = await world.turns.snapshots.open(page_request)
        assert await world.turns.stop(page_request.owner, page_request.conversation)
        _, ended = await read_until_end(reader)
        assert (ended.state, ended.problem) == ("stopped", None)
        assert ended.message is not None
        assert not await world.turns.stop(page_request.owner, page_request.conversation)


class TestFirstThings:
    """Work that a person waits for is done before anything is stored."""

    async def test_the_provider_is_asked_first_and_pages_get_the_decision_before_the_first_word(
        self, world: World
    ) -> None:
        page_request = world.page_request()
        _, reader = await world.turns.snapshots.open(page_request)
        told: list[list[str]] = []

        async def script(request: Request) -> AsyncGenerator[Chunk, None]:
            told.append([event.type for event in reader._events])
            yield TextPiece("Hi")
            yield Finished(reason="stop")

        world.provider.script = script
        await world.turns.send(page_request, client_id=new_id(), text="Hello")
        seen = []
        while (event := await asyncio.wait_for(reader.read(), 20)).type != "turn_ended":
            seen.append(event.type)
        assert told == [["turn_started"]]
        assert seen[:2] == ["turn_started", "decided"]

    async def test_a_request_that_fails_at_once_has_its_receipt(self, world: World) -> None:
        world.provider.script = reply_script(error=ProviderError("Busy.", code="rate_limited"))
        _, ended = await world.run_turn(world.page_request())
        assert ended.state == "failed"
        assert (await world.receipt(ended))["fingerprint"]["whole"]

    async def test_many_pages_that_ask_for_the_agent_cause_one_lookup(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now, looks = [0.0], []

        def resolve_agent(agent: str, model: str = "", *, staff: bool = False) -> ResolvedAgent:
            looks.append(model)
            return world.resolve_agent(agent, model, staff=staff)

        monkeypatch.setattr(world.turns.snapshots, "clock", lambda: now[0])
        monkeypatch.setattr(world.turns.snapshots.contexts, "resolve_agent", resolve_agent)
        found = {world.turns.snapshots.engine("demo").state for _ in range(50)}
        assert (found, looks) == ({"ready"}, [""])
        world.turns.snapshots.engine("demo", "openai:other")
        assert looks == ["", "openai:other"]
        now[0] = 1.0
        world.turns.snapshots.engine("demo")
        assert looks == ["", "openai:other", ""]


class TestCaps:
    async def test_places_are_freed_however_a_turn_ends(self, world: World) -> None:
        for number in range(8):
            error = (None, ProviderError("Busy."), ZeroDivisionError())[number % 3]
            world.provider.script = reply_script("So", error=error)
            world.writes.failures["end_turn"] = number % 2
            world.writes.failures["begin_turn"] = number % 4 == 3
            page_request = world.page_request()
            if number % 4 == 3:
                with pytest.raises(OSError, match="disk"):
                    await world.turns.send(page_request, client_id=new_id(), text="Hello")
            await world.run_turn(page_request)
        world.provider.script = endless_script("word ")
        first, second = world.page_request(), world.page_request()
        await begin_endless_turn(world, first)
        await begin_endless_turn(world, second)
        with pytest.raises(TooMany):
            await world.turns.send(world.page_request(), client_id=new_id(), text="Third")
        with pytest.raises(TurnRunning):
            await world.turns.send(first, client_id=new_id(), text="Second")
        for page_request in (first, second):
            assert await world.turns.stop(page_request.owner, page_request.conversation)
        await world.turns.running.drain(5)

    async def test_resends_at_the_same_time_are_answered_once(self, world: World) -> None:
        page_request, client_id = world.page_request(), new_id()
        _, reader = await world.turns.snapshots.open(page_request)
        found = await asyncio.gather(
            *(world.turns.send(page_request, client_id=client_id, text="Once") for _ in range(10))
        )
        await read_until_end(reader)
        assert [started.resent for started in found].count(False) == 1
        assert len({started.turn for started in found}) == 1
        assert len(world.provider.requests) == 1


class TestDraining:
    async def test_a_turn_that_is_not_done_in_time_is_stored_as_interrupted(
        self, world: World
    ) -> None:
        world.provider.script = endless_script("word ")
        page_request = world.page_request()
        await begin_endless_turn(world, page_request)
        await world.turns.running.drain(0.05)
        snapshot = await open_snapshot(world, page_request)
        assert snapshot.turn is None
        assert snapshot.messages[-1].state == "interrupted"
        assert (snapshot.messages[-1].message.content or "").startswith("word ")
        with pytest.raises(TooMany, match="restarting"):
            await world.turns.send(page_request, client_id=new_id(), text="Again")
