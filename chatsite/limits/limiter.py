"""Counts what people and addresses ask for, and refuses what is over the table's numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
# What takes longer to earn than floating point can tell from now isn't a wait.
LEAST = 1e-6
# A place is free when somebody leaves one; nobody knows when.
PLACE_SECONDS = 10

# A rate's name, and the person or address.
Key = tuple[str, str]
# Takes so many seconds of each key if then none is ahead by more than `room` seconds, else of none.
# Whether it took them, and how far ahead each is now. Raises TooMany where it can't count.
Shared = Callable[[Mapping[Key, float], float], Awaitable[tuple[bool, Sequence[float]]]]


@dataclass(kw_only=True, eq=False)
class Limiter:
    """`now` is a clock in seconds that never goes back. Persons and addresses are texts; "" isn't
    counted. `factor` widens every row of the table. `shared` counts the rates that several servers
    share; without it this one counts them all.

    Of each person (and address) and rate one number is kept: when everything that was taken so far
    would have been earned at the steady rate (the "generic cell rate algorithm"; a token bucket
    without a task that refills it).
    """

    now: Callable[[], float]
    people_per_address: int = 10
    factor: int = 1
    shared: Shared | None = None

    def __post_init__(self) -> None:
        # Of a shared rate, as it was seen last.
        self._earned: dict[Key, float] = {}
        self._there: Counter[Key] = Counter()

    async def wait(
        self, rate: Rate, *, person: str = "", address: str = "", amount: float = 1
    ) -> float:
        """Take `amount`. 0.0, or the seconds until that much is free; nothing is taken then."""
        if self.shared is None or not rate.shared:
            return self.wait_here(rate, person=person, address=address, amount=amount)
        now = self.now()
        over, asked = self._asked(rate, person, address, amount, now)
        # What was seen of it last can only have grown, so a flood asks no more often than it may.
        if over:
            return over
        costs = {key: cost for key, cost, _ in asked}
        taken, ahead = await self.shared(costs, 60 * rate.burst / rate.a_minute)
        self._keep([(key, 0.0, now + seconds) for key, seconds in zip(costs, ahead, strict=True)])
        return 0.0 if taken else self._asked(rate, person, address, amount, now)[0] or LEAST

    def wait_here(
        self, rate: Rate, *, person: str = "", address: str = "", amount: float = 1
    ) -> float:
        """The same for a rate that isn't shared."""
        over, asked = self._asked(rate, person, address, amount, self.now())
        if not over:
            self._keep(asked)
        return over

    async def give_back(
        self, rate: Rate, *, person: str = "", address: str = "", amount: float = 1
    ) -> None:
        """What was taken doesn't count after all; `math.inf` is everything."""
        amount = min(amount, rate.burst * self.factor * self.people_per_address)
        await self.wait(rate, person=person, address=address, amount=-amount)

    def _asked(
        self, rate: Rate, person: str, address: str, amount: float, now: float
    ) -> tuple[float, list[tuple[Key, float, float]]]:
        """0.0, or the seconds until that much is free; and of the person and the address what it
        costs, and when they will have earned it."""
        over = LEAST
        asked = []
        each = 60 / (rate.a_minute * self.factor)
        room = 60 * rate.burst / rate.a_minute
        whom = [(person, 1)] if person else []
        if address:
            whom.append((f"at {address}", self.people_per_address))
        for who, people in whom:
            key = (rate.what, who)
            cost = amount * each / people
            before = self._earned.get(key, now)
            earned = (before if before > now else now) + cost
            asked.append((key, cost, earned))
            if (late := earned - now - room) > over:
                over = late
        return over if over > LEAST else 0.0, asked

    def _keep(self, asked: Sequence[tuple[Key, float, float]]) -> None:
        for key, _, earned in asked:
            self._earned.pop(key, None)
            self._earned[key] = earned
        while len(self._earned) > COUNTED:
            del self._earned[next(iter(self._earned))]

    async def take(
        self, rate: Rate, *, person: str = "", address: str = "", amount: int = 1
    ) -> None:
        """As `wait`, but raises TooMany with a sentence and the time to wait."""
        if seconds := await self.wait(rate, person=person, address=address, amount=amount):
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
            wanted[(person, most.what)] = most.most * self.factor
        if address:
            wanted[(f"at {address}", most.what)] = most.most * self.factor * self.people_per_address
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
