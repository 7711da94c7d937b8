"""Reads the contents of mails; long mails and HTML in a process that runs this module.

Reading a mail of 50 MB took a gigabyte of memory. The process reads the mail from its standard
input. It prints a line of JSON, with the text, whether the mail is encrypted, and each file's name,
type, size and whether the text shows the file; the bytes of all files follow.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
from dataclasses import dataclass, field

from chatsite.child_process import child_process
from chatsite.mail.incoming.contents import AttachedFile, Contents, HasHtml, read_contents
from chatsite.process_limits import end_process_after, limit_memory

# A process needs 0.3 s to begin. Plain text of this size needs 0.3 s and 3 MB at worst, for the
# parameters of many parts.
LARGEST_HERE = 16 * 1024
MEMORY_BYTES = 1024 * 1024 * 1024
SECONDS = 30.0
# The process prints no more than the mail's own bytes and its text, in JSON.
MOST_TEXT_BYTES = 16 * 1024 * 1024


class UnreadableMail(Exception):
    """Reading the mail took too much memory or time."""


@dataclass(frozen=True, slots=True)
class ContentsReader:
    """Reads one mail after another; it lives as long as the channel."""

    _turn: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))

    async def read(self, mail: bytes) -> Contents:
        """Raises UnreadableMail."""
        if len(mail) <= LARGEST_HERE:
            with contextlib.suppress(HasHtml):
                return await asyncio.to_thread(read_contents, mail, html=False)
        async with self._turn:
            printed = await _run_process(mail)
        try:
            line, _, data = printed.partition(b"\n")
            found = json.loads(line)
            files, start = [], 0
            for name, type, size, is_shown in found["files"]:
                content = data[start : start + size]
                files.append(AttachedFile(name=name, type=type, data=content, is_shown=is_shown))
                start += size
            return Contents(found["text"], tuple(files), found["is_encrypted"])
        except (ValueError, KeyError, TypeError):
            raise UnreadableMail from None


async def _run_process(mail: bytes) -> bytes:
    """Runs the process and returns what it prints. The process ends with this call in any case."""
    most = len(mail) + MOST_TEXT_BYTES
    printed = bytearray()
    with tempfile.TemporaryFile() as file:
        await asyncio.to_thread(file.write, mail)
        file.seek(0)
        async with child_process(__name__, stdin=file) as process:
            assert process.stdout is not None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SECONDS):
                    while len(printed) <= most and (block := await process.stdout.read(1 << 20)):
                        printed += block
                    if await process.wait() == 0 and len(printed) <= most:
                        return bytes(printed)
    raise UnreadableMail


def print_contents() -> None:
    """Reads the mail on standard input and prints its contents."""
    end_process_after(SECONDS)
    limit_memory(MEMORY_BYTES)
    found = read_contents(sys.stdin.buffer.read())
    files = [(file.name, file.type, len(file.data), file.is_shown) for file in found.files]
    out = sys.stdout.buffer
    line = {"text": found.text, "files": files, "is_encrypted": found.is_encrypted}
    out.write(json.dumps(line).encode() + b"\n")
    for file in found.files:
        out.write(file.data)
    out.flush()


if __name__ == "__main__":
    print_contents()
