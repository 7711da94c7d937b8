"""Server CPU for each relayed token, against the bare relay, and the number of lost tokens."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from tests.bench.figures import Options, Row, ratios, spread, table
from tests.bench.people import (
    Ask,
    TimedAnswer,
    all_ask,
    page_asker,
    people_at,
    question,
    relay_asker,
    relay_sockets,
)
from tests.bench.processes import (
    application,
    bare_relay,
    cpu_seconds,
    fake_provider,
    server_pid,
)

USERS = 50
TOKENS = 200
# The highest ratio for a relayed token, and milliseconds of CPU for a turn of one token.
RATIO = 1.35
TURN = 6.0


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass through one server: microseconds of its CPU for a token, and the answers."""

    micros: float
    answers: list[TimedAnswer]

    @property
    def frames(self) -> float:
        return statistics.mean(len(answer.pieces) for answer in self.answers)

    def wrong(self, tokens: int) -> int:
        """Tokens lost or doubled, summed over the answers."""
        return sum(answer.wrong(tokens) for answer in self.answers)


async def run(options: Options) -> list[Row]:
    times = options.times(9, 3)
    print(
        f"{USERS} users x {TOKENS} tokens at 50 a second, starts spread over one second; the two\n"
        "servers take turns. CPU of the server process and its children, without the provider's\n"
        "and the clients'. The application's includes beginning, deciding, storing and ending.\n"
    )
    with (
        fake_provider() as provider,
        bare_relay(provider) as (url, relay_pid),
        application(provider) as server,
    ):
        pid = server_pid(server)
        await _through_relay(url, relay_pid, 5)  # opens connections and fills caches
        await _through_application(server.url, pid, 5)
        theirs, ours, their_turns, turns = [], [], [], []
        for _ in range(times):
            theirs.append(await _through_relay(url, relay_pid, TOKENS))
            ours.append(await _through_application(server.url, pid, TOKENS))
            their_turns.append(await _through_relay(url, relay_pid, 1))
            turns.append(await _through_application(server.url, pid, 1))
    _tables(theirs, ours, turns)
    return [*_rows(theirs, ours, turns), _turn_row(their_turns, turns)]


async def _through_relay(url: str, pid: int, tokens: int) -> Pass:
    async with relay_sockets(url, USERS) as sockets:
        return await _pass([relay_asker(socket) for socket in sockets], pid, tokens)


async def _through_application(url: str, pid: int, tokens: int) -> Pass:
    """Each question begins the conversation of another guest."""
    async with people_at(url, USERS) as pages:
        return await _pass([page_asker(page) for page in pages], pid, tokens)


async def _pass(asks: list[Ask], pid: int, tokens: int) -> Pass:
    before = cpu_seconds(pid)
    answers = await all_ask(asks, question(tokens=tokens), seconds=1.0)
    used = cpu_seconds(pid) - before
    return Pass(used * 1e6 / (len(asks) * tokens), answers)


def _tables(theirs: list[Pass], ours: list[Pass], short: list[Pass]) -> None:
    head = (
        "server",
        "passes",
        "CPU a token, us: median (min to max)",
        "frames an answer",
        "tokens lost or doubled",
    )
    sides = (("bare relay", theirs, TOKENS), ("application", ours, TOKENS))
    lines = [
        [
            name,
            str(len(passes)),
            spread([one.micros for one in passes]),
            f"{statistics.median(one.frames for one in passes):.0f}",
            str(sum(one.wrong(tokens) for one in passes)),
        ]
        for name, passes, tokens in sides
    ]
    print(table(head, lines))
    fixed = [one.micros / 1000 for one in short]
    marginal = [
        (long.micros * TOKENS - brief.micros) / (TOKENS - 1)
        for long, brief in zip(ours, short, strict=True)
    ]
    print(
        f"\nOf the application's: a whole turn with an answer of one token {spread(fixed)} ms,\n"
        f"every further token {spread(marginal)} us."
    )


def _rows(theirs: list[Pass], ours: list[Pass], short: list[Pass]) -> list[Row]:
    mine = [one.micros for one in ours]
    base = [one.micros for one in theirs]
    found = ratios(mine, base)
    wrong = sum(one.wrong(TOKENS) for one in ours) + sum(one.wrong(1) for one in short)
    return [
        Row(
            what=f"server CPU a relayed token, {USERS} users",
            baseline=f"{spread(base, digits=0)} us",
            ours=f"{spread(mine, digits=0)} us",
            ratio=spread(found, digits=2),
            target=f"ratio at most {RATIO}: {_verdict(statistics.median(found) <= RATIO)}",
        ),
        Row(
            what="tokens lost or doubled",
            baseline=str(sum(one.wrong(TOKENS) for one in theirs)),
            ours=str(wrong),
            target="0",
        ),
    ]


def _turn_row(theirs: list[Pass], ours: list[Pass]) -> Row:
    mine = [one.micros / 1000 for one in ours]
    base = [one.micros / 1000 for one in theirs]
    return Row(
        what=f"server CPU a turn with an answer of one token, {USERS} users",
        baseline=f"{spread(base)} ms",
        ours=f"{spread(mine)} ms",
        ratio=spread(ratios(mine, base)),
        target=f"at most {TURN:.0f} ms: {_verdict(statistics.median(mine) <= TURN)}",
    )


def _verdict(holds: bool) -> str:
    return "holds" if holds else "MISSED"
