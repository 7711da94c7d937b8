"""`manage.py move_database`: a whole site leaves SQLite for PostgreSQL, nothing is lost."""

from __future__ import annotations

import io
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import psycopg
import pytest

from chatsite.conversations.database.moving import ROWS
from chatsite.conversations.search.spelling import searched_words
from tests.person import Person
from tests.postgres import Postgres
from tests.running import ROOT, Server
from tests.web.browser_requests import ask

pytestmark = pytest.mark.slow

STATE = "chatsite_unfinished_move"
HUGE = "Größe 東京 🚢 " * 300_000  # 5 MB
NUL_IN_JSON = [{"id": "1", "name": "clock", "arguments": 'a\0\0b \\u0000 "\\"'}]
DEADLINE = 60.0


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with Postgres() as running:
        yield running


@pytest.fixture
def url(postgres: Postgres, request: pytest.FixtureRequest) -> str:
    """An empty database of the test's own."""
    return postgres.new_database(f"test_{abs(hash(request.node.nodeid))}")


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A folder with conversations of every kind, and who has them, with their password."""
    folder = tmp_path_factory.mktemp("seeded")
    printed = Server(folder).develop("seed")
    name, password = re.findall(r"Sign in as (\S+) with the password (\S+),", printed)[0]
    return folder, name, password


@pytest.fixture(scope="module")
def large(seeded: tuple[Path, str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with many messages, and with texts that are easily lost."""
    folder = tmp_path_factory.mktemp("large") / "var"
    shutil.copytree(seeded[0], folder)
    with closing(opened(folder)) as database, database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(conversations_message)")]
        own = {"id": "lower(hex(randomblob(16)))", "seq": "100000 + n", "content": "'text ' || n"}
        database.execute(
            "WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many LIMIT ?) "
            f"INSERT INTO conversations_message ({', '.join(columns)}) "
            f"SELECT {', '.join(own.get(name, name) for name in columns)} FROM many, "
            "(SELECT * FROM conversations_message LIMIT 1)",
            [8 * ROWS],
        )
        for seq, content, calls in (
            (100_001, HUGE, []),
            (100_002, "before\0after", []),
            (100_003, "", NUL_IN_JSON),
            (100_004, r"\u0000 is no NUL", []),
        ):
            database.execute(
                "UPDATE conversations_message SET content = ?, calls = ? WHERE seq = ?",
                [content, json.dumps(calls), seq],
            )
    return folder


def opened(folder: Path) -> sqlite3.Connection:
    database = sqlite3.connect(folder / "chatsite.sqlite3")
    database.create_function("searched_words", 1, searched_words)
    return database


