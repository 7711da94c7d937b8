"""The tasks that keep everything in order while the server runs.

What ends or is removed by its age counts only the time that the server has seen pass. A clock that
is years ahead would otherwise end every session and remove for good what is only a minute old. So
its dates move along with every jump, and back when the clock is right again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import astuple, dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import F, Max, QuerySet
from django.utils import timezone

from chatsite.accounts.guests import expire_guests, remove_old_sessions, strays
from chatsite.accounts.models import Guest
from chatsite.accounts.removal import remove_lost_sessions
from chatsite.accounts.shared_limits import remove_earned
from chatsite.cluster.presence import Presence
from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.versions import migrating
from chatsite.conversations.lifecycle import (
    move_to_account,
    purge_conversations,
    purge_files,
    remove_imports,
)
from chatsite.conversations.models import Clock, Conversation, Message, Upload
from chatsite.conversations.search.word_index import index_words, words_waiting
from chatsite.conversations.versions.deletions import purge_messages
from chatsite.storage import flush_write_log, tidying, writing
from chatsite.wiring.features import FEATURES

logger = logging.getLogger("chatsite")
# The server looks more often than that; what is less counts as seen.
JUMP = timedelta(hours=1)


@tidying
def bring_up_to_date(folder: Path) -> None:
    """Migrate the database, after a copy of it as it was into `folder`, and follow the clock before
    the first request asks for its session. Raises Refused as `migrating`."""
    with migrating(folder) as copy:
        if copy:
            logger.info("The database is brought up to date; as it was: %s", copy)
        call_command("migrate", verbosity=0, interactive=False)
        follow_clock.here()


@writing
def follow_clock(*, now: datetime | None = None) -> datetime:
    """Move what ends by its age as far as the clock has jumped since the last look. What time it
    is."""
    hold(shared="clock")
    now = now or timezone.now()
    jump = now - _last_look(now)
    if abs(jump) > JUMP:
        for rows, date in _ending():
            rows.filter(**{f"{date}__isnull": False}).update(**{date: F(date) + jump})
        logger.info("The server was off or its clock jumped: %s, which count for no age.", jump)
    Clock.objects.update_or_create(id=1, defaults={"seen": now})
    return now


def _last_look(now: datetime) -> datetime:
    seen = Clock.objects.values_list("seen", flat=True).first()
    if seen is not None:
        return seen
    # A database of before: when it was used last, or brought up to date. Rather too early than too
    # late, which only keeps things longer.
    known = (
        Conversation.objects.aggregate(at=Max("updated")),
        Guest.objects.aggregate(at=Max("seen")),
        User.objects.aggregate(at=Max("last_login")),
        MigrationRecorder.Migration.objects.aggregate(at=Max("applied")),
    )
    # None is in the future: an earlier wrong clock may have left such dates.
    return max((one["at"] for one in known if one["at"] and one["at"] <= now), default=now)


def _ending() -> Iterator[tuple[QuerySet[Any, Any], str]]:
    """What is removed, ends or expires by a date."""
    yield Session.objects.all(), "expire_date"
    yield Guest.objects.all(), "seen"
    yield Conversation.objects.all(), "deleted"
    yield Message.objects.all(), "deleted"
    yield Upload.objects.filter(conversation=None), "created"
    for feature in FEATURES:
        yield from feature.ageing_rows()


PURGE_SECONDS = 3_600.0
CLOCK_SECONDS = 1.0
NOTE_SECONDS = 60.0
FLUSH_SECONDS = 5.0
INDEX_SECONDS = 5.0
STRAYS_SECONDS = 5.0


@dataclass(eq=False)
class Maintenance:
    """The tasks of the server that leads, and `sweep` on each: it removes what is left over of the
    engine's cache, which is each machine's own. `erased` is told when something was removed for
    good."""

    sweep: Callable[[], Awaitable[None]]
    presence: Presence
    erased: Callable[[], None]
    _tasks: list[asyncio.Task[None]] = field(default_factory=list, init=False)
    # Of the clock before the process's own time.
    _ahead: float = field(default=0.0, init=False)
    _look_at: float = field(default=0.0, init=False)

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._repeat(work, seconds))
            for work, seconds in (
                (self.follow_clock, CLOCK_SECONDS),
                (self.flush_write_log, FLUSH_SECONDS),
                (self.move_strays, STRAYS_SECONDS),
                (self.purge, PURGE_SECONDS),
                (self.sweep_beside, PURGE_SECONDS),
                (self.index_words, INDEX_SECONDS),
            )
        ]

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def flush_write_log(self) -> None:
        await flush_write_log()

    async def index_words(self) -> None:
        """Make the titles and messages of meanwhile searchable. The next ones wait for the next
        time: few at once cost more each."""
        more = await words_waiting()
        while more:
            began = time.monotonic()
            more = await index_words()
            # Half of the time belongs to the others.
            await asyncio.sleep(time.monotonic() - began)

    async def follow_clock(self) -> None:
        """Look every second whether the clock has jumped, before a session seems to be over, and
        note the time every minute."""
        ahead = timezone.now().timestamp() - time.monotonic()
        jumped = abs(ahead - self._ahead) > JUMP.total_seconds()
        if jumped or time.monotonic() >= self._look_at:
            self._ahead, self._look_at = ahead, time.monotonic() + NOTE_SECONDS
            await follow_clock()

    async def move_strays(self) -> None:
        """What a turn, an import or an upload of a guest stored while they signed in."""
        for guest, user in await strays():
            await move_to_account(guest=guest, user=user)

    async def purge(self) -> None:
        now = await follow_clock()
        if settings.GUEST_DAYS:
            gone = await expire_guests(before=now - timedelta(days=settings.GUEST_DAYS))
            if gone:
                logger.info("Guests who expired: %d", gone)
        await remove_old_sessions(now=now)
        # What a killed server left of an import: the longest take minutes.
        await remove_imports(begun_before=now - timedelta(days=1))
        conversations = await purge_conversations(now=now)
        messages = await purge_messages(now=now)
        files = await purge_files(now=now)
        purged = replace(files, conversations=conversations, messages=messages)
        if any(astuple(purged)):
            logger.info("Removed for good: %s", purged)
            self.erased()
        await remove_lost_sessions()
        await remove_earned()
        for feature in FEATURES:
            await feature.purge()
        await self.sweep()

    async def sweep_beside(self) -> None:
        """Where another server leads. The one that does sweeps when it has purged."""
        if not self.presence.leads.is_set():
            await self.sweep()

    async def _repeat(self, work: Callable[[], Awaitable[None]], seconds: float) -> None:
        """Every `seconds`, also after an error."""
        while True:
            if work != self.sweep_beside:
                await self.presence.leads.wait()
            try:
                await work()
            except Exception:
                logger.exception("the store couldn't be kept in order")
            await asyncio.sleep(seconds)
