"""A file's type follows from its content; a refusal lists the accepted types."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chatsite.files.folder import safe_name
from chatsite.files.kinds import ALLOWED, NotTaken, kind_of
from tests.examples import some
from tests.files.sample_files import ACCEPTED, NOT_ACCEPTED


@pytest.mark.parametrize("name", ACCEPTED)
def test_the_type_follows_from_the_content(name: str, tmp_path: Path) -> None:
    content, modality, mime_type = ACCEPTED[name]
    path = tmp_path / "photo.exe"
    path.write_bytes(content)
    kind = kind_of(path)
    assert (kind.modality, kind.mime_type) == (modality, mime_type)


@pytest.mark.parametrize("name", NOT_ACCEPTED)
def test_other_files_are_refused_with_a_list_of_accepted_types(name: str, tmp_path: Path) -> None:
    content, reason = NOT_ACCEPTED[name]
    path = tmp_path / "photo.jpg"
    path.write_bytes(content)
    with pytest.raises(NotTaken) as refused:
        kind_of(path)
    assert reason in refused.value.message
    assert ALLOWED in refused.value.message


def test_a_text_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a" * 3_000_000 + b"\0")
    with pytest.raises(NotTaken):
        kind_of(path)
    path.write_bytes(b"a" * (1024 * 1024 - 1) + "ü".encode())  # across two blocks
    assert kind_of(path).mime_type == "text/plain"


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ada\\plan.txt", "plan.txt"),
        ("photo.jpg.exe", "photo.jpg.exe"),
        ("a\0b.txt", "ab.txt"),
        ("gpj\u202eexe.jpg", "gpjexe.jpg"),
        ("two\nlines\r\n.txt", "two lines .txt"),
        ("half\ud800.txt", "half.txt"),
        ("  .hidden. ", "hidden"),
        ("旅行 👍🏽.md", "旅行 👍🏽.md"),
        ("", "file"),
        ("..", "file"),
        ("///", "file"),
        ("x" * 300 + ".pdf", "x" * 116 + ".pdf"),
    ],
)
def test_a_name_is_one_plain_line(sent: str, shown: str) -> None:
    assert safe_name(sent) == shown


@given(st.text(max_size=200))
@example("0\r\x1b 0")  # a control character between two blanks
@example("e\u200d\u0301.txt")  # a mark between a letter and its accent
@settings(max_examples=some(500))
def test_a_name_that_was_made_plain_stays_the_same(sent: str) -> None:
    """An export holds the plain name, and an import makes it plain once more."""
    assert safe_name(safe_name(sent)) == safe_name(sent)
