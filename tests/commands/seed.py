"""`make seed`: conversations of every kind, for a developer to look at."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from chatsite.conversations.lifecycle import rename_conversation
from chatsite.conversations.owners import Owner
from chatsite.errors import ChatsiteError
from chatsite.web.management.commands.serve import browsable_host
from chatsite.wiring.maintenance import bring_up_to_date
from tests.seed.samples import SAMPLES, short
from tests.seed.seeder import Seeder

NAME = "seed"
STRANGER = "A talk of another account: this address must say that there is none"


class Command(BaseCommand):
    help = (
        "Fill the database with conversations of every kind to look at. Each run makes a new "
        "account with a random password, which is printed, and changes nothing that is stored. "
        "No model is asked."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            bring_up_to_date.here(settings.VAR_DIR)
        except ChatsiteError as error:
            raise CommandError(error.message) from error
        password = secrets.token_urlsafe(12)
        name, made = self._account(password)
        _, stranger = self._account(None)
        try:
            asyncio.run(self._fill(made, stranger))
        except ChatsiteError as error:
            raise CommandError(error.message) from None
        self.stdout.write(f"\nSign in as {name} with the password {password}, on {_site('login')}")

    def _account(self, password: str | None) -> tuple[str, Owner]:
        """A new account without rights; without a password nobody can sign in to it."""
        users = get_user_model()
        number = users.objects.count() + 1
        while users.objects.filter(username=f"{NAME}-{number}").exists():
            number += 1
        user = users.objects.create_user(f"{NAME}-{number}", password=password)
        return user.get_username(), Owner(user=user.pk)

    async def _fill(self, owner: Owner, stranger: Owner) -> None:
        seeder, others = Seeder(owner), Seeder(stranger)
        try:
            for title, make in SAMPLES.items():
                self._show(title, await self._named(seeder, title, await make(seeder)))
            self._show(STRANGER, await short(others))
        finally:
            seeder.close()
            others.close()

    async def _named(self, seeder: Seeder, title: str, conversation: str) -> str:
        await rename_conversation(owner=seeder.owner, conversation=conversation, title=title)
        return conversation

    def _show(self, title: str, conversation: str) -> None:
        self.stdout.write(f"{_site('conversation-page', conversation)}  {title}")


def _site(name: str, *arguments: str) -> str:
    return f"http://{browsable_host(settings.HOST)}:{settings.PORT}{reverse(name, args=arguments)}"
