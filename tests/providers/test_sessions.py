"""Slots are saved and restored, on the real engine; a doubtful session is read again."""

from __future__ import annotations

import json
import logging
import os
import resource
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from chatsite.kv_cache.books import Book, Fingerprint, Session, Span
from chatsite.kv_cache.session_files import make_private_folder
from chatsite.kv_cache.slots.sessions import Sessions
from chatsite.providers.embedded.client import EngineClient
from chatsite.providers.embedded.engine import Engine, RunningEngine
from tests.providers.cache_rows import MemoryRows

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

TEXT = "The harbour lies open to the west."
AMPLE = 1024**3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("var") / "kv"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(folder: Path) -> AsyncIterator[RunningEngine]:
    engine = Engine(log_path=folder.parent / "engine.log", sessions=folder)
    engine.start()
    yield await engine.ready()
    await engine.stop()


@pytest_asyncio.fixture(loop_scope="module")
async def book(running: RunningEngine) -> Book:
    """The book of slot 0 at the beginning of each test."""
    [ids] = await running.client.tokenize([TEXT])
    await running.client.prefill(0, ids)
    return Book(tuple(ids), (Span("m", len(ids)),))


@pytest.fixture
def keeper(folder: Path) -> MemoryRows:
    for path in folder.iterdir():
        path.unlink()
    return MemoryRows()


def sessions(folder: Path, keeper: MemoryRows, *, limit: int = AMPLE) -> Sessions:
    """As after a start of the server: it has written and verified nothing yet."""
    return Sessions(folder, limit=limit, rows=keeper)


async def saved(
    kept: Sessions, running: RunningEngine, book: Book, key: str = "c", *, slot: int = 0
) -> Session:
    assert await kept.save(running, slot, key, conversation=key, book=book)
    session = await kept.find(running, key)
    assert session is not None and session.book == book
    return session


async def answer(
    running: RunningEngine, slot: int, ids: tuple[int, ...], *, tokens: int
) -> tuple[list[int], int]:
    """The most probable answer's ids, and how many tokens of the prompt weren't read again."""
    body = {
        "prompt": ids,
        "id_slot": slot,
        "n_predict": tokens,
        "temperature": 0,
        "return_tokens": True,
        "cache_prompt": True,
        "stream": True,
    }
    said: list[int] = []
    reused = -1
    async with aclosing(running.client.stream("/completion", body)) as events:
        async for payload in events:
            event = json.loads(payload)
            said += event["tokens"]
            reused = event["timings"]["cache_n"] if event["stop"] else reused
    return said, reused


async def test_a_restored_slot_continues_word_for_word(
    running: RunningEngine, folder: Path, keeper: MemoryRows, book: Book
) -> None:
    kept = sessions(folder, keeper)
    session = await saved(kept, running, book)
    [more] = await running.client.tokenize([" But"])
    prompt = (*book.ids, *more)
    stayed = await answer(running, 0, prompt, tokens=16)
    assert await sessions(folder, keeper).restore(running, 1, session)
    assert await answer(running, 1, prompt, tokens=16) == stayed
    assert stayed[1] == len(book) and len(stayed[0]) == 16


async def test_only_this_user_may_read_saved_files(
    running: RunningEngine, folder: Path, keeper: MemoryRows, book: Book
) -> None:
    session = await saved(sessions(folder, keeper), running, book)
    written = os.stat(folder / session.file)
    assert (os.stat(folder).st_mode & 0o777, written.st_mode & 0o777) == (0o700, 0o600)
    assert written.st_size == session.size
    assert session.fingerprint == str(running.kv) and running.kv.cache == "f16-transposed"


async def test_a_temporary_chat_leaves_no_file(
    running: RunningEngine, folder: Path, keeper: MemoryRows, book: Book
) -> None:
    keeper.unkept.add("c")
    kept = sessions(folder, keeper)
    assert not await kept.save(running, 0, "c", conversation="c", book=book)
    assert not os.listdir(folder) and not keeper.sessions