def started(folder: Path, url: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**Server(folder).environment, "DATABASE_URL": url}
    return subprocess.Popen(
        [sys.executable, "manage.py", "move_database", *arguments],
        cwd=ROOT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def move(folder: Path, url: str, *arguments: str, code: int = 0) -> str:
    process = started(folder, url, *arguments)
    output, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == code, output
    return output


def rows(url: str, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as database:
        return database.execute(sql).fetchall()


def killed(folder: Path, url: str, when: str) -> None:
    """Begin a move and end it with kill -9 as soon as the condition `when` holds there."""
    process = started(folder, url)
    until = time.monotonic() + DEADLINE
    with psycopg.connect(url, autocommit=True) as database:
        while time.monotonic() < until:
            assert process.poll() is None, process.communicate()[0]
            try:
                if (found := database.execute(when).fetchone()) and found[0]:
                    break
            except psycopg.errors.UndefinedTable:
                continue
    process.kill()
    process.communicate()


def tables(folder: Path) -> dict[str, int]:
    """What is stored in SQLite, counted by table; what PostgreSQL makes itself isn't."""
    with closing(opened(folder)) as database:
        found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        names = [
            name
            for (name,) in found
            if not name.startswith(("sqlite_", "conversations_words", "django_migrations"))
        ]
        counted = [database.execute(f"SELECT COUNT(*) FROM {name}").fetchone() for name in names]
        return {name: int(count) for name, (count,) in zip(names, counted, strict=True)}


def require_same(folder: Path, url: str, fresh: str) -> None:
    for name, count in tables(folder).items():
        assert rows(url, f"SELECT COUNT(*) FROM {name}") == [(count,)], name
    texts = "SELECT id, parent_id, content, created FROM conversations_message"
    with closing(opened(folder)) as database:
        wanted = {
            (id, parent, content and content.replace("\0", "\ufffd"), created)
            for id, parent, content, created in database.execute(texts)
        }
    assert wanted == {
        (id.hex, parent and parent.hex, content, f"{created:%Y-%m-%d %H:%M:%S.%f}")
        for id, parent, content, created in rows(
            url, texts.replace("created", "created AT TIME ZONE 'UTC'")
        )
    }
    totals = "SELECT owner, characters FROM conversations_ownertotal"
    with closing(opened(folder)) as database:
        assert set(database.execute(totals)) == set(rows(url, totals))
    for definitions in (
        "SELECT indexname FROM pg_indexes WHERE schemaname = 'public'",
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint",
        "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace",
    ):
        assert set(rows(url, definitions)) == set(rows(fresh, definitions))


@pytest.fixture(scope="module")
def fresh(postgres: Postgres, seeded: tuple[Path, str, str]) -> str:
    """A database as `migrate` makes it."""
    url = postgres.new_database("fresh")
    Server(seeded[0], DATABASE_URL=url).manage("migrate")
    return url


async def export(person: Person) -> dict[str, object]:
    """What the files hold. PostgreSQL gives the keys of stored JSON in an order of its own."""
    answer = await ask(person, "GET", "/accounts/export/")
    assert answer.status == 200
    with ZipFile(io.BytesIO(answer.body)) as archive:
        return {
            name: json.loads(archive.read(name)) if name.endswith(".json") else archive.read(name)
            for name in archive.namelist()
            if name != "README.txt"
        }


async def test_everybody_finds_everything_and_stays_signed_in(
    seeded: tuple[Path, str, str], tmp_path: Path, url: str
) -> None:
    folder = tmp_path / "var"
    shutil.copytree(seeded[0], folder)
    with Server(folder, SECRET_KEY="") as server:
        async with Person(server.url) as ada, Person(server.url) as guest:
            await ada.sign_in(*seeded[1:])
            await (await guest.page()).say("From a guest")
            before = [await export(ada), await export(guest)]
            assert len(before[0]) > 10 and len(before[1]) == 3
            server.stop()
            printed = move(folder, url)
            file, name = re.findall(
                r"SECRET_KEY to what is in (\S+) and COOKIE_NAME to (\w+)", printed
            )[0]
            key = Path(file).read_text()  # noqa: ASYNC240
            with Server(folder, DATABASE_URL=url, SECRET_KEY=key, COOKIE_NAME=name) as moved:
                ada.url = guest.url = moved.url
                assert [await export(ada), await export(guest)] == before
                assert (await (await guest.page()).say("Once more"))["state"] == "complete"
            # New rows get ids that are free.
            Server(folder, DATABASE_URL=url, SECRET_KEY=key).add_user("new", "a-long-password")


def test_texts_that_are_easily_lost_arrive(large: Path, url: str, fresh: str) -> None:
    before = (large / "chatsite.sqlite3").read_bytes()
    printed = move(large, url)
    total = tables(large)["conversations_message"]
    assert f"conversations_message: {total:,} rows" in printed
    assert "NUL replaced by U+FFFD in 2" in printed
    found = rows(url, "SELECT content, calls FROM conversations_message WHERE seq > 100000 "
                 "ORDER BY seq LIMIT 4")  # fmt: skip
    repaired = [{**NUL_IN_JSON[0], "arguments": 'a\ufffd\ufffdb \\u0000 "\\"'}]
    assert found == [
        (HUGE, []), ("before\ufffdafter", []), ("", repaired), (r"\u0000 is no NUL", []),
    ]  # fmt: skip
    require_same(large, url, fresh)
    assert (large / "chatsite.sqlite3").read_bytes() == before
    assert "holds other data" in move(large, url, code=1)


def copied(url: str) -> set[tuple[Any, ...]]:
    """The messages that are there, each with the transaction that stored it."""
    if rows(url, "SELECT to_regclass('conversations_message')") == [(None,)]:
        return set()
    return set(rows(url, "SELECT id, xmin::text FROM conversations_message"))


@pytest.mark.thorough
def test_a_move_that_was_killed_three_times_goes_on(large: Path, url: str, fresh: str) -> None:
    migrating = "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock')"
    copying = f"SELECT last > 0 FROM {STATE} WHERE name = 'conversations_message'"
    making_indexes = f"SELECT COUNT(*) < 80 FROM {STATE}_later"
    rows_there = set[tuple[Any, ...]]()
    for when in (migrating, copying, making_indexes):
        killed(large, url, when)
        assert rows_there <= copied(url), "none was copied again"
        rows_there = copied(url)
        if when == copying:
            assert 0 < len(rows_there) < tables(large)["conversations_message"]
    assert "All of it was compared" in move(large, url)
    assert rows_there <= copied(url)
    require_same(large, url, fresh)


@pytest.mark.thorough
def test_a_row_that_differs_is_found_and_nothing_is_served_meanwhile(large: Path, url: str) -> None:
    killed(large, url, f"SELECT COUNT(*) < 80 FROM {STATE}_later")
    changed = "UPDATE conversations_message SET content = 'another' WHERE seq = 100009"
    with psycopg.connect(url) as database:
        (id,) = database.execute(f"{changed} RETURNING id").fetchone() or ()
    assert f"Row {id.hex} of conversations_message isn't in PostgreSQL as it is in SQLite" in move(
        large, url, code=1
    )
    with psycopg.connect(url) as database:
        database.execute(f"DELETE FROM conversations_message WHERE id = '{id}'")
    assert "conversations_message has 16," in move(large, url, code=1)
    server = Server(large, DATABASE_URL=url)
    with pytest.raises(AssertionError, match="Not everything has arrived in this database"):
        server.start()


def test_it_refuses_what_it_can_not_move(
    seeded: tuple[Path, str, str], tmp_path: Path, url: str
) -> None:
    folder = tmp_path / "var"
    shutil.copytree(seeded[0], folder)
    assert "DATABASE_URL isn't set" in move(folder, "", code=1)
    nothing = tmp_path / "nothing.sqlite3"
    assert f"no SQLite database {nothing}" in move(folder, url, "--from", str(nothing), code=1)
    with Server(folder):
        assert "Another server already uses" in move(folder, url, code=1)
    with closing(opened(folder)) as database, database:
        database.execute("UPDATE conversations_conversation SET title = ?", ["t" * 300])
    said = move(folder, url, code=1)
    assert "value too long" in said and "conversations_conversation" in said
    with psycopg.connect(url) as server:
        server.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    with closing(opened(folder)) as database, database:
        newest = "SELECT MAX(id) FROM django_migrations WHERE app = 'conversations'"
        database.execute(f"DELETE FROM django_migrations WHERE id = ({newest})")
    assert "is of another version of Chatsite" in move(folder, url, code=1)
    assert rows(url, "SELECT 1 FROM pg_tables WHERE schemaname = 'public'") == []
