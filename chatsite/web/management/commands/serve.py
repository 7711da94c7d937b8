"""`manage.py serve`: migrations, static files, the server; `make run` ends here."""

from __future__ import annotations

import contextlib
import socket
import sys
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import ChangeReload

from chatsite.errors import Refused
from chatsite.process_limits import raise_open_files
from chatsite.storage import lock
from chatsite.web.server.draining import DrainingServer
from chatsite.web.server.static_files import collect_if_changed
from chatsite.wiring.features import FEATURES
from chatsite.wiring.maintenance import bring_up_to_date

DRAIN_SECONDS = 30
# A page with its socket takes two or three.
ENOUGH_FILES = 4_096


def require_free(host: str, port: int) -> None:
    """Raise CommandError where the address can't be listened on."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, _, _, address = found[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (socket.gaierror, UnicodeError):
        raise CommandError(
            f"HOST={host!r} is not allowed. It is an address of this machine: 127.0.0.1, ::1"
        ) from None
    except OSError as error:
        raise CommandError(
            f"HOST={host!r} PORT={port}: can't listen there ({error.strerror}). "
            "Set another PORT, or stop what uses it."
        ) from None


def browsable_host(host: str) -> str:
    """A host that a browser can open: not the wildcard addresses."""
    if host in ("0.0.0.0", "::"):
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


class Command(BaseCommand):
    help = "Bring the database up to date and serve on HOST and PORT."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--reload", action="store_true", help="start again on changed code")

    def handle(self, *args: Any, **options: Any) -> None:
        self.serve(settings.HOST, settings.PORT, reload=bool(options["reload"]))

    def serve(self, host: str, port: int, *, reload: bool = False) -> None:
        """Until the server is stopped. Raises CommandError where it can't start."""
        require_free(host, port)
        # A mistake stops the start before anything is written.
        warnings = [feature.check_start() for feature in FEATURES]
        try:
            lock(settings.VAR_DIR / "server.lock").close()  # before the database is migrated
            bring_up_to_date.here(settings.VAR_DIR)
        except Refused as error:
            raise CommandError(error.message) from error
        if not settings.DEBUG:
            collect_if_changed()
        if (files := raise_open_files()) < ENOUGH_FILES:
            self.stderr.write(
                f"Only {files} files and connections may be open at once. Allow {ENOUGH_FILES} or "
                "more: LimitNOFILE= in a systemd unit, ulimit -n in a shell."
            )
        for warning in filter(None, warnings):
            self.stderr.write(f"Beware: {warning}.")
        self.stdout.write(f"Chatsite: http://{browsable_host(host)}:{port} (Ctrl-C stops it)")
        config = uvicorn.Config(
            "chatsite.asgi:application",
            host=host,
            port=port,
            workers=1,  # uvicorn would take the number from WEB_CONCURRENCY
            reload=reload,
            reload_dirs=[str(settings.BASE_DIR / "chatsite")] if reload else None,
            lifespan="on",
            http="chatsite.web.server.protocols:BoundedHttp",
            # uvicorn would believe any proxy on this machine.
            proxy_headers=bool(settings.TRUSTED_PROXIES),
            forwarded_allow_ips=settings.TRUSTED_PROXIES,
            # The sansio protocol pauses for slow readers; frames above the limit close with 1009.
            ws="chatsite.web.server.protocols:LingeringWebSocket",
            ws_max_size=settings.MAX_FRAME_BYTES,
            # It has one of its own: an idle socket would keep uvicorn's 44 KiB.
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=DRAIN_SECONDS,
            access_log=False,
            log_level="warning",
        )
        server = DrainingServer(config)
        if reload:
            ChangeReload(config, target=server.run, sockets=[config.bind_socket()]).run()
            return
        with contextlib.suppress(KeyboardInterrupt):
            server.run()
        if not server.started:
            sys.exit(STARTUP_FAILURE)
