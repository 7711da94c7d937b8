"""What a model reads is the same whatever language the person reads."""

from __future__ import annotations

import re
import shutil
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.person import Person
from tests.pseudo_server import write_pseudo_catalogues
from tests.running import Server
from tests.story.agents import write_agent
from tests.story.conftest import provider_environment

pytestmark = pytest.mark.skipif(not shutil.which("msgfmt"), reason="there is no GNU gettext here")
# A result, an argument that can't be used, a call that isn't JSON, and no tool of that name.
CALLS = 'calculator:{"expression": "6 * 7"}|calculator:{"expression": "1 / 0"}|clock:[1|gone:{}'
FILE = "low water at ten\n" * 40
QUERIES = (
    "historyPolicy=relevant&historyTokens=700",
    "historyPolicy=summary&historyTokens=700",
    "historyPolicy=relevant&historySelector=triage",
    "historyPolicy=lastN&historyLength=2",
)
WORDS = "They talked about the tides at the old harbour, hour by hour. " * 6
TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?|\d+ ms")
LATER = re.compile(r"\\n\\nUser: Go on\..*?(?=\\n\\nSummarise)")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


async def requests_made(folder: Path, environment: dict[str, Any]) -> list[str]:
    """What the model got in a talk with everything in it that Chatsite writes for a model."""
    chat = {"historyPolicy": "summary", "historySelector": "triage"}
    write_agent(folder / "agents", "keeper", chat, nodes=["llm.openai", "calculator", "clock"])
    with FakeOpenAI() as fake:
        given = provider_environment(fake, AGENTS_DIR=str(folder / "agents"), FAST_MODEL="tiny")
        with Server(folder / "var", **given, **environment) as server:
            async with Person(server.url) as ada:
                page = await ada.page(agent="keeper", query=QUERIES[3])
                await page.say(f"How much? [[before=I look.;calls={CALLS};rounds=1;text=42.]]")
                await page.say("What is this?", attachments=[await uploaded(ada)])
                for number in range(8):
                    await page.say(f"And at {number}? [[text={WORDS}]]")
                ended = await page.say("Go on. [[mode=length;tokens=3]]")
                fields = {"agent": "keeper", "client_id": str(uuid.uuid4())}
                await page.command("continue", message=ended["message"]["id"], **fields)
                await page.until("turn_ended")
                for query in QUERIES:
                    page.query = query
                    await page.say("When was the harbour old? And what was it all about?")
            server.stop()
        # A summary is asked for beside the next answer, so the order isn't always the same.
        return sorted(comparable(body) for body in fake.requests)


async def uploaded(ada: Person) -> str:
    """A text, which this model gets as text."""
    headers = {**ada.headers(), "X-File-Name": "tides.txt"}
    async with ada.http.post(f"{ada.url}/files", data=FILE.encode(), headers=headers) as answer:
        found = await answer.json()
        assert answer.status == 200, found
        return str(found["attachment"]["id"])


def comparable(body: Any) -> str:
    """A request without what differs from run to run: ids, the times that are quoted, and the turn
    before the last summary, which is part of it only if the summary comes after that turn."""
    shown = {name: body.get(name) for name in ("messages", "tools", "model")}
    return LATER.sub("", TIME.sub("TIME", UUID.sub("ID", str(shown))))


async def test_the_same_requests_are_made_for_readers_of_every_language(tmp_path: Path) -> None:
    english = await requests_made(tmp_path / "english", {})
    other = write_pseudo_catalogues(tmp_path / "locale")
    assert await requests_made(tmp_path / "other", other) == english
    assert len(english) >= 14
    assert not [body for body in english if "⟦" in body]
