"""Uploads are bounded in size, time and memory, and leave no files behind."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from chatsite.errors import BadCommand, Refused, TooMany
from chatsite.files import intake as module
from chatsite.files.intake import GUESTS_AT_ONCE, UNDER_WAY_PER_OWNER, Intake, ReceivedFile
from chatsite.messages import MAX_ATTACHMENT_BYTES
from tests.files.sample_files import DAMAGED, pdf, picture, png_header
from tests.pseudo_language import is_said, pseudo_language


async def pieces(*content: bytes) -> AsyncIterator[bytes]:
    for piece in content:
        yield piece


def remaining_files(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file()]


async def upload(intake: Intake, *content: bytes, owner: str = "ada") -> ReceivedFile:
    async with intake.taken(pieces(*content), owner=owner) as taken:
        return taken


async def test_a_file_is_stored_privately_and_its_text_is_read(tmp_path: Path) -> None:
    content = pdf("Ahoy there")
    async with Intake(tmp_path).taken(pieces(content[:100], content[100:]), owner="ada") as taken:
        assert taken.path.read_bytes() == content
        assert taken.path.stat().st_mode & 0o777 == 0o600
        assert taken.path.parent.stat().st_mode & 0o777 == 0o700
        assert (taken.size, taken.text) == (len(content), "[Page 1]\nAhoy there")
    assert remaining_files(tmp_path) == []


async def test_a_refused_file_leaves_nothing_behind(tmp_path: Path) -> None:
    intake = Intake(tmp_path)
    with pytest.raises(BadCommand, match="empty"):
        await upload(intake)
    with pytest.raises(BadCommand, match="damaged or cut off"):
        await upload(intake, DAMAGED["a PNG that is cut off"][0])
    block = bytes(1024 * 1024)
    with pytest.raises(BadCommand, match="50 MB. This one is larger"):
        await upload(intake, *[block] * (MAX_ATTACHMENT_BYTES // len(block)), b"x")
    assert remaining_files(tmp_path) == []


async def test_what_the_other_process_finds_is_said_in_the_persons_language(
    tmp_path: Path,
) -> None:
    """It knows no language. A model reads the note too, and always in English."""
    intake = Intake(tmp_path)
    with pseudo_language():
        for content in (b"MZ\0\0", DAMAGED["a PNG that is cut off"][0], png_header(30_000, 9)):
            with pytest.raises(BadCommand) as refused:
                await upload(intake, content)
            assert is_said(refused.value.message), refused.value.message
        taken = await upload(intake, b"word " * 100_000)
    assert taken.note == "⟦Only its first 400,000 characters are read.⟧"
    assert taken.text.endswith("\n\n[Only its first 400,000 characters are read.]")


@pytest.mark.parametrize("text", ["{most:>999999999}", "{most.__class__}", "{missing}"])
def test_a_text_of_the_other_process_is_no_pattern(tmp_path: Path, text: str) -> None:
    """A file may have taken it over."""
    kind = {"modality": "document", "mime_type": "text/plain", "whole": True}
    with pytest.raises(BadCommand) as refused:
        module._taken(tmp_path, 1, {"damaged": text, "values": {"most": 1}})
    assert refused.value.message == text
    assert module._taken(tmp_path, 1, kind | {"note": [text, {"most": 1}]}).note == ""


async def test_an_upload_that_stalls_is_aborted(tmp_path: Path) -> None:
    async def stuck() -> AsyncIterator[bytes]:
        yield b"some of it"
        await asyncio.Event().wait()

    with pytest.raises(Refused, match="Nothing of the file came"):
        async with Intake(tmp_path, silence=0.05).taken(stuck(), owner="ada"):
            pass
    assert remaining_files(tmp_path) == []


async def test_an_upload_that_is_too_slow_is_aborted(tmp_path: Path) -> None:
    async def slow() -> AsyncIterator[bytes]:
        while True:
            await asyncio.sleep(0.01)
            yield b"x"

    intake = Intake(tmp_path, silence=0.05, rate=1_000)
    with pytest.raises(Refused, match="too slowly, by less than 1,000 bytes a second"):
        async with intake.taken(slow(), owner="ada"):
            pass
    assert remaining_files(tmp_path) == []


async def test_no_file_is_accepted_when_the_disk_is_nearly_full(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(Refused, match="disk is nearly full"):
        await upload(Intake(tmp_path, kept_free=shutil.disk_usage(tmp_path).total), b"text")
    assert remaining_files(tmp_path) == []
    assert "no files are taken" in caplog.text


async def test_an_upload_that_breaks_off_leaves_nothing_behind(tmp_path: Path) -> None:
    began = asyncio.Event()

    async def unfinished() -> AsyncIterator[bytes]:
        yield b"some of it"
        began.set()
        await asyncio.Event().wait()

    async def disconnected() -> AsyncIterator[bytes]:
        yield b"some of it"
        raise ConnectionError

    intake = Intake(tmp_path)
    with pytest.raises(ConnectionError):
        async with intake.taken(disconnected(), owner="ada"):
            pass
    task = asyncio.create_task(_upload(intake, unfinished()))
    await began.wait()
    assert len(remaining_files(tmp_path)) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert remaining_files(tmp_path) == []


async def _upload(intake: Intake, blocks: AsyncIterator[bytes]) -> None:
    async with intake.taken(blocks, owner="ada"):
        pass


@pytest.mark.slow
async def test_three_uploads_of_one_person_run_at_once_and_others_do_not_wait_for_them(
    tmp_path: Path,
) -> None:
    intake, go = Intake(tmp_path), asyncio.Event()
    waiting = 0
    three = asyncio.Event()

    async def waiting_upload() -> AsyncIterator[bytes]:
        nonlocal waiting
        waiting += 1
        if waiting == 3:
            three.set()
        await go.wait()
        yield b"text"

    mine = [asyncio.create_task(_upload(intake, waiting_upload())) for _ in range(5)]
    await three.wait()
    assert (await upload(intake, b"Mine comes through", owner="bob")).size == 18
    assert waiting == 3
    go.set()
    await asyncio.gather(*mine)
    assert (waiting, remaining_files(tmp_path)) == (5, [])


async def test_neither_one_person_nor_all_guests_can_take_every_place(tmp_path: Path) -> None:
    intake, go = Intake(tmp_path), asyncio.Event()
    tasks: list[asyncio.Task[None]] = []

    async def waiting_upload() -> AsyncIterator[bytes]:
        await go.wait()
        yield b"text"

    async def begin(count: int, owner: str, *, guest: bool = True) -> None:
        async def enter() -> None:
            async with intake.taken(waiting_upload(), owner=owner, guest=guest):
                pass

        tasks.extend(asyncio.create_task(enter()) for _ in range(count))
        await asyncio.sleep(0)

    await begin(UNDER_WAY_PER_OWNER, "eve")
    with pytest.raises(TooMany, match="12 of your files are on their way"):
        async with intake.taken(pieces(b"text"), owner="eve", guest=True):
            pass
    for number in range(2):
        await begin(UNDER_WAY_PER_OWNER, f"eve {number}")
    await begin(GUESTS_AT_ONCE - 3 * UNDER_WAY_PER_OWNER, "eve 3")
    with pytest.raises(TooMany, match="Too many files are on their way here"):
        async with intake.taken(pieces(b"text"), owner="bob", guest=True):
            pass
    assert (await upload(intake, b"Signed in", owner="ada")).size == 9
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    async with intake.taken(pieces(b"text"), owner="eve", guest=True) as taken:
        assert taken.size == 4
    assert remaining_files(tmp_path) == []


async def test_reading_files_of_guests_leaves_one_process_to_other_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    intake, go = Intake(tmp_path), asyncio.Event()
    looking: list[int] = []
    two = asyncio.Event()
    original = module._looked_into

    async def long(path: Path, *, seconds: float) -> dict[str, Any]:
        looking.append(1)
        if len(looking) == 2:
            two.set()
        await go.wait()
        return await original(path, seconds=seconds)

    monkeypatch.setattr(module, "_looked_into", long)

    async def enter(owner: str) -> None:
        async with intake.taken(pieces(b"text"), owner=owner, guest=True):
            pass

    guests = [asyncio.create_task(enter(f"guest {number}")) for number in range(3)]
    await two.wait()
    monkeypatch.setattr(module, "_looked_into", original)
    assert (await upload(intake, b"Signed in", owner="ada")).size == 9
    assert len(looking) == 2
    for guest in guests:
        guest.cancel()
    await asyncio.gather(*guests, return_exceptions=True)
    assert remaining_files(tmp_path) == []


@pytest.mark.slow
async def test_reading_an_endless_pdf_is_stopped_and_the_pages_read_so_far_are_kept(
    tmp_path: Path,
) -> None:
    endless = b"q 1 0 0 1 0 0 cm Q BT /F1 9 Tf (x) Tj ET\n" * 800_000
    taken = await upload(Intake(tmp_path, look=2.5), pdf("Read in time", endless, "Never reached"))
    assert taken.note == "Only the text of its first 1 of 3 pages is read: it took too much."
    assert taken.text == f"[Page 1]\nRead in time\n\n[{taken.note}]"
    assert remaining_files(tmp_path) == []


async def test_a_picture_is_checked_in_a_separate_process(tmp_path: Path) -> None:
    async with Intake(tmp_path).taken(pieces(picture("BMP")), owner="ada") as taken:
        assert (taken.width, taken.height, taken.text) == (40, 30, "")
        assert taken.path.with_suffix(".png").exists()
    assert remaining_files(tmp_path) == []
