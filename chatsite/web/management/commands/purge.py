"""`manage.py purge`: runs the server's hourly purge now."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatsite.accounts.removal import remove_lost_sessions
from chatsite.conversations.database.versions import require_known_version
from chatsite.conversations.lifecycle import purge
from chatsite.conversations.traces import remove_traces
from chatsite.errors import ChatsiteError
from chatsite.kv_cache.saved_sessions import session_files
from chatsite.kv_cache.session_files import SessionFolder


class Command(BaseCommand):
    help = (
        "Remove for good what was deleted more than an hour ago, files that were never sent, and "
        "what was left over, saved caches of the engine among it. The server does so at its start "
        "and every hour."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--rewrite",
            action="store_true",
            help="write SQLite's database anew, however large it is, so that no byte of what was "
            "removed stays in it; whoever writes waits meanwhile",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            require_known_version()
        except ChatsiteError as error:
            raise CommandError(error.message) from None
        done = purge()
        remove_lost_sessions.here()
        remove_traces(rewrite=options["rewrite"])
        SessionFolder(settings.KV_SESSIONS_DIR).remove_unclaimed(session_files.here())
        self.stdout.write(
            f"Removed: deleted conversations {done.conversations}, deleted messages "
            f"{done.messages}, files never sent {done.unsent}, leftovers {done.leftovers}."
        )
