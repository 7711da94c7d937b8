"""The process that inspects one file: `python -m chatsite.files.inspector PATH`.

An attached file may be made to cost its reader any time and any memory, so the server's own process
parses none. This process prints lines of JSON objects; together they are the result, also when the
process is ended in the middle.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from chatsite.files.kinds import PDF, TEXT, Damaged, NotTaken, kind_of
from chatsite.files.texts import NOTHING_CUT, write_text
from chatsite.process_limits import end_process_after, limit_file_size, limit_memory

# Fifty million pixels in four colours are 200 MB, and a PDF's page may hold as much.
MEMORY_BYTES = 1024 * 1024 * 1024
WRITTEN_BYTES = 64 * 1024 * 1024
SECONDS = 30.0


def inspect_file() -> None:
    end_process_after(SECONDS)
    limit_memory(MEMORY_BYTES)
    limit_file_size(WRITTEN_BYTES)
    try:
        _look_at(Path(sys.argv[1]))
    except (NotTaken, Damaged) as error:
        _tell(**_refusal(error))


def _refusal(error: NotTaken | Damaged) -> dict[str, object]:
    """The server says it in the person's language; this process has none."""
    if isinstance(error, NotTaken):
        return {"not_taken": error.what}
    return {"damaged": error.text, "values": error.values}


def _look_at(path: Path) -> None:
    kind = kind_of(path)
    _tell(modality=kind.modality, mime_type=kind.mime_type)
    note = NOTHING_CUT
    if kind.modality == "image":
        # Pillow and pypdf are loaded only for what needs them: they take longer than most files.
        from chatsite.files.pictures import check_picture

        measured = check_picture(path, kind.mime_type)
        _tell(width=measured.width, height=measured.height)
    elif kind.mime_type == PDF:
        from chatsite.files.pdfs import write_pdf_text

        note = write_pdf_text(path, _tell)
    elif kind.mime_type == TEXT:
        _tell(codec=kind.codec)
        note = write_text(path, kind.codec)
    _tell(whole=True, note=note)


def _tell(**found: object) -> None:
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    inspect_file()
