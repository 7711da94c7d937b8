"""`manage.py add_message CONVERSATION --source briefing TEXT`: a message from outside the page."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatsite.conversations.database.versions import require_known_version
from chatsite.conversations.path.added_messages import ROLES, SOURCES, add_message
from chatsite.errors import ChatsiteError


class Command(BaseCommand):
    help = (
        "Add a message to a conversation. People see it when they next open the conversation. "
        "A message from Talk or by mail counts like one that is written in the page; a model sees "
        "a message of a background task (scheduled, briefing) only with the message that follows."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("conversation", help="the conversation's id")
        parser.add_argument("text", nargs="?", help="the message; without it, what comes on stdin")
        parser.add_argument("--source", required=True, choices=SOURCES)
        parser.add_argument(
            "--role",
            choices=ROLES,
            help="user for what a person wrote or a task was asked, assistant for an answer or a "
            "report; without it, user from talk and email, else assistant",
        )

        # Otherwise argparse reports a text after the options as missing.
        parser.parse_args = parser.parse_intermixed_args  # type: ignore[method-assign]

    def handle(self, *args: Any, **options: Any) -> None:
        text = options["text"]
        if text is None:
            # A task may write another encoding than UTF-8; the rest of its report is still useful.
            text = sys.stdin.buffer.read().decode("utf-8", "replace")
        try:
            require_known_version()
            stored = add_message.here(
                conversation=options["conversation"],
                source=options["source"],
                text=text,
                role=options["role"],
            )
        except ChatsiteError as error:
            raise CommandError(error.message) from None
        self.stdout.write(f"Stored as message {stored.seq} of {options['conversation']}.")
