"""PDFs: their text, page by page. Runs in the child process only."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from pypdf import PdfReader, PdfWriter
from pypdf.errors import DependencyError

from chatsite.files.kinds import Damaged, pdf_start
from chatsite.files.texts import (
    CUT_AT_PAGE,
    MOST_CHARACTERS,
    NOTHING_CUT,
    UNREADABLE_PAGES,
    FileNote,
    TextLimitReached,
    TextWriter,
    beside,
    cut_after,
)
from chatsite.wording import later

# A process that takes much longer is killed; the text that it wrote until then is kept.
SECONDS = 20.0


def write_pdf_text(path: Path, tell: Callable[..., None]) -> FileNote:
    """Write the PDF's text beside it, page by page; returns a note as `write_text` does.

    `tell` gets `pages` and, after each page, `page`: if this process is killed, the text and the
    counts so far still hold. Raises Damaged.
    """
    since = time.monotonic()
    start = pdf_start(path)
    if start:
        # The places in a PDF are counted from its header, and providers refuse what begins
        # otherwise.
        with path.open("rb") as file, path.with_suffix(".pdf").open("wb") as copy:
            file.seek(start)
            shutil.copyfileobj(file, copy)
    reader = _open_pdf(path.with_suffix(".pdf") if start else path)
    pages = len(reader.pages)
    tell(pages=pages)
    if reader.is_encrypted:
        _write_open_copy(reader, path)
    unread = 0
    with beside(path) as text_file:
        writer = TextWriter(text_file)
        for number in range(1, pages + 1):
            if time.monotonic() - since > SECONDS:
                return cut_after(number - 1, pages)
            try:
                text = reader.pages[number - 1].extract_text().strip()
                if text:
                    writer.add(f"[Page {number}]\n{text}\n\n")
            except TextLimitReached:
                cut = {"most": MOST_CHARACTERS, "page": number, "pages": pages}
                return FileNote(CUT_AT_PAGE, cut)
            except MemoryError:
                return cut_after(number - 1, pages)
            except Exception:  # pypdf raises whatever it stumbles over.
                unread += 1
            tell(page=number)
    if not unread:
        return NOTHING_CUT
    return FileNote(UNREADABLE_PAGES, {"unread": unread, "pages": pages})


def _open_pdf(path: Path) -> PdfReader:
    """Raises Damaged."""
    try:
        reader = PdfReader(path)
        locked = reader.is_encrypted and not reader.decrypt("")
        if not locked:
            len(reader.pages)
    except DependencyError:  # for an encryption that can't be undone here
        locked = True
    except Exception:
        raise Damaged(
            later(
                "This PDF can't be read: the file is damaged. Print it to a new PDF. Nothing was "
                "kept."
            )
        ) from None
    if locked:
        raise Damaged(
            later("This PDF is locked with a password. Save it without. Nothing was kept.")
        )
    return reader


def _write_open_copy(reader: PdfReader, path: Path) -> None:
    """Write a copy without encryption: providers refuse an encrypted PDF even without a
    password."""
    try:
        PdfWriter(clone_from=reader).write(path.with_suffix(".pdf"))
    except Exception:
        path.with_suffix(".pdf").unlink(missing_ok=True)
        raise Damaged(
            later(
                "This PDF is encrypted and can't be opened. Print it to a new PDF. Nothing was "
                "kept."
            )
        ) from None
