"""The cache as the page sees it: from sending to the first piece of the answer."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.bench import talk
from tests.bench.processes import application
from tests.person import Page, Person
from tests.running import ROOT, Server
from tests.story.agents import brief_demo

# Enough to read 3,000 tokens on a busy machine.
PATIENCE = 300.0
AGENT = "demo"
ANSWER_TOKENS = 8
# Four messages are cut out of the middle.
CUT = 4
CASES = ("anew", "kept", "trimmed ahead", "cut", "restored")


@dataclass(frozen=True, slots=True)
class FirstPiece:
    """Milliseconds from sending to the first piece; the prompt's tokens and those of them that
    the engine reused, as its receipt says, and where these came from."""

    millis: float
    prompt: int
    reused: int
    origin: str


Cases = dict[str, list[FirstPiece]]


async def measure_page(turns: tuple[int, ...], *, times: int) -> dict[int, Cases]:
    """The first pieces by turn and case. The conversations are imported from files, so that the
    engine has never read them; each is then continued, loses four messages, and is continued again
    after a restart of the server. Empty if there is no engine; the reason is printed."""
    found: dict[int, Cases] = {turn: {case: [] for case in CASES} for turn in turns}
    with TemporaryDirectory() as folder, application(root=ROOT, **_environment(folder)) as server:
        async with Person(server.url) as ada:
            if skipped := await _reason_to_skip(ada):
                print(f"Skipped at the page: {skipped}\n")
                return {}
            talks = [
                (turn, number, await _turns(ada, turn, number, found[turn]))
                for number in range(times)
                for turn in turns
            ]
            _restart(server)
            await _reason_to_skip(ada)
            for turn, number, conversation in talks:
                page = await ada.page(conversation)
                text = talk.question(turn + 3, number=number)
                found[turn]["restored"].append(await _first_piece(page, text))
                await page.close()
    return found


async def _turns(ada: Person, turn: int, number: int, cases: Cases) -> str:
    """Measure the cases before the restart; returns the conversation's id."""
    file = {
        "format": "chatsite.conversation",
        "version": 1,
        "agent": AGENT,
        "title": "bench",
        "messages": [
            {"role": role, "content": text} for role, text in talk.talk(turn - 1, number=number)
        ],
    }
    view = await ada.ask("POST", "/conversations/import", file)
    page = await ada.page(view["conversation"]["id"])
    middle = turn - 1 + (turn - 1) % 2
    unwanted = page.snapshot["messages"][-middle:][: 2 * CUT]
    questions = [talk.question(turn - 1 + later, number=number) for later in range(4)]
    cases["anew"].append(await _first_piece(page, questions[0]))
    cases["kept"].append(await _first_piece(page, questions[1]))
    cells_before = await ada.cells(page.conversation)
    await ada.leave_out(unwanted[CUT:])
    await ada.fewer_cells(page.conversation, cells_before)
    cases["trimmed ahead"].append(await _first_piece(page, questions[2]))
    await ada.leave_out(unwanted[:CUT])
    cases["cut"].append(await _first_piece(page, questions[3]))
    await page.close()
    return page.conversation


async def _first_piece(page: Page, text: str) -> FirstPiece:
    began = time.perf_counter()
    await page.send(text)
    await _until(page, "delta")
    millis = (time.perf_counter() - began) * 1000
    ended = await _until(page, "turn_ended")
    if ended["state"] != "complete":
        raise RuntimeError(f"a turn ended {ended['state']}: {ended['problem']}")
    cache = ended["receipt"]["cache"]
    return FirstPiece(
        millis, cache["reused"] + cache["evaluated"], cache["reused"], cache["origin"]
    )


async def _until(page: Page, type: str) -> dict[str, Any]:
    while True:
        message = await asyncio.wait_for(page.socket.receive(), PATIENCE)
        event: dict[str, Any] = json.loads(message.data)
        if event["type"] == type:
            return event
        if event["type"] in ("refused", "turn_ended"):
            raise RuntimeError(f"no {type} but {event}")


async def _reason_to_skip(ada: Person) -> str:
    """Wait for the engine; returns why nothing can be measured, or ""."""
    page = await ada.page()
    if page.snapshot["agent"]["provider"]["kind"] != "embedded":
        return "the embedded engine isn't installed here."
    engine = page.snapshot["engine"]
    while engine["state"] == "loading":
        engine = await page.until("engine")
    await page.close()
    return "" if engine["state"] == "ready" else str(engine["sentence"])


def _restart(server: Server) -> None:
    """Restart as an administrator would; every slot has been saved before."""
    server.stop()
    server.start()


def _environment(folder: str) -> dict[str, str]:
    """An environment with short answers, since only their beginning is measured."""
    agents = brief_demo(Path(folder), tokens=ANSWER_TOKENS)
    return {
        "CHAT_ENGINE": "auto",
        "AGENTS_DIR": str(agents),
        "HISTORY_POLICY": "all",
        "FIRST_TOKEN_SECONDS": f"{PATIENCE:.0f}",
        "KV_SESSIONS_MB": "4096",
    }
