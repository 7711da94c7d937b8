"""Limits that several servers share: each limiter here is another server's."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chatsite.accounts import shared_limits
from chatsite.accounts.shared_limits import remove_earned
from chatsite.accounts.sign_ins import KNOWN_SECONDS, SignIns
from chatsite.errors import TooMany
from chatsite.limits.limiter import Key, Limiter
from chatsite.limits.table import ACCOUNT_GUESSES, Rate
from chatsite.storage import reading
from tests.examples import some
from tests.limits.asker import BURST, EACH, TASKS
from tests.limits.conftest import ROWS, Clock, MakeLimiter

TEN = Rate("tries", 10, 60, shared=True)
pytestmark = pytest.mark.parametrize("clock", [ROWS], indirect=True)
Steps = list[tuple[float, int]]


def url() -> str:
    on = connection.settings_dict
    return f"postgres://{on['USER']}@{on['HOST']}:{on['PORT']}/{on['NAME']}"


@contextmanager
def locked_table() -> Iterator[Callable[[], None]]:
    """Nobody else gets at the rows. Gives what ends the connection of whoever waits for them."""

    def end_waiting() -> None:
        ended = (
            "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid) "
            "WHERE NOT granted AND datname = current_database()"
        )
        with psycopg.connect(url(), autocommit=True) as other:
            while not other.execute(ended).fetchall():
                pass

    with psycopg.connect(url()) as holding:
        holding.execute("LOCK TABLE accounts_earned")
        yield end_waiting
        holding.rollback()


@reading
def rows() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM accounts_earned")
        return int(cursor.fetchone()[0])


async def test_three_servers_let_through_what_one_would(make: MakeLimiter, clock: Clock) -> None:
    servers = [make(), make(), Limiter(now=lambda: -7.0, shared=shared_limits.take)]
    asked = [await one.wait(TEN, person="ada") for _ in range(6) for one in servers]
    assert asked.count(0.0) == 10 and not any(asked[:10])
    assert asked[10] == pytest.approx(1.0)
    await clock.move(2.0)
    assert [await make().wait(TEN, person="ada") for _ in range(3)] == [0.0, 0.0, 1.0]


async def test_what_isnt_shared_each_server_counts_for_itself(make: MakeLimiter) -> None:
    own = Rate("frames", 10, 60)
    for server in (make(), make()):
        assert [await server.wait(own, person="ada") for _ in range(11)].count(0.0) == 10
    assert await rows() == 0


async def test_a_flood_asks_the_database_no_more_than_it_may(clock: Clock) -> None:
    asked = 0

    async def counting(costs: Mapping[Key, float], room: float) -> tuple[bool, Sequence[float]]:
        nonlocal asked
        asked += 1
        return await shared_limits.take(costs, room)

    limits = Limiter(now=clock, shared=counting)
    waits = [await limits.wait(TEN, person="ada") for _ in range(500)]
    assert waits.count(0.0) == asked == 10


@hypothesis_settings(
    max_examples=some(40), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(st.tuples(st.floats(0, 5), st.integers(-3, 4)), max_size=30))
async def test_rows_count_as_memory_does(steps: Steps, make: MakeLimiter, clock: Clock) -> None:
    """A negative amount is given back."""
    memory, person = Limiter(now=clock), os.urandom(8).hex()
    for pause, amount in steps:
        await clock.move(pause)
        server = make()
        if amount < 0:
            await memory.give_back(TEN, person=person, amount=-amount)
            await server.give_back(TEN, person=person, amount=-amount)
        else:
            expected = await memory.wait(TEN, person=person, amount=amount)
            found = await server.wait(TEN, person=person, amount=amount)
            # Microseconds, and the millisecond that makes up for them.
            assert found == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("people", [["ada"], ["ada", "bob", "cy"]])
async def test_two_servers_in_a_race_let_through_exactly_what_is_allowed(
    people: list[str], make: MakeLimiter
) -> None:
    """The address has as much as one person: what it refuses is taken from nobody."""
    passed = await asyncio.to_thread(_race, "races", people)
    assert passed.total() == BURST < 2 * TASKS * EACH
    left = Rate("races", BURST, 60, shared=True)
    for person in people:
        taken = passed[person]
        assert await make().wait(left, person=person, amount=BURST - taken) == 0.0
        assert await make().wait(left, person=person) > 0.0


def _race(what: str, people: list[str]) -> Counter[str]:
    environment = {
        **os.environ,
        "TEST_DATABASE_URL": url(),
        "DJANGO_SETTINGS_MODULE": "tests.settings",
    }
    command = [sys.executable, "-m", "tests.limits.asker", what, "10.0.0.1", *people]
    servers = [
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=settings.BASE_DIR,
        )
        for _ in range(2)
    ]
    for server in servers:
        assert server.stdout and server.stdout.readline() == "ready\n"
    for server in servers:
        assert server.stdin
        server.stdin.write("go\n")
        server.stdin.flush()
    return sum((Counter(json.loads(server.communicate()[0])) for server in servers), Counter())


async def test_where_the_database_doesnt_answer_nothing_is_let_through(
    make: MakeLimiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_limits, "ANSWER_SECONDS", 0.2)
    limits = make()
    with locked_table(), pytest.raises(TooMany, match="can't store anything now") as refused:
        await limits.wait(TEN, person="ada")
    assert refused.value.seconds == 5


async def test_where_the_database_ends_the_connection_nothing_is_let_through(
    make: MakeLimiter,
) -> None:
    with locked_table() as ended:
        asked = asyncio.create_task(make().wait(TEN, person="ada"))
        await asyncio.to_thread(ended)
        with pytest.raises(TooMany, match="can't store anything now"):
            await asked
    assert await make().wait(TEN, person="ada") == 0.0, "the next one has another connection"


async def test_only_rows_that_count_for_nothing_are_removed(
    make: MakeLimiter, clock: Clock
) -> None:
    await make().wait(TEN, person="ada", amount=3)
    await make().wait(TEN, person="bob", amount=9)
    await clock.move(4.0)
    await remove_earned()
    assert await rows() == 1
    assert await make().wait(TEN, person="bob", amount=6) == pytest.approx(1.0)
    assert await make().wait(TEN, person="ada", amount=10) == 0.0


async def test_a_clock_that_was_put_back_keeps_nobody_out(make: MakeLimiter, clock: Clock) -> None:
    await make().wait(TEN, person="ada", amount=10)
    await clock.move(-3_600.0)
    assert await make().wait(TEN, person="ada", amount=10) == 0.0
    assert await make().wait(TEN, person="ada") == pytest.approx(1.0)


async def test_who_has_signed_in_is_known_to_every_server_for_a_month(
    make: MakeLimiter, clock: Clock
) -> None:
    first, second = SignIns(make()), SignIns(make())
    for _ in range(2):
        await first.begin("ada", "203.0.113.1")
        await first.succeeded("ada", "203.0.113.1")
        await clock.move(KNOWN_SECONDS * 2 / 3)
    for number in range(ACCOUNT_GUESSES.burst):
        await first.begin("ada", f"198.51.{number}.1")
    await second.begin("ada", "203.0.113.1")
    with pytest.raises(TooMany):
        await second.begin("ada", "203.0.113.2")
    await clock.move(KNOWN_SECONDS / 3 + 1)
    for number in range(ACCOUNT_GUESSES.burst):
        await first.begin("ada", f"198.51.{number}.1")
    with pytest.raises(TooMany):
        await second.begin("ada", "203.0.113.1")
