"""`manage.py purge`: what the server does every hour, now."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from chatsite.conversations.purging import purge


class Command(BaseCommand):
    help = (
        "Remove for good what was deleted more than an hour ago, files that were never sent, and "
        "what was left over. The server does so at its start and every hour."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        done = purge()
        self.stdout.write(
            f"Removed: deleted conversations {done.conversations}, files never sent {done.unsent}, "
            f"leftovers {done.leftovers}."
        )
