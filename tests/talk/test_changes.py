"""What is edited, deleted and replied to in a room."""

from __future__ import annotations

from pathlib import Path

from chatsite.channels.desk import Desk
from chatsite.conversations.models import Message
from tests.fakes.talk_server import FakeTalk
from tests.talk.harness import TOKEN, Running, entry
from tests.turns.conftest import World, endless_script, reply_script


async def ask(rooms: Running, talk: FakeTalk, text: str, answers: int) -> list[str]:
    """Ask, wait for the answer, and return what the model got."""
    talk.say(TOKEN, "bob", f"@assistant: {text}")
    await rooms.answered(answers)
    return rooms.sent()


async def test_an_edit_of_what_was_read_reaches_the_model(rooms: Running, talk: FakeTalk) -> None:
    said = talk.say(TOKEN, "ada", "The quay is four metres high.")
    await rooms.settled()
    talk.edit(TOKEN, said["id"], "The quay is five metres high.")
    await rooms.settled()
    assert await rooms.path() == [("user", "Ada", "The quay is five metres high.")]
    assert await ask(rooms, talk, "How high?", 1) == [
        "Ada: The quay is five metres high.",
        "Bob: How high?",
    ]
    assert len(rooms.changes) == 1, "the pages and the indexes heard of it"


async def test_an_edit_before_it_is_read_counts_too(
    rooms: Running, talk: FakeTalk, world: World
) -> None:
    world.provider.script = endless_script("word ")
    asked = talk.say(TOKEN, "bob", "@assistant: tell me")
    await rooms.until(lambda: talk.posts(TOKEN, tag="ack"))
    said = talk.say(TOKEN, "ada", "Four metres.")
    talk.edit(TOKEN, said["id"], "Five metres.")
    talk.edit(TOKEN, asked["id"], "@assistant: tell me more")
    talk.say(TOKEN, "bob", "stop")
    await rooms.answered()
    (question, answer, waited) = await rooms.path()
    assert question == ("user", "Bob", "tell me more"), "also of the question itself"
    assert answer[0] == "assistant"
    assert waited == ("user", "Ada", "Five metres.")


async def test_a_deletion_takes_the_message_out_of_the_context(
    rooms: Running, talk: FakeTalk
) -> None:
    said = talk.say(TOKEN, "ada", "The password is swordfish.")
    await rooms.settled()
    talk.delete(TOKEN, said["id"])
    await rooms.settled()
    assert await ask(rooms, talk, "What is it?", 1) == ["Bob: What is it?"]


async def test_what_is_deleted_before_it_is_read_never_comes_into_it(
    world: World, talk: FakeTalk, desk: Desk, files: Path
) -> None:
    async with Running(world, talk, desk, files):
        pass
    gone = talk.say(TOKEN, "ada", "The password is swordfish.")
    asked = talk.say(TOKEN, "ada", "@assistant: forget it")
    talk.delete(TOKEN, gone["id"])
    talk.delete(TOKEN, asked["id"])
    async with Running(world, talk, desk, files) as rooms:
        await rooms.settled()
        assert await ask(rooms, talk, "Hello", 1) == ["Bob: Hello"]
        assert len(talk.posts(TOKEN)) == 1


async def test_a_question_deleted_meanwhile_is_answered_without_the_reply_and_forgotten(
    rooms: Running, talk: FakeTalk, world: World
) -> None:
    world.provider.script = endless_script("word ")
    asked = talk.say(TOKEN, "ada", "@assistant: tell me")
    await rooms.until(lambda: talk.posts(TOKEN, tag="ack"))
    talk.delete(TOKEN, asked["id"])
    talk.say(TOKEN, "ada", "stop")
    await rooms.answered()
    (post,) = talk.raw_posts(TOKEN)
    assert "parent" not in post
    assert [role for role, _, _ in await rooms.path()] == ["assistant"]


async def test_a_deleted_answer_is_not_remembered(rooms: Running, talk: FakeTalk) -> None:
    await ask(rooms, talk, "How high?", 1)
    (post,) = talk.raw_posts(TOKEN)
    talk.delete(TOKEN, post["id"], by="ada")
    await rooms.settled()
    assert await rooms.path() == [("user", "Bob", "How high?")]


