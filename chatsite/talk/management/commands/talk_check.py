"""`manage.py talk_check`: tries TALK_FILE, and says what is wrong and what works."""

from __future__ import annotations

import asyncio
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from chatsite.agents.catalogue import Catalogue
from chatsite.agents.template import Template
from chatsite.talk.check import Finding, check_rooms
from chatsite.talk.rooms_file import RoomsFile
from chatsite.talk.wiring import rooms_file, talk_api


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
