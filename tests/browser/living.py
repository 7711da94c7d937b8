"""Run beside a server: turns as its pages would make them, days apart.

The turns are real ones: stored, decided, asked of the provider, kept with their receipts. Only the
clock is ours. `tests.browser.sailing` starts it; nothing of the tests' own settings is read here.
"""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import django

from tests.browser.voyage import voyage

TO_ANSWER = timedelta(seconds=6)


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now


async def live(guest: str, asked: Mapping[str, Any], clock: Clock) -> str:
    """The voyage as a conversation of this guest, up to now; its id."""
    from chatsite.conversations.values.owners import Owner
    from chatsite.events import TurnEnded
    from chatsite.wiring import Site

    site, end, id = Site(), clock.now, str(uuid.uuid4())
    asking = site.page_request(
        owner=Owner(guest=guest),
        staff=False,
        conversation=id,
        agent=asked["agent"],
        query=asked["query"],
    )
    _, reader = await site.snapshots.open(asking)
    for number, said in enumerate(voyage(), 1):
        clock.now = end - said.before
        text = f"Keep: {said.question}" if number in asked["keep"] else said.question
        await site.turns.send(asking, client_id=str(uuid.uuid4()), text=text)
        clock.now += TO_ANSWER
        while not isinstance(ended := await reader.read(), TurnEnded):
            pass
        assert ended.state == "complete", ended.problem
        # Minutes pass: what was begun after the answer ends before the next message.
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)
    reader.close()
    await site.stop()
    return id


def main(asked: Mapping[str, Any]) -> None:
    django.setup()
    from django.contrib.sessions.backends.db import SessionStore

    from chatsite.startup import prepare_storage

    prepare_storage()  # the server's key, without which no session can be read
    guest = SessionStore(session_key=asked["session"])["guest"]
    with patch("django.utils.timezone.now", clock := Clock()):
        print(asyncio.run(live(guest, asked, clock)))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
