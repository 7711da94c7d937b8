"""The limiter: what may be taken at once, how it comes back, and whose it is."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.errors import TooMany
from chatsite.limits.limiter import COUNTED, Limiter, address_key, address_of
from chatsite.limits.table import Most, Rate
from tests.limits.conftest import Clock, MakeLimiter

TEN = Rate("tries", 10, 60, shared=True)
TWO_PLACES = Most("visits", 2, 5)


async def taken(limiter: Limiter, rate: Rate = TEN, *, person: str, address: str = "") -> int:
    """How much can be taken one by one until the limiter refuses."""
    count = 0
    while not await limiter.wait(rate, person=person, address=address):
        count += 1
    return count


async def test_a_burst_may_be_taken_at_once_and_no_more(make: MakeLimiter) -> None:
    assert await taken(make(), person="ada") == 10


async def test_what_was_taken_comes_back_steadily(make: MakeLimiter, clock: Clock) -> None:
    limits = make()
    assert await taken(limits, person="ada") == 10
    await clock.move(3.0)
    assert await taken(limits, person="ada") == 3
    await clock.move(3_600.0)
    assert await taken(limits, person="ada") == 10


async def test_a_refusal_takes_nothing_and_says_how_long_to_wait(
    make: MakeLimiter, clock: Clock
) -> None:
    limits = make()
    await taken(limits, person="ada")
    assert await limits.wait(TEN, person="ada") == pytest.approx(1.0)
    assert await limits.wait(TEN, person="ada", amount=4) == pytest.approx(4.0)
    with pytest.raises(TooMany, match="Too many tries in a short time. .* in 1 second.") as refused:
        await limits.take(TEN, person="ada")
    assert refused.value.seconds == 1
    await clock.move(1.0)
    await limits.take(TEN, person="ada")


async def test_more_than_a_burst_is_never_taken_at_once(make: MakeLimiter) -> None:
    limits = make()
    assert await limits.wait(TEN, person="ada", amount=11) == pytest.approx(1.0)
    assert await taken(limits, person="ada") == 10


async def test_what_is_given_back_can_be_taken_again(make: MakeLimiter) -> None:
    limits = make()
    await limits.give_back(TEN, person="ada", amount=5)
    assert await taken(limits, person="ada") == 10, "nobody gets more than a burst"
    await limits.give_back(TEN, person="ada", amount=2)
    assert await taken(limits, person="ada") == 2
    await limits.give_back(TEN, person="ada", amount=math.inf)
    assert await taken(limits, person="ada") == 10


async def test_people_dont_take_from_each_other(make: MakeLimiter) -> None:
    limits = make()
    await taken(limits, person="ada")
    assert await taken(limits, person="bob") == 10


async def test_an_address_has_as_much_as_people_can_share_it(make: MakeLimiter) -> None:
    limits = make(people_per_address=3)
    people = ["ada", "bob", "cy", "di"]
    assert [await taken(limits, person=one, address="10.0.0.1") for one in people] == [
        *(10, 10, 10, 0)
    ]
    assert await taken(limits, person="di", address="10.0.0.2") == 10


async def test_what_the_address_refuses_is_not_taken_from_the_person(make: MakeLimiter) -> None:
    limits = make(people_per_address=1)
    await taken(limits, person="ada", address="10.0.0.1")
    # On PostgreSQL another server doesn't know yet that the address has no more.
    other = make(people_per_address=1) if limits.shared else limits
    assert await other.wait(TEN, person="bob", address="10.0.0.1") > 0
    assert await taken(other, person="bob") == 10


async def test_a_factor_widens_every_limit(make: MakeLimiter) -> None:
    assert await taken(make(factor=4), person="ada") == 40


async def test_rates_are_counted_apart(make: MakeLimiter) -> None:
    limits = make()
    await taken(limits, person="ada")
    assert await taken(limits, Rate("others", 5, 60, shared=True), person="ada") == 5


async def test_what_is_remembered_is_bounded() -> None:
    limits = Limiter(now=Clock())
    for number in range(COUNTED + 100):
        await limits.wait(TEN, person=f"guest {number}")
    assert len(limits._earned) == COUNTED
    assert await taken(limits, person=f"guest {COUNTED}") == 9, "the newest are still known"


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(1, 3)), max_size=60))
async def test_never_more_than_the_burst_and_what_came_back(
    steps: list[tuple[float, int]],
) -> None:
    clock = Clock()
    limits, began, took = Limiter(now=clock), clock.now, 0
    for pause, amount in steps:
        await clock.move(pause)
        took += amount * (not await limits.wait(TEN, person="ada", amount=amount))
        assert took <= 10 + (clock.now - began) * 1.0 + 1e-3


def test_places_are_left_again_also_after_an_error() -> None:
    limits = Limiter(now=Clock())
    with (
        limits.place(TWO_PLACES, person="ada"),
        limits.place(TWO_PLACES, person="ada"),
        pytest.raises(
            TooMany, match=r"You have as many visits as one person may have at the same time \(2\)"
        ),
        limits.place(TWO_PLACES, person="ada"),
    ):
        pass
    with pytest.raises(ZeroDivisionError), limits.place(TWO_PLACES, person="ada"):
        raise ZeroDivisionError
    assert not limits._there


def test_places_are_bounded_for_everybody_together() -> None:
    limits = Limiter(now=Clock())
    held = [limits.place(TWO_PLACES, person=f"guest {number}") for number in range(5)]
    for place in held:
        place.__enter__()
    with pytest.raises(
        TooMany, match=r"There are as many visits as the server may have at the same time \(5\)"
    ):
        limits.place(TWO_PLACES, person="ada").__enter__()
    for place in held:
        place.__exit__(None, None, None)
    with limits.place(TWO_PLACES, person="ada"):
        pass


@pytest.mark.parametrize(
    ("host", "key"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("not an address", "not an address"),
        ("x" * 500, "x" * 64),
    ],
)
def test_an_address_counts_as_what_one_customer_gets(host: str, key: str) -> None:
    assert address_key(host) == key


def test_a_connection_without_a_client_has_no_address() -> None:
    assert address_of({"client": None}) == ""
    assert address_of({"client": ("10.0.0.1", 5)}) == "10.0.0.1"
