"""What a Nextcloud does besides what it is asked for: a real server beside a Talk-shaped one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.talk_server import BOT, FakeTalk
from tests.running import Server
from tests.story.talk_rooms import ask, follows, path_of, sent, stored, talk_server, wait_for

ROOMS: dict[str, dict[str, Any]] = {
    name: {"agent": "plain", "speakers": "everyone"}
    for name in (
        *("hidden01", "ignored1", "refused1", "refused2", "refused3", "looked01", "shorter1"),
        *("shorter2", "nothing1", "thread01", "thread02", "others01", "reacted1", "guests01"),
        "private1",
    )
}


@pytest.fixture(scope="module")
def server(
    fake: FakeOpenAI, talk: FakeTalk, agents: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("talk")
    talk.add_room("private1", "ada", bot=BOT).one_to_one = True
    with talk_server(folder, talk, fake, ROOMS, AGENTS_DIR=str(agents)) as running:
        follows(talk, len(ROOMS))
        yield running
    assert "Traceback" not in running.log, running.log


@pytest.fixture(autouse=True)
def nothing_left(fake: FakeOpenAI, talk: FakeTalk) -> Iterator[None]:
    fake.script.clear()
    yield
    talk.takes, talk.refuses, talk.header = None, 413, None
    talk.file_answers.clear()
    talk.share_answers.clear()


def said_in(text: str) -> list[str]:
    """What people said one after the other, which is one message of a request."""
    return text.split("\n\n")


def place(server: Server, token: str) -> int:
    query = "SELECT last_known FROM conversations_talkroom WHERE token = ?"
    return int(stored(server, query, token)[0][0] or 0)


# ---- what is shown to nobody -------------------------------------------------------------------
@pytest.mark.parametrize("count", [1, 150])
def test_messages_that_are_shown_to_nobody_hide_no_question(
    server: Server, talk: FakeTalk, fake: FakeOpenAI, count: int
) -> None:
    last = [talk.say("hidden01", "ada", "Expired.", hidden=True) for _ in range(count)][-1]
    wait_for(lambda: place(server, "hidden01") >= last["id"])
    asked = len(talk.asked)
    fake.script.append("Four metres.")
    assert ask(talk, "hidden01", "how high?") == "Four metres."
    polls = [one for one in talk.asked[asked:] if "/chat/hidden01?" in one]
    assert all(f"lastKnownMessageId={last['id'] - 2}&" not in one for one in polls)


@pytest.mark.thorough
def test_a_question_behind_hidden_messages_is_answered_after_a_restart_too(
    fake: FakeOpenAI, own_talk: FakeTalk, folder: Path, agents: Path
) -> None:
    rooms = {"hidden02": {"agent": "plain"}}
    server = talk_server(folder, own_talk, fake, rooms, AGENTS_DIR=str(agents))
    with server:
        follows(own_talk, 1)
    for _ in range(150):
        own_talk.say("hidden02", "ada", "Expired.", hidden=True)
    with server:
        fake.script.append("Four metres.")
        assert ask(own_talk, "hidden02", "how high?") == "Four metres."
        assert sent(fake) == ["Ada: how high?"]


@pytest.mark.parametrize("header", ["", "soon", "-7", "3", "9" * 30])
def test_an_odd_number_above_a_page_loses_and_repeats_nothing(
    server: Server, talk: FakeTalk, fake: FakeOpenAI, header: str
) -> None:
    talk.header = header
    before = len(path_of(server, "ignored1")) if talk.posts("ignored1") else 0
    fake.script.append("Yes.")
    assert ask(talk, "ignored1", f"is it {header!r}?") == "Yes."
    assert len(path_of(server, "ignored1")) == before + 2


def test_a_page_of_messages_that_are_ignored_moves_the_place_on(
    server: Server, talk: FakeTalk
) -> None:
    for _ in range(45):
        last = talk.say("ignored1", "weather", "Rain.", actor_type="bots")
    wait_for(lambda: place(server, "ignored1") >= last["id"])


def test_a_room_begins_at_its_newest_message_also_where_nobody_sees_it(
    fake: FakeOpenAI, own_talk: FakeTalk, folder: Path, agents: Path
) -> None:
    own_talk.add_room("begun001", "ada", bot=BOT)
    own_talk.say("begun001", "ada", f"@{BOT}: an old question")
    own_talk.say("begun001", "ada", "Expired.", hidden=True)
    rooms = {"begun001": {"agent": "plain"}}
    asked = len(fake.requests)
    with talk_server(folder, own_talk, fake, rooms, AGENTS_DIR=str(agents)):
        follows(own_talk, 1)
        fake.script.append("New.")
        assert ask(own_talk, "begun001", "a new one") == "New."
        assert sent(fake) == ["Ada: a new one"]
    assert len(own_talk.posts("begun001")) == 1 and len(fake.requests) == asked + 1


# ---- files that aren't given -------------------------------------------------------------------
@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 423, 451, 500, 503, 507])
def test_a_file_that_the_server_refuses_is_named_and_the_question_is_answered(
    server: Server, talk: FakeTalk, fake: FakeOpenAI, status: int
) -> None:
    name, before = f"plan-{status}.txt", len(talk.posts("refused1"))
    talk.file_answers[f"Talk/{name}"] = status
    fake.script.append(f"Without it {status}.")
    talk.share("refused1", "ada", name, b"Four metres.", f"@{BOT}: what does {{file}} say?")
    assert wait_for(lambda: talk.posts("refused1")[before:]) == [f"Without it {status}."]
    assert talk.posts("refused1", tag="progress")[-1] == f"{name}: This file can't be fetched."
    assert "isn't accepted" not in server.log
    fake.script.append("At once.")
    assert ask(talk, "refused2", "hello?") == "At once."


@pytest.mark.parametrize("status", [403, 404, 423, 500])
def test_so_is_one_whose_shares_are_not_told(
    server: Server, talk: FakeTalk, fake: FakeOpenAI, status: int
) -> None:
    name, before = f"share-{status}.txt", len(talk.posts("refused3"))
    talk.share_answers[f"Talk/{name}"] = status
    fake.script.append(f"Without it {status}.")
    talk.share("refused3", "ada", name, b"Four metres.", f"@{BOT}: what does {{file}} say?")
    assert wait_for(lambda: talk.posts("refused3")[before:]) == [f"Without it {status}."]
    assert "isn't accepted" not in server.log


def test_a_refused_file_without_a_question_keeps_no_later_question_waiting(
    server: Server, talk: FakeTalk, fake: FakeOpenAI
) -> None:
    talk.file_answers["Talk/view-only.txt"] = 403
    talk.share("looked01", "ada", "view-only.txt", b"Four metres.")
    fake.script.append("Yes.")
    assert ask(talk, "looked01", "do you hear me?") == "Yes."


# ---- posts that aren't taken -------------------------------------------------------------------
LONG = "\n\n".join(f"{number}. " + "word " * 60 for number in range(12))


@pytest.mark.parametrize("status", [413, 400])
def test_a_post_that_is_too_long_is_cut_smaller_and_nothing_of_it_is_lost(
    server: Server, talk: FakeTalk, fake: FakeOpenAI, status: int
) -> None:
    talk.takes, talk.refuses, before = 900, status, len(talk.posts("shorter1"))
    refused = talk.refused
    fake.script.append(LONG)
    talk.say("shorter1", "ada", f"@{BOT}: tell me")

    def words() -> str:
        return " ".join(" ".join(talk.posts("shorter1")[before:]).split())

    wait_for(lambda: words() == " ".join(LONG.split()))
    # With 400 each is posted once without the reply, too: what it replies to may be gone.
    assert talk.refused - refused <= 2 * 3
    fake.script.append("Short.")
    assert ask(talk, "shorter1", "and now?") == "Short."
    assert server.log.count("doesn't take a post; it is cut smaller") == 1


def test_a_room_that_takes_no_post_of_any_length_goes_on(
    server: Server, talk: FakeTalk, fake: FakeOpenAI
) -> None:
    talk.takes = 0
    talk.longest, longest = -1, talk.longest
    fake.script.append(LONG)
    talk.say("nothing1", "ada", f"@{BOT}: tell me")
    try:
        wait_for(lambda: "a post isn't taken, and is given up" in server.log)
    finally:
        talk.longest = longest
    fake.script.append("Yes.")
    assert ask(talk, "nothing1", "do you hear me?") == "Yes."
    assert LONG[:20] not in "".join(talk.posts("nothing1"))


def test_a_long_answer_stays_in_its_thread(
    server: Server, talk: FakeTalk, fake: FakeOpenAI
) -> None:
    talk.takes = 900
    begun = talk.begin_thread("thread01", "ada", "The quay")
    fake.script.append(LONG)
    talk.say("thread01", "ada", f"@{BOT}: tell me", thread=begun)
    wait_for(lambda: "11. word" in "".join(talk.posts("thread01")))
    posts = talk.raw_posts("thread01")
    assert len(posts) > 2 and {one["threadId"] for one in posts} == {begun}
    assert [one.get("parent") is not None for one in posts] == [True, *[False] * (len(posts) - 1)]


def test_a_long_answer_outside_a_thread_begins_none(
    server: Server, talk: FakeTalk, fake: FakeOpenAI
) -> None:
    talk.takes = 900
    fake.script.append(LONG)
    talk.say("thread02", "ada", f"@{BOT}: tell me")
    wait_for(lambda: "11. word" in "".join(talk.posts("thread02")))
    assert not any(one["isThread"] for one in talk.raw_posts("thread02"))


# ---- who is who --------------------------------------------------------------------------------
def test_somebody_of_another_server_with_the_bots_name_is_not_the_bot(
    server: Server, talk: FakeTalk, fake: FakeOpenAI
) -> None:
    foreign = {"type": "user", "id": BOT, "name": "Assistant", "server": "https://far.example"}
    key = {"mention-federated-user1": foreign | {"mention-id": f"federated_user/{BOT}@far.example"}}
    other = {"mention-user1": foreign}
    theirs = talk.say("others01", f"{BOT}@far.example", "Me?", actor_type="federated_users")
    talk.say("others01", "ada", "{mention-user1}: are you there?", parameters=other)
    talk.say("others01", "bob", "{mention-federated-user1}: and you?", parameters=key)
    talk.say("others01", "bob", "I mean you.", reply_to=theirs["id"])
    fake.script.append("Yes.")
    assert ask(talk, "others01", "and you?") == "Yes."
    assert len(talk.posts("others01")) == 1
    said = said_in(sent(fake)[-1])
    assert said[1:3] == ["Ada: @Assistant: are you there?", "Bob: @Assistant: and you?"]
    assert said[0].endswith(": Me?")


@pytest.mark.parametrize("emoji", ["✋🏽", "🖐🏾", "🛑️"])
def test_a_raised_hand_of_any_tone_stops_an_answer(
    server: Server, talk: FakeTalk, fake: FakeOpenAI, emoji: str
) -> None:
    before = len(talk.posts("reacted1"))
    fake.script.append("[[mode=slow;tokens=600]]")
    asked = talk.say("reacted1", "ada", f"@{BOT}: tell me")
    wait_for(lambda: talk.posts("reacted1", tag="ack")[before:])
    talk.react("reacted1", "bob", asked["id"], emoji)
    (answer,) = wait_for(lambda: talk.posts("reacted1")[before:])
    assert answer.endswith("Stopped.")


def test_guests_without_a_name_are_guests_and_told_apart_where_there_are_two(
    server: Server, talk: FakeTalk, fake: FakeOpenAI
) -> None:
    one, two = "a1" * 20, "b2" * 20
    names = talk.rooms["guests01"].names
    names[one] = names[two] = ""
    talk.say("guests01", one, "It is four metres.", actor_type="guests")
    ask(talk, "guests01", "how high is it?")
    assert said_in(sent(fake)[0])[0] == "Guest: It is four metres."
    talk.say("guests01", two, "No, five.", actor_type="guests")
    ask(talk, "guests01", "and now?")
    assert said_in(sent(fake)[-1])[-2] == f"Guest ({two}): No, five."


def test_in_a_room_of_two_every_message_is_answered(
    server: Server, talk: FakeTalk, fake: FakeOpenAI
) -> None:
    fake.script.append("Four metres.")
    talk.say("private1", "ada", "How high is the quay?")
    assert wait_for(lambda: talk.posts("private1")) == ["Four metres."]


def test_the_file_may_still_say_that_it_answers_where_it_is_mentioned(
    fake: FakeOpenAI, own_talk: FakeTalk, folder: Path, agents: Path
) -> None:
    own_talk.add_room("private2", "ada", bot=BOT).one_to_one = True
    rooms = {"private2": {"agent": "plain", "answers": "mentioned"}}
    with talk_server(folder, own_talk, fake, rooms, AGENTS_DIR=str(agents)):
        follows(own_talk, 1)
        own_talk.say("private2", "ada", "Not for you.")
        fake.script.append("Yes.")
        assert ask(own_talk, "private2", "and this?") == "Yes."
    assert len(own_talk.posts("private2")) == 1


# ---- kills -------------------------------------------------------------------------------------
@pytest.mark.thorough
def test_after_a_kill_nobody_is_told_again_that_it_is_being_worked_on(
    fake: FakeOpenAI, own_talk: FakeTalk, folder: Path, agents: Path
) -> None:
    rooms = {"kill0002": {"agent": "plain"}}
    server = talk_server(folder, own_talk, fake, rooms, AGENTS_DIR=str(agents))
    server.start()
    follows(own_talk, 1)
    fake.script.extend(["[[mode=slow;tokens=200]]", "[[mode=slow;tokens=20]]"])
    own_talk.say("kill0002", "ada", f"@{BOT}: tell me")
    wait_for(lambda: own_talk.posts("kill0002", tag="ack"))
    server.kill()
    with server:
        (answer,) = wait_for(lambda: own_talk.posts("kill0002"), seconds=60)
        assert answer
    assert len(own_talk.posts("kill0002", tag="ack")) == 1
