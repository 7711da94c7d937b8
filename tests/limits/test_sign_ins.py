"""Who guesses at passwords waits, and keeps nobody out who has signed in before."""

from __future__ import annotations

import pytest

from chatsite.accounts.sign_ins import SignIns
from chatsite.errors import TooMany
from chatsite.limits.table import ACCOUNT_GUESSES, GUESSES, PASSWORDS
from tests.limits.conftest import Clock, MakeLimiter

HOME = "203.0.113.1"


@pytest.fixture
def sign_ins(make: MakeLimiter) -> SignIns:
    return SignIns(make())


async def guess_from_everywhere(sign_ins: SignIns, name: str) -> None:
    """One guess from each of many addresses, until the account's row is full."""
    for number in range(ACCOUNT_GUESSES.burst):
        await sign_ins.begin(name, f"198.51.{number}.1")


async def test_after_some_wrong_passwords_each_next_one_waits(
    sign_ins: SignIns, clock: Clock
) -> None:
    for _ in range(GUESSES.burst):
        await sign_ins.begin("ada", HOME)
    with pytest.raises(TooMany, match="Try again in 30 seconds") as refused:
        await sign_ins.begin("ada", HOME)
    assert refused.value.seconds == 60 / GUESSES.a_minute
    await clock.move(refused.value.seconds)
    await sign_ins.begin("ada", HOME)
    with pytest.raises(TooMany):
        await sign_ins.begin("ada", HOME)


async def test_a_refused_guess_makes_nobody_wait_longer(sign_ins: SignIns) -> None:
    for _ in range(GUESSES.burst):
        await sign_ins.begin("ada", HOME)
    waits = []
    for _ in range(100):
        with pytest.raises(TooMany) as refused:
            await sign_ins.begin("ada", HOME)
        waits.append(refused.value.seconds)
    assert set(waits) == {30}
    await sign_ins.begin("bob", HOME)


async def test_one_name_in_other_letters_is_one_account(sign_ins: SignIns) -> None:
    for name in ("ada", "ADA", "Ada", "aDa", "ada"):
        await sign_ins.begin(name, HOME)
    with pytest.raises(TooMany):
        await sign_ins.begin("\uff41da", HOME)


async def test_guesses_from_many_addresses_delay_an_account_for_seconds(sign_ins: SignIns) -> None:
    await guess_from_everywhere(sign_ins, "ada")
    with pytest.raises(TooMany) as refused:
        await sign_ins.begin("ada", HOME)
    assert refused.value.seconds == 60 / ACCOUNT_GUESSES.a_minute
    await sign_ins.begin("bob", HOME)


async def test_they_delay_nobody_where_the_owner_has_signed_in_before(sign_ins: SignIns) -> None:
    await sign_ins.begin("ada", HOME)
    await sign_ins.succeeded("ada", HOME)
    await guess_from_everywhere(sign_ins, "ada")
    await sign_ins.begin("ada", HOME)
    with pytest.raises(TooMany):
        await sign_ins.begin("ada", "203.0.113.2")


async def test_an_address_that_tries_many_names_waits_and_delays_none_of_them(
    sign_ins: SignIns,
) -> None:
    for number in range(PASSWORDS.burst * 10):
        await sign_ins.begin(f"name{number}", HOME)
    with pytest.raises(TooMany):
        await sign_ins.begin("ada", HOME)
    for _ in range(GUESSES.burst):
        await sign_ins.begin("ada", "203.0.113.2")


async def test_right_passwords_count_for_the_address_alone(sign_ins: SignIns) -> None:
    for _ in range(PASSWORDS.burst * 10):
        await sign_ins.begin("ada", HOME)
        await sign_ins.succeeded("ada", HOME)
    with pytest.raises(TooMany):
        await sign_ins.begin("ada", HOME)
    with pytest.raises(TooMany, match="None was made"):
        await sign_ins.begin_new(HOME)
