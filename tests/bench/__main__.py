"""`make bench`: measure, and print everything against a baseline of the same run.

It is no test: it ends with 0 whatever the figures are, and with 1 only where something broke.
Names of benches choose some of them.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
import traceback
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from chatsite.process_limits import raise_open_files
from tests.bench import (
    arrival,
    cache,
    database_turn,
    decisions,
    first_token,
    first_word,
    following,
    growth,
    importing,
    instructions,
    listing,
    long_talks,
    memory,
    owners,
    pages,
    ranking,
    reading,
    recall,
    relay,
    searching,
    servers,
    starts,
    tool_heavy,
    wire,
)
from tests.bench.dialogues import SOURCES
from tests.bench.figures import Options, Row, machine, summary
from tests.bench.sent import as_sent, at_server

Bench = Callable[[Options], Coroutine[Any, Any, list[Row]]]

BENCHES: Mapping[str, Bench] = {
    "decisions": decisions.run,
    "first_token": first_token.run,
    "relay": relay.run,
    "owners": owners.run,
    "wire": wire.run,
    "starts": starts.run,
    "pages": pages.run,
    "long_talks": long_talks.run,
    "arrival": arrival.run,
    "reading": reading.run,
    "first_word": first_word.run,
    "memory": memory.run,
    "growth": growth.run,
    "importing": importing.run,
    "listing": listing.run,
    "searching": searching.run,
    "servers": servers.run,
    "database_turn": database_turn.run,
    "following": following.run,
    "cache": cache.run,
    "instructions": instructions.run,
    "recall": recall.run,
    "ranking": ranking.run,
    "sent": as_sent.run,
    "served": at_server.run,
    "tool_heavy": tool_heavy.run,
}
# What decides on a change of speed: every side in one run.
VERSIONS = ("relay", "owners", "first_token", "wire", "starts", "pages")
GROUPS: Mapping[str, tuple[str, ...]] = {
    "versions": VERSIONS,
    "cluster": ("servers", "database_turn", "following", "searching"),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="name",
        help="; ".join(
            [", ".join(BENCHES), *(f"{name}: {', '.join(all)}" for name, all in GROUPS.items())]
        ),
    )
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    for name, source in SOURCES.items():
        parser.add_argument(
            f"--{name}",
            type=Path,
            default=os.environ.get(name.upper()) or None,
            metavar="FILE",
            help=f"{source.where}; also: {name.upper()}. Without it nothing is measured on it",
        )
    parser.add_argument(
        "--before",
        type=Path,
        help="a checkout of another version, measured beside this one",
    )
    parser.add_argument(
        "--chainlit",
        type=Path,
        metavar="PYTHON",
        help="an interpreter that has Chainlit 2 and openai, to measure Chainlit, too",
    )
    arguments = parser.parse_args()
    names = [one for name in arguments.names for one in GROUPS.get(name, (name,))]
    unknown = set(names) - set(BENCHES)
    if unknown:
        parser.error(f"no such bench: {', '.join(sorted(unknown))}. There are {', '.join(BENCHES)}")
    raise_open_files()
    files = {name: path for name in SOURCES if (path := getattr(arguments, name))}
    options = Options(
        quick=arguments.quick, data=files, before=arguments.before, chainlit=arguments.chainlit
    )
    print(f"{machine()}{'; quick' if options.quick else ''}")
    rows: list[Row] = []
    broken = False
    for name in names or BENCHES:
        print(f"\n## {name}\n", flush=True)
        began = time.monotonic()
        try:
            rows += asyncio.run(BENCHES[name](options))
        except Exception:
            broken = True
            traceback.print_exc(file=sys.stdout)
        print(f"\n({time.monotonic() - began:.0f} s)", flush=True)
    print(f"\n## Summary\n\n{summary(rows)}\n\n{machine()}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