async def test_one_file_a_conversation_the_newest(
    running: RunningEngine, folder: Path, keeper: MemoryRows, book: Book
) -> None:
    kept = sessions(folder, keeper)
    first = await saved(kept, running, book)
    shorter = book.cut_to(len(book) - 3)
    await running.client.prefill(0, shorter.ids)
    second = await saved(kept, running, shorter)
    assert names(folder) == {second.file} != {first.file}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def cut_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def one_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def noise(path: Path) -> None:
    path.write_bytes(os.urandom(path.stat().st_size))


@pytest.mark.parametrize("damage", [cut_short, one_bit, noise, Path.unlink])
async def test_a_damaged_file_is_removed_and_the_conversation_read_again(
    running: RunningEngine,
    folder: Path,
    keeper: MemoryRows,
    book: Book,
    damage: Callable[[Path], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    session = await saved(sessions(folder, keeper), running, book)
    read_again, _ = await answer(running, 0, book.ids, tokens=2)
    await running.client.restore(1, session.file)
    damage(folder / session.file)
    assert not await sessions(folder, keeper).restore(running, 1, session)
    assert not (await running.client.slots())[1].cells
    assert await keeper.read_session(key="c") is None and not names(folder)
    assert [session.file in line for line in caplog.messages] == [True]
    assert await answer(running, 1, book.ids, tokens=2) == (read_again, 0)


async def test_a_file_that_is_cut_short_while_the_server_runs_isnt_given_to_the_engine(
    running: RunningEngine, folder: Path, keeper: MemoryRows, book: Book
) -> None:
    kept = sessions(folder, keeper)
    session = await saved(kept, running, book)
    cut_short(folder / session.file)
    assert not await kept.restore(running, 1, session)
    assert await kept.find(running, "c") is None
    assert await running.client.healthy()


@pytest.mark.parametrize("part", ["model", "engine", "cache", "window"])
async def test_another_engines_sessions_are_dropped_and_logged(
    running: RunningEngine,
    folder: Path,
    keeper: MemoryRows,
    book: Book,
    part: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    kept = sessions(folder, keeper)
    await saved(kept, running, book)
    values = {"model": "m", "engine": "1", "cache": "q8_0", "window": 512}
    other = Fingerprint(**{**_fields(running.kv), part: values[part]})  # type: ignore[arg-type]
    assert await kept.find(replace(running, kv=other), "c") is None
    assert not names(folder) and not await keeper.session_files()
    assert str(running.kv) in caplog.text and str(other) in caplog.text


def _fields(fingerprint: Fingerprint) -> dict[str, object]:
    return {name: getattr(fingerprint, name) for name in ("model", "engine", "cache", "window")}


async def test_the_least_recently_used_gives_way(
    running: RunningEngine, folder: Path, keeper: MemoryRows, book: Book
) -> None:
    size = (await saved(sessions(folder, keeper), running, book, "a")).size
    kept = sessions(folder, keeper, limit=size * 5 // 2)
    await saved(kept, running, book, "b")
    a = await kept.find(running, "a")
    assert a is not None and await kept.restore(running, 1, a)
    await saved(kept, running, book, "c")
    assert await kept.find(running, "b") is None
    assert {one.key for one in await keeper.list_sessions()} == {"a", "c"}
    assert names(folder) == await keeper.session_files()


async def test_a_session_above_the_limit_isnt_saved(
    running: RunningEngine, folder: Path, keeper: MemoryRows, book: Book
) -> None:
    kept = sessions(folder, keeper, limit=10_000)
    for _ in range(2):
        assert not await kept.save(running, 0, "c", conversation="c", book=book)
        assert not names(folder) and not await keeper.list_sessions()


async def test_a_book_that_differs_from_the_slot_is_never_saved(
    running: RunningEngine, folder: Path, keeper: MemoryRows, book: Book
) -> None:
    kept = sessions(folder, keeper)
    for wrong in (book.cut_to(3), book.with_answer("m", book.ids), Book(book.ids, ()), Book()):
        assert not await kept.save(running, 0, "c", conversation="c", book=wrong)
    assert not names(folder) and not await keeper.list_sessions()


async def test_words_that_were_taken_away_meanwhile_leave_no_file(
    running: RunningEngine, folder: Path, keeper: MemoryRows, book: Book
) -> None:
    keeper.taken.add("c")
    kept = sessions(folder, keeper)
    assert not await kept.save(running, 0, "c", conversation="c", book=book)
    assert not names(folder)


async def test_a_full_disk_is_logged_once_and_the_chat_continues(
    running: RunningEngine,
    folder: Path,
    keeper: MemoryRows,
    book: Book,
    caplog: pytest.LogCaptureFixture,
) -> None:
    kept = sessions(folder, keeper)
    most = resource.prlimit(running.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(running.pid, resource.RLIMIT_FSIZE, (100_000, most[1]))
    try:
        for _ in range(2):
            assert not await kept.save(running, 0, "c", conversation="c", book=book)
            assert not names(folder)
        assert (await answer(running, 0, book.ids, tokens=1))[0]
        assert len(caplog.messages) == 1 and str(folder) in caplog.text
    finally:
        resource.prlimit(running.pid, resource.RLIMIT_FSIZE, most)
    await saved(kept, running, book)


async def test_without_an_engine_nothing_is_raised(
    running: RunningEngine, folder: Path, keeper: MemoryRows, book: Book
) -> None:
    kept = sessions(folder, keeper)
    session = await saved(kept, running, book)
    gone = replace(running, client=EngineClient("http://127.0.0.1:1", key="k"))
    assert not await kept.save(gone, 0, "d", conversation="d", book=book)
    assert not await kept.restore(gone, 1, session)
    await gone.client.aclose()


@pytest.mark.parametrize("name", ["../kept.bin", "/kept.bin", "kept.bin", "", "0" * 32, "é.bin"])
async def test_a_name_is_ours_or_nothing_is_done_with_it(
    running: RunningEngine, folder: Path, keeper: MemoryRows, book: Book, name: str
) -> None:
    kept = sessions(folder, keeper)
    session = await saved(kept, running, book)
    other = folder.parent / "kept.bin"
    other.write_bytes((folder / session.file).read_bytes())
    foreign = replace(session, key="d", file=name)
    await keeper.save_session(conversation=None, session=foreign)
    assert await kept.find(running, "d") is None
    assert not await kept.restore(running, 1, foreign)
    assert other.exists() and await keeper.read_session(key="d") is None
    for ask in (running.client.save, running.client.restore):
        with pytest.raises(ValueError, match="no name"):
            await ask(0, name)


async def test_sweeping_leaves_files_with_rows_and_rows_with_files(
    running: RunningEngine, folder: Path, keeper: MemoryRows, book: Book
) -> None:
    kept = sessions(folder, keeper)
    stays = await saved(kept, running, book, "stays")
    lost = await saved(kept, running, book, "lost")
    (folder / lost.file).unlink()
    old, new, not_ours = (folder / f"{'0' * 31}1.bin", folder / f"{'0' * 31}2.bin", folder / "x")
    for path in (old, new, not_ours):
        path.write_bytes(b"?")
    hour_ago = time.time() - 3600
    for path in (old, not_ours, folder / stays.file):
        os.utime(path, (hour_ago, hour_ago))
    await kept.sweep()
    assert names(folder) == {stays.file, new.name, not_ours.name}
    assert {one.key for one in await keeper.list_sessions()} == {"stays"}
    await sessions(folder, keeper, limit=10).sweep()
    assert not await keeper.list_sessions() and not (folder / stays.file).exists()


async def test_forgetting_leaves_neither_row_nor_file(
    running: RunningEngine,
    folder: Path,
    keeper: MemoryRows,
    book: Book,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    kept = sessions(folder, keeper)
    for key in ("a", "b"):
        await saved(kept, running, book, key)
    await kept.forget(["a", "never"])
    b = await keeper.read_session(key="b")
    assert b is not None and names(folder) == {b.file}
    assert not caplog.messages


async def test_without_a_writable_folder_the_engine_gets_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    in_the_way = tmp_path / "kv"
    in_the_way.touch()
    assert make_private_folder(in_the_way / "deeper") == "" == make_private_folder(None)
    assert len(caplog.messages) == 1 and "can't be saved" in caplog.text
