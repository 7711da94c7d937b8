"""Searches in one database, by the version of Chatsite that is first on the path: `searching` runs
it in a process for each.

Arguments: SQLite's file, or "" for the PostgreSQL of TEST_DATABASE_URL; and how many messages to
fill it with, 0 where it is filled. Every answer is a line of JSON. The first one says what filling
took, and what is found. A line `search` is answered with the milliseconds of each search and those
of this process's CPU, a line `read` with the milliseconds of reading every text of the owner of
many.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django

RARE, COMMON = "albatross", "commonly"
ASKED = {
    "a rare word": RARE,
    "a common word": COMMON,
    "both words": f"{RARE} {COMMON}",
    "a phrase": f'"{RARE} {COMMON}"',
    "a beginning": RARE[:4],
    "two Japanese characters": "東京",
    "a phrase of common words that nobody wrote": f'"{COMMON} {COMMON} {COMMON}"',
}
OWNERS = ("many", "few")
# One after the other in a round.
TIMES = 7


def main(file: str, count: int) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()
    from django.core.management import call_command
    from django.db import connections

    if file:
        connections.settings["default"]["NAME"] = Path(file)
    costs = {}
    if count:
        # Another version is never asked to fill.
        from tests.bench.searched_messages import fill

        call_command("migrate", verbosity=0, interactive=False)
        costs = fill(count)
    answer: object = {"costs": costs, "hits": _each(_hits)}
    while True:
        print(json.dumps(answer), flush=True)
        line = sys.stdin.readline().strip()
        if not line:
            return
        answer = _each(_times) if line == "search" else _read_all("many", RARE)


def _each(do: Callable[[str, str], Any]) -> dict[str, Any]:
    return {
        f"{name}, the owner of {guest}": do(guest, text)
        for guest, (name, text) in itertools.product(OWNERS, ASKED.items())
    }


def _search(guest: str, text: str, before: int | None = None) -> Any:
    from chatsite.conversations.owners import Owner
    from chatsite.conversations.search.text_search import search_text

    return search_text.here(owner=Owner(guest=guest), text=text, before=before)


def _hits(guest: str, text: str) -> list[Any]:
    """The hits of the first two pages, in their order."""
    first = _search(guest, text)
    pages = [first] if first.more is None else [first, _search(guest, text, first.more)]
    return [[one.conversation, one.seq, one.parts] for page in pages for one in page.hits]


def _times(guest: str, text: str) -> list[tuple[float, float]]:
    taken = []
    for _ in range(TIMES):
        began, used = time.perf_counter(), time.process_time()
        _search(guest, text)
        cpu = time.process_time() - used
        taken.append((1000 * (time.perf_counter() - began), 1000 * cpu))
    return taken


def _read_all(guest: str, text: str) -> float:
    """The search as it was before there was an index: which conversations have the text, the newest
    200."""
    from django.db.models import Q

    from chatsite.conversations.models import Conversation, Message

    began = time.perf_counter()
    said = Message.objects.filter(
        conversation__user=None, conversation__guest=guest, on_path=True, content__icontains=text
    )
    rows = Conversation.objects.filter(user=None, guest=guest, deleted=None).filter(
        Q(title__icontains=text) | Q(id__in=said.values("conversation"))
    )
    list(rows.order_by("-updated")[:200])
    return 1000 * (time.perf_counter() - began)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
