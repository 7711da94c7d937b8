"""`manage.py cache`: a conversation's messages in the engine's cache, and cleaning it up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatsite.conversations.database.versions import require_known_version
from chatsite.conversations.path.cache_places import mark_for_cleanup
from chatsite.conversations.records import StoredConversation
from chatsite.conversations.turn.receipts import list_all_conversations
from chatsite.errors import ChatsiteError
from chatsite.kv_cache.books import LOADED, MARKED, UNLOADED
from chatsite.kv_cache.cleanup import STRATEGIES, unknown_strategy
from chatsite.kv_cache.cleanup_preview import CleanupOffers
from chatsite.kv_cache.panel_view import cache_books
from chatsite.kv_cache.records import CacheBooks, CachedMessage
from chatsite.turns.context.turn_context import Contexts, PageRequest
from chatsite.wiring.site import Site

HEADS = ("message", "turn", "who", "from", "cells", "state")
STATES = {LOADED: "loaded", MARKED: "marked for cleanup", UNLOADED: "unloaded"}


class Command(BaseCommand):
    help = (
        "Print which messages of a conversation lie in the engine's KV cache or were unloaded, by "
        "the books of its last answer, what is saved of it, and what each cleanup would free. "
        "With --cleanup unload what a strategy doesn't keep. Only the database is asked; the "
        "server may run."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("conversation", help="its id, as in the page's address")
        parser.add_argument("--cleanup", default="", help=f"one of: {', '.join(STRATEGIES)}")

    def handle(self, *args: Any, **options: Any) -> None:
        strategy = options["cleanup"]
        if strategy and (problem := unknown_strategy(strategy)):
            raise CommandError(problem)
        try:
            require_known_version()
            lines = asyncio.run(_run(options["conversation"], strategy))
        except ChatsiteError as error:
            raise CommandError(f"{error.message} Nothing was changed.") from None
        self.stdout.write("\n".join(lines))


async def _run(conversation: str, strategy: str) -> list[str]:
    site = Site()
    try:
        conversations = await list_all_conversations(conversation=conversation)
        if not conversations:
            raise CommandError("There is no such conversation here.")
        [stored] = conversations
        books = await cache_books(owner=stored.owner, conversation=stored.id)
        if strategy:
            return await _clean(stored, await _offers(site, stored, books.model), strategy)
        try:
            offers = describe_offers(await _offers(site, stored, books.model))
        except ChatsiteError as error:  # its agent is gone, or no model can be reached
            offers = [error.message]
        return [*table(books.rows), "", *remarks(books), "", *offers]
    finally:
        await site.stop()


async def _offers(site: Site, stored: StoredConversation, model: str) -> CleanupOffers:
    """Compute the panel's offers with the stored token counts, since no engine is started."""
    page = PageRequest(
        owner=stored.owner,
        conversation=stored.id,
        agent=stored.agent,
        query="",
        model=model,
        staff=True,
    )
    contexts = Contexts(
        environment=settings.HISTORY_ENVIRONMENT, resolve_agent=site.agents.resolve_without_start
    )
    cleaning = replace(site.cleanups, drafts=replace(site.drafts, contexts=contexts))
    return await cleaning.offers(page)


async def _clean(stored: StoredConversation, offered: CleanupOffers, strategy: str) -> list[str]:
    if offered.note:
        raise CommandError(f"{offered.note} Nothing was changed.")
    offer = next(one for one in offered.offers if one.name == strategy)
    if not offer.turns:
        return [f"{strategy}: nothing to unload."]
    await mark_for_cleanup(owner=stored.owner, conversation=stored.id, turns=offer.turns)
    unloaded = turns_text(len(offer.turns))
    return [
        f"{strategy}: {unloaded} unloaded, {offer.messages:,} messages. The next "
        f"message's prompt is {offer.tokens:,} tokens shorter.",
        "What was said stays stored; it can be brought back in the page, reloaded if it is open.",
    ]


def describe_offers(offered: CleanupOffers) -> list[str]:
    """Say what each strategy would unload."""
    if offered.note:
        return [offered.note]
    return ["--cleanup would free:"] + [
        f"  {offer.name}: {turns_text(len(offer.turns))}, {offer.tokens:,} tokens"
        for offer in offered.offers
    ]


def turns_text(count: int) -> str:
    return f"{count:,} {'turn' if count == 1 else 'turns'}"


def table(rows: Sequence[CachedMessage]) -> list[str]:
    """Write one line a message."""
    cells = [HEADS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADS))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]


def _cells(row: CachedMessage) -> tuple[str, ...]:
    in_file_only = row.start < 0 and row.status == LOADED
    state = "in the file only" if in_file_only else STATES[row.status]
    start, size = (str(number) if number >= 0 else "-" for number in (row.start, row.size))
    return str(row.seq), str(row.turn), row.role, start, size, state


def remarks(books: CacheBooks) -> list[str]:
    """Say what is unloaded and what is saved."""
    unloaded, saved = books.unloaded, books.saved
    lines = []
    if unloaded["turns"]:
        lines.append(
            f"Unloaded or marked: {turns_text(unloaded['turns'])}, {unloaded['messages']:,} "
            f"messages, {unloaded['tokens']:,} tokens."
        )
    if saved is None:
        return [*lines, "Nothing of it is saved."]
    at = saved.at.isoformat(sep=" ", timespec="seconds")
    return [*lines, f"Saved: {saved.cells:,} cells, {saved.bytes:,} bytes, {at}."]
