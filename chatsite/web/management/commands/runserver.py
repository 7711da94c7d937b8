"""`manage.py runserver`, as every Django project is started: here it runs `serve`.

Django's own would serve the pages without the start that they need, and no socket.
"""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from chatsite.web.management.commands.serve import Command as Serve

ADDRESS = re.compile(r"(?:(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:\[\]]+):)?(?P<port>[0-9]{1,5})")
# Django's options that make no difference here.
WITHOUT_EFFECT = ("--noreload", "--nothreading", "--nostatic", "--insecure")


def read_address(text: str, *, ipv6: bool = False) -> tuple[str, int]:
    """`8001`, `0.0.0.0:8001` or `[::1]:8001` as host and port. Raises CommandError."""
    found = ADDRESS.fullmatch(text)
    if found is None or not 1 <= int(found["port"]) <= 65_535:
        raise CommandError(
            f"{text!r} is not allowed. Name a port, or an address and a port: 8001, 0.0.0.0:8001, "
            "[::1]:8001"
        )
    host = (found["host"] or "").strip("[]")
    usual = "::1" if ipv6 else settings.HOST
    return "0.0.0.0" if host == "0" else host or usual, int(found["port"])


class Command(Serve):
    help = "The same as `serve`, with an address as Django's runserver takes it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("addrport", nargs="?", default="", help="port, or address:port")
        parser.add_argument("--ipv6", "-6", action="store_true", help="listen on [::1]")
        for name in WITHOUT_EFFECT:
            parser.add_argument(name, action="store_true", help="accepted; makes no difference")

    def handle(self, *args: Any, **options: Any) -> None:
        asked = options["addrport"] or str(settings.PORT)
        host, port = read_address(asked, ipv6=options["ipv6"])
        self.stdout.write(
            "runserver runs `manage.py serve` here; `serve --reload` starts again on changed code."
        )
        self.serve(host, port)
