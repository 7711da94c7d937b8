"""Reading a file: a picture's size, a document's text, and the note on text left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from chatsite.errors import BadCommand
from chatsite.files.inspector import SENT_SIDE, check_picture
from chatsite.files.kinds import Damaged, kind_of
from chatsite.files.pdfs import write_pdf_text
from chatsite.files.texts import MOST_CHARACTERS, NOTHING_CUT, write_text
from tests.files.sample_files import DAMAGED, moving_gif, pdf, picture, turned_jpeg


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "came"


def checked(path: Path, content: bytes) -> tuple[tuple[int, int], set[str]]:
    """The picture's size, and the suffixes of all files in its folder."""
    path.write_bytes(content)
    return check_picture(path, kind_of(path).mime_type), {
        each.suffix for each in path.parent.iterdir()
    }


@pytest.mark.parametrize("format", ["JPEG", "PNG", "GIF", "WEBP"])
def test_a_small_picture_is_sent_as_it_is(format: str, path: Path) -> None:
    assert checked(path, picture(format)) == ((40, 30), {""})


@pytest.mark.parametrize(
    ("content", "shown", "ending", "sent"),
    [
        (picture("BMP"), (40, 30), ".png", (40, 30)),
        (moving_gif(), (8, 8), ".png", (8, 8)),
        (turned_jpeg(), (20, 50), ".jpeg", (20, 50)),
        (picture("JPEG", size=(2400, 300), mode="CMYK"), (2400, 300), ".jpeg", (2000, 250)),
        (picture("PNG", size=(300, 3000), mode="P"), (300, 3000), ".png", (200, 2000)),
    ],
    ids=["BMP", "moving", "turned", "large JPEG", "large PNG"],
)
def test_a_picture_that_providers_refuse_is_converted(
    content: bytes, shown: tuple[int, int], ending: str, sent: tuple[int, int], path: Path
) -> None:
    measured, endings = checked(path, content)
    assert measured == shown
    assert endings == {"", ending}
    assert path.read_bytes() == content
    with Image.open(path.with_suffix(ending)) as instead:
        assert instead.size == sent
        assert max(instead.size) <= SENT_SIDE
        assert instead.getexif().get(0x0112) is None


@pytest.mark.parametrize("name", DAMAGED)
def test_a_file_that_cannot_be_read_is_refused_with_the_reason(name: str, path: Path) -> None:
    content, reason = DAMAGED[name]
    path.write_bytes(content)
    mime_type = kind_of(path).mime_type
    with pytest.raises(Damaged) as refused:
        check_picture(path, mime_type) if mime_type != "application/pdf" else write_pdf_text(
            path, print
        )
    assert reason in refused.value.message
    assert isinstance(refused.value, BadCommand)
    assert {each.name for each in path.parent.iterdir()} == {"came"}


class TestTexts:
    @pytest.mark.parametrize(
        ("content", "text"),
        [
            (b"\xef\xbb\xbfone\r\ntwo\rthree\n", "one\ntwo\nthree\n"),
            ("Grüße".encode("utf-16"), "Grüße"),
            (b"", ""),
        ],
    )
    def test_a_text_is_kept_in_one_encoding(self, content: bytes, text: str, path: Path) -> None:
        path.write_bytes(content)
        assert write_text(path, kind_of(path).codec) == NOTHING_CUT
        assert path.with_suffix(".text").read_bytes() == text.encode()

    def test_a_long_text_is_cut_and_a_note_says_so(self, path: Path) -> None:
        path.write_bytes("ü".encode() * MOST_CHARACTERS)
        assert write_text(path) == NOTHING_CUT
        path.write_bytes("ü".encode() * (MOST_CHARACTERS + 1))
        assert write_text(path).in_english == "Only its first 400,000 characters are read."
        assert path.with_suffix(".text").read_text("utf-8") == "ü" * MOST_CHARACTERS


class TestPdfs:
    def read(self, path: Path, content: bytes) -> tuple[str, str, list[dict[str, Any]]]:
        """The note, the text, and the reported progress."""
        progress: list[dict[str, Any]] = []
        path.write_bytes(content)
        note = write_pdf_text(path, lambda **report: progress.append(report))
        return note.in_english, path.with_suffix(".text").read_text("utf-8"), progress

    def test_its_text_comes_page_by_page(self, path: Path) -> None:
        note, text, progress = self.read(path, pdf("The first", b"", "The third"))
        assert note == ""
        assert text == "[Page 1]\nThe first\n\n[Page 3]\nThe third\n\n"
        assert progress == [{"pages": 3}, {"page": 1}, {"page": 2}, {"page": 3}]

    @pytest.mark.slow
    def test_a_page_that_cannot_be_read_is_counted(self, path: Path) -> None:
        """The page's stream is larger than allowed, so it is never unpacked."""
        note, text, _ = self.read(path, pdf("Fine", b" " * 80_000_000))
        assert note == "The text of 1 of its 2 pages can't be read."
        assert text == "[Page 1]\nFine\n\n"

    def test_too_much_text_is_cut_and_a_note_says_so(self, path: Path) -> None:
        long = "word " * 30_000
        note, text, _ = self.read(path, pdf(long, long, long, long))
        assert note == "Only its first 400,000 characters are read, up to page 3 of 4."
        assert len(text) == MOST_CHARACTERS

    def test_an_encrypted_pdf_without_a_password_is_sent_decrypted(self, path: Path) -> None:
        """Providers refuse every encrypted PDF."""
        note, text, _ = self.read(path, pdf("Open", password=""))
        assert (note, text) == ("", "[Page 1]\nOpen\n\n")
        assert b"/Encrypt" in path.read_bytes()
        assert b"/Encrypt" not in path.with_suffix(".pdf").read_bytes()
