"""Converts another program's export, beside the server: standard input to lines on standard output.

Of each chat come its facts, its files, each with its bytes, and its messages. The last line says
how many there were, or why nothing is imported.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from typing import IO, cast

from chatsite.conversations.imports.formats.archive import BAD_ZIP, Archive, TooLarge
from chatsite.conversations.imports.formats.known import OurOwn, read_chats
from chatsite.conversations.imports.formats.stream import NotJson, json_values
from chatsite.conversations.imports.formats.tree import Placed, arrange
from chatsite.conversations.imports.formats.values import Chat
from chatsite.conversations.imports.lines import ChatFacts, FileFacts, Line, Outcome, to_line
from chatsite.messages import MAX_ATTACHMENTS, Role
from chatsite.process_limits import end_process_after, limit_file_size, limit_memory

MEMORY_BYTES = 3 * 1024 * 1024 * 1024
SPOOL_BYTES = 3 * 1024 * 1024 * 1024
# Of the stack: a chat of LibreChat is a nest as deep as it is long.
STACK_BYTES = 512 * 1024 * 1024
DEEPEST = 100_000
# For 1 GB, at twenty times what it takes on a machine that does nothing else.
MOST_SECONDS = 900.0
TITLE_LENGTH = 200
# Of a message: nobody reads more, and the server holds each in memory.
MOST_CHARACTERS = 5_000_000
Files = list[tuple[str, bytes]]


def convert(file: IO[bytes], out: IO[bytes]) -> None:
    """Write the lines of an export. Every fault of it is the last line."""
    refused = ""
    try:
        outcome = _all_chats(Archive(file), out)
    except NotJson:
        refused = "broken"
    except OurOwn:
        refused = "own"
    except RecursionError:
        refused = "nested"
    except TooLarge:
        refused = "large"
    except MemoryError:
        refused = "memory"
    except BAD_ZIP:
        refused = "zip"
    out.write(b"\n" + to_line(Outcome(refused) if refused else outcome))


def _all_chats(archive: Archive, out: IO[bytes]) -> Outcome:
    outcome = Outcome()
    for name, file in archive.texts():
        unknown = 0
        for chat in read_chats(json_values(file)):
            if chat is None:
                unknown += 1
            elif placed := arrange(chat.nodes, chat.current):
                facts = _write(archive, chat, placed, out)
                outcome.chats, outcome.messages = outcome.chats + 1, outcome.messages + len(placed)
                for kind, count in (+chat.left_out).items():
                    outcome.leave(kind, facts.title, count)
            else:
                outcome.leave("empty", chat.title)
        if unknown:
            outcome.leave("unknown", name.rpartition("/")[2])
    return outcome if outcome.chats else Outcome("unknown")


def _write(archive: Archive, chat: Chat, placed: list[Placed], out: IO[bytes]) -> ChatFacts:
    files: Files = []
    lines = [_line(archive, chat, one, files) for one in placed]
    messages = b"".join(map(to_line, lines))
    first = next((one.text for one in lines if one.role == "user"), "")
    times = [one.created for one in lines if one.created]
    facts = ChatFacts(
        program=chat.program,
        # The same content has the same id.
        id=chat.id or hashlib.sha256(messages).hexdigest(),
        title=" ".join((chat.title.strip() or first[:60]).split())[:TITLE_LENGTH],
        titled=bool(chat.title.strip()),
        created=chat.created or min(times, default=None),
        updated=chat.updated or max(times, default=chat.created),
        files=len(files),
        messages=len(lines),
        characters=sum(one.characters for one in lines),
    )
    out.write(to_line(facts))
    for name, content in files:
        out.write(to_line(FileFacts(name, len(content))))
        out.write(content)
    out.write(messages)
    return facts


def _line(archive: Archive, chat: Chat, one: Placed, files: Files) -> Line:
    said = one.said
    own: list[int] = []
    missing: list[str] = []
    for file in said.files:
        content = archive.attached(file) if len(own) < MAX_ATTACHMENTS else None
        if content:
            own.append(len(files))
            files.append((archive.name_of(file), content))
        else:
            missing.append(archive.name_of(file)[:TITLE_LENGTH])
    chat.left_out["files"] += len(missing)
    chat.left_out["long"] += len(said.text) > MOST_CHARACTERS
    return Line(
        role=cast(Role, said.role),
        text=said.text[:MOST_CHARACTERS],
        reasoning=said.reasoning[:MOST_CHARACTERS],
        call=said.call,
        model=said.model[:TITLE_LENGTH],
        parent=one.parent,
        created=one.created,
        on_path=one.on_path,
        files=own,
        missing=missing,
    )


def main() -> None:
    end_process_after(MOST_SECONDS)
    limit_memory(MEMORY_BYTES)
    limit_file_size(SPOOL_BYTES)
    sys.setrecursionlimit(DEEPEST)
    threading.stack_size(STACK_BYTES)
    with open(0, "rb", closefd=False) as file, open(1, "wb", closefd=False) as out:
        work = threading.Thread(target=convert, args=(file, out))
        work.start()
        work.join()


if __name__ == "__main__":
    main()
