"""Databases that can't be opened or brought up to date: a sentence, and the good copy is kept."""

from __future__ import annotations

import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.running import ROOT, Server

pytestmark = [pytest.mark.slow, pytest.mark.sqlite]

DATABASE = "chatsite.sqlite3"
BEFORE_MAIL = (
    "DELETE FROM django_migrations WHERE app IN ('accounts', 'kv_cache', 'mail', 'talk')"
    " OR app = 'conversations' AND name >= '0020'"
)
TABLES_OF_FEATURES = (
    "temporary_temporaryfile",
    "shares_share",
    "own_agents_ownagentversion",
    "own_agents_ownagent",
    "own_agents_owninstructions",
    "prompts_prompt",
)
NEWER = "INSERT INTO django_migrations (app, name, applied) VALUES ('conversations', '9999_x', '')"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of this version, without a log beside it."""
    folder = tmp_path_factory.mktemp("made")
    Server(folder).manage("migrate")
    change(folder, "PRAGMA journal_mode = DELETE")
    return folder / DATABASE


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    shutil.copy(made, tmp_path)
    return tmp_path


def change(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def refused(folder: Path, *command: str, limit: Callable[[], None] | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", *(command or ("serve",))],
        cwd=ROOT,
        env=Server(folder).environment,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=limit,
    )
    said = done.stdout + done.stderr
    assert (done.returncode, "Traceback" in said) == (1, False), said
    return said


def content(folder: Path) -> bytes:
    """Without the header, where the journal's mode is: opening it changes that."""
    return (folder / DATABASE).read_bytes()[100:]


