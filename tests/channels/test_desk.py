"""What is asked outside the page is answered once, under the limits that hold in it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from chatsite.channels.channel import Question
from chatsite.channels.desk import AGAIN, Desk
from chatsite.conversations.path.queries import open_conversation
from chatsite.conversations.turn.rounds import answer_of
from chatsite.limits.limiter import Limiter
from chatsite.limits.table import MESSAGES
from tests.conversations.builders import ADA, new_id
from tests.turns.conftest import World, endless_script, reply_script

pytestmark = pytest.mark.asyncio


async def nothing(turn: str) -> None:
    return None


def ask(world: World, text: str = "How high is the quay?", **fields: Any) -> Question:
    return Question(
        request=world.page_request(),
        client_id=new_id(),
        text=text,
        source="talk",
        **{"speaker": "Grace", **fields},
    )


async def test_a_question_is_answered_and_the_model_knows_who_asked(
    world: World, desk: Desk
) -> None:
    world.provider.script = reply_script("Four metres.")
    question = ask(world, id=new_id())
    answer = await desk.answer(question, nothing)
    assert (answer.state, answer.text, answer.problem) == ("complete", "Four metres.", None)
    assert answer.asked == question.id
    assert answer.receipt is not None
    assert world.provider.requests[0].messages[-1].content == "Grace: How high is the quay?"


async def test_what_is_stored_is_what_was_written_with_its_speaker_apart(
    world: World, desk: Desk
) -> None:
    question = ask(world)
    await desk.answer(question, nothing)
    opened = await open_conversation(owner=ADA, conversation=question.request.conversation)
    said = opened.messages[0].message
    assert (said.content, said.speaker, said.source) == ("How high is the quay?", "Grace", "talk")


async def test_the_same_question_is_asked_once_however_often_it_is_delivered(
    world: World, desk: Desk
) -> None:
    question = ask(world)
    first, second = await asyncio.gather(
        desk.answer(question, nothing), desk.answer(question, nothing)
    )
    third = await desk.answer(question, nothing)
    assert first == second == third
    assert len(world.provider.requests) == 1


async def test_what_a_killed_server_left_is_asked_once_more(world: World, desk: Desk) -> None:
    question = ask(world)
    world.provider.script = endless_script("half ")
    started = await world.turns.send(
        question.request, client_id=question.client_id, text=question.text
    )
    running = world.turns.running.get(question.request.conversation)
    assert running is not None and running.writer is not None and running.task is not None
    running.writer.cancel("interrupted")
    await asyncio.wait([running.task])
    world.provider.script = reply_script("Whole.")
    answer = await desk.answer(question, nothing)
    assert (answer.state, answer.text) == ("complete", "Whole.")
    assert answer.turn != started.turn
    assert await desk.answer(question, nothing) == answer
    again = await answer_of(
        owner=ADA, conversation=question.request.conversation, client_id=question.client_id + AGAIN
    )
    assert again == answer


async def test_over_the_limit_a_question_waits_and_is_not_lost(world: World, desk: Desk) -> None:
    asked: list[int] = []

    def now() -> float:
        """A minute passes after the first refusal."""
        asked.append(len(world.provider.requests))
        return 0.0 if len(asked) <= 2 else 60.0

    limiter = Limiter(now=now)
    desk = replace(desk, limiter=limiter)
    await limiter.take(MESSAGES, person="talk:grace", amount=MESSAGES.burst)
    answer = await desk.answer(ask(world, person="talk:grace"), nothing)
    assert answer.state == "complete"
    assert asked == [0, 0, 0], "it was refused once, and began when it was allowed"


async def test_a_question_that_can_not_begin_is_told_why_and_nothing_is_stored(
    world: World, desk: Desk
) -> None:
    answer = await desk.answer(ask(world, "word " * 200_000), nothing)
    assert (answer.turn, answer.state, answer.text) == ("", "failed", "")
    assert answer.problem is not None and answer.problem.code == "prompt_too_large"
    assert not world.provider.requests


async def test_a_failed_answer_says_what_went_wrong(world: World, desk: Desk) -> None:
    world.provider.script = reply_script(error=RuntimeError("a bug"))
    answer = await desk.answer(ask(world), nothing)
    assert answer.state == "failed"
    assert answer.problem is not None and answer.problem.message


async def test_it_waits_for_an_answer_that_is_being_written_there(world: World, desk: Desk) -> None:
    question = ask(world)
    world.provider.script = endless_script("page ")
    await world.turns.send(question.request, client_id=new_id(), text="In the page")
    waiting = asyncio.create_task(desk.answer(question, nothing))
    await asyncio.sleep(0)
    world.provider.script = reply_script("Yours.")
    await world.turns.stop(question.request.owner, question.request.conversation)
    answer = await asyncio.wait_for(waiting, 20)
    assert answer.text == "Yours."


async def test_only_an_answer_that_takes_long_is_acknowledged(world: World, desk: Desk) -> None:
    told: list[str] = []
    arrived = asyncio.Event()

    async def acknowledge(turn: str) -> None:
        told.append(turn)
        arrived.set()

    quick = replace(desk, acknowledge_seconds=20.0)
    await quick.answer(ask(world), acknowledge)
    assert told == []
    question = ask(world)
    world.provider.script = endless_script("slow ")
    waiting = asyncio.create_task(desk.answer(question, acknowledge))
    await asyncio.wait_for(arrived.wait(), 20)
    await world.turns.stop(question.request.owner, question.request.conversation)
    answer = await asyncio.wait_for(waiting, 20)
    assert told == [answer.turn]
    assert answer.state == "stopped"
