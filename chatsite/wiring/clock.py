"""A clock that jumps, or a server that was off: that time makes nothing older.

What ends or is removed by its age counts only the time that the server has seen pass. A clock that
is years ahead would otherwise end every session and remove for good what is only a minute old. So
its dates move along with every jump, and back when the clock is right again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import F, Max, QuerySet
from django.utils import timezone

from chatsite.accounts.models import Guest
from chatsite.conversations.database.versions import migrating
from chatsite.conversations.models import Clock, Conversation, Message, Upload
from chatsite.storage import tidying, writing
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
