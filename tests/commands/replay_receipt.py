"""The request of an answer, built again from its receipt."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatsite.conversations.models import Turn
from chatsite.conversations.owners import Owner
from chatsite.conversations.turn.receipts import request_parts
from chatsite.errors import ChatsiteError, NotFound
from chatsite.history.receipts.replay import StoredRequest
from chatsite.turns.answer.sent_requests import RebuiltRequest, rebuild_request
from chatsite.turns.context.file_forms import StoredFiles
from chatsite.wiring.site import Site

NOT_A_RECEIPT = (
    "{file} is not a receipt that can be read. Copy one in the debug panel under an answer, "
    "with “Copy as JSON”."
)


class Command(BaseCommand):
    help = (
        "Build the request of an answer again from its receipt, the stored messages and the agent "
        "as it is now. Prints it as JSON; names what isn't as it was sent, and fails then."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the receipt, as copied in the debug panel")
        parser.add_argument("--out", help="write the request to this file instead of printing it")

    def handle(self, *args: Any, **options: Any) -> None:
        rebuilt = self._rebuilt(Path(options["file"]))
        messages = rebuilt.to_dict()["messages"]
        text = json.dumps({**rebuilt.asked, "messages": messages}, ensure_ascii=False, indent=2)
        if options["out"]:
            try:
                Path(options["out"]).write_text(f"{text}\n")
            except OSError as error:
                raise CommandError(f"{options['out']}: {error.strerror}.") from None
        else:
            self.stdout.write(text)
        if rebuilt.differences:
            raise CommandError(
                "This is not byte for byte what was sent:\n- " + "\n- ".join(rebuilt.differences)
            )
        said = f"Byte for byte the texts of the request that was sent: {len(messages)} messages."
        self.stderr.write(" ".join([said, *rebuilt.notes]))

    def _rebuilt(self, file: Path) -> RebuiltRequest:
        """Raises CommandError where the receipt is invalid or its turn is missing."""
        try:
            owner, kept = _read(file)
            return asyncio.run(_again(kept, owner))
        except ChatsiteError as error:
            raise CommandError(error.message) from None


def _owner_of(turn: str) -> Owner:
    """Of any turn, for the administrator. Raises NotFound."""
    try:
        row = Turn.objects.select_related("conversation").get(id=turn).conversation
    except (Turn.DoesNotExist, ValidationError):
        raise NotFound("There is no such answer here.") from None
    return Owner(user=row.user_id, guest=row.guest)


def _read(file: Path) -> tuple[Owner, StoredRequest]:
    """Whose turn a receipt is of, and what was sent then. A failure of ours later isn't the file's
    fault."""
    try:
        receipt = json.loads(file.read_text())
        turn = str(receipt["turn"])
        owner = _owner_of(turn)
        return owner, request_parts.here(owner=owner, turn=turn, receipt=receipt)
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}.") from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise CommandError(NOT_A_RECEIPT.format(file=file)) from None


async def _again(kept: StoredRequest, owner: Owner) -> RebuiltRequest:
    """With the current agent, and the owner's files as far as they are still stored."""
    site = Site()
    try:
        head = site.agents.resolve_without_start(kept.agent).head
        return await rebuild_request(kept, head, StoredFiles(owner))
    finally:
        await site.stop()
