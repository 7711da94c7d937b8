"""One of several servers, for a race: asks with 25 tasks and prints how often each person was let
through. `python -m tests.limits.asker "tries of the test" address person...`"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter

import django

django.setup()

from chatsite import storage  # noqa: E402
from chatsite.accounts import shared_limits  # noqa: E402
from chatsite.limits.limiter import Limiter  # noqa: E402
from chatsite.limits.table import Rate  # noqa: E402

TASKS = 25
BURST = 120
EACH = 12


async def ask(what: str, address: str, people: list[str]) -> Counter[str]:
    rate = Rate(what, BURST, 60, shared=True)
    limiter = Limiter(now=time.monotonic, people_per_address=1, shared=shared_limits.take)
    passed: Counter[str] = Counter()

    async def task(number: int) -> None:
        for _ in range(EACH):
            # The answer isn't kept: what this process knows would stop it before the database.
            limiter._earned.clear()
            person = people[number % len(people)]
            wait = await limiter.wait(rate, person=person, address=address)
            passed[person] += not wait

    await limiter.wait(rate, person=f"warm {address}")  # opens the connections
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await asyncio.gather(*[task(number) for number in range(TASKS)])
    return passed


if __name__ == "__main__":
    print(json.dumps(asyncio.run(ask(sys.argv[1], sys.argv[2], sys.argv[3:]))), flush=True)
    storage.close()
