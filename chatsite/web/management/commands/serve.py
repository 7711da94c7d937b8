"""`manage.py serve`: migrations, static files, the server; `make run` ends here."""

from __future__ import annotations

from typing import Any

import uvicorn
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

DRAIN_SECONDS = 30


class Command(BaseCommand):
    help = "Bring the database up to date and serve on HOST and PORT."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--reload", action="store_true", help="start again on changed code")

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", verbosity=0, interactive=False)
        if not settings.DEBUG:
            call_command("collectstatic", verbosity=0, interactive=False)
        host, port = settings.HOST, settings.PORT
        self.stdout.write(f"Chatsite: http://{host}:{port} (Ctrl-C stops it)")
        uvicorn.run(
            "chatsite.asgi:application",
            host=host,
            port=port,
            reload=bool(options["reload"]),
            reload_dirs=[str(settings.BASE_DIR / "chatsite")] if options["reload"] else None,
            lifespan="on",
            # sansio pushes back on a reader that doesn't read; frames above the limit close 1009.
            ws="chatsite.web.wire:Wire",
            ws_max_size=settings.MAX_FRAME_BYTES,
            # Twice the memory of an idle socket, and nothing gained on frames of 30 bytes.
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=DRAIN_SECONDS,
            access_log=False,
            log_level="warning",
        )
