"""Answers are compressed where no other site can learn from their length."""

from __future__ import annotations

import gzip
import json

import aiohttp
import pytest

from tests.person import Person, kind_of
from tests.running import Server

OURS = {"Accept-Encoding": "gzip", "Sec-Fetch-Site": "same-origin"}
PLAIN = {"Accept-Encoding": "identity", "Sec-Fetch-Site": "same-origin"}
FOREIGN = {"Accept-Encoding": "gzip", "Sec-Fetch-Site": "cross-site"}


async def fetch(ada: Person, path: str, headers: dict[str, str]) -> tuple[str, bytes]:
    """The answer's encoding, "" for none, and its body as it came over the wire."""
    async with (
        aiohttp.ClientSession(cookie_jar=ada.http.cookie_jar, auto_decompress=False) as session,
        session.get(ada.url + path, headers=headers) as answer,
    ):
        assert answer.status == 200
        return answer.headers.get("Content-Encoding", ""), await answer.read()


async def test_the_page_is_compressed_for_everybody(server: Server) -> None:
    async with Person(server.url) as ada:
        for headers in (OURS, FOREIGN):
            encoding, body = await fetch(ada, "/chat", headers)
            assert encoding == "gzip"
            assert b'id="draft"' in gzip.decompress(body)


async def test_the_page_mirrors_nothing_of_its_address_and_holds_no_token(server: Server) -> None:
    async with Person(server.url) as ada:
        await ada.http.get(f"{server.url}/chat")
        query = "q=canary-4711&prompt=canary-4711&model=canary-4711&historyPolicy=canary-4711"
        _, body = await fetch(ada, f"/chat?{query}&canary-4711=1", OURS)
        page = gzip.decompress(body).decode()
        assert "canary-4711" not in page
        assert "csrfmiddlewaretoken" not in page
        tokens = [one.value for one in ada.http.cookie_jar if kind_of(one.key) == "csrf"]
        assert tokens and all(token not in page for token in tokens)


async def test_the_same_page_has_another_length_each_time(server: Server) -> None:
    async with Person(server.url) as ada:
        lengths = {len((await fetch(ada, "/chat", OURS))[1]) for _ in range(20)}
        assert len(lengths) > 3


async def test_json_is_compressed_for_pages_of_this_site_alone(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("What would a quay cost? " * 20)
        path = f"/conversations/{page.conversation}/messages?before=1000"
        ours, body = await fetch(ada, path, OURS)
        assert ours == "gzip"
        assert json.loads(gzip.decompress(body))["messages"]
        for headers in (FOREIGN, {"Accept-Encoding": "gzip"}, PLAIN):
            encoding, body = await fetch(ada, path, headers)
            assert encoding == ""
            assert json.loads(body)["messages"]


@pytest.mark.parametrize("path", ["/accounts/login/?next=/chat", "/accounts/signup/"])
async def test_a_page_with_a_token_is_never_compressed(path: str, server: Server) -> None:
    async with Person(server.url) as ada:
        encoding, body = await fetch(ada, path, OURS)
        assert encoding == ""
        assert b"csrfmiddlewaretoken" in body
