"""One question, said in the forms in which versions of Talk and what stands before them say it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.talk_server import BOT, FakeTalk
from tests.running import Server
from tests.story.talk_rooms import ask, follows, sent, talk_server, wait_for

ALONE = {"agent": "plain", "speakers": "everyone", "chatSettings": {"historyPolicy": "none"}}
ROOMS: dict[str, dict[str, Any]] = dict.fromkeys(("forms001", "shares01", "ignored1"), ALONE)
Rewrite = Callable[[Any], Any]


@pytest.fixture(scope="module")
def server(
    fake: FakeOpenAI, talk: FakeTalk, agents: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("talk")
    with talk_server(folder, talk, fake, ROOMS, AGENTS_DIR=str(agents)) as running:
        follows(talk, len(ROOMS))
        yield running
    assert "Traceback" not in running.log, running.log


@pytest.fixture(autouse=True)
def as_it_was(talk: FakeTalk, fake: FakeOpenAI) -> Iterator[None]:
    fake.script.clear()
    yield
    talk.header = talk.rewrite = talk.rewrite_shares = talk.cuts_polls = None


# ---- forms of an answer ------------------------------------------------------------------------
def meta(**said: Any) -> Rewrite:
    return lambda page: {"ocs": {**page["ocs"], "meta": said}}


def listed(make: Callable[[list[Any]], Any]) -> Rewrite:
    return lambda page: {"ocs": {**page["ocs"], "data": make(page["ocs"]["data"])}}


def each(change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Rewrite:
    """Every message of a page with these fields as well; one that is None is left out."""

    def changed(raw: dict[str, Any]) -> dict[str, Any]:
        fields = {**raw, **change(raw)}
        return {name: value for name, value in fields.items() if value is not None}

    return listed(lambda messages: [changed(one) for one in messages])


def parameters(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Rewrite:
    """The parameter of each mention, otherwise."""

    def changed(raw: dict[str, Any]) -> dict[str, Any]:
        found = dict(raw["messageParameters"] or {})
        return {"messageParameters": {name: change(one) for name, one in found.items()}}

    return each(changed)


def renamed(name: str) -> Rewrite:
    def changed(raw: dict[str, Any]) -> dict[str, Any]:
        found = dict(raw["messageParameters"] or {})
        text = str(raw["message"]).replace("{mention-user1}", f"{{{name}}}")
        return {"message": text, "messageParameters": dict.fromkeys([name], *found.values())}

    return each(changed)


def keyed(messages: list[Any]) -> dict[str, Any]:
    """As PHP writes a list of which one was taken out."""
    return {str(place + 3): one for place, one in enumerate(messages)}


NOTE = {"id": 1, "token": "forms001", "systemMessage": "call_started", "messageType": "system"}
FORMS: dict[str, Rewrite] = {
    "as it is": lambda page: page,
    "an object for the list": listed(keyed),
    "an object with what isn't a message": listed(lambda some: {**keyed(some), "99": {}}),
    "more than messages in it": listed(lambda some: [None, [], "x", 7, *some, {"id": "x"}]),
    "the newest first": listed(lambda some: some[::-1]),
    "everything twice": listed(lambda some: some + some),
    "an old message before it": listed(lambda some: [NOTE, *some]),
    "the meta of version 1": meta(status="ok", statuscode=100, message="OK"),
    "a status as text": meta(status="ok", statuscode="200", message=None),
    "no meta": lambda page: {"ocs": {"data": page["ocs"]["data"]}},
    "an odd meta": meta(status="ok", statuscode="fine"),
    "meta as a list": lambda page: {"ocs": {**page["ocs"], "meta": []}},
    "fields beside it": lambda page: {**page, "debug": [1, 2]},
    "numbers as text": each(lambda raw: {"id": str(raw["id"]), "timestamp": str(raw["timestamp"])}),
    "no time": each(lambda raw: {"timestamp": None}),
    "a clock behind": each(lambda raw: {"timestamp": 0}),
    "a clock ahead": each(lambda raw: {"timestamp": 4_102_444_800}),
    "a time in milliseconds": each(lambda raw: {"timestamp": raw["timestamp"] * 1000}),
    "a time with parts": each(lambda raw: {"timestamp": raw["timestamp"] + 0.5}),
    "no token": each(lambda raw: {"token": None}),
    "no reference": each(lambda raw: {"referenceId": None}),
    "another's reference": each(lambda raw: {"referenceId": "a" * 64}),
    "no type": each(lambda raw: {"messageType": None}),
    "no system message": each(lambda raw: {"systemMessage": raw["systemMessage"] or None}),
    "no word on replies": each(lambda raw: {"isReplyable": None}),
    "an empty parent": each(lambda raw: {"parent": []}),
    "a deleted parent": each(lambda raw: {"parent": {"id": 3, "deleted": True}}),
    "a parent of nothing": each(lambda raw: {"parent": {}}),
    "silent": each(lambda raw: {"silent": True}),
    "it expires": each(lambda raw: {"expirationTimestamp": 4_102_444_800}),
    "it has expired": each(lambda raw: {"expirationTimestamp": 1}),
    "reactions": each(lambda raw: {"reactions": {"👍": 2}, "reactionsSelf": ["👍"]}),
    "no reactions": each(lambda raw: {"reactions": None}),
    "edited": each(lambda raw: {"lastEditTimestamp": 1_764_000_000, "lastEditActorId": "ada"}),
    "never edited": each(lambda raw: {"lastEditTimestamp": 0, "lastEditActorId": None}),
    "pinned": each(lambda raw: {"metaData": {"pinnedActorId": "ada", "pinnedAt": 1}}),
    "of a thread": each(lambda raw: {"isThread": True, "threadTitle": "Quay"}),
    "in an old thread": each(lambda raw: {"threadId": 5, "isThread": False, "threadReplies": 3}),
    "no threads": each(lambda raw: {"threadId": None, "isThread": None}),
    "no markdown": each(lambda raw: {"markdown": False}),
    "blanks around names": each(lambda raw: {"actorDisplayName": f" {raw['actorDisplayName']}\n"}),
    "a mention with its id": parameters(lambda one: {**one, "mention-id": one["id"]}),
    "a mention with no server": parameters(lambda one: {**one, "server": None}),
    "a mention with an empty server": parameters(lambda one: {**one, "server": ""}),
    "a mention in capitals": parameters(lambda one: {**one, "id": str(one["id"]).upper()}),
    "a mention without a name": parameters(lambda one: {**one, "name": ""}),
    "a mention with more": parameters(lambda one: {**one, "icon-url": "https://x", "size": 1}),
    "the tenth mention": renamed("mention-user10"),
    "a mention by another key": renamed("user"),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_question_is_read_and_answered_in_every_form(
    server: Server, talk: FakeTalk, fake: FakeOpenAI, form: Rewrite
) -> None:
    talk.rewrite = form
    fake.script.append("Four metres.")
    asked = len(fake.requests)
    assert ask(talk, "forms001", "how high?") == "Four metres."
    assert sent(fake) == ["Ada: how high?"] and len(fake.requests) == asked + 1


@pytest.mark.parametrize("header", [None, "", "7", "1, 2"])
def test_it_is_answered_whatever_stands_above_an_object(
    server: Server, talk: FakeTalk, fake: FakeOpenAI, header: str | None
) -> None:
    talk.rewrite, talk.header = listed(keyed), header
    fake.script.append("Yes.")
    assert ask(talk, "forms001", "is it?") == "Yes."


# ---- refusals that look like answers -----------------------------------------------------------
@pytest.mark.parametrize(
    ("code", "words"),
    [
        (997, "the user name or the app password isn't accepted"),
        ("503", "the server answers with 503"),
        *(
            pytest.param(code, words, marks=pytest.mark.thorough)
            for code, words in (
                ("401", "the user name or the app password isn't accepted"),
                (404, "there is no such room for the bot"),
                ("998", "there is no such room for the bot"),
                (412, "the room's lobby is closed for the bot"),
                (996, "the server answers with 500"),
            )
        ),
    ],
)
def test_a_refusal_in_an_answer_of_success_is_said_and_waited_for(
    fake: FakeOpenAI, own_talk: FakeTalk, agents: Path, folder: Path, code: Any, words: str
) -> None:
    refused = {"ocs": {"meta": {"status": "failure", "statuscode": code}, "data": []}}
    own_talk.add_room("refuses1", "ada", bot=BOT)
    own_talk.say("refuses1", "ada", "An old message.")
    own_talk.rewrite = lambda page: refused
    rooms = {"refuses1": ALONE}
    with talk_server(folder, own_talk, fake, rooms, AGENTS_DIR=str(agents)) as server:
        wait_for(lambda: words in server.log)


# ---- what nobody said to the bot ---------------------------------------------------------------
BEFORE: dict[str, dict[str, Any]] = {
    "a bot": {"actorType": "bots", "actorId": "bot-weather"},
    "a bridge": {"actorType": "bridged", "actorId": "matterbridge"},
    "somebody who is gone": {"actorType": "deleted_users", "actorId": "deleted_users"},
    "nobody": {"actorType": "", "actorId": ""},
    "deleted": {"messageType": "comment_deleted"},
    "deleted in newer words": {"deleted": True},
    "a command": {"messageType": "command"},
    "a poll that ended": {"systemMessage": "poll_closed", "messageType": "system"},
    "a thread that began": {"systemMessage": "thread_created", "messageType": "system"},
    "what no version has yet": {"systemMessage": "danced", "messageType": "system"},
    "a reaction as a message": {"messageType": "reaction"},
    "one that was taken back": {"messageType": "reaction_deleted"},
    "a mention elsewhere": {
        "messageParameters": {
            "mention-user1": {
                "type": "user",
                "id": BOT,
                "name": "x",
                "server": "https://far.example",
            }
        }
    },
    "a group of that name": {
        "messageParameters": {"mention-user1": {"type": "user-group", "id": BOT, "name": "x"}}
    },
    "a team of that name": {
        "messageParameters": {"mention-user1": {"type": "circle", "id": BOT, "name": "x"}}
    },
    "parameters as a list": {"messageParameters": [{"type": "user", "id": BOT, "name": "x"}]},
}


@pytest.mark.parametrize("fields", BEFORE.values(), ids=BEFORE)
def test_what_only_looks_like_a_question_is_not_answered(
    server: Server, talk: FakeTalk, fake: FakeOpenAI, fields: dict[str, Any]
) -> None:
    asked, posts = len(fake.requests), len(talk.posts("ignored1"))
    talk.say("ignored1", "ada", f"@{BOT}: do not answer", fields=fields)
    fake.script.append("Yes.")
    assert ask(talk, "ignored1", "and this?") == "Yes."
    assert len(fake.requests) == asked + 1 and len(talk.posts("ignored1")) == posts + 1


# ---- files -------------------------------------------------------------------------------------
SHARES: dict[str, Rewrite] = {
    "an object for the list": listed(keyed),
    "numbers as text": listed(lambda some: [{**one, "share_type": "10"} for one in some]),
    "other shares before it": listed(lambda some: [{"share_type": 0, "share_with": "bob"}, *some]),
    "the meta of version 1": meta(status="ok", statuscode=100),
}


@pytest.mark.parametrize("form", SHARES.values(), ids=SHARES)
def test_a_file_is_taken_in_whichever_form_its_share_is_told(
    server: Server, talk: FakeTalk, fake: FakeOpenAI, form: Rewrite, request: pytest.FixtureRequest
) -> None:
    talk.rewrite_shares, before = form, len(talk.posts("shares01"))
    name = f"{request.node.callspec.id.replace(' ', '-')}.txt"
    fake.script.append("Four metres.")
    talk.share("shares01", "ada", name, b"It is 417 cm.", f"@{BOT}: what does {{file}} say?")
    assert wait_for(lambda: talk.posts("shares01")[before:]) == ["Four metres."]
    assert "417 cm" in sent(fake)[-1]


# ---- a proxy between -----------------------------------------------------------------------------
@pytest.mark.thorough
def test_behind_a_proxy_that_cuts_long_polls_it_waits_for_less_and_misses_nothing(
    fake: FakeOpenAI, own_talk: FakeTalk, agents: Path, folder: Path
) -> None:
    own_talk.cuts_polls = 6.0
    rooms = {"cutoff01": ALONE}
    with talk_server(folder, own_talk, fake, rooms, AGENTS_DIR=str(agents)) as server:
        wait_for(lambda: "the server answers with 504" in server.log)
        wait_for(lambda: "can be read again" in server.log)
        fake.script.append("Yes.")
        assert ask(own_talk, "cutoff01", "do you hear me?") == "Yes."
    assert server.log.count("the server answers with 504") == 1, server.log
