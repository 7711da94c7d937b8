"""A program that runs the voyage's turns beside a server, with a clock set to past days.

The turns are real: decided, sent to the provider, and stored with their receipts. Only the clock is
fake. `tests.browser.voyage_setup` starts the program, which reads the server's own settings.
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
    """A clock that shows the time it was set to."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now


async def run_voyage(guest: str, options: Mapping[str, Any], clock: Clock) -> str:
    """Run the voyage as a conversation of this guest that ends now; return its id."""
    from chatsite.conversations.owners import Owner
    from chatsite.events import TurnEnded
    from chatsite.wiring.site import Site

    site, end, id = Site(), clock.now, str(uuid.uuid4())
    page_request = site.page_request(
        owner=Owner(guest=guest),
        staff=False,
        conversation=id,
        agent=options["agent"],
        query=options["query"],
    )
    _, reader = await site.snapshots.open(page_request)
    for number, turn in enumerate(voyage(), 1):
        clock.now = end - turn.before
        text = f"Keep: {turn.question}" if number in options["keep"] else turn.question
        await site.turns.send(page_request, client_id=str(uuid.uuid4()), text=text)
        clock.now += TO_ANSWER
        while not isinstance(ended := await reader.read(), TurnEnded):
            pass
        assert ended.state == "complete", ended.problem
        # Tasks that began after the answer end before the next message, as over some minutes.
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)
    reader.close()
    await site.stop()
    return id


def main(options: Mapping[str, Any]) -> None:
    django.setup()
    from django.contrib.sessions.backends.db import SessionStore

    from chatsite.startup import prepare_storage

    prepare_storage()  # the server's key, needed to read a session
    guest = SessionStore(session_key=options["session"])["guest"]
    with patch("django.utils.timezone.now", clock := Clock()):
        print(asyncio.run(run_voyage(guest, options, clock)))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
