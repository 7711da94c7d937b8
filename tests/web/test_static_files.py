"""Static files have names that change with the content, are cached for ever, and all exist."""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import dirname, join, normpath

import pytest

from tests.person import Person
from tests.running import ROOT, Server
from tests.web.browser_requests import ask

HASHED = re.compile(r"\.[0-9a-f]{12}\.\w+$|/built/[\w-]+-[A-Z0-9]{8}\.\w+$")
IMPORT = re.compile(r"""\b(?:from|import)\s*\(?["'](\.\.?/[^"']+)["']""")
FOR_EVER = "max-age=315360000, public, immutable"


async def linked(ada: Person) -> list[str]:
    page = await ask(ada, "GET", "/chat")
    return re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text)


async def test_everything_the_page_loads_has_a_hashed_name_and_is_cached_for_ever(
    server: Server,
) -> None:
    async with Person(server.url) as ada:
        left, seen = await linked(ada), set()
        assert len(left) >= 3
        while left:
            path = left.pop()
            if path in seen:
                continue
            seen.add(path)
            assert HASHED.search(path), path
            answer = await ask(ada, "GET", path)
            assert answer.status == 200, path
            assert answer.headers["cache-control"] == FOR_EVER, path
            if path.endswith(".js"):
                assert "javascript" in answer.headers["content-type"]
                left += [
                    normpath(join(dirname(path), name)) for name in IMPORT.findall(answer.text)
                ]
        assert any(re.search(r"/built/chunk-\w+\.js", path) for path in seen)


@pytest.mark.slow
async def test_with_debug_the_page_loads_the_modules_as_they_are_written(tmp_path: Path) -> None:
    with Server(tmp_path / "debug", DEBUG="true") as edited:
        async with Person(edited.url) as ada:
            found = await linked(ada)
            assert "/static/chat/main.js" in found
            assert "/static/chat/main.css" in found
            module = await ask(ada, "GET", "/static/chat/main.js")
            assert module.text == (ROOT / "static/chat/main.js").read_text()


@pytest.mark.parametrize("kind", ["main.css", "chunk.js"])
async def test_a_file_is_served_compressed_in_part_or_as_not_modified(
    kind: str, server: Server
) -> None:
    name, suffix = kind.split(".")
    async with Person(server.url) as ada:
        found = re.compile(rf"/{name}-\w+\.{suffix}$")
        path = next(path for path in await linked(ada) if found.search(path))
        whole = await ask(ada, "GET", path, headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in whole.headers
        assert int(whole.headers["content-length"]) == len(whole.body)
        packed = await ask(ada, "GET", path, headers={"Accept-Encoding": "gzip"})
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.body == whole.body  # unpacked by the client
        for range, expected in (("2-5", whole.body[2:6]), ("0-9", whole.body[:10])):
            wanted = {"Range": f"bytes={range}", "Accept-Encoding": "identity"}
            part = await ask(ada, "GET", path, headers=wanted)
            assert (part.status, part.body) == (206, expected)
        head = await ask(ada, "HEAD", path)
        assert (head.status, head.body) == (200, b"")
        known = {"If-None-Match": whole.headers["etag"]}
        assert (await ask(ada, "GET", path, headers=known)).status == 304
        assert (await ask(ada, "POST", path)).status in (403, 405)


@pytest.mark.parametrize(
    "path",
    [
        "/static/",
        "/static/chat/",
        "/static/nothing.js",
        "/static/../secret_key",
        "/static/%2e%2e/secret_key",
        "/static/..%2fsecret_key",
        "/static/..%5csecret_key",
        "/static//etc/passwd",
        "/static/%00",
        "/secret_key",
        "/var/chatsite.sqlite3",
    ],
)
async def test_no_other_file_is_served(path: str, server: Server) -> None:
    async with Person(server.url) as ada:
        assert (await ask(ada, "GET", path)).status == 404
