"""Restoring a chat from a file, on a real server: one at a time for each person."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.person import Person
from tests.running import Server
from tests.web.browser_requests import ask_from_page


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path, LIMITS_FACTOR="1") as server:
        yield server


def saved(messages: int) -> str:
    said = [{"role": "user", "content": f"Line {number}"} for number in range(messages)]
    head = {"format": "chatsite.conversation", "version": 3, "agent": "demo", "title": "Log"}
    return json.dumps({**head, "messages": said})


async def test_somebody_who_restores_two_at_once_is_told_so_and_one_is_kept(
    server: Server,
) -> None:
    async with Person(server.url) as ada:
        file, path = saved(5_000), "/conversations/import"
        kind = "application/json"
        answers = await asyncio.gather(
            *(ask_from_page(ada, "POST", path, data=file, type=kind) for _ in range(2))
        )
        assert sorted(answer.status for answer in answers) == [200, 429]
        listed = await ada.ask("GET", "/conversations")
        assert [one["title"] for one in listed["conversations"]] == ["Log"]
