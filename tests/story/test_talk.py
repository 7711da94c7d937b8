"""Agents in Talk rooms: a real server beside a Talk-shaped one, from the message to the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.talk_server import BOT, FakeTalk
from tests.person import Person
from tests.running import Server
from tests.story.agents import write_agent
from tests.story.talk_rooms import (
    ask,
    conversation_of,
    follows,
    path_of,
    receipt_of,
    sent,
    stored,
    talk_server,
    wait_for,
)

TRIAGE = {"historyPolicy": "relevant", "historySelector": "triage"}
ROOMS: dict[str, dict[str, Any]] = {
    "plain001": {"agent": "plain", "chatSettings": {"historyPolicy": "all"}},
    "plain002": {"agent": "plain"},
    "short001": {"agent": "plain", "chatSettings": {"historyPolicy": "lastN", "historyLength": 2}},
    "triage01": {"agent": "plain", "chatSettings": TRIAGE},
    "triage02": {"agent": "plain", "chatSettings": TRIAGE | {"conversation": {}}},
    "recall01": {
        "agent": "plain",
        "chatSettings": {"historyPolicy": "relevant", "historyTokens": 1200},
    },
    "finder01": {"agent": "finder"},
}


@pytest.fixture(scope="module")
def server(
    fake: FakeOpenAI, talk: FakeTalk, agents: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("talk")
    write_agent(agents, "finder", nodes=["llm.openai", "search_history"])
    more = {"AGENTS_DIR": str(agents), "FAST_MODEL": "tiny"}
    with talk_server(folder, talk, fake, ROOMS, **more) as running:
        follows(talk, len(ROOMS))
        yield running
    assert "Traceback" not in running.log, running.log


@pytest.fixture(autouse=True)
def no_script(fake: FakeOpenAI) -> None:
    fake.script.clear()


# ---- the way of a message ----------------------------------------------------------------------
def test_a_message_is_answered_and_several_people_reach_the_model_with_their_names(
    server: Server, talk: FakeTalk, fake: FakeOpenAI
) -> None:
    talk.say("plain001", "ada", "The quay is four metres high.")
    talk.say("plain001", "bob", "The tide is two.")
    fake.script.append("It is enough.")
    assert ask(talk, "plain001", "is it enough?", "bob") == "It is enough."
    assert sent(fake) == [
        "Ada: The quay is four metres high.\n\nBob: The tide is two.\n\nBob: is it enough?"
    ]
    assert path_of(server, "plain001")[-1] == ("assistant", "", "It is enough.")


def test_the_bots_answers_are_in_the_context_of_the_next_question(
    server: Server, talk: FakeTalk, fake: FakeOpenAI
) -> None:
    fake.script.extend(["The first answer.", "The second."])
    ask(talk, "plain002", "One?")
    ask(talk, "plain002", "Two?")
    assert sent(fake) == ["Ada: One?", "The first answer.", "Ada: Two?"]


def test_a_reply_outside_the_window_is_sent_in_its_place_and_once(
    server: Server, talk: FakeTalk, fake: FakeOpenAI
) -> None:
    said = talk.say("short001", "ada", "The quay is four metres high.")
    for number in range(5):
        talk.say("short001", "bob", f"Talk {number}")
    ask(talk, "short001", "is it?", reply_to=said["id"])
    assert sent(fake) == ["Ada: The quay is four metres high.\n\nBob: Talk 4\n\nAda: is it?"]


def test_scheduled_and_briefing_output_stays_out_of_a_rooms_context(
    server: Server, talk: FakeTalk, fake: FakeOpenAI
) -> None:
    """Only the message that follows it has it quoted; it is never run again."""
    ask(talk, "short001", "A question before it?")
    conversation = conversation_of(server, "short001")
    add = ("add_message", conversation, "--source", "scheduled")
    server.manage(*add, "--role", "user", "Delete the old backups.")
    server.manage(*add, "Deleted 12 backups.")
    server.manage("add_message", conversation, "--source", "briefing", "Two backups are left.")
    ask(talk, "short001", "And the first question after it?")
    ask(talk, "short001", "And the second?")
    assert not [one for one in sent(fake) if "backups" in one]


# ---- triage in a room --------------------------------------------------------------------------
def test_a_failing_triage_keeps_all_older_messages_of_a_room(
    server: Server, talk: FakeTalk, fake: FakeOpenAI
) -> None:
    said = [f"Fact {number}." for number in range(12)]
    for text in said:
        talk.say("triage01", "ada", text)
    fake.script.extend(["this is no list", "Answered."])
    assert ask(talk, "triage01", "What is known?") == "Answered."
    asked = [*said, "What is known?"]
    assert sent(fake) == ["\n\n".join(f"Ada: {text}" for text in asked)]
    triaged = fake.requests[-2]
    assert triaged["model"] == "tiny"


def test_the_cost_of_triage_is_in_the_receipt_of_a_rooms_answer(
    server: Server, talk: FakeTalk, fake: FakeOpenAI
) -> None:
    fake.script.extend(['{"relevant": []}', "Answered."])
    ask(talk, "triage01", "And now?")
    reports = receipt_of(server, "triage01")["reports"]
    assert any("triage" in str(name) for name in reports), reports


def test_a_long_room_shows_triage_the_newest_turns_alone_also_with_a_partial_section(
    server: Server, talk: FakeTalk, fake: FakeOpenAI
) -> None:
    for number in range(60):
        talk.say("triage02", "ada", f"Fact {number}.")
    fake.script.extend(['{"relevant": []}', "Answered."])
    ask(talk, "triage02", "What is known?")
    shown = re.findall(r"Fact (\d+)\.", str(fake.requests[-2]["messages"]))
    assert [int(one) for one in shown][:20] == list(range(35, 55)), (
        "25 turns, although the section names nothing; the newest five are sent anyway"
    )


def test_what_is_recalled_in_a_room_is_never_what_the_request_has_already(
    server: Server, talk: FakeTalk, fake: FakeOpenAI
) -> None:
    talk.say("recall01", "ada", "The quay at Vlissingen is four metres high.")
    for number in range(60):
        talk.say("recall01", "bob", f"Some other talk about the weather, number {number}. " * 3)
    ask(talk, "recall01", "How high is the quay at Vlissingen?")
    assert str(sent(fake)).count("four metres high") == 1


# ---- who is told what --------------------------------------------------------------------------
async def test_another_persons_conversation_never_reaches_the_room(
    server: Server, talk: FakeTalk, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page(agent="finder")
        await page.say("The password is swordfish.")
        server.manage(
            *("add_message", page.conversation, "--source", "email", "Dear Ada: swordfish again")
        )
    look = 'search_history:{"query": "swordfish password"}'
    ask(talk, "finder01", f"[[calls={look};text=Done.]]")
    assert "Dear Ada" not in str(fake.requests[-1])
    found = [one for one in fake.requests[-1]["messages"] if one["role"] == "tool"]
    assert found and "The password is swordfish" not in str(found)


def test_a_room_s_account_signs_in_nowhere(server: Server) -> None:
    found = stored(server, "SELECT username, password FROM auth_user WHERE username LIKE 'talk-%'")
    assert {name for name, _ in found} == {f"talk-{token}" for token in ROOMS}
    assert all(password.startswith("!") for _, password in found)


# ---- kills -------------------------------------------------------------------------------------
@pytest.mark.thorough
def test_killed_while_it_answers_the_room_gets_exactly_one_answer(
    fake: FakeOpenAI, own_talk: FakeTalk, folder: Path, agents: Path
) -> None:
    rooms = {"kill0001": {"agent": "plain"}}
    server = talk_server(folder, own_talk, fake, rooms, AGENTS_DIR=str(agents))
    server.start()
    follows(own_talk, 1)
    asked = len(fake.requests)
    fake.script.extend(["[[mode=slow;tokens=200]]", "Whole."])
    own_talk.say("kill0001", "ada", f"@{BOT}: tell me")
    wait_for(lambda: own_talk.posts("kill0001", tag="ack"))
    server.kill()
    own_talk.say("kill0001", "bob", "Meanwhile.")
    with server:
        wait_for(lambda: own_talk.posts("kill0001"))
        own_talk.say("kill0001", "bob", f"@{BOT}: and?")
        wait_for(lambda: len(own_talk.posts("kill0001")) == 2)
        assert own_talk.posts("kill0001")[0] == "Whole."
        texts = [text for _, _, text in path_of(server, "kill0001")]
        assert texts[:4] == ["tell me", "Whole.", "Meanwhile.", "and?"]
    assert len(fake.requests) == asked + 3
    assert "Traceback" not in server.log, server.log


def test_stopped_and_started_it_goes_on_where_it_stopped(
    fake: FakeOpenAI, own_talk: FakeTalk, folder: Path, agents: Path
) -> None:
    rooms = {"stop0001": {"agent": "plain"}}
    server = talk_server(folder, own_talk, fake, rooms, AGENTS_DIR=str(agents))
    with server:
        follows(own_talk, 1)
        ask(own_talk, "stop0001", "First?")
    own_talk.say("stop0001", "bob", f"@{BOT}: Second?")
    with server:
        wait_for(lambda: len(own_talk.posts("stop0001")) == 2)
        questions = [text for role, _, text in path_of(server, "stop0001") if role == "user"]
        assert questions == ["First?", "Second?"]
    assert "Traceback" not in server.log and "WARNING" not in server.log, server.log


# ---- the page ----------------------------------------------------------------------------------
async def test_whom_the_file_names_reads_the_room_in_the_page_with_its_receipts(
    fake: FakeOpenAI, own_talk: FakeTalk, folder: Path, agents: Path
) -> None:
    rooms = {"read0001": {"agent": "plain", "readers": ["grace"]}}
    server = talk_server(folder, own_talk, fake, rooms, AGENTS_DIR=str(agents))
    with server:
        follows(own_talk, 1)
        ask(own_talk, "read0001", "First?")
        server.add_user("grace", "a long pass phrase")
        async with Person(server.url) as grace:
            await grace.sign_in("grace", "a long pass phrase")
            data = await grace.page_data()
            conversation = conversation_of(server, "read0001")
            assert conversation in str(data["rooms"])
            page = await grace.page(conversation, agent="plain")
            assert [one["content"] for one in page.snapshot["messages"]][0] == "First?"
            said = own_talk.say("read0001", "bob", "The quay is four metres high.")
            came = await page.until("messages_changed")
            assert [one["content"] for one in came["messages"]] == ["The quay is four metres high."]
            own_talk.edit("read0001", said["id"], "Five metres.")
            edited = await page.until("messages_changed")
            assert [one["content"] for one in edited["messages"]] == ["Five metres."]
            own_talk.delete("read0001", said["id"])
            assert (await page.until("messages_changed"))["gone"] == [came["messages"][0]["id"]]


# ---- talk_check --------------------------------------------------------------------------------
def test_talk_check_says_what_works_and_what_is_wrong_and_posts_nothing(
    server: Server, talk: FakeTalk
) -> None:
    before = len(talk.rooms["plain001"].messages)
    said = server.manage("talk_check")
    assert f"ok     {talk.url} accepts the user {BOT} and the app password." in said
    assert "ok     Room Room plain001 (plain001): the bot is in it" in said
    assert "WRONG" not in said
    assert len(talk.rooms["plain001"].messages) == before


def test_a_mistake_in_the_rooms_file_stops_the_start_in_one_sentence(
    fake: FakeOpenAI, own_talk: FakeTalk, folder: Path
) -> None:
    server = talk_server(folder, own_talk, fake, {"bad00001": {"agent": "plain", "speaker": "ada"}})
    with pytest.raises(AssertionError, match="the server ended at its start"):
        server.start()
    assert server.log.startswith("Chatsite can't start. TALK_FILE=")
    assert "rooms.bad00001.speaker: is not known; there are name, agent" in server.log
    assert server.log.count("\n") == 1
