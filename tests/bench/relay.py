"""Server CPU of a turn and of each relayed token, side by side, and the number of lost tokens."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack

from tests.bench.figures import Options, Row, verdict
from tests.bench.people import Ask, TimedAnswer, all_ask, question
from tests.bench.processes import cpu_seconds, fake_provider
from tests.bench.sides import BEFORE, CHAINLIT, NOW, RELAY, Side, compared, sides, turned

USERS = 50
TOKENS = 200
# Turns that everybody takes without a pause, so often in a pass.
TURNS, CHANGES = 2, 4
SETTLE_SECONDS = 1.0
# The highest ratios: of a turn with one token to the version before, of a relayed token with its
# turn to the bare relay.
TURN, TOKEN = 0.55, 1.2

Found = dict[str, list[float]]


async def run(options: Options) -> list[Row]:
    print(
        f"Turns: {USERS} people take {TURNS * CHANGES} each with one token as the answer, without\n"
        "a pause; what a server does in the second after them counts, too.\n"
        f"Tokens: {USERS} people get {TOKENS} each at 50 a second, starts spread over one second;\n"
        "the CPU includes the turn's. Clients offer compression as Chromium does, or don't (plain)."
        "\nCPU is the server process's and its children's, without the provider's and clients'.\n"
    )
    found: dict[str, Found] = {what: defaultdict(list) for what in ("turn", "token", "plain")}
    wrong: dict[str, int] = defaultdict(int)
    with fake_provider() as provider:
        async with sides(options, provider) as all_sides:
            for _ in range(options.times(7, 3)):
                await _turns(all_sides, found["turn"], wrong)
            for what, passes in (
                ("token", options.times(7, 1)),
                ("plain", 0 if options.quick else 3),
            ):
                for number in range(passes):
                    for side in turned(all_sides, number):
                        if what == "token" or side.name != CHAINLIT:
                            found[what][side.name].append(await _tokens(side, what, wrong))
    return _rows(found, wrong)


async def _turns(all_sides: Sequence[Side], found: Found, wrong: dict[str, int]) -> None:
    """Milliseconds of CPU a turn, with what a server puts off until after it. The sides take turns
    after every second one of everybody, so that other work on the machine slows all alike."""

    async def many(ask: Ask) -> list[TimedAnswer]:
        return [await ask(question(tokens=1, rate=0, first=0.0)) for _ in range(TURNS)]

    async with AsyncExitStack() as stack:
        people = {
            side.name: await stack.enter_async_context(side.people(USERS)) for side in all_sides
        }
        await asyncio.sleep(SETTLE_SECONDS)
        before = {side.name: cpu_seconds(side.pid) for side in all_sides}
        for number in range(CHANGES):
            for side in turned(all_sides, number):
                answers = await asyncio.gather(*map(many, people[side.name]))
                wrong[side.name] += sum(_wrong(person, 1) for person in answers)
        await asyncio.sleep(SETTLE_SECONDS)
        for side in all_sides:
            used = cpu_seconds(side.pid) - before[side.name]
            found[side.name].append(used * 1e3 / (USERS * TURNS * CHANGES))


async def _tokens(side: Side, what: str, wrong: dict[str, int]) -> float:
    """Microseconds of CPU a token."""
    async with side.people(USERS, deflate=what != "plain") as asks:
        before = cpu_seconds(side.pid)
        answers = await all_ask(asks, question(tokens=TOKENS), seconds=1.0)
        used = cpu_seconds(side.pid) - before
    wrong[side.name] += _wrong(answers, TOKENS)
    return used * 1e6 / (USERS * TOKENS)


def _wrong(answers: Sequence[TimedAnswer], tokens: int) -> int:
    return sum(one.wrong(tokens) for one in answers)


def _rows(found: dict[str, Found], wrong: dict[str, int]) -> list[Row]:
    turn = f"server CPU a turn with one token, {USERS} people without a pause"
    token = f"server CPU a relayed token with its turn, {USERS} users"
    further = {
        name: [
            (token * TOKENS - turn * 1e3) / (TOKENS - 1)
            for token, turn in zip(tokens, found["turn"][name], strict=False)
        ]
        for name, tokens in found["token"].items()
    }
    lost = {name: str(number) for name, number in wrong.items() if name != NOW}
    rows = [
        compared(turn, found["turn"], unit="ms", digits=2, against=BEFORE, most=TURN),
        compared(token, found["token"], unit="us", against=RELAY, most=TOKEN),
    ]
    if found["plain"]:
        plain = compared(f"{token}, plain", found["plain"], unit="us", against=RELAY, most=TOKEN)
        rows.append(plain)
    return [
        *rows,
        compared("server CPU a further token", further, unit="us", against=RELAY),
        Row(
            what="tokens lost or doubled",
            baseline="; ".join(f"{name} {number}" for name, number in lost.items()),
            ours=str(wrong[NOW]),
            target=verdict("0", wrong[NOW] == 0),
        ),
    ]
