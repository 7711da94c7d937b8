"""A limiter in the process's memory, and one in rows of PostgreSQL where the tests run on it:
`python -m tests.postgres pytest tests/limits`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.db import connection

from chatsite.accounts import shared_limits
from chatsite.limits.limiter import Limiter
from chatsite.storage import tidying

ROWS = pytest.param("rows", marks=pytest.mark.django_db(transaction=True))
PLACES = ("memory", ROWS) if settings.ON_POSTGRESQL else ("memory",)
collect_ignore = () if settings.ON_POSTGRESQL else ("test_shared_limits.py",)
# The database's clock, which stands still until a test moves it: this `now` hides PostgreSQL's own.
STOP_CLOCK = """
CREATE TABLE stopped_clock AS SELECT now() AS at;
CREATE FUNCTION public.now() RETURNS timestamptz STABLE LANGUAGE sql
    AS 'SELECT at FROM public.stopped_clock';
ALTER ROLE CURRENT_USER IN DATABASE {database} SET search_path = public, pg_catalog;
"""
START_CLOCK = """
ALTER ROLE CURRENT_USER IN DATABASE {database} RESET search_path;
DROP FUNCTION IF EXISTS public.now();
DROP TABLE IF EXISTS stopped_clock;
"""


class Clock:
    """The time of the process, and of the database."""

    def __init__(self, *, of_rows: bool = False) -> None:
        self.now = 1_000.0
        self.of_rows = of_rows

    def __call__(self) -> float:
        return self.now

    async def move(self, seconds: float) -> None:
        self.now += seconds
        if self.of_rows:
            await _move_stopped_clock(seconds)


MakeLimiter = Callable[..., Limiter]


@pytest.fixture(params=PLACES)
def clock(request: pytest.FixtureRequest) -> Iterator[Clock]:
    if request.param == "memory":
        yield Clock()
        return
    _set_clock(START_CLOCK)  # a run that was killed left it
    _set_clock(STOP_CLOCK)
    yield Clock(of_rows=True)
    _set_clock(START_CLOCK)


@pytest.fixture
def make(clock: Clock) -> MakeLimiter:
    """A limiter over the clock; on PostgreSQL each is another server's."""

    def limiter(**options: int) -> Limiter:
        shared = shared_limits.take if clock.of_rows else None
        return Limiter(now=clock, shared=shared, **options)

    return limiter


def _set_clock(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql.format(database=connection.settings_dict["NAME"]))
        cursor.execute("TRUNCATE accounts_earned")
    # New connections alone see it.
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]  # PostgreSQL's


@tidying
def _move_stopped_clock(seconds: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE stopped_clock SET at = at + %s * interval '1 second'", [seconds])
