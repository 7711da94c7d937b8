"""Under `relevant` a quote stays before the message it was made for, as the provider sees it."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.person import Page, Person
from tests.quoted_talk import (
    AFTER,
    CAT,
    QUERY,
    QUESTION,
    TALK,
    block_in,
    earlier_blocks,
    is_quote,
)
from tests.running import Server
from tests.web.browser_requests import ask_from_page


@pytest.fixture
async def ada(server: Server) -> AsyncIterator[Person]:
    async with Person(server.url) as person:
        yield person


async def talked(ada: Person, *, agent: str = "demo", query: str = QUERY) -> Page:
    page = await ada.page(agent=agent, query=query)
    for text in TALK:
        await page.say(text)
    return page


async def asked_for_the_cat(ada: Person) -> tuple[Page, dict[str, Any]]:
    """A conversation in which the question is quoted what was said of the cat, long before."""
    page = await talked(ada)
    return page, await page.say(QUESTION)


async def messages_of(ada: Person, page: Page) -> list[dict[str, Any]]:
    again = await ada.page(page.conversation, query=QUERY)
    found: list[dict[str, Any]] = again.snapshot["messages"]
    await again.close()
    return found


async def test_the_next_request_begins_with_all_of_the_last_one(
    ada: Person, fake: FakeOpenAI
) -> None:
    page, _ = await asked_for_the_cat(ada)
    first = fake.requests[-1]["messages"]
    ended = await page.say(AFTER)
    then = fake.requests[-1]["messages"]
    assert block_in(first) == [len(first) - 1]
    assert then[: len(first)] == first
    assert earlier_blocks(then) == block_in(first), "in its place"
    asked = next(m["seq"] for m in await messages_of(ada, page) if m["content"] == QUESTION)
    [cat] = [one for one in ended["receipt"]["verdicts"] if one["before"] == asked][:1]
    assert cat["quoted"] and cat["reason"] == "relevant"


async def test_a_receipt_with_earlier_quotes_is_rebuilt_byte_for_byte(
    ada: Person, server: Server, fake: FakeOpenAI, tmp_path: Path
) -> None:
    page, _ = await asked_for_the_cat(ada)
    ended = await page.say(AFTER)
    file, out = tmp_path / "receipt.json", tmp_path / "request.json"
    file.write_text(json.dumps(await ada.ask("GET", f"/turns/{ended['turn']}/receipt")))
    output = server.develop("replay_receipt", str(file), "--out", str(out))
    assert "Byte for byte the texts of the request that was sent" in output
    rebuilt = json.loads(out.read_text())["messages"]
    left = "".join(message["content"] for message in fake.requests[-1]["messages"])
    for message in rebuilt:  # named one by one; in the request neighbours of one role are one
        before, found, left = left.partition(message["content"])
        assert found and before in ("", "\n\n", "\n\n---\n\n")
    assert not left


async def test_a_message_that_is_left_out_takes_its_quote_out(
    ada: Person, fake: FakeOpenAI
) -> None:
    page, _ = await asked_for_the_cat(ada)
    [cat] = [m for m in await messages_of(ada, page) if CAT in str(m["content"])]
    await ada.leave_out([cat])
    await page.say(AFTER)
    assert CAT not in json.dumps(fake.requests[-1]["messages"])


async def test_a_pinned_source_is_sent_in_its_place_and_not_quoted_too(
    ada: Person, fake: FakeOpenAI
) -> None:
    page, _ = await asked_for_the_cat(ada)
    [cat] = [m for m in await messages_of(ada, page) if CAT in str(m["content"])]
    await ada.ask("PATCH", f"/messages/{cat['id']}", {"pinned": True})
    await page.say(AFTER)
    holding = [m for m in fake.requests[-1]["messages"] if CAT in str(m["content"])]
    assert len(holding) == 1 and not is_quote(holding[0])


async def test_another_policy_sends_no_quotes_and_coming_back_sends_them_again(
    ada: Person, fake: FakeOpenAI
) -> None:
    page, _ = await asked_for_the_cat(ada)
    page.query = "historyPolicy=lastN&historyLength=2"
    await page.say(AFTER)
    assert not earlier_blocks(fake.requests[-1]["messages"])
    page.query = QUERY
    await page.say(AFTER)
    assert len(earlier_blocks(fake.requests[-1]["messages"])) == 1


async def test_each_version_of_an_answer_has_its_own_quotes(ada: Person, fake: FakeOpenAI) -> None:
    page, ended = await asked_for_the_cat(ada)
    page.query = "historyPolicy=lastN&historyLength=1"
    question = next(m for m in await messages_of(ada, page) if m["content"] == QUESTION)
    client = str(uuid.uuid4())
    await page.command("again", agent=page.agent, client_id=client, message=question["id"])
    await page.until("turn_ended")
    page.query = QUERY
    await page.say(AFTER)
    assert not earlier_blocks(fake.requests[-1]["messages"]), "the new version was quoted nothing"
    answer = await ask_from_page(ada, "POST", f"/messages/{ended['message']['id']}/show")
    assert answer.status == 200
    await page.say(AFTER)
    assert len(earlier_blocks(fake.requests[-1]["messages"])) == 1


async def test_each_round_of_tool_calls_keeps_the_quotes_of_the_first(
    ada: Person, fake: FakeOpenAI
) -> None:
    query = "historyPolicy=relevant&historyTokens=2600"  # its instructions and tools take more
    page = await talked(ada, agent="archivist", query=query)
    calls = 'calculator:{"expression": "6 * 7"}'
    ended = await page.say(f"{QUESTION} [[calls={calls};rounds=2;text=Tabitha.]]")
    assert ended["message"]["content"] == "Tabitha."
    rounds = [one["messages"] for one in fake.requests[-3:]]
    assert block_in(rounds[0]) == [len(rounds[0]) - 1]
    for before, after in itertools.pairwise(rounds):
        assert after[: len(before)] == before and len(after) > len(before)
    await page.say(AFTER)
    last = fake.requests[-1]["messages"]
    assert last[: len(rounds[2])] == rounds[2], "and the calls stay too"


async def test_a_continued_answer_keeps_its_quotes(ada: Person, fake: FakeOpenAI) -> None:
    page = await talked(ada)
    broken = await page.say(f"{QUESTION} [[mode=cut;at=3;fails=1]]")
    first = fake.requests[-1]["messages"]
    assert block_in(first)
    client, answer = str(uuid.uuid4()), broken["message"]["id"]
    await page.command("continue", agent=page.agent, client_id=client, message=answer)
    assert (await page.until("turn_ended"))["state"] == "complete"
    assert fake.requests[-1]["messages"][: len(first)] == first
    await page.say(AFTER)
    assert fake.requests[-1]["messages"][: len(first)] == first, "and for later messages"


async def test_a_file_keeps_what_was_quoted(ada: Person, fake: FakeOpenAI) -> None:
    page, _ = await asked_for_the_cat(ada)
    file = await ada.ask("GET", f"/conversations/{page.conversation}/export")
    told = await ada.ask("POST", "/conversations/import", file)
    other = await ada.page(told["conversation"]["id"], query=QUERY)
    await other.say(AFTER)
    assert len(earlier_blocks(fake.requests[-1]["messages"])) == 1
