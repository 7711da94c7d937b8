"""People who write into a room and to a mailbox."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

from tests.cluster.chaos.people import question
from tests.cluster.chaos.record import now
from tests.cluster.chaos.site import PEOPLE, ROOM, SENDER, Site
from tests.fakes.mailing import written
from tests.fakes.smtp_sink import text_of
from tests.fakes.talk_server import BOT

PAUSES = (4.0, 10.0)


class Outside:
    """What was asked in the room and by mail, and what was answered there."""

    def __init__(self, site: Site, seed: int) -> None:
        self.site = site
        self.random = Random(f"{seed} outside")
        # By the number of the room's message: who asked. By the mail's id: the question's key.
        self.room: dict[int, str] = {}
        self.mails: dict[str, str] = {}

    async def talk(self, until: float) -> None:
        while now() < until:
            await asyncio.sleep(self.random.uniform(*PAUSES))
            count = len(self.room) + len(self.mails)
            if self.random.random() < 0.6:
                text = question(f"room-{count}", self.random, failures={})
                who = self._somebody()
                self.room[self.site.talk.say(ROOM, who, f"@{BOT}: {text}")["id"]] = who
            else:
                key = f"mail-{count}"
                text = question(key, self.random, failures={})
                id = f"{key}@example.org"
                mail = written(text, sender=SENDER, subject=f"About {key}", id=id)
                await asyncio.to_thread(self.site.mailbox.deliver, mail)
                self.mails[id] = key

    def _somebody(self) -> str:
        """Who waits for no answer: of what one person asks by then, only the newest is answered."""
        posts = self.posts()
        waiting = {who for number, who in self.room.items() if not posts[number]}
        return next(who for who in PEOPLE if who not in waiting)

    def posts(self) -> Counter[int]:
        """How often each of the room's messages was answered."""
        posts = self.site.talk.raw_posts(ROOM, BOT)
        return Counter(int(raw["parent"]["id"]) for raw in posts if "parent" in raw)

    def replies(self) -> dict[str, list[str]]:
        """By each mail's id, the ids of the answers that came; one that came twice is shown once,
        by its id."""
        found: dict[str, list[str]] = {}
        for mail in self.site.sink.mails:
            found.setdefault(str(mail["In-Reply-To"]).strip("<>"), []).append(mail["Message-ID"])
        return found

    def all_answered(self) -> bool:
        return set(self.posts()) >= set(self.room) and set(self.replies()) >= set(self.mails)

    def wrong(self) -> list[str]:
        """What wasn't answered exactly once."""
        posts, replies = self.posts(), self.replies()
        found = [
            f"{who}'s message {number} of the room has {posts[number]} answers"
            for number, who in self.room.items()
            if posts[number] != 1
        ]
        for id, key in self.mails.items():
            if len(set(replies.get(id, ()))) != 1:
                found.append(f"{key} has the answers {replies.get(id)}")
        for mail in self.site.sink.mails:
            if mail["In-Reply-To"] is None:
                found.append(f"a mail that answers nothing: {text_of(mail)[:200]}")
        return found

    def line(self) -> str:
        copies = sum(len(ids) - len(set(ids)) for ids in self.replies().values())
        return (
            f"asked in the room: {len(self.room)}, by mail: {len(self.mails)}; each answered once "
            f"({copies} answers by mail were sent again under the same id)"
        )
