"""Chats of another program: what others notice while 100,000 messages come in, and what reading a
file of up to 1 GB takes."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.bench.figures import Options, Row, percentile, spread, table, verdict
from tests.bench.people import Ask, page_asker, question
from tests.bench.processes import application, fake_provider, server_pid
from tests.conversations.imports.exports import many, zipped
from tests.person import Person
from tests.running import ROOT
from tests.story.test_importing import PROGRESS
from tests.story.test_importing_others import bring

EACH = 50  # messages of a chat
PROMPT = question(tokens=20, rate=0, first=0.0)
# First tokens of others during an import, in milliseconds; none is worth less than a blink.
MOST_LATER = 150.0
# A file ten times as large may take this much more memory.
MOST_MEMORY = 1.2


@dataclass(frozen=True, slots=True)
class Seen:
    """What somebody else waits for during an import, and how long the import takes."""

    rest: list[float]
    meanwhile: list[float]
    seconds: float
    accepted: float
    memory: int


@dataclass(frozen=True, slots=True)
class Reading:
    """Of one file: bytes, and of the process that reads it seconds and the most memory."""

    size: int
    seconds: float
    memory: int


async def run(options: Options) -> list[Row]:
    chats = 200 if options.quick else 2_000
    small, large = (10, 100) if options.quick else (100, 1_000)
    print(
        f"Ada brings {chats * EACH:,} messages of ChatGPT along while Bob asks one short question\n"
        "after the other, then the process that reads such files is given two of them.\n"
    )
    seen = await _beside(chats)
    readings = [_read(megabytes) for megabytes in (small, large)]
    print(
        table(
            ("file of", "seconds", "memory of its process"),
            [
                [f"{one.size / 1e6:,.0f} MB", f"{one.seconds:.1f}", f"{one.memory / 1e6:.0f} MB"]
                for one in readings
            ],
        )
    )
    return [_first_token(seen, chats), _import(seen, chats), _memory(*readings)]


# ---- beside others ------------------------------------------------------------------------------
async def _beside(chats: int) -> Seen:
    file = zipped({"conversations.json": many(chats, EACH)})
    with fake_provider() as provider, application(provider, LIMITS_FACTOR="50") as server:
        process = psutil.Process(server_pid(server))
        async with Person(server.url) as ada, Person(server.url) as bob:
            ask = page_asker(await bob.page())
            await _firsts(ask, 10)
            rest = await _firsts(ask, 100)
            memory = process.memory_info().rss
            began = time.monotonic()
            answer = await bring(ada, file)
            assert answer.status == 202, answer.text
            accepted = time.monotonic() - began
            meanwhile: list[float] = []
            while not (found := await _progress(ada)).get("report"):
                assert not found["problem"], found["problem"]
                meanwhile += await _firsts(ask, 5)
            seconds = time.monotonic() - began
            assert found["report"]["messages"] == chats * EACH, found["report"]
            grown = process.memory_info().rss - memory
    return Seen(rest, meanwhile, seconds, accepted, grown)


async def _firsts(ask: Ask, count: int) -> list[float]:
    return [(await ask(PROMPT)).first * 1000 for _ in range(count)]


async def _progress(person: Person) -> dict[str, Any]:
    found: dict[str, Any] = (await person.ask("GET", PROGRESS))["import"]
    # Ada's page asks as seldom.
    await asyncio.sleep(0.2)
    return found


# ---- a file alone -------------------------------------------------------------------------------
def _read(megabytes: int) -> Reading:
    with tempfile.TemporaryDirectory(prefix="chatsite-bench-") as folder:
        file = Path(folder) / "conversations.json"
        chats = many(100, 100)[1:-1]
        with file.open("wb") as out:
            out.write(b"[" + chats)
            while out.tell() < megabytes * 1e6:
                out.write(b"," + chats)
            out.write(b"]")
        began = time.monotonic()
        with file.open("rb") as given, (Path(folder) / "lines").open("wb") as lines:
            process = subprocess.Popen(
                [sys.executable, "-m", "chatsite.conversations.imports.conversion"],
                stdin=given,
                stdout=lines,
                cwd=ROOT,
            )
        memory = 0
        while process.poll() is None:
            memory = max(memory, _most_memory(process.pid))
            time.sleep(0.02)
        assert process.returncode == 0
        return Reading(file.stat().st_size, time.monotonic() - began, memory)


def _most_memory(pid: int) -> int:
    """Bytes so far; rusage would count the memory of the process that started this one."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text()
        if found := re.search(r"VmHWM:\s+(\d+) kB", status):
            return int(found[1]) * 1024
    return 0


# ---- output -------------------------------------------------------------------------------------
def _shown(times: list[float]) -> str:
    return " / ".join(f"{percentile(times, percent):.0f}" for percent in (50, 95, 99))


def _first_token(seen: Seen, chats: int) -> Row:
    later = percentile(seen.meanwhile, 95) - percentile(seen.rest, 95)
    return Row(
        what=f"somebody else's first token while {chats * EACH:,} messages are imported, "
        "p50 / p95 / p99",
        baseline=f"at rest {_shown(seen.rest)} ms",
        ours=f"{_shown(seen.meanwhile)} ms",
        target=verdict(f"p95 at most {MOST_LATER:.0f} ms later", later <= MOST_LATER),
    )


def _import(seen: Seen, chats: int) -> Row:
    return Row(
        what=f"that import, with Bob's {len(seen.meanwhile)} turns beside it",
        baseline=f"accepted after {seen.accepted:.1f} s",
        ours=f"{seen.seconds:.0f} s, {chats * EACH / seen.seconds:,.0f} messages/s; "
        f"the server grew by {seen.memory / 1e6:.0f} MB",
    )


def _memory(small: Reading, large: Reading) -> Row:
    return Row(
        what=f"memory of the process that reads a file of {large.size / 1e6:,.0f} MB",
        baseline=f"of {small.size / 1e6:,.0f} MB: {small.memory / 1e6:.0f} MB",
        ours=f"{large.memory / 1e6:.0f} MB in {large.seconds:.0f} s",
        ratio=spread([large.memory / small.memory], digits=2),
        target=verdict(f"at most {MOST_MEMORY}", large.memory <= MOST_MEMORY * small.memory),
    )
