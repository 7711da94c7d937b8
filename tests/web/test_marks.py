"""Marks over HTTP: strict requests, events for every page; and why a message was forgotten."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.person import Page, Person
from tests.running import Server
from tests.web.browser_requests import NOBODYS, ask_from_page


async def send_texts(page: Page, *texts: str) -> list[str]:
    """Send each text in a turn of its own. Returns the ids of the user messages."""
    ids = []
    for text in texts:
        await page.send(text)
        started = await page.until("turn_started")
        ids.append(started["messages"][-1]["id"])
        await page.until("turn_ended")
    return ids


def why(message: str, **query: str) -> str:
    return f"/messages/{message}/why?{urlencode(query)}"


async def test_every_open_page_gets_a_new_mark_and_a_fresh_page_shows_it(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        first, second = await send_texts(page, "One", "Two")
        other = await ada.page(page.conversation)
        told = await ada.ask("PATCH", f"/messages/{first}", {"pinned": True})
        assert told == {
            "type": "marked",
            "message": first,
            "pinned": True,
            "excluded": False,
            "bookmarked": False,
            "forget_above": 0,
            "state": "complete",
            "kept_whole": False,
            "in_force": "",
            "offered": "",
        }
        for each in (page, other):
            assert await each.until("marked") == told
        await ada.ask("PATCH", f"/messages/{first}", {"excluded": True})
        line = await ada.ask("PATCH", f"/messages/{second}", {"forget_above": True})
        fresh = (await ada.page(page.conversation)).snapshot
        assert fresh["forget_above"] == line["forget_above"]
        marks = [(m["pinned"], m["excluded"]) for m in fresh["messages"] if m["id"] == first]
        assert marks == [(False, True)]
        preview = await page.preview("Three")
        reasons = [v["reason"] for v in preview["decision"]["verdicts"]]
        assert "above_marker" in reasons


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        "pinned",
        {"pinned": "yes"},
        {"pinned": 1},
        {"pinned": None},
        {"pinned": True, "excluded": False},
        {"colour": True},
    ],
)
async def test_a_request_that_is_no_mark_is_refused_and_changes_nothing(
    body: Any, server: Server
) -> None:
    async with Person(server.url) as ada:
        answer = await ask_from_page(ada, "PATCH", f"/messages/{NOBODYS}", data=json.dumps(body))
        assert answer.status == 400
        assert answer.json["code"] == "bad_command"


async def test_a_mark_that_would_do_nothing_is_refused_with_the_reason(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.send("Hello")
        greeting = (await page.until("turn_started"))["messages"][0]["id"]
        await page.until("turn_ended")
        told = await ada.ask("PATCH", f"/messages/{greeting}", {"pinned": True}, expect=409)
        assert "never sent" in told["message"]
        told = await ada.ask("GET", f"/messages/{greeting}/why")
        assert told["sentences"] == ["It is the agent's greeting: shown to you, never sent."]


async def test_the_answer_tells_when_a_message_was_left_out_and_what_would_help(
    server: Server,
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page(query="historyPolicy=lastN&historyLength=2")
        first, second, third = await send_texts(page, "One", "Two", "Three")
        asked = {"query": page.query, "draft": "Four"}
        told = await ada.ask("GET", why(first, **asked))
        assert not told["sent"]
        assert told["sentences"] == [
            "It dropped out of the context at turn 3, 2 exchanges later, when you sent “Three”: "
            "older than your last 2 exchanges (set in the page's address).",
            "It won't be sent with your next message either.",
        ]
        assert told["fixes"] == ["pin", "ask"]
        receipt = await ada.ask("GET", f"/turns/{told['turn']}/receipt")
        assert receipt["facts"]["length"] == "2"
        assert (await ada.ask("GET", why(second, **asked)))["sentences"] == [
            "It was sent with your last message.",
            "It won't be sent with your next one: older than your last 2 exchanges (set in the "
            "page's address).",
        ]
        assert (await ada.ask("GET", why(third, **asked)))["sent"]
        assert (await ada.ask("GET", why(first, reply_to=first, **asked)))["sent"]
        assert (await ada.ask("GET", why(first)))["sent"]  # the page's address decides
        written = {**asked, "model": "echo:echo", "attachment": NOBODYS}
        assert (await ada.ask("GET", why(first, **written)))["sentences"][-1] != told["sentences"][
            -1
        ]
        body = {**asked, "attachments": [NOBODYS], "model": "echo:echo"}
        compare = f"/conversations/{page.conversation}/compare"
        assert (await ask_from_page(ada, "POST", compare, data=json.dumps(body))).status in (
            404,
            409,
        )
        body["attachments"] = []
        assert (await ask_from_page(ada, "POST", compare, data=json.dumps(body))).status == 200
        await ada.ask("PATCH", f"/messages/{first}", {"excluded": True})
        told = await ada.ask("GET", why(first, **asked))
        assert (told["fixes"], told["excluded"]) == (["take_back"], first)


@pytest.mark.parametrize(
    "query",
    [
        {"query": "x" * 5000},
        {"draft": "x" * 2001},
        {"reply_to": "1"},
        {"model": "x" * 201},
        {"attachment": "1"},
    ],
)
async def test_a_question_that_is_too_long_or_wrong_is_refused(
    query: dict[str, str], server: Server
) -> None:
    async with Person(server.url) as ada:
        told = await ada.ask("GET", why(NOBODYS, **query), expect=400)
        assert told["code"] == "bad_command"


async def test_a_reply_is_sent_with_the_message_it_replies_to(server: Server) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob:
        page = await ada.page(query="historyPolicy=none")
        (first, _) = await send_texts(page, "One", "Two")
        (theirs,) = await send_texts(await bob.page(), "Another's")
        await page.command("preview", agent="demo", draft="And?", reply_to=first)
        verdicts = (await page.until("preview"))["decision"]["verdicts"]
        assert "replied_to" in [verdict["reason"] for verdict in verdicts]
        for unknown in (theirs, NOBODYS):
            sent = {"agent": "demo", "client_id": unknown, "text": "And?", "reply_to": unknown}
            await page.command("send", **sent)
            refused = await page.until("refused")
            assert refused["code"] == "reply_gone"
            assert "Your text is kept" in refused["message"]
        await page.command("send", agent="demo", client_id=first, text="And?", reply_to=first)
        (message,) = (await page.until("turn_started"))["messages"]
        assert message["reply"] == {"id": first, "seq": 2, "role": "user", "text": "One"}
        receipt = (await page.until("turn_ended"))["receipt"]
        assert "replied_to" in [verdict["reason"] for verdict in receipt["verdicts"]]
        assert len((await ada.page(page.conversation)).snapshot["messages"]) == 7


async def test_all_above_the_newest_exchange_is_forgotten_until_it_is_remembered(
    server: Server,
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        path = f"/conversations/{page.conversation}/forget"
        await ada.ask("POST", path, {"on": True}, expect=404)
        await page.say("The code is 4711.")
        await page.say("And now?")
        await ada.ask("POST", path, {"on": 1}, expect=400)
        assert (await ada.ask("POST", path, {"on": True}))["forget_above"] == 4
        verdicts = (await page.preview("And?"))["decision"]["verdicts"]
        assert "above_marker" in {one["reason"] for one in verdicts}
        assert (await ada.page(page.conversation)).snapshot["forget_above"] == 4
        assert (await ada.ask("POST", path, {"on": False}))["forget_above"] == 0


async def test_a_deleted_marked_message_leaves_its_marker_above_the_next_one(
    server: Server,
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("The code is 4711.")
        await page.say("And now?")
        asked = (await ada.page(page.conversation)).snapshot["messages"][3]["id"]
        await ada.ask("PATCH", f"/messages/{asked}", {"forget_above": True})
        await ada.ask("DELETE", f"/messages/{asked}")
        for _ in range(2):  # also for what comes after the next one
            preview = await page.preview("And?")
            ended = await page.say("And?")
            for decision in (preview["decision"], ended["receipt"]):
                assert "above_marker" in {one["reason"] for one in decision["verdicts"]}
