"""A temporary database with long conversations, for measuring inside this process."""

from __future__ import annotations

import asyncio
import os
import tempfile
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import django
from django.core.management import call_command

from chatsite.messages import Message, Role, TokenCount

QUESTION = "What did we say about the sea, and why does it matter for the harbour? " * 2
ANSWER = "The sea is salt and wide, and the harbour keeps the boats from the weather. " * 6


@asynccontextmanager
async def database() -> AsyncIterator[None]:
    """Set up Django on an empty SQLite file, which is deleted at the end of the block, or on the
    empty database of TEST_DATABASE_URL."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()
    from django.db import connection, connections

    with tempfile.TemporaryDirectory(prefix="chatsite-bench-") as folder:
        if connection.vendor == "sqlite":
            connections.settings["default"]["NAME"] = Path(folder) / "bench.sqlite3"
        await asyncio.to_thread(call_command, "migrate", verbosity=0, interactive=False)
        yield


def counted_message(role: Role) -> Message:
    """A question of 34 or an answer of 106 tokens, counted in advance."""
    text, tokens = (QUESTION, 34) if role == "user" else (ANSWER, 106)
    count = TokenCount(count=tokens, tokenizer="o200k_base", basis="counted")
    return Message(id=str(uuid.uuid4()), role=role, content=text, tokens=count)


def conversation(guest: str, count: int) -> str:
    """Store a conversation of `count` messages: a greeting, then questions and answers in turn.
    Returns its id."""
    from chatsite.conversations.models import Conversation
    from chatsite.conversations.path import active_path

    now = datetime.now(UTC)
    row = Conversation.objects.create(
        id=uuid.uuid4(), guest=guest, agent="demo", title="bench", created=now, updated=now
    )
    messages = (counted_message("user" if number % 2 else "assistant") for number in range(count))
    active_path.append_to_path(row, messages, now=now)
    row.save()
    return str(row.id)
