"""Everything is taken once and answered once, whatever is delivered twice and whenever it ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from chatsite.channels.desk import Desk
from chatsite.conversations.lifecycle import delete_conversation
from chatsite.talk.rooms import open_room
from tests.fakes.talk_server import FakeTalk
from tests.talk.harness import TOKEN, Running, entry
from tests.turns.conftest import World, endless_script, reply_script


async def test_a_message_delivered_twice_is_one_row_and_one_answer(
    rooms: Running, talk: FakeTalk, world: World
) -> None:
    talk.say(TOKEN, "ada", "The quay is four metres high.")
    talk.say(TOKEN, "ada", "@assistant: how high?")
    await rooms.answered()
    talk.again(6)
    talk.say(TOKEN, "bob", "I see.")
    await rooms.settled()
    numbers = [row.number for row in await rooms.rows()]
    assert len(numbers) == len(set(numbers))
    assert len(await rooms.path()) == 4
    assert len(world.provider.requests) == len(talk.posts(TOKEN)) == 1


async def test_a_stop_delivered_twice_stops_no_later_answer(
    rooms: Running, talk: FakeTalk, world: World
) -> None:
    talk.say(TOKEN, "ada", "stop")
    await rooms.settled()
    world.provider.script = endless_script("word ")
    talk.say(TOKEN, "ada", "@assistant: tell me")
    await rooms.until(lambda: talk.posts(TOKEN, tag="ack"))
    talk.again(4)
    talk.say(TOKEN, "bob", "Hm.")
    await rooms.until(lambda: talk.polling)
    number = talk.rooms[TOKEN].messages[-1]["id"]
    while not any(row.number == number for row in await rooms.rows()):
        pass
    assert not talk.posts(TOKEN), "it is still being written"
    talk.say(TOKEN, "ada", "stop")
    await rooms.answered()


async def test_when_a_room_is_first_seen_its_old_messages_are_not_answered(
    world: World, talk: FakeTalk, desk: Desk, files: Path
) -> None:
    talk.say(TOKEN, "ada", "@assistant: long ago")
    async with Running(world, talk, desk, files) as rooms:
        talk.say(TOKEN, "ada", "@assistant: now")
        await rooms.answered()
        assert rooms.sent() == ["Ada: now"]
        assert len(talk.posts(TOKEN)) == 1


async def test_it_goes_on_where_it_stopped(
    world: World, talk: FakeTalk, desk: Desk, files: Path
) -> None:
    async with Running(world, talk, desk, files) as rooms:
        talk.say(TOKEN, "ada", "@assistant: first")
        await rooms.answered()
    talk.say(TOKEN, "bob", "Meanwhile.")
    talk.say(TOKEN, "ada", "@assistant: second")
    async with Running(world, talk, desk, files) as rooms:
        await rooms.answered(2)
        assert [text for _, _, text in await rooms.path() if text != "Hello."][-3] == "Meanwhile."
        assert len(talk.posts(TOKEN)) == 2


async def test_killed_in_the_middle_of_an_answer_it_gives_exactly_one(
    world: World, talk: FakeTalk, desk: Desk, files: Path
) -> None:
    world.provider.script = endless_script("half ")
    async with Running(world, talk, desk, files) as rooms:
        talk.say(TOKEN, "ada", "@assistant: tell me")
        await rooms.until(lambda: talk.posts(TOKEN, tag="ack"))
    world.provider.script = reply_script("Whole.")
    async with Running(world, talk, desk, files) as rooms:
        assert await rooms.answered() == ["Whole."]
        await rooms.settled()
        assert talk.posts(TOKEN) == ["Whole."]
        assert await rooms.path() == [("user", "Ada", "tell me"), ("assistant", "", "Whole.")]


async def test_killed_between_two_parts_it_posts_the_missing_one_alone(
    world: World, talk: FakeTalk, desk: Desk, files: Path
) -> None:
    talk.longest = 200
    world.provider.script = reply_script("\n\n".join("word " * 30 for _ in range(3)))
    async with Running(world, talk, desk, files) as rooms:
        talk.takes_posts = 1
        talk.say(TOKEN, "ada", "@assistant: tell me")
        await rooms.until(lambda: talk.posts(TOKEN))
    assert len(talk.posts(TOKEN)) == 1
    talk.takes_posts = None
    async with Running(world, talk, desk, files) as rooms:
        await rooms.answered(3)
        await rooms.settled()
        references = [post["referenceId"] for post in talk.raw_posts(TOKEN)]
        assert len(references) == len(set(references)) == 3


async def test_a_post_whose_answer_is_lost_is_not_posted_again(
    rooms: Running, talk: FakeTalk, world: World
) -> None:
    talk.lose_answers(1)
    talk.say(TOKEN, "ada", "@assistant: tell me")
    await rooms.answered()
    await rooms.settled()
    assert len(talk.posts(TOKEN)) == 1


async def test_an_answer_posted_before_a_kill_and_behind_many_messages_is_found_again(
    world: World, talk: FakeTalk, desk: Desk, files: Path
) -> None:
    """The answer arrived and nobody heard of it; then a busy night passes, more than is kept."""
    async with Running(world, talk, desk, files, keep=20) as rooms:
        talk.lose_answers(1)
        talk.say(TOKEN, "ada", "@assistant: tell me")
        await rooms.until(lambda: talk.posts(TOKEN))
    for number in range(150):
        talk.say(TOKEN, "bob", f"Talk {number}")
    async with Running(world, talk, desk, files, keep=20) as rooms:
        await rooms.settled()
        assert len(talk.posts(TOKEN)) == 1
        assert len(await rooms.path()) == 152
        assert len(await rooms.rows()) == 20


@pytest.mark.slow
async def test_a_thousand_messages_of_a_night_give_one_answer_to_each_speaker(
    world: World, talk: FakeTalk, desk: Desk, files: Path
) -> None:
    room = entry(settings={"historyPolicy": "lastN", "historyLength": 5})
    async with Running(world, talk, desk, files, rooms=[room]):
        pass
    for number in range(500):
        talk.say(TOKEN, "ada", f"@assistant: question {number}")
        talk.say(TOKEN, "bob", f"@assistant: and {number}")
    async with Running(world, talk, desk, files, rooms=[room]) as rooms:
        await rooms.until(lambda: len(talk.posts(TOKEN)) == 2, seconds=60)
        await rooms.settled()
        asked = [rooms.sent(number)[-1] for number in range(len(world.provider.requests))]
        assert asked == ["Ada: question 499", "Bob: and 499"]
        path = await rooms.path()
        assert [text for role, _, text in path if role == "user"] == [
            text for n in range(500) for text in (f"question {n}", f"and {n}")
        ]
        assert len(talk.posts(TOKEN)) == 2


async def test_a_server_that_gives_more_than_it_is_asked_for_is_read_page_by_page(
    world: World, talk: FakeTalk, desk: Desk, files: Path
) -> None:
    async with Running(world, talk, desk, files):
        pass
    talk.gives_all = True
    for number in range(90):
        talk.say(TOKEN, "ada", f"said {number}")
    talk.say(TOKEN, "ada", "@assistant: question")
    async with Running(world, talk, desk, files) as rooms:
        await rooms.answered()
        texts = [text for role, _, text in await rooms.path() if role == "user"]
        assert texts == [*(f"said {number}" for number in range(90)), "question"]


async def test_an_account_that_was_there_before_never_gets_a_room(
    world: World, talk: FakeTalk, desk: Desk, files: Path
) -> None:
    mallory = await world.run(User.objects.create_user, f"talk-{TOKEN}", password="mine")
    async with Running(world, talk, desk, files) as rooms:
        owner = rooms.rooms.of(rooms.conversation())
        assert owner is not None and owner.owner.user != mallory.pk
        account = await world.run(User.objects.get, pk=owner.owner.user)
        assert not account.has_usable_password()
        again = await open_room(server=talk.url, token=TOKEN, agent="demo")
        assert again.owner == owner.owner and str(again.conversation) == rooms.conversation()


async def test_a_room_whose_agent_is_another_begins_a_new_conversation(
    world: World, talk: FakeTalk, desk: Desk, files: Path
) -> None:
    async with Running(world, talk, desk, files) as rooms:
        talk.say(TOKEN, "ada", "@assistant: hello")
        await rooms.answered()
        first = rooms.conversation()
    async with Running(world, talk, desk, files, rooms=[entry(agent="keeper")]) as rooms:
        talk.say(TOKEN, "ada", "@assistant: hello, keeper")
        await rooms.answered(2)
        assert rooms.conversation() != first
        assert rooms.sent() == ["Ada: hello, keeper"]


async def test_where_the_conversation_was_deleted_a_new_one_begins(
    rooms: Running, talk: FakeTalk, world: World
) -> None:
    talk.say(TOKEN, "ada", "@assistant: hello")
    await rooms.answered()
    first = rooms.conversation()
    room = rooms.rooms.of(first)
    assert room is not None
    await delete_conversation(owner=room.owner, conversation=first)
    talk.say(TOKEN, "ada", "Are you there?")
    talk.say(TOKEN, "ada", "@assistant: hello again")
    await rooms.answered(2)
    assert rooms.conversation() != first
    assert rooms.sent() == ["Ada: Are you there?", "Ada: hello again"]
    assert rooms.rooms.of(rooms.conversation()) is not None
