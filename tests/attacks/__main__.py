"""Attack a fresh server, and measure somebody else before and meanwhile: `make attacks`.

Each attack has a server of its own with the built-in limits. Somebody else, in another process and
at another address, opens the page and has a turn again and again. The table says how much longer
that takes meanwhile, what failed for them, how much memory the server takes more, and what the
attack reached that it mustn't.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import django
import psutil

from tests.attacks import hostile
from tests.attacks.all_attacks import ATTACKS
from tests.attacks.kit import Attack, Target
from tests.attacks.outsider import Round, outsider
from tests.bench.figures import percentile, table
from tests.bench.processes import fake_provider
from tests.running import ROOT, Server

BEFORE_SECONDS = 5.0
AFTER_SECONDS = 2.0
ATTACK_SECONDS = 60.0
MIB = 1024 * 1024


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    names = ", ".join(attack.name for attack in ATTACKS)
    parser.add_argument("names", nargs="*", metavar="name", help=f"{names}, hostile")
    parser.add_argument("--root", type=Path, default=ROOT, help="another checkout to attack")
    chosen = parser.parse_args()
    rows = []
    for attack in ATTACKS:
        if not chosen.names or attack.name in chosen.names:
            try:
                rows.append(asyncio.run(measure(attack, chosen.root)))
            except FileNotFoundError as error:  # dovecot
                rows.append([attack.what, *[""] * 5, f"needs {error.filename}", ""])
            print(table(HEAD, rows[-1:]), flush=True)
    print(table(HEAD, rows))
    if not chosen.names or "hostile" in chosen.names:
        asyncio.run(hostile_values(chosen.root))


HEAD = (
    "attack",
    "page + turn before, p95 s",
    "meanwhile, p95 s",
    "worst s",
    "failed",
    "MB",
    "told",
    "reached",
)


async def measure(attack: Attack, root: Path) -> list[str]:
    with (
        fake_provider() as provider,
        attack.around() as surroundings,
        tempfile.TemporaryDirectory(prefix="chatsite-attack-") as folder,
        _server(Path(folder), root, provider, **surroundings.environment) as server,
        outsider(server.url) as other,
    ):
        process = _process(server)
        await asyncio.sleep(BEFORE_SECONDS)
        began, memory = time.monotonic(), process.memory_info().rss
        target = Target(server, surroundings=surroundings)
        peak = asyncio.create_task(_peak(process))
        try:
            async with asyncio.timeout(ATTACK_SECONDS):
                await attack.run(target)
        except TimeoutError:
            target.saw(f"still going on after {ATTACK_SECONDS:.0f} s")
        except Exception as error:
            target.saw(f"the attack broke off: {type(error).__name__}: {error}"[:120])
        await asyncio.sleep(AFTER_SECONDS)
        ended = time.monotonic()
        peak.cancel()
        most = max(await _result(peak), process.memory_info().rss)
    before, meanwhile = other.between(0, began), other.between(began, ended + 60)
    return [
        attack.what,
        _p95(before),
        _p95(meanwhile),
        f"{max((one.page + one.turn for one in meanwhile), default=0):.2f}",
        str(sum(bool(one.fault) for one in meanwhile)),
        f"+{(most - memory) / MIB:.0f}",
        ", ".join(f"{count} {what}" for what, count in target.told.most_common(4)),
        "; ".join(target.breaches) or "nothing",
    ]


async def hostile_values(root: Path) -> None:
    """Wide limits: what is tried here is each field, not how much is allowed."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()  # for the table of routes
    with (
        fake_provider() as provider,
        tempfile.TemporaryDirectory(prefix="chatsite-attack-") as folder,
        _server(Path(folder), root, provider, LIMITS_FACTOR="1000") as server,
    ):
        target = Target(server)
        memory = _process(server).memory_info().rss
        await hostile.frames(target, count=6_000)
        await hostile.requests(target, count=10_000)
        grown = (_process(server).memory_info().rss - memory) / MIB
        print(f"6,000 hostile frames and 10,000 hostile requests: +{grown:.0f} MB, tracebacks in")
        print(f"the log: {server.log.count('Traceback')}; answers: {dict(target.told)}")


def _server(folder: Path, root: Path, provider: str, **environment: str) -> Server:
    limits = {"LIMITS_FACTOR": "1", "PEOPLE_PER_ADDRESS": "10", "SIGNUP": "true"}
    model = {"OPENAI_API_KEY": "sk-attack", "OPENAI_BASE_URL": provider}
    return Server(folder, flags=(), root=root, **(limits | model | environment))


def _process(server: Server) -> psutil.Process:
    assert server.process is not None
    return psutil.Process(server.process.pid)


async def _peak(process: psutil.Process) -> int:
    """The most memory that was seen, until it is cancelled."""
    most = 0
    try:
        while True:
            most = max(most, process.memory_info().rss)
            await asyncio.sleep(0.1)
    except asyncio.CancelledError:
        return most


async def _result(task: asyncio.Task[int]) -> int:
    return await task


def _p95(rounds: Sequence[Round]) -> str:
    whole = [one.page + one.turn for one in rounds if not one.fault]
    return f"{percentile(whole, 95):.2f} of {len(whole)}" if whole else "none"


if __name__ == "__main__":
    main()
