"""Reads a saved conversation that may be large: checked beside the server, in pieces after that.

A parser keeps the interpreter to itself until it is done, a second for 20 MB, and would stop every
answer that is being written. So the server's own process parses small files only. This process
reads the file from standard input and prints `lines_of` it.

The check writes its lines to a file on the disk, so that neither its pace nor its size depends on
how fast the messages are stored.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import IO

from pydantic import BaseModel

from chatsite.child_process import run_child
from chatsite.conversations.files.export import check_export, title_of
from chatsite.conversations.files.export_format import SavedMessage, SavedSettings, not_imported
from chatsite.errors import BadRestore
from chatsite.process_limits import end_process_after, limit_memory
from chatsite.storage import ROWS
from chatsite.wording import say

MEMORY_BYTES = 2 * 1024 * 1024 * 1024
SECONDS = 60.0


def lines_of(content: bytes) -> Iterator[str]:
    """Write lines of JSON: an object with the conversation's own fields and `count`, the number of
    its messages, then each message. Raises BadRestore."""
    saved = check_export(content)
    header = saved.model_dump(mode="json", exclude={"messages", "asked"}, exclude_defaults=True)
    characters = sum(
        len(message.content or "") + len(message.reasoning or "") + len(message.metadata)
        for message in saved.messages
    )
    count = len(saved.messages)
    yield json.dumps(header | {"title": title_of(saved), "count": count, "characters": characters})
    for message in saved.messages:
        yield message.model_dump_json(exclude_defaults=True)


def main() -> None:
    end_process_after(SECONDS)
    limit_memory(MEMORY_BYTES)
    try:
        for line in lines_of(sys.stdin.buffer.read()):
            print(line)
    except BadRestore as error:
        print(json.dumps({"refused": error.message}))
    except MemoryError:
        refusal = not_imported(say("The file takes too much memory."))
        print(json.dumps({"refused": refusal.message}))


if __name__ == "__main__":
    main()


# A file of this size is checked in 20 ms, and a process takes 500 ms to start.
SMALL_BYTES = 200_000
CHECK_SECONDS = 90.0
# A piece of long messages ends before `ROWS` of them: the writing thread counts their tokens.
PIECE_CHARACTERS = 200_000


class ImportHeader(BaseModel):
    """Holds what a file says besides its `count` messages, which have `characters` together."""

    agent: str
    title: str
    count: int
    characters: int
    forget_above: int = 0
    pinned: bool = False
    archived: bool = False
    folder: str = ""
    history: dict[str, str] = {}
    settings: SavedSettings | None = None


Pieces = AsyncIterator[Sequence[SavedMessage]]


@asynccontextmanager
async def read_checked(content: IO[bytes]) -> AsyncIterator[tuple[ImportHeader, Pieces]]:
    """Give the header of a file on the disk, and its messages in pieces. Raises BadRestore."""
    with tempfile.TemporaryFile() as lines:
        if os.fstat(content.fileno()).st_size <= SMALL_BYTES:
            await asyncio.to_thread(_check_here, content, lines)
        else:
            await run_child(__name__, content, lines, seconds=CHECK_SECONDS)
        lines.seek(0)
        yield _header(lines.readline()), _pieces(lines)


def _check_here(content: IO[bytes], lines: IO[bytes]) -> None:
    content.seek(0)
    lines.writelines(f"{line}\n".encode() for line in lines_of(content.read()))


def _header(line: bytes) -> ImportHeader:
    if not line.endswith(b"\n"):
        raise not_imported(say("The file takes too much time or memory."))
    fields = json.loads(line)
    if "refused" in fields:
        raise BadRestore(fields["refused"])
    return ImportHeader.model_validate(fields)


async def _pieces(lines: IO[bytes]) -> Pieces:
    while piece := await asyncio.to_thread(_piece, lines):
        yield piece


def _piece(lines: IO[bytes]) -> list[SavedMessage]:
    """Read the next messages. A line without an end was cut off with the process that wrote it."""
    piece: list[SavedMessage] = []
    characters = 0
    while len(piece) < ROWS and characters < PIECE_CHARACTERS:
        line = lines.readline()
        if not line.endswith(b"\n"):
            break
        piece.append(SavedMessage.model_validate_json(line))
        characters += len(line)
    return piece
