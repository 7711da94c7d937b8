"""A talk whose questions are changed, answered anew and deleted: only what is shown reaches the
model."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.person import Page, Person
from tests.quoted_talk import CAT, QUERY, QUESTION, TALK
from tests.running import Server
from tests.web.browser_requests import ask_from_page

FIRST, SECOND, THIRD = "Which birds breed here?", "And in winter?", "And on the islands?"


@pytest.fixture
async def ada(server: Server) -> AsyncIterator[Person]:
    async with Person(server.url) as person:
        yield person


async def talk(ada: Person, *texts: str, **options: str) -> Page:
    page = await ada.page(**options)
    for text in texts:
        await page.say(text)
    return page


async def shown(page: Page) -> list[dict[str, Any]]:
    """What a fresh page shows, without greetings."""
    messages: list[dict[str, Any]] = (await page.open())["messages"]
    return messages[next(n for n, one in enumerate(messages) if one["role"] == "user") :]


async def id_of(page: Page, text: str) -> str:
    found = [str(one["id"]) for one in await shown(page) if one["content"] == text]
    return found[0]


def sent(fake: FakeOpenAI) -> list[str]:
    """The user messages of the last request."""
    return [one["content"] for one in fake.requests[-1]["messages"] if one["role"] == "user"]


async def edit(page: Page, message: str, text: str, **more: Any) -> dict[str, Any]:
    """Ask a message otherwise, and wait for the end of the turn."""
    fields = {"agent": page.agent, "client_id": str(uuid.uuid4()), "message": message, "text": text}
    await page.command("edit", **fields | more)
    return await page.until("turn_ended")


async def test_a_title_that_is_still_the_first_message_follows_its_edit(ada: Person) -> None:
    async def title(page: Page) -> str:
        return str((await page.open())["conversation"]["title"])

    page = await talk(ada, FIRST, SECOND)
    assert await title(page) == FIRST
    await edit(page, await id_of(page, SECOND), "And in summer?")
    assert await title(page) == FIRST
    former = await id_of(page, FIRST)
    await edit(page, former, "Which birds breed there?")
    assert await title(page) == "Which birds breed there?"
    await ask_from_page(ada, "POST", f"/messages/{former}/show")
    assert await title(page) == FIRST
    await edit(page, former, "Which birds breed there?")
    await ada.ask("PATCH", f"/conversations/{page.conversation}", {"title": "Birds"})
    await edit(page, await id_of(page, "Which birds breed there?"), "Which fish?")
    assert await title(page) == "Birds"


async def test_an_edit_is_answered_on_its_own_branch_in_every_tab(
    ada: Person, fake: FakeOpenAI
) -> None:
    page = await talk(ada, FIRST, SECOND, THIRD)
    former, other = await id_of(page, SECOND), await ada.page(page.conversation)
    seq = next(one["seq"] for one in await shown(page) if one["id"] == former)
    await edit(page, former, "And in summer?")
    assert sent(fake) == [FIRST, "And in summer?"]
    started = await other.until("turn_started")
    assert started["gone_from"] == seq
    (asked,) = started["messages"]
    assert [one["id"] for one in asked["versions"]] == [former, asked["id"]]
    ended = await other.until("turn_ended")
    (told,) = ended["messages"]
    assert [bool(one["model"]) for one in told["versions"]] == [True, True]

    await ask_from_page(ada, "POST", f"/messages/{former}/show")
    assert (await other.until("path_changed"))["below"] == seq - 1
    assert [one["content"] for one in await shown(other) if one["role"] == "user"] == [
        FIRST,
        SECOND,
        THIRD,
    ]
    await page.say("Go on.")
    assert sent(fake) == [FIRST, SECOND, THIRD, "Go on."]
    assert "summer" not in json.dumps(fake.requests[-1])


async def test_a_resent_edit_makes_one_branch_and_one_request(
    ada: Person, fake: FakeOpenAI
) -> None:
    page = await talk(ada, FIRST)
    message, client_id = await id_of(page, FIRST), str(uuid.uuid4())
    before = len(fake.requests)
    await edit(page, message, "Which fish?", client_id=client_id)
    await page.command(
        "edit", agent=page.agent, client_id=client_id, message=message, text="Which fish?"
    )
    again = await page.until("turn_started")
    assert again["resent"] and len(fake.requests) == before + 1
    (asked, _) = await shown(page)
    assert len(asked["versions"]) == 2


async def test_changes_are_refused_while_an_answer_is_written_and_nothing_is_lost(
    ada: Person,
) -> None:
    page = await talk(ada, FIRST)
    message = await id_of(page, FIRST)
    before = await shown(page)
    await page.send("Slowly [[mode=slow;tokens=400]]")
    await page.until("delta")
    await page.command(
        "edit", agent=page.agent, client_id=str(uuid.uuid4()), message=message, text="Which fish?"
    )
    while (refused := await page.event())["type"] != "refused":
        pass
    assert refused["code"] == "turn_running" and "kept" in refused["message"]
    for method, path, body in (
        ("DELETE", f"/messages/{message}", None),
        ("PUT", f"/messages/{message}/text", {"text": "Which fish?"}),
    ):
        found = await ada.ask(method, path, body, expect=409)
        assert found["code"] == "turn_running" and "Stop it first" in found["message"]
    await page.command("stop")
    await page.until("turn_ended")
    assert (await shown(page))[: len(before)] == before


async def test_a_deleted_message_reaches_nobody_and_undo_gives_it_back(
    ada: Person, fake: FakeOpenAI
) -> None:
    page = await talk(ada, FIRST, SECOND, THIRD)
    before, message = await shown(page), await id_of(page, SECOND)
    other = await ada.page(page.conversation)
    event = await ada.ask("DELETE", f"/messages/{message}")
    assert event == await other.until("messages_changed")
    assert event["gone"] == [message]
    await page.say("Go on.")
    assert sent(fake) == [FIRST, THIRD, "Go on."]
    found = await ada.ask("GET", "/conversations/search?q=winter")
    assert [hit["seq"] for hit in found["hits"]] == []
    saved = await ada.ask("GET", f"/conversations/{page.conversation}/export")
    assert SECOND not in json.dumps(saved)
    await page.close()  # whoever left the page can still undo
    await ada.ask("POST", f"/messages/{message}/restore")
    again = await shown(await ada.page(page.conversation))
    assert again[: len(before)] == before
    await ada.ask("POST", f"/messages/{message}/restore", expect=404)


async def test_a_corrected_answer_is_what_the_model_reads_from_then_on(
    ada: Person, fake: FakeOpenAI
) -> None:
    page = await talk(ada, f"{FIRST} [[text=Terns breed here.]]", SECOND)
    answer = (await shown(page))[1]
    event = await ada.ask("PUT", f"/messages/{answer['id']}/text", {"text": "Gulls breed here."})
    (view,) = event["messages"]
    assert view["edited"] and [one["edited"] for one in view["versions"]] == [False, True]
    await page.say("Go on.")
    request = json.dumps(fake.requests[-1]["messages"])
    assert "Gulls breed here." in request and "Terns breed here." not in json.dumps(
        [one for one in fake.requests[-1]["messages"] if one["role"] == "assistant"]
    )
    receipt = await ada.ask("GET", f"/turns/{answer['turn']}/receipt")
    assert receipt["turn"] == view["turn"], "what was sent for it is still told"


async def test_another_model_answers_once_and_the_conversation_keeps_its_own(ada: Person) -> None:
    page = await talk(ada, FIRST)
    answer = (await shown(page))[-1]
    offer = await ada.ask("GET", "/models?agent=demo")
    models = [one for group in offer["groups"] for one in group["models"]]
    other = next(one for one in models if not one.get("why_not") and one["name"] != offer["own"])
    await page.command(
        "again",
        agent=page.agent,
        client_id=str(uuid.uuid4()),
        message=answer["id"],
        model=other["name"],
        once=True,
    )
    started = await page.until("turn_started")
    assert started["conversation"]["model"] == ""
    ended = await page.until("turn_ended")
    first, second = ended["message"]["versions"]
    assert first["model"] != second["model"] == other["label"]
    assert ended["receipt"]["provider"]["model"] in other["name"]


async def again(page: Page, message: str, *, ends: str = "complete") -> dict[str, Any]:
    """Answer a message once more, and wait for the end of the turn."""
    fields = {"agent": page.agent, "client_id": str(uuid.uuid4()), "message": message}
    await page.command("again", **fields)
    ended = await page.until("turn_ended")
    assert ended["state"] == ends
    return ended


async def test_an_older_answer_is_given_again_from_what_stands_above_it(
    ada: Person, fake: FakeOpenAI
) -> None:
    page = await talk(ada, FIRST, SECOND, THIRD)
    other, before = await ada.page(page.conversation), await shown(page)
    former = before[3]
    ended = await again(page, former["id"])
    assert sent(fake) == [FIRST, SECOND]
    started = await other.until("turn_started")
    assert started["gone_from"] == former["seq"]
    versions = [one["id"] for one in ended["message"]["versions"]]
    assert versions == [former["id"], ended["message"]["id"]]
    await page.say("Go on.")
    assert sent(fake) == [FIRST, SECOND, "Go on."]
    await ask_from_page(ada, "POST", f"/messages/{former['id']}/show")
    await page.until("path_changed")
    assert [one["id"] for one in await shown(page)] == [one["id"] for one in before]


async def test_where_it_is_not_given_again_every_tab_gets_the_whole_branch_back(
    ada: Person, fake: FakeOpenAI
) -> None:
    page = await talk(ada, FIRST, SECOND, THIRD)
    other, before = await ada.page(page.conversation), await shown(page)
    fake.script.append("[[mode=401]]")
    await again(page, before[1]["id"], ends="failed")
    assert (await other.until("path_changed"))["below"] == before[0]["seq"]
    assert [one["id"] for one in await shown(other)] == [one["id"] for one in before]
    await page.say("Go on.")
    assert len(sent(fake)) == 4


async def test_what_was_quoted_on_one_branch_is_not_quoted_on_the_other(
    ada: Person, fake: FakeOpenAI
) -> None:
    """Under `relevant` the question is quoted what was said of the cat; then that is changed."""
    page = await talk(ada, *TALK, query=QUERY)
    await page.say(QUESTION)
    assert sum(CAT in json.dumps(one) for one in fake.requests[-1]["messages"]) == 1
    about_the_cat = await id_of(page, TALK[0])
    await edit(page, about_the_cat, "The boat is called Petrel.")
    for text in (*TALK[1:], QUESTION):
        await page.say(text)
        assert CAT not in json.dumps(fake.requests[-1])
    await ask_from_page(ada, "POST", f"/messages/{about_the_cat}/show")
    await page.until("path_changed")
    await page.say("And what else?")
    assert "Petrel" not in json.dumps(fake.requests[-1])
