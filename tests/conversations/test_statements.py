"""Statements in plain SQL read and write the same rows as Django's own queries."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import Model
from django.test.utils import CaptureQueriesContext

from chatsite.conversations.database.columns import Columns, execute, fetch, key, moment
from chatsite.conversations.database.statements import CONVERSATIONS, MESSAGES, TURNS
from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.path import loading
from chatsite.conversations.turn.begin import begin_turn
from chatsite.conversations.turn.end import end_turn
from chatsite.conversations.turn.rounds import save_checkpoints
from chatsite.history import Users
from chatsite.storage import flush_write_log, writing
from tests.conversations.builders import begin, end, new_id, talk

pytestmark = pytest.mark.django_db
THEN = datetime(2026, 11, 22, 7, 47, 3, 120, tzinfo=UTC)


def stored_fields(row: Model) -> dict[str, Any]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def rows() -> tuple[Conversation, Turn, Message]:
    """One row of each model, with a value in every kind of field."""
    chat = Conversation(
        id=uuid.uuid4(), guest="ada", agent="demo", title="Ünïcode'\"%s", created=THEN, updated=THEN
    )
    turn = Turn(
        id=uuid.uuid4(),
        conversation=chat,
        client_id="c",
        number=1,
        receipt={"notes": ["é", None, 1.5], "deep": {"list": []}},
        started=THEN,
    )
    message = Message(
        id=uuid.uuid4(),
        conversation=chat,
        turn=turn,
        seq=1,
        role="user",
        content="a\nb",
        calls=[{"id": "1", "name": "x", "arguments": {"n": 1}}],
        reply_to=uuid.uuid4(),
        pinned=True,
        created=THEN,
    )
    return chat, turn, message


def statements(made: CaptureQueriesContext) -> list[str]:
    """What was asked of the tables, without the beginnings and ends of transactions and, on
    PostgreSQL, their locks."""
    asked = (str(one["sql"]).strip() for one in made.captured_queries)
    around = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "SELECT pg_advisory")
    return [one for one in asked if not one.startswith(around)]


class TestColumns:
    def test_django_reads_the_same_row_that_our_statement_inserted(self) -> None:
        chat, turn, message = rows()
        CONVERSATIONS.insert([chat])
        TURNS.insert([turn])
        MESSAGES.insert([message])
        made: tuple[Model, ...] = (chat, turn, message)
        for row in made:
            assert stored_fields(type(row)._base_manager.get(pk=row.pk)) == stored_fields(row)

    def test_our_statement_reads_the_same_row_that_django_stored(self) -> None:
        found: tuple[Model, ...] = rows()
        for row in found:
            row.save(force_insert=True)
        read: tuple[Columns[Any], ...] = (CONVERSATIONS, TURNS, MESSAGES)
        for table, row in zip(read, found, strict=True):
            again = table.first("id = %s", key(row.pk))
            assert again is not None and stored_fields(again) == stored_fields(row)
            assert not again._state.adding

    def test_a_row_that_our_statement_inserted_can_be_saved_again(self) -> None:
        chat, _, _ = rows()
        CONVERSATIONS.insert([chat])
        chat.title = "Another"
        chat.save()
        assert Conversation.objects.get().title == "Another"

    def test_only_the_named_fields_are_read_and_the_others_on_access(self) -> None:
        for row in rows():
            row.save(force_insert=True)
        found = Columns(Message, "seq", "id", "calls").first("seq = %s", 1)
        assert found is not None
        assert found.get_deferred_fields() >= {"content", "created", "pinned"}
        assert found.calls[0]["name"] == "x" and found.content == "a\nb"

    def test_only_the_named_fields_are_changed(self) -> None:
        chat, _, _ = rows()
        CONVERSATIONS.insert([chat])
        chat.title, chat.agent = "New", "other"
        Columns(Conversation, "title").update(chat)
        now = Conversation.objects.get()
        assert (now.title, now.agent) == ("New", "demo")

    def test_a_statement_that_the_database_refuses_raises_and_stores_nothing(self) -> None:
        chat, turn, _ = rows()
        CONVERSATIONS.insert([chat])
        twin = Turn(conversation=chat, client_id="c", number=2, started=THEN)
        with pytest.raises(IntegrityError), transaction.atomic():
            TURNS.insert([turn, twin])
        assert not Turn.objects.exists()

    def test_a_bare_row_has_the_values_of_the_models(self) -> None:
        for row in rows():
            row.save(force_insert=True)
        bare = MESSAGES.to_tuple(fetch(f"SELECT {MESSAGES.names()} FROM {MESSAGES.table}")[0])
        assert bare._asdict() == stored_fields(Message.objects.get())

    def test_a_time_and_an_id_can_be_looked_up_in_their_stored_form(self) -> None:
        chat, _, _ = rows()
        CONVERSATIONS.insert([chat])
        where = "UPDATE conversations_conversation SET title = %s WHERE updated = %s AND id = %s"
        assert execute(where, "Found", moment(THEN), key(str(chat.id))) == 1
        assert execute(where, "Found", moment(THEN), key(uuid.uuid4())) == 0


class TestUnitsOfWork:
    def test_a_unit_of_work_that_writes_is_marked_as_a_write(self) -> None:
        assert begin_turn.writes and end_turn.writes and save_checkpoints.writes
        assert not loading.load_path.writes

    def test_the_end_of_a_turn_reads_its_rows_once(self) -> None:
        """A column that isn't among those read is fetched by itself, in another query."""
        started = begin(new_id())
        with CaptureQueriesContext(connection) as made:
            end(started)
        read = [one for one in statements(made) if one.startswith("SELECT")]
        assert len(read) == 1  # its turn with its messages

    @pytest.mark.parametrize(("turns", "begins"), [(0, 5), (1, 8), (30, 9)])
    def test_a_turn_takes_few_statements_however_long_the_conversation_is(
        self, turns: int, begins: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        chat = new_id()
        talk(chat, turns)
        # What Django does for a column that wasn't read.
        monkeypatch.delattr(Model, "refresh_from_db")
        with CaptureQueriesContext(connection) as made:
            started = begin(chat, reach=Users(20))
            begun = statements(made)
            end(started)
        assert (len(begun), len(statements(made)) - len(begun)) == (begins, 4)

    def test_a_unit_of_work_is_stored_whole_or_not_at_all(self) -> None:
        @writing
        def fails() -> None:
            CONVERSATIONS.insert([rows()[0]])
            raise OSError("the disk is full")

        with pytest.raises(OSError, match="disk"):
            fails.here()
        assert not Conversation.objects.exists()

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.sqlite
    def test_written_pages_are_moved_into_the_database_file(self) -> None:
        talk(new_id(), 1)
        flush_write_log.here()
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
            busy, written, moved = cursor.fetchone()
        assert (busy, written) == (0, moved)
