"""The writing thread is given up between pieces, however much one person has stored."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from chatsite import storage
from chatsite.conversations import lifecycle as maintenance
from chatsite.conversations.imports.imports import add_imported, begin_import, finish_import
from chatsite.conversations.lifecycle import (
    clear_conversation,
    delete_conversation,
    purge,
    save_counts,
    undelete_conversation,
)
from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.path import loading
from chatsite.conversations.path.loading import load_path
from chatsite.conversations.path.queries import list_conversations, open_conversation, whole_path
from chatsite.errors import NotFound
from chatsite.history import Everything
from chatsite.messages import Message as Said
from chatsite.messages import TokenCount
from tests.conversations.builders import ADA, begin, end, new_id, retry
from tests.imported import import_conversation, unmarked

pytestmark = pytest.mark.django_db(transaction=True)
MESSAGES = 10_000


def said(count: int) -> list[Said]:
    return [Said.user(f"Line {number}", id=new_id()) for number in range(count)]


def imported(count: int) -> str:
    return import_conversation.here(owner=ADA, agent="demo", title="Log", messages=said(count)).id


@contextmanager
def watched() -> Iterator[list[int]]:
    """The rows that each transaction changed, as SQLite counts them."""
    changed: list[int] = []
    original = storage.next_piece

    def counted(steps: Any) -> tuple[bool, Any]:
        before = total_changes()
        try:
            return original(steps)
        finally:
            changed.append(total_changes() - before)

    storage.next_piece = counted
    try:
        yield changed
    finally:
        storage.next_piece = original


def total_changes() -> int:
    connection.ensure_connection()
    return int(connection.connection.total_changes)


def later() -> Any:
    return timezone.now() + timedelta(hours=2)


def counts_of(chat: str) -> dict[str, TokenCount]:
    ids = Message.objects.filter(conversation_id=uuid.UUID(chat)).values_list("id", flat=True)
    return {str(id): TokenCount(count=7, tokenizer="t", basis="counted") for id in ids}


@pytest.mark.slow
@pytest.mark.sqlite
def test_no_unit_changes_more_rows_at_once_than_a_piece_has() -> None:
    with watched() as changed:
        chat = imported(MESSAGES)
        save_counts.here(conversation=chat, counts=counts_of(chat))
        row = Conversation.objects.get(id=chat)
        assert (row.path_messages, row.path_tokens) == (MESSAGES, 7 * MESSAGES)
        clear_conversation.here(owner=ADA, conversation=chat)
        row.refresh_from_db()
        assert (row.path_messages, row.path_tokens, row.forget_above) == (0, 0, 0)
        delete_conversation.here(owner=ADA, conversation=chat)
        assert purge(now=later()).conversations == 1
    assert not Message.objects.exists()
    assert len(changed) >= 4 * MESSAGES / storage.ROWS
    assert max(changed) <= storage.ROWS + 7  # the conversation, its index, its owner's sum


def test_an_import_is_found_by_nobody_before_it_is_complete() -> None:
    id = begin_import.here(owner=ADA, agent="demo", title="Half")
    add_imported.here(conversation=id, part=unmarked(said(3)))
    assert list_conversations.here(owner=ADA) == ([], False)
    for unit in (open_conversation, whole_path, undelete_conversation):
        with pytest.raises(NotFound):
            unit.here(owner=ADA, conversation=id)
    assert purge(now=later()).conversations == 0
    finish_import.here(conversation=id)
    [shown], _ = list_conversations.here(owner=ADA)
    assert shown.id == id


def test_what_a_killed_server_left_of_an_import_is_removed() -> None:
    id = begin_import.here(owner=ADA, agent="demo", title="Half")
    add_imported.here(conversation=id, part=unmarked(said(3)))
    kept = imported(2)
    assert maintenance.remove_imports.here() == 1
    assert [str(row.id) for row in Conversation.objects.all()] == [kept]
    assert Message.objects.count() == 2
    with pytest.raises(NotFound):
        add_imported.here(conversation=id, part=unmarked(said(1)))


def test_a_message_sent_while_a_conversation_is_cleared_stays() -> None:
    chat = imported(storage.ROWS * 2)
    steps = clear_conversation.pieces(owner=ADA, conversation=chat)
    assert storage.next_piece(steps) == (False, None)
    started = begin(chat, "Still here")
    loaded = load_path.here(owner=ADA, conversation=chat, reach=Everything())
    [entry] = [one for one in loaded.transcript.entries if one.forgets_above]
    assert entry.message.content == "Still here"
    while not storage.next_piece(steps)[0]:
        pass
    row = Conversation.objects.get(id=chat)
    assert (row.path_messages, row.path_users, row.forget_above) == (1, 1, 0)
    assert Turn.objects.get(id=started.turn).state == "running"


async def test_another_write_runs_between_the_pieces_and_a_cancelled_caller_ends_nothing() -> None:
    order: list[str] = []

    @storage.in_pieces
    def long() -> storage.Pieces[None]:
        for _ in range(3):
            order.append("long")
            yield

    @storage.writing
    def short() -> None:
        order.append("short")

    caller = asyncio.create_task(long())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    caller.cancel()
    await short()
    await storage.drain()
    assert order.count("long") == 3
    assert order.index("short") < 3


def test_a_turn_that_begins_reads_no_long_path_on_the_writing_thread() -> None:
    short, long = imported(100), imported(loading.SHORT + 1)
    assert begin(short, "And now?").loaded is not None
    begun = begin(long, "And now?")
    assert begun.loaded is None
    end(begun, "Nothing.")
    assert retry(long, begun.answer).loaded is None
    read = loading.load_path.here(owner=ADA, conversation=long, reach=Everything())
    assert len(read.transcript.entries) == loading.SHORT + 2
