"""Text that no tokenizer counts in time: the turn ends, and everything that counts answers."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from chatsite.providers.base.thoughts import LONGEST_TOKEN
from tests.fakes.openai_server import FakeOpenAI
from tests.person import Page, Person
from tests.running import Server

BLANKS = "a" + " " * 1_100_000 + "b"
# More than a frame holds isn't typed.
TYPED = "a" + " " * 60_000 + "b"


@pytest.fixture(scope="module")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With a model whose tokens tiktoken counts."""
    with Server(
        tmp_path_factory.mktemp("uncountable"),
        OPENAI_API_KEY="sk-canary-7f3a",
        OPENAI_BASE_URL=fake.base_url,
        CHAT_MODEL="gpt-4o",
    ) as running:
        yield running
        assert "Traceback" not in running.log


async def restored(ada: Person, *texts: str) -> Page:
    file = {
        "format": "chatsite.conversation", "version": 2, "agent": "demo", "title": "Blanks",
        "messages": [
            {"role": role, "content": text}
            for text, role in zip(texts, ("user", "assistant") * len(texts), strict=False)
        ],
    }  # fmt: skip
    content = io.BytesIO(json.dumps(file, ensure_ascii=False).encode())
    headers = ada.headers() | {"Content-Type": "application/json"}
    url = f"{ada.url}/conversations/import"
    async with ada.http.post(url, data=content, headers=headers) as answer:
        assert answer.status == 200, await answer.text()
        view = await answer.json()
    return await ada.page(view["conversation"]["id"])


async def check(ada: Person, page: Page) -> dict[str, Any]:
    """Everything that counts tokens answers, and the conversation goes on; its last receipt."""
    preview = await page.preview("Hello")
    stored = (await ada.page(page.conversation)).snapshot["messages"]
    for message in stored:
        assert await ada.ask("GET", f"/messages/{message['id']}/why")
    path = f"/conversations/{page.conversation}/compare"
    assert (await ada.ask("POST", path, {"draft": "Hello"}))["rows"]
    ended = await page.say("And now?")
    assert ended["state"] == "complete"
    assert preview["decision"]["verdicts"]
    receipt: dict[str, Any] = ended["receipt"]
    return receipt


def basis_of(receipt: dict[str, Any], part: str) -> str:
    [found] = [one for one in receipt["parts"] if one["name"] == part]
    return str(found["basis"])


async def test_a_restored_conversation_of_blanks_is_estimated_and_goes_on(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await restored(ada, BLANKS, "ok", "Hello", BLANKS)
        receipt = await check(ada, page)
        assert basis_of(receipt, "history") == "estimated"
        assert basis_of(receipt, "current") == "counted"


@pytest.mark.parametrize("run", ["a", "^", "\t", "\n"])
async def test_so_is_any_other_endless_run(run: str, server: Server) -> None:
    async with Person(server.url) as ada:
        await check(ada, await restored(ada, "Hello", "ok" + run * 1_000_000 + "ok"))


async def test_a_message_of_blanks_is_answered_and_counted_exactly(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        ended = await page.say(TYPED)
        assert ended["state"] == "complete"
        assert basis_of(ended["receipt"], "current") == "counted"
        await check(ada, page)


async def test_an_answer_of_a_million_blanks_ends(server: Server, fake: FakeOpenAI) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        fake.script.append(f"[[text={BLANKS}]]")
        async with asyncio.timeout(60):
            ended = await page.say("blanks")
        assert (ended["state"], ended["message"]["finish_reason"]) == ("complete", "length")
        assert ended["message"]["content"] == BLANKS[: 2_048 * LONGEST_TOKEN]
        await check(ada, page)