def migrations(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as database:
        rows = database.execute("SELECT name FROM django_migrations WHERE app = 'conversations'")
        return [name for (name,) in rows]


@pytest.mark.thorough
def test_an_upgrade_that_fails_half_way_keeps_the_copy_of_its_beginning(folder: Path) -> None:
    later = (
        "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'table')"
        " AND (name LIKE '%s_mail%' OR name LIKE '%s_clock' OR name LIKE '%s_ownertotal%'"
        " OR name LIKE '%s_server' OR name LIKE '%s_import')"
        " ORDER BY type DESC"
    )
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        drop = [f"DROP {kind} {name}" for kind, name in database.execute(later)]
    drop += ["DROP INDEX turn_cost"]
    later_columns = ("server", "stop", "cost")
    drop += [f"ALTER TABLE conversations_turn DROP COLUMN {name}" for name in later_columns]
    kept = ("kept_whole", "in_force", "anchors")
    marked = "conversations_message (conversation_id, on_path, turn_seq) WHERE pinned OR excluded"
    drop += ["DROP INDEX message_marked", f"CREATE INDEX message_marked ON {marked}"]
    drop += [f"ALTER TABLE conversations_message DROP COLUMN {name}" for name in kept]
    compaction = ("compaction", "undone", "kept")
    drop += [f"ALTER TABLE conversations_summary DROP COLUMN {name}" for name in compaction]
    drop += ["DROP INDEX conversation_pinned", "DROP INDEX conversation_temporary"]
    of_conversation = ("compacted", "pinned", "archived", "folder", "titled", "temporary", "tuning")
    table = "conversations_conversation"
    drop += [f"ALTER TABLE {table} DROP COLUMN {name}" for name in of_conversation]
    features = ("temporary", "shares", "own_agents", "prompts")
    drop += [f"DROP TABLE {name}" for name in TABLES_OF_FEATURES]
    drop += [f"DELETE FROM django_migrations WHERE app IN {features}"]
    # 0020 makes its tables, and 0021 fails.
    change(folder, BEFORE_MAIL, *drop, "CREATE TABLE new__conversations_mail (x)")
    for _ in range(3):
        assert "As it was before it was brought up to date: " in refused(folder)
    assert "0020_mail" in migrations(folder / DATABASE)
    (copy,) = folder.glob("before-*")
    assert max(migrations(copy)) == "0019_talk_rooms"
    old = [folder / f"before-2026010{day}-000000.sqlite3" for day in range(1, 4)]
    for one in old:
        one.touch()
    change(folder, "DROP TABLE new__conversations_mail")
    with Server(folder):
        pass
    assert sorted(folder.glob("before-*")) == [old[-1], copy], "two are kept after the success"
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (0,), "the next is copied"


def test_an_index_of_words_with_larger_numbers_is_made_anew(folder: Path) -> None:
    number = 0x7FFF_FFFF << 32
    store = f"""
from django.utils import timezone
from chatsite.conversations.models import Conversation
dates = {{"created": timezone.now(), "updated": timezone.now()}}
Conversation.objects.create(guest="ada", agent="demo", title="Otters", words_row={number}, **dates)
"""
    Server(folder).manage("shell", "-c", store)
    Server(folder).manage("migrate", "conversations", "0026")
    change(folder, f"INSERT INTO conversations_words(rowid, text) VALUES ({number}, 'otters')")
    Server(folder).manage("migrate")
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        kept = database.execute("SELECT title, words_row FROM conversations_conversation")
        assert kept.fetchall() == [("Otters", None)], "waits to be indexed"
        found = "SELECT * FROM conversations_words WHERE conversations_words MATCH 'otters'"
        assert database.execute(found).fetchall() == []
        triggers = database.execute("SELECT COUNT(*) FROM sqlite_master WHERE name LIKE '%words_%'")
        assert triggers.fetchone()[0] >= 4


def test_rows_and_rights_go_along_when_a_table_gets_a_feature_of_its_own(folder: Path) -> None:
    Server(folder).manage("migrate", "conversations", "0023")
    change(
        folder,
        "INSERT INTO auth_user (username, password, first_name, last_name, email, is_staff,"
        " is_active, is_superuser, date_joined) VALUES ('grace', '', '', '', '', 1, 1, 0, '')",
        "INSERT INTO auth_user_user_permissions (user_id, permission_id)"
        " SELECT auth_user.id, auth_permission.id FROM auth_user, auth_permission"
        " WHERE codename = 'change_mail'",
        "INSERT INTO conversations_mailbox (name, validity, last) VALUES ('INBOX', 1, 7)",
    )
    Server(folder).manage("migrate")
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        rights = database.execute(
            "SELECT app_label, codename FROM auth_user_user_permissions"
            " JOIN auth_permission ON auth_permission.id = permission_id"
            " JOIN django_content_type ON django_content_type.id = content_type_id"
        ).fetchall()
        places = database.execute("SELECT name, last FROM conversations_mailbox").fetchall()
    assert rights == [("mail", "change_mail")]
    assert places == [("INBOX", 7)]


def test_a_copy_that_is_cut_off_is_no_copy(folder: Path) -> None:
    change(folder, BEFORE_MAIL)
    size = (folder / DATABASE).stat().st_size // 3
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))  # noqa: E731
    assert "There is no room for a copy" in refused(folder, limit=limit)
    assert not list(folder.glob("before-*"))


def garbage(file: Path) -> None:
    file.write_bytes(b"garbage!" * 1_000)


def half_of_it(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def zeros_in_it(file: Path) -> None:
    whole = file.read_bytes()
    middle = len(whole) // 2
    file.write_bytes(whole[:middle] + bytes(80_000) + whole[middle + 80_000 :])


def a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def without_its_migrations(file: Path) -> None:
    change(file.parent, "DELETE FROM django_migrations")


@pytest.mark.parametrize(
    "damaged",
    [
        garbage,
        without_its_migrations,
        *(
            pytest.param(damaged, marks=pytest.mark.thorough)
            for damaged in (half_of_it, zeros_in_it, a_folder)
        ),
    ],
)
def test_a_damaged_database_is_refused_in_a_sentence(
    folder: Path, damaged: Callable[[Path], None]
) -> None:
    damaged(folder / DATABASE)
    assert "The database can't be used as it is (" in refused(folder)


@pytest.mark.parametrize(
    "command",
    [
        ("purge",),
        ("add_message", "00000000-0000-4000-8000-000000000000", "x", "--source=briefing"),
        ("cache", "00000000-0000-4000-8000-000000000000"),
    ],
    ids=lambda command: command[0],
)
def test_a_command_leaves_a_newer_database_as_it_is(folder: Path, command: tuple[str, ...]) -> None:
    change(folder, NEWER)
    before = content(folder)
    assert "made by a newer version of Chatsite (9999_x)" in refused(folder, *command)
    assert content(folder) == before
