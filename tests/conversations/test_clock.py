"""A clock that jumps ends nobody's session and removes nothing; nor does the time of a stop."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils import timezone

from chatsite.accounts.models import Guest
from chatsite.conversations.models import Clock, Conversation
from chatsite.conversations.owners import Owner
from chatsite.wiring import maintenance
from chatsite.wiring.maintenance import Maintenance
from tests.conversations.builders import new_id, talk
from tests.presence import leading

pytestmark = pytest.mark.django_db(transaction=True)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
YEARS = 3_650 * DAY


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, settings: Any) -> list[Any]:
    """What the wall says, and how many seconds the process runs."""
    settings.GUEST_DAYS = 14
    told: list[Any] = [timezone.now(), 1_000.0]
    monkeypatch.setattr(f"{maintenance.__name__}.timezone.now", lambda: told[0])
    monkeypatch.setattr(f"{maintenance.__name__}.time.monotonic", lambda: told[1])
    return told


def started() -> Maintenance:
    """A server that has just started."""

    async def sweep() -> None: ...

    return Maintenance(sweep, leading(), erased=lambda: None)


def session(ends: datetime) -> None:
    Session.objects.create(session_key=new_id()[:32], session_data="", expire_date=ends)


async def left(kept: Maintenance) -> tuple[int, int, int]:
    """After a purge: sessions, guests and their chats."""
    await kept.purge()
    chats = await Conversation.objects.filter(guest="bob").acount()
    return await Session.objects.acount(), await Guest.objects.acount(), chats


async def goes_on(kept: Maintenance, clock: list[Any], passes: timedelta) -> None:
    """The server runs meanwhile, and looks."""
    for _ in range(int(passes / HOUR)):
        clock[:] = [clock[0] + HOUR, clock[1] + HOUR.total_seconds()]
        await kept.follow_clock()


@pytest.fixture
def used(db: None) -> None:
    """A session that lasts and one that is over; a guest's chat, deleted just now."""
    session(timezone.now() + 14 * DAY)
    session(timezone.now() - DAY)
    talk(new_id(), 1, owner=Owner(guest="bob"))
    Guest.objects.create(key="bob", seen=timezone.now())
    Clock.objects.create(seen=timezone.now())
    Conversation.objects.update(deleted=timezone.now())


@pytest.mark.parametrize("ahead", [YEARS, 29 * DAY, 8 * DAY, 2 * HOUR])
async def test_a_start_with_a_clock_that_is_ahead_removes_nothing(
    used: None, clock: list[Any], ahead: timedelta
) -> None:
    clock[0] += ahead
    assert await left(started()) == (1, 1, 1)
    # What is written meanwhile is dated in the future.
    await Conversation.objects.acreate(
        guest="eve", agent="demo", created=clock[0], updated=clock[0]
    )
    assert await left(started()) == (1, 1, 1), "another start"
    clock[0] -= ahead
    assert await left(started()) == (1, 1, 1), "the clock is right again"
    clock[0] += ahead
    assert await left(started()) == (1, 1, 1), "and wrong again"


async def test_every_date_is_what_it_was_when_the_clock_is_right_again(
    used: None, clock: list[Any]
) -> None:
    await started().purge()
    before = [one async for one in Session.objects.values_list("expire_date")]
    for jump in (YEARS, -YEARS, -20_000 * DAY, 20_000 * DAY):
        clock[0] += jump
        await started().purge()
    assert [one async for one in Session.objects.values_list("expire_date")] == before
    assert (await Guest.objects.aget(key="bob")).seen <= clock[0]


async def test_nor_does_a_clock_that_jumps_while_the_server_runs(
    used: None, clock: list[Any]
) -> None:
    kept = started()
    await kept.follow_clock()
    for jump in (400 * DAY, -400 * DAY):
        # A second later, before anybody's session is looked up: no purge is needed.
        clock[:] = [clock[0] + jump, clock[1] + 1]
        await kept.follow_clock()
        assert await Session.objects.filter(expire_date__gt=clock[0]).acount() == 1
        assert await left(kept) == (1, 1, 1)


async def test_a_clock_that_was_wrong_from_the_upgrade_on_ends_no_session(
    used: None, clock: list[Any]
) -> None:
    """No look is noted, and nobody has written anything."""
    await Clock.objects.all().adelete()
    await Guest.objects.all().adelete()
    await Conversation.objects.all().adelete()
    assert not await User.objects.aexists()
    clock[0] += YEARS
    await started().purge()
    assert await Session.objects.acount() == 1


async def test_a_server_that_was_off_for_months_removes_later(used: None, clock: list[Any]) -> None:
    kept = started()
    await kept.purge()
    clock[0] += 90 * DAY
    kept = started()
    assert await left(kept) == (1, 1, 1)
    await goes_on(kept, clock, 2 * HOUR)
    assert await left(kept) == (1, 1, 0), "what was deleted is gone after an hour"
    await goes_on(kept, clock, 15 * DAY)
    assert await left(kept) == (0, 0, 0)
