"""Counts what people and addresses ask for, and refuses what is over the table's numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from ipaddress import ip_address, ip_network
from typing import Any

from chatsite.errors import TooMany
from chatsite.limits.table import Most, Rate
from chatsite.wording import say, say_count

LONGEST = 64


def address_of(scope: Mapping[str, Any]) -> str:
    """The client of an ASGI connection, "" for an unknown one. Behind a proxy that the settings
    name this is the address that the proxy forwards; the server has put it there."""
    client = scope.get("client")
    return address_key(client[0]) if client else ""


def address_key(host: str) -> str:
    """Of IPv6 the network (/64), because that much is given to one customer."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host[:LONGEST]
    if address.version == 4:
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ip_network((address, 64), strict=False))


# What is counted of one person or address takes some 150 bytes; the longest unused goes first, and
# has long been full again unless somebody has 100,000 addresses.
COUNTED = 100_000
# A place is free when somebody leaves one; nobody knows when.
PLACE_SECONDS = 10


class Limiter:
    """`now` is a clock in seconds that never goes back. Persons and addresses are texts; "" isn't
    counted. `factor` widens every row of the table.

    Of each person (and address) and rate one number is kept: when everything that was taken so far
    would have been earned at the steady rate (the "generic cell rate algorithm"; a token bucket
    without a task that refills it).
    """

    def __init__(
        self, *, now: Callable[[], float], people_per_address: int = 10, factor: int = 1
    ) -> None:
        self._now = now
        self._people = people_per_address
        self._factor = factor
        self._earned: dict[tuple[str, str], float] = {}
        self._there: Counter[tuple[str, str]] = Counter()

    def wait(self, rate: Rate, *, person: str = "", address: str = "", amount: int = 1) -> float:
        """Take `amount`. 0.0, or the seconds until that much is free; nothing is taken then."""
        now = self._now()
        taken: list[tuple[tuple[str, str], float]] = []
        for who, people in ((person, 1), (f"at {address}" if address else "", self._people)):
            if not who:
                continue
            each = 60 / (rate.a_minute * self._factor * people)
            key = (rate.what, who)
            earned = max(self._earned.get(key, now), now) + amount * each
            over = earned - now - each * rate.burst * self._factor * people
            # What takes longer to earn than floating point can tell from now isn't a wait.
            if over > 1e-6:
                return over
            taken.append((key, earned))
        for key, earned in taken:
            self._earned.pop(key, None)
            self._earned[key] = earned
        while len(self._earned) > COUNTED:
            del self._earned[next(iter(self._earned))]
        return 0.0

    def give_back(
        self, rate: Rate, *, person: str = "", address: str = "", amount: float = 1
    ) -> None:
        """What was taken doesn't count after all; `math.inf` is everything."""
        for who, people in ((person, 1), (f"at {address}" if address else "", self._people)):
            if (key := (rate.what, who)) in self._earned:
                self._earned[key] -= amount * 60 / (rate.a_minute * self._factor * people)

    def take(self, rate: Rate, *, person: str = "", address: str = "", amount: int = 1) -> None:
        """The same, but raises TooMany with a sentence and the time to wait."""
        seconds = self.wait(rate, person=person, address=address, amount=amount)
        if seconds:
            whole = math.ceil(seconds)
            raise TooMany(
                say_count(
                    "Too many {what} in a short time. Nothing was lost; try again in {count} "
                    "second.",
                    "Too many {what} in a short time. Nothing was lost; try again in {count} "
                    "seconds.",
                    whole,
                    what=say(rate.what),
                ),
                seconds=whole,
            )

    @contextmanager
    def place(self, most: Most, *, person: str = "", address: str = "") -> Iterator[None]:
        """Takes a place until the end of the `with` block. Raises TooMany."""
        wanted = {("", most.what): most.in_all}
        if person:
            wanted[(person, most.what)] = most.most * self._factor
        if address:
            wanted[(f"at {address}", most.what)] = most.most * self._factor * self._people
        for (who, _), limit in wanted.items():
            if self._there[(who, most.what)] >= limit:
                raise TooMany(_full(most, who, limit), seconds=PLACE_SECONDS)
        self._there.update(wanted.keys())
        try:
            yield
        finally:
            self._there.subtract(wanted.keys())
            for key in wanted:
                if self._there[key] <= 0:
                    del self._there[key]


def _full(most: Most, who: str, limit: int) -> str:
    if who:
        return say(
            "You have as many {what} as one person may have at the same time ({limit:,}). Try "
            "again when one has ended.",
            what=say(most.what),
            limit=limit,
        )
    return say(
        "There are as many {what} as the server may have at the same time ({limit:,}). Try again "
        "when one has ended.",
        what=say(most.what),
        limit=limit,
    )
