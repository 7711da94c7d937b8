"""What a running server would send: chats imported, each question a draft whose preview is read.

The file of an import holds no times, so the server finds no sessions and no days in these chats.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp

from chatsite.history.evidence import read_layout
from tests.bench.dialogues import Dialogue
from tests.bench.processes import application, fake_provider
from tests.bench.sent.bill import Bill, SentRequest
from tests.bench.sent.senders import whole_messages
from tests.person import Person
from tests.running import ROOT

AGENT = "demo"
# A model whose tokens are counted by o200k_base, as in the replays; others are estimated.
MODEL = "gpt-5.6-luna"


@asynccontextmanager
async def person_at_server(*, vectors: bool, root: Path = ROOT) -> AsyncIterator[Person]:
    """A person at a fresh server, whose searches use sentence vectors only with `vectors`."""
    with TemporaryDirectory() as folder, fake_provider() as provider:
        environment = {"CHAT_MODEL": MODEL}
        if not vectors:
            environment["PYTHONPATH"] = _hiding_vectors(Path(folder))
        with application(provider, root=root, **environment) as server:
            async with Person(server.url) as person:
                yield person


def _hiding_vectors(folder: Path) -> str:
    """A path with an empty package in the place of the vectors': the server finds no weights."""
    package = folder / "wordllama"
    package.mkdir()
    (package / "__init__.py").touch()
    return str(folder)


async def ask_all(
    person: Person, found: Iterable[Dialogue], queries: Mapping[str, str], kinds: frozenset[str]
) -> dict[str, Bill]:
    """A bill for each query string, with the questions of these kinds (all where it is empty).

    Its requests are the questions', from a cold cache.
    """
    bills = {name: Bill() for name in queries}
    for dialogue in found:
        conversation = await _import(person, dialogue)
        for name, query in queries.items():
            await _ask_one(person, dialogue, conversation, query, kinds, bills[name])
    return bills


async def _ask_one(
    person: Person,
    dialogue: Dialogue,
    conversation: str,
    query: str,
    kinds: frozenset[str],
    bill: Bill,
) -> None:
    page = await person.page(conversation, query=query)
    for question in dialogue.questions:
        if kinds and question.kind not in kinds:
            continue
        preview = await page.preview(question.text)
        decision = preview["decision"]
        if decision is None:
            bill.refused += 1
            continue
        whole = whole_messages(read_layout(decision["layout"]))
        bill.pay(SentRequest(decision["prompt_tokens"], 0, whole), in_time=False)
        bill.ask(frozenset(place + 1 for place in question.evidence), whole)
    await page.close()


async def _import(person: Person, dialogue: Dialogue) -> str:
    """Import the dialogue as a chat of its first author; the conversation's id."""
    form = aiohttp.FormData()
    form.add_field("file", _file(dialogue), filename="chat.json", content_type="application/json")
    url = f"{person.url}/conversations/import"
    async with person.http.post(url, data=form, headers=person.headers()) as answer:
        text = await answer.text()
    if answer.status not in (200, 202):
        raise RuntimeError(f"{dialogue.name} wasn't imported: {answer.status} {text[:500]}")
    found: Mapping[str, Any] = json.loads(text)
    while not found.get("conversation"):  # A busy machine takes longer than an answer may.
        await asyncio.sleep(0.2)
        found = (await person.ask("GET", "/conversations/import/progress"))["import"]
        if found["problem"]:
            raise RuntimeError(f"{dialogue.name} wasn't imported: {found['problem']}")
    return str(found["conversation"]["id"])


def _file(dialogue: Dialogue) -> bytes:
    roles = dict(zip(dialogue.authors, ("user", "assistant"), strict=True))
    messages: Sequence[Mapping[str, str]] = [
        {"role": roles[said.author], "content": said.text} for said in dialogue.spoken
    ]
    return json.dumps(
        {
            "format": "chatsite.conversation",
            "version": 1,
            "agent": AGENT,
            "title": dialogue.name,
            "messages": messages,
        }
    ).encode()
