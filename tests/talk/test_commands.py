"""Words in a room that are no question: /policy, /why, /forget."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatsite.channels.desk import Desk
from tests.fakes.talk_server import FakeTalk
from tests.talk.harness import TOKEN, Running, entry
from tests.turns.conftest import World, endless_script

SHORT = entry(settings={"historyPolicy": "lastN", "historyLength": 2})


async def noted(rooms: Running, talk: FakeTalk, count: int = 1) -> str:
    """The newest of so many notes."""
    await rooms.until(lambda: len(talk.posts(TOKEN, tag="progress")) == count)
    await rooms.settled()
    return talk.posts(TOKEN, tag="progress")[-1]


async def test_policy_says_what_is_remembered_who_decided_it_and_who_may_change_it(
    world: World, talk: FakeTalk, desk: Desk, files: Path
) -> None:
    async with Running(world, talk, desk, files, rooms=[SHORT]) as rooms:
        asked = talk.say(TOKEN, "ada", "/policy")
        assert await noted(rooms, talk) == (
            "I remember your last 2 exchanges. Source: room. "
            "The administrator may change it, in the file of the rooms."
        )
        assert talk.raw_posts(TOKEN, tag="progress")[0]["parent"]["id"] == asked["id"]
        assert not world.provider.requests and not await rooms.path()


async def test_a_room_is_told_everything_but_the_answer_in_its_language(
    world: World, talk: FakeTalk, desk: Desk, files: Path
) -> None:
    french = entry(settings={"historyPolicy": "lastN", "historyLength": 2}, language="fr")
    async with Running(world, talk, desk, files, rooms=[french]) as rooms:
        talk.say(TOKEN, "ada", "/policy")
        assert "Source\u00a0: salon" in await noted(rooms, talk)


async def test_why_says_how_much_was_sent_and_what_was_left_out(
    world: World, talk: FakeTalk, desk: Desk, files: Path
) -> None:
    async with Running(world, talk, desk, files, rooms=[SHORT]) as rooms:
        talk.say(TOKEN, "ada", "/why")
        assert await noted(rooms, talk) == "Nothing was answered here yet."
        for number in range(5):
            talk.say(TOKEN, "ada", f"Talk {number}")
        talk.say(TOKEN, "ada", "@assistant: hello")
        await rooms.answered()
        talk.say(TOKEN, "bob", "@assistant /WHY")
        first, *more = (await noted(rooms, talk, 2)).splitlines()
        assert first == "For my last answer I got 2 of 6 messages."
        assert more == ["Left out:", "- 4: older than your last 2 exchanges"]


async def test_why_is_answered_while_an_answer_is_written(
    rooms: Running, talk: FakeTalk, world: World
) -> None:
    talk.say(TOKEN, "ada", "@assistant: first")
    await rooms.answered()
    world.provider.script = endless_script("word ")
    talk.say(TOKEN, "ada", "@assistant: second")
    await rooms.until(lambda: talk.posts(TOKEN, tag="ack"))
    talk.say(TOKEN, "bob", "/why")
    await rooms.until(lambda: talk.posts(TOKEN, tag="progress"))
    assert len(talk.posts(TOKEN)) == 1
    talk.say(TOKEN, "bob", "stop")
    await rooms.answered(2)


async def test_forget_forgets_all_that_was_said_also_what_was_not_read_yet(
    rooms: Running, talk: FakeTalk, world: World
) -> None:
    talk.say(TOKEN, "ada", "/forget")
    assert (await noted(rooms, talk)).startswith("There is nothing to forget")
    talk.say(TOKEN, "ada", "@assistant: my name is Ada")
    await rooms.answered()
    talk.say(TOKEN, "ada", "And I am old.")
    talk.say(TOKEN, "ada", "/forget")
    assert (await noted(rooms, talk, 2)).startswith("Forgotten: ")
    talk.say(TOKEN, "ada", "Hm.")
    talk.say(TOKEN, "bob", "@assistant: who am I?")
    await rooms.answered(2)
    assert rooms.sent() == ["Ada: Hm.", "Bob: who am I?"]
    assert len(await rooms.path()) == 6, "it stays stored"


@pytest.mark.parametrize("word", ["/policy", "/why", "/forget", "stop"])
async def test_those_who_may_not_speak_command_nothing(
    world: World, talk: FakeTalk, desk: Desk, files: Path, word: str
) -> None:
    room = entry(speakers=frozenset({"ada"}))
    async with Running(world, talk, desk, files, rooms=[room]) as rooms:
        world.provider.script = endless_script("word ")
        talk.say(TOKEN, "ada", "@assistant: tell me")
        await rooms.until(lambda: talk.posts(TOKEN, tag="ack"))
        talk.say(TOKEN, "bob", word)
        talk.say(TOKEN, "ada", "/policy")
        await rooms.until(lambda: talk.posts(TOKEN, tag="progress"))
        assert len(talk.posts(TOKEN, tag="progress")) == 1 and not talk.posts(TOKEN)
        talk.say(TOKEN, "ada", "stop")
        await rooms.answered()


async def test_a_command_is_answered_once_whatever_is_lost(
    rooms: Running, talk: FakeTalk, world: World
) -> None:
    talk.lose_answers(1)
    talk.say(TOKEN, "ada", "/policy")
    await noted(rooms, talk)
    await rooms.settled()
    assert len(talk.posts(TOKEN, tag="progress")) == 1


async def test_another_word_with_a_slash_is_a_message(rooms: Running, talk: FakeTalk) -> None:
    talk.say(TOKEN, "ada", "@assistant /why not?")
    talk.say(TOKEN, "ada", "/shrug")
    await rooms.answered()
    assert {text for _, _, text in await rooms.path()} >= {"/why not?", "/shrug"}
