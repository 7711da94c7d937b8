"""A Nextcloud that refuses, is busy or away: said once, nothing lost, nobody else waits."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from yarl import URL

from chatsite.channels.desk import Desk
from chatsite.talk.contents import LARGEST_ANSWER
from tests.fakes.talk_server import BOT, PASSWORD, FakeTalk
from tests.talk.harness import TOKEN, Running, entry
from tests.turns.conftest import World

pytestmark = pytest.mark.slow


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.INFO, logger="chatsite.channels"):
        yield caplog
    assert PASSWORD not in caplog.text, "no secret in the log"


async def test_a_withdrawn_password_is_said_once_and_once_when_it_works_again(
    rooms: Running, talk: FakeTalk, log: pytest.LogCaptureFixture
) -> None:
    talk.withdraw()
    talk.say(TOKEN, "ada", "@assistant: hello?")
    asked = len(talk.asked)
    await rooms.until(lambda: len(talk.asked) > asked + 5)
    talk.restore()
    await rooms.answered()
    assert log.messages == [
        "Talk: the user name or the app password isn't accepted; nothing is read or posted",
        "Talk: the user name and the app password are accepted again",
    ]


async def test_an_answer_waits_for_the_password_and_is_posted_then(
    rooms: Running, talk: FakeTalk, log: pytest.LogCaptureFixture
) -> None:
    talk.say(TOKEN, "ada", "@assistant: hello?")
    await rooms.until(lambda: any(row.startswith("GET") for row in talk.asked))
    await rooms.until(lambda: rooms.world.provider.requests)
    talk.withdraw()
    asked = len(talk.asked)
    await rooms.until(lambda: len(talk.asked) > asked + 5 or talk.posts(TOKEN))
    talk.restore()
    await rooms.answered()
    assert len(talk.posts(TOKEN)) == 1 and len(log.messages) <= 2


async def test_an_unknown_room_is_said_once_by_its_name_and_the_others_go_on(
    world: World, talk: FakeTalk, desk: Desk, files: Path, log: pytest.LogCaptureFixture
) -> None:
    both = [entry("nowhere1", name="Lost"), entry()]
    async with Running(world, talk, desk, files, rooms=both) as rooms:
        talk.say(TOKEN, "ada", "@assistant: hello?")
        await rooms.answered()
        await rooms.until(lambda: sum("nowhere1" in one for one in talk.asked) > 3)
        said = [one for one in log.messages if one.startswith("Talk:")]
        assert said == ["Talk: the room Lost (nowhere1): there is no such room for the bot"]
        talk.add_room("nowhere1", "ada", bot=BOT)
        await rooms.until(lambda: log.messages[-1].endswith("(nowhere1) can be read again"))


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_a_busy_server_is_left_alone_for_a_while(
    rooms: Running, talk: FakeTalk, log: pytest.LogCaptureFixture, status: int
) -> None:
    talk.fail(status, 3, retry_after="0" if status == 429 else "")
    talk.say(TOKEN, "ada", "@assistant: hello?")
    await rooms.answered()
    assert len(talk.posts(TOKEN)) == 1
    said = [one for one in log.messages if "is read" not in one]
    assert sum(f"the server answers with {status}" in one for one in said) <= 3


async def test_a_server_that_asks_for_patience_gets_it(
    world: World, talk: FakeTalk, desk: Desk, files: Path
) -> None:
    async with Running(world, talk, desk, files) as rooms:
        clock = rooms.world.turns.services.clock
        talk.fail(429, 1, retry_after="1")
        talk.say(TOKEN, "ada", "Hello")
        await rooms.until(lambda: not talk._failures)
        began, asked = clock(), len(talk.asked)
        await rooms.until(lambda: len(talk.asked) > asked)
        assert clock() - began > 0.8


async def test_a_restarted_server_is_found_again_and_nothing_is_lost(
    rooms: Running, talk: FakeTalk, log: pytest.LogCaptureFixture
) -> None:
    talk.stop()
    talk.say(TOKEN, "ada", "@assistant: hello?")
    await rooms.until(lambda: log.messages)
    talk.start()
    await rooms.answered()
    assert len(talk.posts(TOKEN)) == 1
    first, last = log.messages[0], log.messages[-1]
    assert first == f"Talk: 127.0.0.1:{talk.port} can't be reached: nothing listens there" or (
        first.endswith("the connection broke")
    )
    assert last == "Talk: the server answers again"


async def test_a_room_that_is_read_only_keeps_its_answer_until_it_is_not(
    rooms: Running, talk: FakeTalk, log: pytest.LogCaptureFixture
) -> None:
    talk.rooms[TOKEN].read_only = True
    talk.say(TOKEN, "ada", "@assistant: hello?")
    await rooms.until(lambda: log.messages)
    assert log.messages[0] == "Talk: the room Harbour works: the bot may not write in the room"
    talk.rooms[TOKEN].read_only = False
    await rooms.answered()
    assert len(talk.posts(TOKEN)) == 1


async def test_trouble_in_one_room_keeps_no_other_waiting(
    world: World, talk: FakeTalk, desk: Desk, files: Path
) -> None:
    talk.add_room("harbour2", "ada", bot=BOT)
    both = [entry(), entry("harbour2", name="Second")]
    async with Running(world, talk, desk, files, rooms=both) as rooms:
        await rooms.until(lambda: talk.polling == 2)
        talk.rooms[TOKEN].read_only = True
        talk.say(TOKEN, "ada", "@assistant: hello?")
        await rooms.until(lambda: any(one.startswith("POST") for one in talk.asked))
        talk.say("harbour2", "ada", "@assistant: hello?")
        await rooms.answered(token="harbour2")
        assert not talk.posts(TOKEN)


# ---- messages that are too long ------------------------------------------------------------------
async def test_replies_to_a_long_message_silence_nobody_also_after_a_restart(
    world: World, talk: FakeTalk, desk: Desk, files: Path, log: pytest.LogCaptureFixture
) -> None:
    async with Running(world, talk, desk, files):
        pass  # the room is known from now on
    long = talk.say(TOKEN, "eve", "\U0001f600" * 32_000)
    for _ in range(11):
        talk.say(TOKEN, "eve", "\U0001f600" * 32_000, reply_to=long["id"])
    talk.say(TOKEN, "ada", "@assistant: hello?")
    async with Running(world, talk, desk, files) as rooms:
        await rooms.until(lambda: talk.posts(TOKEN))
        assert len(await rooms.rows()) >= 13
    assert "too long" not in log.text


async def test_a_message_that_is_too_long_is_passed_for_good_and_said_once(
    world: World, talk: FakeTalk, desk: Desk, files: Path, log: pytest.LogCaptureFixture
) -> None:
    talk.say(TOKEN, "eve", "x" * LARGEST_ANSWER)
    async with Running(world, talk, desk, files) as rooms:
        for _ in range(2):
            talk.say(TOKEN, "eve", "x" * LARGEST_ANSWER)
            talk.say(TOKEN, "ada", "@assistant: hello?")
        await rooms.answered()
        talk.say(TOKEN, "eve", "x" * LARGEST_ANSWER)
        newest = talk.rooms[TOKEN].messages[-1]["id"]
        reader = rooms.channel._readers[TOKEN]
        await rooms.until(lambda: reader._known == newest)
    said = [one for one in log.messages if "long" in one]
    passed = "a message is too long to be read, and is passed over"
    assert said == [f"Talk: the room Harbour works (harbour1): {passed}"]
    asked = len(talk.asked)
    async with Running(world, talk, desk, files) as rooms:
        await rooms.until(lambda: talk.polling)
        assert all("limit=20" in one for one in talk.asked[asked:] if "limit=" in one)


async def test_after_trouble_the_next_page_is_smaller(
    rooms: Running, talk: FakeTalk, log: pytest.LogCaptureFixture
) -> None:
    """What is too much for the server or the line is no end, either."""
    talk.fail(500, 2)
    asked = len(talk.asked)
    talk.say(TOKEN, "ada", "Hello")
    await rooms.settled()

    def limits() -> list[int]:
        return [int(URL(one.split()[1]).query.get("limit", 0)) for one in talk.asked[asked:]]

    await rooms.until(lambda: 5 in limits() and limits()[-1] == 20)
