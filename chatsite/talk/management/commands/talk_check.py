"""`manage.py talk_check`: tries TALK_FILE, and says what is wrong and what works."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from chatsite.agents.catalogue import Catalogue
from chatsite.agents.template import Template
from chatsite.talk.api import TalkApi
from chatsite.talk.contents import TalkTrouble, entries
from chatsite.talk.rooms_file import RoomEntry, RoomsFile
from chatsite.talk.wiring import rooms_file, talk_api

_HERE = ("localhost", "127.0.0.1", "::1")
# What Talk must be able to do: answers are found by their reference ids, and reply to questions.
NEEDED = ("chat-v2", "chat-replies", "chat-reference-id")


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence, and whether it is good news."""

    good: bool
    sentence: str


async def check_rooms(
    file: RoomsFile, api: TalkApi, *, agents: Collection[str]
) -> AsyncIterator[Finding]:
    """Checks the account and each room; `agents` are the ones that can answer. The check ends early
    if nothing else could work."""
    parts = urlsplit(file.server)
    if parts.scheme == "http" and parts.hostname not in _HERE:
        yield Finding(False, "The password goes to the server unprotected: use https://.")
    try:
        account = await api.account()
        able = await api.capabilities()
    except TalkTrouble as trouble:
        yield Finding(False, f"{file.server}, user {file.user}: {trouble.message}.")
        return
    if str(account.get("id")) != file.user:
        # People may sign in with an address, but they are mentioned by their user name.
        yield Finding(False, f"user must be the account's user name: {account.get('id')!s:.64}.")
        return
    yield Finding(True, f"{file.server} accepts the user {file.user} and the app password.")
    features = entries(able.get("features") or [])
    missing = [name for name in NEEDED if name not in features]
    if not able:
        yield Finding(False, "Talk isn't installed there, or the bot may not use it.")
        return
    if missing:
        yield Finding(False, f"This Talk is too old: it lacks {', '.join(missing)}.")
    yield Finding(True, f"Talk takes posts of {await api.longest_message():,} characters.")
    for entry in file.rooms:
        for finding in [one async for one in _check_room(entry, api, agents)]:
            yield finding


async def _check_room(
    entry: RoomEntry, api: TalkApi, agents: Collection[str]
) -> AsyncIterator[Finding]:
    name = f"Room {entry.name} ({entry.token})"
    if entry.agent not in agents:
        names = ", ".join(sorted(agents))
        yield Finding(False, f"{name}: there is no agent {entry.agent}; there are {names}.")
    try:
        room = await api.room(entry.token)
        await api.newest(entry.token)
    except TalkTrouble as trouble:
        yield Finding(False, f"{name}: {trouble.message}.")
        return
    if room.get("readOnly") == 1:
        yield Finding(False, f"{name}: it is read-only; the bot can't answer there.")
        return
    yield Finding(True, f"{name}: the bot is in it, and the agent {entry.agent} answers.")


class Command(BaseCommand):
    help = "Try the Nextcloud and the rooms of TALK_FILE. Nothing is posted."

    def handle(self, *args: Any, **options: Any) -> None:
        file = rooms_file()
        if file is None:
            raise CommandError("TALK_FILE isn't set: there are no Talk rooms.")
        findings = asyncio.run(self._findings(file))
        for one in findings:
            self.stdout.write(f"{'ok     ' if one.good else 'WRONG  '}{one.sentence}")
        wrong = sum(not one.good for one in findings)
        if wrong:
            raise CommandError(f"{wrong} of {len(findings)} checks failed.")

    async def _findings(self, file: RoomsFile) -> list[Finding]:
        agents = {
            agent.slug
            for agent in Catalogue(settings.AGENTS_DIR).all()
            if isinstance(agent, Template) and agent.enabled
        }
        api = talk_api(file)
        try:
            return [one async for one in check_rooms(file, api, agents=agents)]
        finally:
            await api.close()
