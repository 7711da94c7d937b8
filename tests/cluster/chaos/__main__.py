"""Chaos by hand: `python -m tests.cluster.chaos --seconds 600 --seed 7`."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import tempfile
from pathlib import Path

from tests.cluster.chaos.run import run


def main() -> int:
    parser = argparse.ArgumentParser(description="People talk to three servers while things fail.")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    asked = parser.parse_args()
    # Its logs stay, to be read.
    folder = Path(tempfile.mkdtemp(prefix="chatsite-chaos-"))
    report = asyncio.run(run(folder, seconds=asked.seconds, seed=asked.seed))
    print(report, flush=True)
    return 1 if report.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
