"""PostgreSQL itself watches, in every test that runs there, that a unit of work holds what it
changes (triggers of tests alone), and that nobody takes locks in another order than all others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from chatsite import storage
from chatsite.conversations.database import columns, locks
from chatsite.conversations.models import Conversation, Message, SearchIndexPart, Summary, Turn
from chatsite.storage import Unit
from chatsite.talk.models import TalkMessage, TalkRoom

ONE_STATEMENT = "it changes by one statement, which asks itself whether that is still wanted"
UNIQUE = "it makes or finds one row by a key that is unique"
# The units that hold nothing, each with its reason.
HOLDS_NOTHING = {
    "chatsite.accounts.guests.remove_old_sessions": ONE_STATEMENT,
    "chatsite.cluster.servers.enter_alone": "only the server of a file of SQLite does it",
    "chatsite.cluster.servers.leave": ONE_STATEMENT,
    "chatsite.conversations.imports.imports.fail_import": ONE_STATEMENT,
    "chatsite.conversations.turn.rounds.save_checkpoints": "its docstring says why",
    "chatsite.kv_cache.saved_sessions.drop_sessions": "a file that lost its row is removed later",
    "chatsite.kv_cache.saved_sessions.touch_session": ONE_STATEMENT,
    "chatsite.mail.answers.finish_mail": ONE_STATEMENT,
    "chatsite.mail.answers.keep_mail_files": ONE_STATEMENT,
    "chatsite.mail.mails.mailbox_account": UNIQUE,
    "chatsite.mail.mails.record_mail": UNIQUE,
    "chatsite.mail.mails.save_mailbox_place": UNIQUE,
    "chatsite.mail.mails.take_notice": UNIQUE,
    "chatsite.talk.room_path.finish_change": ONE_STATEMENT,
    "chatsite.talk.room_path.finish_clearing": ONE_STATEMENT,
    "chatsite.storage.takes_writes": ONE_STATEMENT,
    "chatsite.temporary.chats.touch_chats": ONE_STATEMENT,
}
# They change a column of many conversations that nothing else decides by.
NOT_BY_CONVERSATION = {
    "chatsite.conversations.search.word_index.index_words",
    "chatsite.wiring.maintenance.follow_clock",
}
# A model's table, the kind of its lock and the column that names it.
WATCHED = (
    (Conversation, "conversation", "id"),
    (Message, "conversation", "conversation_id"),
    (Turn, "conversation", "conversation_id"),
    (Summary, "conversation", "conversation_id"),
    (SearchIndexPart, "conversation", "conversation_id"),
    (TalkRoom, "room", "id"),
    (TalkMessage, "room", "room_id"),
)
# A conversation or a room that is new has an id that nobody else knows, or is held by its name.
FUNCTION = """
CREATE OR REPLACE FUNCTION watch_locks() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE unit text := current_setting('watched.unit', true); held text;
BEGIN
  IF COALESCE(unit, '') = '' OR TG_OP = 'INSERT' AND TG_ARGV[1] = 'id' THEN RETURN NULL; END IF;
  held := TG_ARGV[0] || ' ' || (to_jsonb(COALESCE(NEW, OLD)) ->> TG_ARGV[1]);
  IF NOT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted
      AND pid = pg_backend_pid()
      AND (classid::bigint << 32 | objid::bigint) = hashtextextended(held, 0)) THEN
    RAISE EXCEPTION '% changes % without holding %', unit, TG_TABLE_NAME, held;
  END IF;
  RETURN NULL;
END $$
"""
ORDER = ("clock", "mail", "room", "owner", "conversation", "numbers")


def create_triggers() -> None:
    with connection.cursor() as cursor:
        cursor.execute(FUNCTION)
        for model, kind, column in WATCHED:
            cursor.execute(
                f"CREATE OR REPLACE TRIGGER watch_locks AFTER INSERT OR UPDATE OR DELETE "
                f"ON {model._meta.db_table} "
                f"FOR EACH ROW EXECUTE FUNCTION watch_locks('{kind}', '{column}')"
            )


class _Here(threading.local):
    """The unit that runs on this thread, and the kinds of what its transaction holds, by name."""

    unit = ""
    held: dict[str, str] | None = None


_here = _Here()


@contextmanager
def _unit(name: str) -> Iterator[None]:
    """Within it the triggers watch a unit of the program; within another one, that one's locks
    are held, too."""
    if not name.startswith("chatsite."):
        yield
        return
    outer, outermost = _here.unit, _here.held is None
    _here.held = {} if _here.held is None else _here.held
    exempt = name in HOLDS_NOTHING or name in NOT_BY_CONVERSATION
    _tell("" if exempt else name)
    try:
        yield
    finally:
        _here.held = None if outermost else _here.held
        _tell(outer)


def _tell(unit: str) -> None:
    _here.unit = unit
    if not connection.needs_rollback:
        connection.ensure_connection()
        # Not by Django's cursor, whose statements tests count.
        with connection.connection.cursor() as cursor:
            cursor.execute("SELECT set_config('watched.unit', %s, false)", [unit])


def _ordered(sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """In place of the `fetch` of `hold`: what is new comes behind all that is held."""
    held = _here.held if _here.held is not None else {}
    names = values[0] if isinstance(values[0], list) else [f"conversation of {values[0]}"]
    for name in names:
        kind = name.partition(" ")[0]
        behind = [one for one in held.values() if ORDER.index(one) > ORDER.index(kind)]
        assert name in held or not behind, f"{_here.unit} takes {name} after {held}"
        held[name] = kind
    return _fetch(sql, *values)


_fetch = columns.fetch


@contextmanager
def watching() -> Iterator[None]:
    here, piece = Unit.here, storage.next_piece

    def watched_here(self: Unit[Any, Any], *args: Any, **kwargs: Any) -> Any:
        if not self.writes or isinstance(self, storage.UnitInPieces):
            return here(self, *args, **kwargs)
        with _unit(f"{self.__module__}.{self.__name__}"):
            return here(self, *args, **kwargs)

    def watched_piece(steps: Any) -> tuple[bool, Any]:
        module = steps.gi_frame.f_globals["__name__"]
        with _unit(f"{module}.{steps.__name__}"):
            return piece(steps)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Unit, "here", watched_here)
        patch.setattr(storage, "next_piece", watched_piece)
        patch.setattr(locks, "fetch", _ordered)
        yield
