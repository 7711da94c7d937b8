"""Counts the limits that several servers share in rows of PostgreSQL, by the database's clock.

One statement decides and counts, so that any number of servers let through exactly what is allowed.
A row is the limiter's one number of a rate and a person or address; "who" is only a hash, since a
copy of the database shouldn't tell who came from where. A crash of PostgreSQL empties the table.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import Error, connection
from django.utils.crypto import salted_hmac

from chatsite.errors import TooMany
from chatsite.limits.limiter import Key
from chatsite.storage import tidying
from chatsite.wording import say

logger = logging.getLogger("chatsite.limits")
# Longer than a busy database takes.
ANSWER_SECONDS = 5.0
RETRY_SECONDS = 5
_MOST = "now() + %(room)s * interval '1 second'"
# Who is ahead by more than a statement may have waited for another one was counted before the clock
# was put back, and would be kept out.
_BEFORE = f"""CASE WHEN known.earned > {_MOST} + interval '1 minute' THEN now()
    ELSE greatest(known.earned, now()) END"""
_NEW = f"{_BEFORE} + (excluded.earned - now())"
# A row holds whole microseconds: all that are rounded up in a burst are less than a millisecond.
# Of a person and an address the person's row is locked first, by everybody.
_COUNT = f"""
    WITH asked AS (
        SELECT * FROM unnest(%(who)s::bigint[], %(costs)s::float8[])
        WITH ORDINALITY AS one (who, cost, place)
    ), taken AS (
        INSERT INTO accounts_earned AS known (who, earned)
        SELECT who, now() + cost * interval '1 second' FROM asked ORDER BY place
        ON CONFLICT (who) DO UPDATE SET earned = {_NEW}
        WHERE {_NEW} <= {_MOST} + interval '1 millisecond'
        RETURNING who, earned
    )
    SELECT who, taken.who IS NOT NULL,
        extract(epoch FROM coalesce(taken.earned, known.earned) - now())::float8
    FROM asked LEFT JOIN taken USING (who) LEFT JOIN accounts_earned AS known USING (who)
    ORDER BY place
"""
_REMOVE = """
    DELETE FROM accounts_earned WHERE who IN (
        SELECT who FROM accounts_earned WHERE earned < now() FOR UPDATE SKIP LOCKED
    )
"""


async def take(costs: Mapping[Key, float], room: float) -> tuple[bool, Sequence[float]]:
    """See `limits.limiter.Shared`."""
    asked = {_who(key): cost for key, cost in costs.items()}
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            rows = await _count(asked, room)
            taken = {who: -asked[who] for who, is_taken, _ in rows if is_taken}
            if taken and len(taken) < len(rows):
                await _count(taken, room)
    except (Error, TimeoutError) as error:
        logger.warning("A limit can't be counted: %r", error)
        message = say("The server can't store anything now. Nothing was lost; try again soon.")
        raise TooMany(message, seconds=RETRY_SECONDS) from None
    # A row that somebody made in this moment isn't seen yet.
    return len(taken) == len(rows), [ahead or 0.0 for _, _, ahead in rows]


def _who(key: Key) -> int:
    digest = salted_hmac("chatsite.limits", "\0".join(key)).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


@tidying
def _count(costs: Mapping[int, float], room: float) -> list[tuple[int, bool, float | None]]:
    """Of each row whether so much was taken, and how far ahead it is."""
    asked: dict[str, Any] = {"who": [*costs], "costs": [*costs.values()], "room": room}
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, asked)
        rows: list[tuple[int, bool, float | None]] = cursor.fetchall()
    return rows


@tidying
def remove_earned() -> None:
    """Remove the rows that count for nothing any more. Who takes from one meanwhile keeps it."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(_REMOVE)
