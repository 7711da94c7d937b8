"""Somebody else, in a process and at an address of their own: opens the page and has a turn, again
and again, and prints one line for each round."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from subprocess import PIPE, Popen
from threading import Thread

from tests.person import Person
from tests.running import ROOT

ADDRESS = "127.0.0.2"
PAUSE = 0.25


@dataclass(frozen=True, slots=True)
class Round:
    """Seconds for the page and for the turn; `fault` says what failed, "" for nothing."""

    at: float
    page: float = 0.0
    turn: float = 0.0
    fault: str = ""


@dataclass(slots=True)
class Outsider:
    """The rounds so far, as the process reports them."""

    rounds: list[Round] = field(default_factory=list)

    def between(self, began: float, ended: float) -> list[Round]:
        """The rounds that ended in this time of `time.monotonic`, or were still waiting then."""
        return [one for one in self.rounds if began <= one.at <= ended]


@contextmanager
def outsider(url: str) -> Iterator[Outsider]:
    """Runs until the block ends; the last round is waited for."""
    process = Popen(
        [sys.executable, "-m", "tests.attacks.outsider", url],
        cwd=ROOT,
        stdin=PIPE,
        stdout=PIPE,
        text=True,
    )
    found = Outsider()
    reader = Thread(target=_read, args=(process, found), daemon=True)
    reader.start()
    try:
        yield found
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)
        reader.join(5)


def _read(process: Popen[str], found: Outsider) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        found.rounds.append(Round(**json.loads(line)))
    process.stdout.close()


async def main(url: str) -> None:
    """Until standard input is closed."""
    over = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    while not over.done():
        began = time.monotonic()
        said: dict[str, object] = {}
        try:
            async with asyncio.timeout(60), Person(url, address=ADDRESS) as visitor:
                said["page"] = time.monotonic() - began
                page = await visitor.page()
                sent = time.monotonic()
                ended = await page.say("Hello [[tokens=5]]")
                said["turn"] = time.monotonic() - sent
                if ended["state"] != "complete":
                    said["fault"] = f"the turn ended as {ended['state']}"
        except (Exception, TimeoutError) as error:
            said["fault"] = f"{type(error).__name__}: {error}"[:200]
        print(json.dumps({"at": time.monotonic(), **said}), flush=True)
        await asyncio.sleep(PAUSE)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
