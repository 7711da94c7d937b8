"""One run: people talk while things go wrong; then it gets quiet, and everything is compared."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.chaos.channels import Outside
from tests.cluster.chaos.checks import (
    Stored,
    wrong_messages,
    wrong_pages,
    wrong_servers,
    wrong_turns,
)
from tests.cluster.chaos.people import Talker
from tests.cluster.chaos.record import Record, now
from tests.cluster.chaos.site import SERVERS, Site, running_site
from tests.cluster.chaos.trouble import Trouble
from tests.cluster.chaos.watch import watch

PEOPLE = 30
QUIET_SECONDS = 120.0
HEARD_SECONDS = 30.0
# The last line of a traceback: the error's class.
_ERROR = re.compile(
    r"^([a-z_][\w.]*(?:Error|Exception|Timeout|Shutdown|Closed)\w*)\b", re.MULTILINE
)


@dataclass(frozen=True)
class Report:
    lines: list[str]
    wrong: list[str]

    def __str__(self) -> str:
        found = [f"WRONG: {one}" for one in self.wrong] or ["Nothing is missing, doubled or torn."]
        return "\n".join([*self.lines, *found])


async def run(folder: Path, *, seconds: float, seed: int) -> Report:
    """The choices come from the seed; what they meet also depends on the machine."""
    print(f"chaos of {seconds:.0f} s with seed {seed}, in {folder}", flush=True)
    with running_site(folder) as site:
        record = Record()
        people = [Talker(number, site.addresses, seed, record) for number in range(PEOPLE)]
        outside, trouble = Outside(site, seed), Trouble(site, people, seed, record)
        watching = asyncio.create_task(watch(site, record))
        try:
            for talker in people:
                await talker.come()
            until = now() + seconds
            async with asyncio.TaskGroup() as group:
                for talker in people:
                    group.create_task(talker.talk(until))
                group.create_task(outside.talk(until))
                group.create_task(trouble.make(until))
            wrong = await until_quiet(site, people, outside.all_answered)
            stored = Stored(site)
            wrong += [*record.wrong, *wrong_turns(stored), *wrong_messages(stored, record)]
            wrong += [*wrong_servers(stored, site), *outside.wrong()]
            wrong += await still_wrong_pages(stored, site, people)
        finally:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
            for talker in people:
                await talker.go()
        lines = [f"trouble: {trouble.line()}", *record.lines(stored.answers), outside.line()]
        return Report([*lines, f"errors in the logs: {_errors(site)}"], wrong)


async def until_quiet(
    site: Site, people: list[Talker], all_answered: Callable[[], bool] = lambda: True
) -> list[str]:
    """Until everybody has got what they asked for, and every server is known to all."""
    deadline = now() + QUIET_SECONDS
    while True:
        calm = [await talker.settle() for talker in people]
        servers = site.rows("SELECT id FROM conversations_server")
        running = site.rows("SELECT id FROM conversations_turn WHERE state = 'running'")
        if all(calm) and all_answered() and len(servers) == SERVERS and not running:
            return []
        if now() > deadline:
            waiting = [talker.waits_for() for talker, is_calm in zip(people, calm, strict=True)]
            return [
                f"it didn't get quiet: {len(running)} answers run, {len(servers)} servers",
                *(one for one in waiting if one),
            ]
        await asyncio.sleep(0.5)


async def still_wrong_pages(stored: Stored, site: Site, people: list[Talker]) -> list[str]:
    """Pages that go on showing something else: of what one server missed it hears in seconds."""
    deadline = now() + HEARD_SECONDS
    wrong = await wrong_pages(stored, site, people)
    while wrong and now() < deadline:
        await asyncio.sleep(1)
        wrong = await wrong_pages(stored, site, people)
    return wrong


def _errors(site: Site) -> str:
    found: Counter[str] = Counter()
    for server in site.servers:
        found.update(_ERROR.findall(server.log))
    return ", ".join(f"{count} {name}" for name, count in found.most_common()) or "none"
