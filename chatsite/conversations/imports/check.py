"""The process that checks one saved conversation, `python -m` this module.

A parser keeps the interpreter to itself until it is done, a second for 20 MB, and would stop every
answer that is being written. So the server's own process parses small files only. This process
reads the file from standard input and prints `lines_of` it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from chatsite.conversations.files.export import check_export, title_of
from chatsite.conversations.files.export_format import KEPT
from chatsite.errors import BadRestore
from chatsite.process_limits import end_process_after, limit_memory
from chatsite.wording import say

MEMORY_BYTES = 2 * 1024 * 1024 * 1024
SECONDS = 60.0


def lines_of(content: bytes) -> Iterator[str]:
    """Lines of JSON: an object with the conversation's own fields and `count`, the number of its
    messages, then each message. Raises BadRestore."""
    saved = check_export(content)
    own = saved.model_dump(mode="json", exclude={"messages", "asked"}, exclude_defaults=True)
    characters = sum(
        len(message.content or "") + len(message.reasoning or "") + len(message.metadata)
        for message in saved.messages
    )
    count = len(saved.messages)
    yield json.dumps(own | {"title": title_of(saved), "count": count, "characters": characters})
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
        print(
            json.dumps({"refused": say("The file takes too much memory. {kept}", kept=say(KEPT))})
        )


if __name__ == "__main__":
    main()
