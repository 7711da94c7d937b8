"""Saved slots of the engine: what lies in which file. Only the rows are here; whoever keeps the
files removes those that have none."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterable
from datetime import datetime

from django.utils import timezone

from chatsite.conversations.database.work import writing
from chatsite.conversations.models import Conversation, KvSession
from chatsite.kv import Book, Session, SessionFile, Span


def read_session(*, key: str) -> Session | None:
    """None where nothing was saved under this key, or what is stored of it doesn't add up."""
    row = KvSession.objects.filter(key=key).first()
    if row is None:
        return None
    book = Book(ids=_ids(bytes(row.ids)), spans=tuple(Span(name, size) for name, size in row.spans))
    if not book.ids or book.faults():
        return None
    return Session(
        key=row.key,
        fingerprint=row.fingerprint,
        book=book,
        file=row.file,
        size=row.size,
        digest=row.digest,
    )


@writing
def save_session(
    *, conversation: str | None, session: Session, used: datetime | None = None
) -> bool:
    """Store what was saved, in the place of what was there under its key.

    False, and nothing is stored, where the conversation was deleted, or words of it were changed
    or taken away since its last answer: they may lie in the file, which must go.
    """
    if conversation is not None and not _is_unchanged(conversation):
        return False
    values = {
        "conversation_id": conversation and uuid.UUID(conversation),
        "fingerprint": session.fingerprint,
        "ids": struct.pack(f"<{len(session.book)}i", *session.book.ids),
        "spans": [[span.key, span.size] for span in session.book.spans],
        "file": session.file,
        "size": session.size,
        "digest": session.digest,
        "used": used or timezone.now(),
        "created": timezone.now(),
    }
    KvSession.objects.update_or_create(key=session.key, defaults=values)
    return True


@writing
def touch_session(*, key: str, used: datetime | None = None) -> None:
    """It was used: others go before it."""
    KvSession.objects.filter(key=key).update(used=used or timezone.now())


@writing
def drop_sessions(*, keys: Iterable[str]) -> tuple[str, ...]:
    """Forget these; the names of their files."""
    rows = KvSession.objects.filter(key__in=list(keys))
    files = tuple(rows.values_list("file", flat=True))
    rows.delete()
    return files


def list_sessions() -> list[SessionFile]:
    """All that are saved, for `kv.outdated`."""
    rows = KvSession.objects.values_list("key", "size", "used")
    return [SessionFile(key, size, used.timestamp()) for key, size, used in rows]


def session_files() -> frozenset[str]:
    """The names of the files that have a row."""
    return frozenset(KvSession.objects.values_list("file", flat=True))


def delete_saved_session(row: Conversation) -> None:
    """Words of the conversation change or go: what was saved of it holds them.

    Call it in the transaction that does so. What is being saved in this moment is refused
    afterwards, because `last_turn` is none then.
    """
    KvSession.objects.filter(conversation=row).delete()


def _is_unchanged(conversation: str) -> bool:
    """Whether the last answer is still the last thing that happened to its words: whoever changes
    or takes away some sets `last_turn` to none."""
    rows = Conversation.objects.select_for_update().filter(id=uuid.UUID(conversation), deleted=None)
    return rows.exclude(last_turn=None).exists()


def _ids(stored: bytes) -> tuple[int, ...]:
    """() for what isn't made of whole numbers of four bytes."""
    return struct.unpack(f"<{len(stored) // 4}i", stored) if len(stored) % 4 == 0 else ()
