"""Saved slots of the engine: the rows that describe each file. The files themselves belong to
`kv_cache.slots.sessions`, which deletes those without a row."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils import timezone

from chatsite.conversations.database.locks import hold
from chatsite.conversations.models import Conversation
from chatsite.conversations.owners import Owner
from chatsite.kv_cache.books import Book, Session, SessionFile, Span
from chatsite.kv_cache.models import KvSession
from chatsite.storage import reading, writing


@reading
def read_session(*, key: str) -> Session | None:
    """Return the session; None where nothing is saved under this key, or the row contradicts
    itself."""
    row = KvSession.objects.filter(key=machine_key(key)).first()
    if row is None:
        return None
    book = Book(ids=_ids(bytes(row.ids)), spans=tuple(Span(name, size) for name, size in row.spans))
    if not book.ids or book.faults():
        return None
    return Session(
        key=key,
        fingerprint=row.fingerprint,
        book=book,
        file=row.file,
        size=row.size,
        digest=row.digest,
    )


@reading
def may_save(*, conversation: str) -> bool:
    """Return False for a temporary chat, which leaves no file, and for one that is gone."""
    rows = Conversation.objects.filter(id=uuid.UUID(conversation), deleted=None, temporary=None)
    return rows.exists()


@writing
def save_session(
    *, conversation: str | None, session: Session, used: datetime | None = None
) -> bool:
    """Store a saved slot, replacing the one with the same key.

    False, and nothing is stored, where the conversation was deleted, or text of it was changed or
    deleted since its last answer: the file may hold that text, so the caller must delete it.
    """
    hold(conversation=conversation or ())
    if conversation is not None:
        # Every change of text sets `last_turn` to None.
        rows = Conversation.objects.exclude(last_turn=None)
        if not rows.filter(id=uuid.UUID(conversation), deleted=None).exists():
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
    KvSession.objects.update_or_create(key=machine_key(session.key), defaults=values)
    return True


@writing
def touch_session(*, key: str, used: datetime | None = None) -> None:
    """Store the time of its use: the least recently used are deleted first."""
    KvSession.objects.filter(key=machine_key(key)).update(used=used or timezone.now())


@writing
def drop_sessions(*, keys: Iterable[str]) -> tuple[str, ...]:
    """Delete these rows, and return the names of their files."""
    rows = KvSession.objects.filter(key__in=map(machine_key, keys))
    files = tuple(rows.values_list("file", flat=True))
    rows.delete()
    return files


@reading
def list_sessions() -> list[SessionFile]:
    """List key, size and last use of every slot that this machine saved, for `books.outdated`."""
    rows, own = _saved_here().values_list("key", "size", "used"), settings.KV_MACHINE
    return [SessionFile(key.removeprefix(own), size, used.timestamp()) for key, size, used in rows]


@reading
def keys_with(*, part: str, owner: Owner) -> list[str]:
    """List the keys of what this machine saved with the message `part` in it: of the owner's
    conversations, and of all heads, which belong to nobody."""
    rows = _saved_here().filter(Q(conversation=None) | owner.filter("conversation__"))
    found = [key for key, spans in rows.values_list("key", "spans") if part in dict(spans)]
    return [key.removeprefix(settings.KV_MACHINE) for key in found]


@reading
def session_files() -> frozenset[str]:
    """Return the names of this machine's files that have a row."""
    return frozenset(_saved_here().values_list("file", flat=True))


def delete_saved_sessions(*, conversations: Collection[uuid.UUID], **signal: Any) -> None:
    """Receive `text_changed`: a saved slot holds the text. One that is being saved at this moment
    is refused afterwards, because `last_turn` is None."""
    KvSession.objects.filter(conversation__in=conversations).delete()


def machine_key(key: str) -> str:
    """Return the key of this machine's row: another one's engine has no such file."""
    return settings.KV_MACHINE + key


def _saved_here() -> QuerySet[KvSession]:
    return KvSession.objects.filter(key__startswith=settings.KV_MACHINE)


def _ids(stored: bytes) -> tuple[int, ...]:
    """Read the token ids; () where the bytes aren't a sequence of 4-byte integers."""
    return struct.unpack(f"<{len(stored) // 4}i", stored) if len(stored) % 4 == 0 else ()
