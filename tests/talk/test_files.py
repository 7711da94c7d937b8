"""Files that are shared in a room come in by the rules for files."""

from __future__ import annotations

import pytest

from chatsite.conversations.models import Message, Upload
from chatsite.messages import MAX_ATTACHMENT_BYTES
from tests.fakes.talk_server import FakeTalk
from tests.talk.harness import TOKEN, Running
from tests.turns.conftest import World


async def attached(world: World) -> list[list[str]]:
    """The names of the files of each user message."""

    def look() -> list[list[str]]:
        rows = Message.objects.filter(role="user").order_by("seq")
        return [[one["name"] for one in row.attachments] for row in rows]

    return await world.run(look)


async def test_a_file_comes_with_the_message_that_shares_it(
    rooms: Running, talk: FakeTalk, world: World
) -> None:
    talk.share(TOKEN, "ada", "survey ä.txt", b"The quay is four metres high.")
    talk.share(TOKEN, "ada", "tides.txt", b"Two metres.", "@assistant: what does {file} say?")
    await rooms.answered()
    assert await attached(world) == [["survey ä.txt"], ["tides.txt"]]
    shared, asked = rooms.sent()
    assert shared.startswith("Ada: survey ä.txt") and "The quay is four metres high." in shared
    assert asked.startswith("Ada: what does tides.txt say?") and "Two metres." in asked

    def owners() -> set[str]:
        uploads = Upload.objects.select_related("user")
        return {one.user.username for one in uploads if one.user is not None}

    assert await world.run(owners) == {f"talk-{TOKEN}"}


async def test_a_file_that_is_not_taken_is_told_and_the_question_is_answered(
    rooms: Running, talk: FakeTalk, world: World
) -> None:
    talk.share(TOKEN, "ada", "tool.exe", b"MZ\x90\x00" + b"\0" * 200, "@assistant: {file}?")
    await rooms.answered()
    (note,) = talk.posts(TOKEN, tag="progress")
    assert note.startswith("tool.exe: ")
    assert rooms.sent() == ["Ada: tool.exe?"]
    assert await attached(world) == [[]]


async def test_a_file_that_is_too_large_is_not_fetched(
    rooms: Running, talk: FakeTalk, world: World
) -> None:
    large = {"type": "file", "name": "film.mp4", "path": "Talk/film.mp4"}
    large["id"] = "9"
    large["size"] = str(MAX_ATTACHMENT_BYTES + 1)
    talk.say(TOKEN, "ada", "@assistant: {file}", parameters={"file": large})
    await rooms.answered()
    (note,) = talk.posts(TOKEN, tag="progress")
    assert note.startswith("film.mp4: A file may have 50 MB.")
    assert not any("film.mp4" in asked for asked in talk.asked)


async def test_a_file_that_is_gone_is_told(rooms: Running, talk: FakeTalk) -> None:
    talk.share(TOKEN, "ada", "gone.txt", b"gone", "@assistant: {file}")
    talk.files.clear()
    await rooms.answered()
    (note,) = talk.posts(TOKEN, tag="progress")
    assert note == "gone.txt: This file can't be fetched."


async def test_no_path_leads_out_of_the_bots_own_files(rooms: Running, talk: FakeTalk) -> None:
    path = "ocs/v2.php/cloud/user?x=1"
    talk.files[path], talk.shares[path] = b"abc", (9, [TOKEN])
    file = {"type": "file", "id": "9", "name": "a.txt", "path": f"../../../{path}", "size": 3}
    talk.say(TOKEN, "ada", "@assistant: {file}", parameters={"file": file})
    await rooms.answered()
    (asked,) = [one for one in talk.asked if "remote.php" in one]
    assert asked == "GET /remote.php/dav/files/assistant/ocs/v2.php/cloud/user%3Fx%3D1"


@pytest.mark.parametrize(
    ("number", "tokens"),
    [(8, [TOKEN]), (9, ["board"]), (9, [TOKEN.upper()]), (9, []), (0, ["board", "harbour"])],
)
async def test_a_file_that_the_server_shares_otherwise_than_the_message_says_is_not_fetched(
    rooms: Running, talk: FakeTalk, world: World, number: int, tokens: list[str]
) -> None:
    path = "Talk/salaries.txt"
    talk.files[path], talk.shares[path] = b"Ada has 9,000.", (number, tokens)
    file = {"type": "file", "id": "9", "name": "salaries.txt", "path": path}
    talk.say(TOKEN, "eve", "@assistant: {file}?", parameters={"file": file})
    await rooms.answered()
    assert talk.posts(TOKEN, tag="progress") == [
        "salaries.txt: This file isn't shared with this room."
    ]
    assert not any("remote.php" in asked for asked in talk.asked)


async def test_a_file_of_a_folder_that_is_shared_with_the_room_is_fetched(
    rooms: Running, talk: FakeTalk, world: World
) -> None:
    talk.files["Talk/plans/quay.txt"] = b"Four metres."
    talk.shares["Talk/plans"] = (3, ["board", TOKEN])
    file = {"type": "file", "id": "9", "name": "quay.txt", "path": "Talk/plans/quay.txt"}
    talk.say(TOKEN, "ada", "@assistant: {file}?", parameters={"file": file})
    await rooms.answered()
    assert await attached(world) == [["quay.txt"]]


@pytest.mark.parametrize("key", ["object", "mention-file1", "file1", "File", "actor"])
async def test_an_object_that_a_member_made_is_text_whatever_it_says_it_is(
    rooms: Running, talk: FakeTalk, world: World, key: str
) -> None:
    """Anybody in a room may share an object under any type, with a path of their choice."""
    talk.files["Talk/salaries.txt"] = b"Ada has 9,000."
    made = {"type": "file", "id": "9", "name": "salaries.txt", "path": "Talk/salaries.txt"}
    talk.say(TOKEN, "eve", f"@assistant: what does {{{key}}} say?", parameters={key: made})
    await rooms.answered()
    assert "9,000" not in str(rooms.sent()) and await attached(world) == [[]]
    assert not any("salaries" in asked for asked in talk.asked)


async def test_stop_acts_while_the_files_of_a_question_are_fetched(
    rooms: Running, talk: FakeTalk, world: World
) -> None:
    talk.holds_files = True
    talk.share(TOKEN, "ada", "tides.txt", b"Two metres.", "@assistant: what does {file} say?")
    await rooms.until(lambda: any("remote.php" in asked for asked in talk.asked))
    talk.say(TOKEN, "ada", "stop")
    number = talk.rooms[TOKEN].messages[-1]["id"]
    await rooms.until(lambda: any(f"lastKnownMessageId={number}" in one for one in talk.asked))
    talk.holds_files = False
    assert await rooms.answered() == ["Stopped."]
    assert not world.provider.requests
    assert [text for _, _, text in await rooms.path()] == ["what does tides.txt say?"]
