"""Random words in every place where a chat can leave one, and the search for them in all files."""

from __future__ import annotations

import asyncio
import random
import string
import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.browser.chat import answer
from tests.fakes.openai_server import FakeOpenAI
from tests.person import Page, Person
from tests.web.browser_requests import attach_file

PATIENCE = 30.0


def word() -> str:
    return "zq" + "".join(random.choices(string.ascii_lowercase, k=14))


class Planted:
    """`stored` are the words that are kept while the chat is, by their place; `never` are words
    that aren't stored at all."""

    def __init__(self) -> None:
        self.stored: dict[str, str] = {}
        self.never: dict[str, str] = {}

    def put(self, place: str) -> str:
        return self.stored.setdefault(place, word())

    def try_out(self, place: str) -> str:
        return self.never.setdefault(place, word())


def found(words: Iterable[str], *folders: Path) -> dict[str, list[str]]:
    """In which files each of the words is, those that are in none left out."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    contents = {path: _bytes(path).lower() for path in files}
    where = {
        one: [path.name for path, content in contents.items() if one.encode() in content]
        for one in words
    }
    return {one: names for one, names in where.items() if names}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


async def until_gone(planted: Planted, *folders: Path, patience: float = PATIENCE) -> None:
    """Wait until none of the words is in any byte; say which were left, and where."""
    words = {one: place for place, one in {**planted.stored, **planted.never}.items()}
    deadline = time.monotonic() + patience
    while left := await asyncio.to_thread(found, words, *folders):
        assert time.monotonic() < deadline, {words[one]: names for one, names in left.items()}
        await asyncio.sleep(0.1)


async def talk(
    ada: Person, fake: FakeOpenAI, planted: Planted, *, exchanges: int = 20, **fields: Any
) -> Page:
    """A chat with its words in messages, answers, thoughts, calls, files, versions, a summary."""
    page = await ada.page(agent="archivist", query="historyPolicy=relevant&historyTokens=6000")
    files = {"X-Temporary-Chat": page.conversation} if fields.get("temporary") else {}
    sent = await attach_file(
        ada,
        f"A list with {planted.put('content of a file')} in it.".encode(),
        name=f"{planted.put('name of a file')}.txt",
        **files,
    )
    arguments = f'{{"query": "{planted.put("argument of a call")}"}}'
    fake.script.append(
        f"[[calls=search_history:{arguments};think={planted.put('thought')} so;before=Look]]"
    )
    fake.script.append(answer(f"Found {planted.put('answer')}."))
    title = f"About {planted.put('title')} {planted.put('question')}"
    await page.say(title, attachments=[sent["id"]], **fields)
    for number in range(exchanges):
        long = " and the berth of the quay" * random.choice((1, 4, 30, 200))
        fake.script.append(answer(f"Berth {planted.put(f'answer {number}')}{long}."))
        await page.say(f"Note {planted.put(f'question {number}')}{long}?", **fields)
    path = f"/conversations/{page.conversation}"
    await ada.ask("PATCH", path, {"title": f"Called {planted.put('new title')}"})
    plan = await ada.ask("POST", f"{path}/compact/plan", {})
    summary = f"In short {planted.put('summary')}."
    wanted = {"text": summary, "version": plan["version"], "state": plan["state"]}
    await ada.ask("POST", f"{path}/compact", wanted)
    await page.until("summary_changed")
    messages = (await ada.page(page.conversation)).snapshot["messages"]
    asked = [one for one in messages if one["role"] == "user"]
    fake.script.append(answer(f"Anew {planted.put('answer to an edit')}."))
    await page.command(
        "edit",
        agent=page.agent,
        client_id=str(uuid.uuid4()),
        message=asked[-1]["id"],
        text=f"Changed {planted.put('edited question')}",
    )
    await page.until("turn_ended")
    await ada.ask("DELETE", f"/messages/{asked[-2]['id']}")
    await page.preview(f"Typed {planted.try_out('draft')}")
    await ada.ask("GET", f"/conversations/search?q={planted.try_out('search')}")
    unsent = f"Kept back {planted.put('content of an unsent file')}."
    name = f"{planted.put('name of an unsent file')}.txt"
    await attach_file(ada, unsent.encode(), name=name, **files)
    return page