async def test_a_cleared_room_is_a_new_beginning(rooms: Running, talk: FakeTalk) -> None:
    await ask(rooms, talk, "How high?", 1)
    talk.clear(TOKEN, "ada")
    await rooms.until(lambda: rooms.cleared)
    await rooms.settled()
    assert await rooms.path() == []
    talk.say(TOKEN, "bob", "@assistant: Hello again")
    await rooms.answered()
    assert rooms.sent() == ["Bob: Hello again"]


# ---- replies -----------------------------------------------------------------------------------
async def replied(rooms: Running) -> str:
    """The text of the message that the newest user message replies to."""

    def look() -> str:
        newest = Message.objects.filter(role="user").order_by("-seq")[0]
        assert newest.reply_to is not None
        return Message.objects.get(id=newest.reply_to).content or ""

    return await rooms.world.run(look)


async def test_a_reply_in_the_room_is_a_reply_here(
    rooms: Running, talk: FakeTalk, world: World
) -> None:
    said = talk.say(TOKEN, "ada", "The quay is four metres high.")
    await rooms.settled()
    talk.say(TOKEN, "bob", "@assistant: is it?", reply_to=said["id"])
    await rooms.answered()
    assert await replied(rooms) == "The quay is four metres high."


async def test_a_reply_outside_the_window_is_in_the_request_also_when_the_cache_is_trimmed(
    world: World, talk: FakeTalk, desk: Desk, files: Path
) -> None:
    """Of the message as well as of an answer; both in their place, and once."""
    world.provider.script = reply_script("Five metres.")
    room = entry(settings={"historyPolicy": "lastN", "historyLength": 2})
    async with Running(world, talk, desk, files, rooms=[room], keep=20) as rooms:
        said = talk.say(TOKEN, "ada", "The quay is four metres high.")
        talk.say(TOKEN, "bob", "@assistant: and the new one?")
        await rooms.answered()
        (post,) = talk.raw_posts(TOKEN)
        for number in range(40):
            talk.say(TOKEN, "bob", f"Talk {number}")
        await rooms.settled()
        kept = [row.number for row in await rooms.rows()]
        assert len(kept) == 20 and said["id"] not in kept and post["id"] not in kept
        talk.say(TOKEN, "ada", "@assistant: is it?", reply_to=said["id"])
        await rooms.answered(2)
        assert rooms.sent()[0] == "Ada: The quay is four metres high."
        assert rooms.sent().count("Ada: The quay is four metres high.") == 1
        talk.say(TOKEN, "ada", "@assistant: really?", reply_to=post["id"])
        await rooms.answered(3)
        assert rooms.sent()[:2] == ["Bob: and the new one?", "Five metres."]
        assert await replied(rooms) == "Five metres."


async def test_edits_and_deletions_reach_what_the_cache_has_no_more(
    world: World, talk: FakeTalk, desk: Desk, files: Path
) -> None:
    async with Running(world, talk, desk, files, keep=20) as rooms:
        first = talk.say(TOKEN, "ada", "The quay is four metres high.")
        second = talk.say(TOKEN, "ada", "The password is swordfish.")
        for number in range(40):
            talk.say(TOKEN, "bob", f"Talk {number}")
        await rooms.settled()
        talk.edit(TOKEN, first["id"], "The quay is five metres high.")
        talk.delete(TOKEN, second["id"])
        await rooms.settled()
        texts = [text for _, _, text in await rooms.path()]
        assert texts[:2] == ["The quay is five metres high.", "Talk 0"]


async def test_an_old_room_is_remembered_whatever_the_cache_has_kept(
    world: World, talk: FakeTalk, desk: Desk, files: Path
) -> None:
    room = entry(settings={"historyPolicy": "all"})
    async with Running(world, talk, desk, files, rooms=[room], keep=20) as rooms:
        for number in range(60):
            talk.say(TOKEN, "bob", f"Talk {number}")
        await rooms.settled()
        assert len(await ask(rooms, talk, "And?", 1)) == 61


async def test_the_cache_keeps_the_newest_and_has_the_bots_answers(
    world: World, talk: FakeTalk, desk: Desk, files: Path
) -> None:
    async with Running(world, talk, desk, files, keep=20) as rooms:
        for number in range(30):
            talk.say(TOKEN, "bob", f"Talk {number}")
        await ask(rooms, talk, "And?", 1)
        rows = await rooms.rows()
        assert len(rows) == 20
        newest = rows[-1]
        assert newest.kind == "result" and newest.reference.endswith(":result")
        assert newest.stored is not None, "it is linked with the stored answer"
