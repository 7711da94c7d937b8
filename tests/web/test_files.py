"""Files over HTTP: which are accepted, what is answered, and who may download them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.files.sample_files import ACCEPTED, pdf, picture
from tests.person import Person
from tests.running import Server
from tests.web.browser_requests import (
    NOBODYS,
    ask,
    ask_from_page,
    attach_file,
    upload_file,
)

MEGABYTE = 1024 * 1024


def files_of(server: Server) -> list[Path]:
    return [path for path in (server.folder / "files").rglob("*") if path.is_file()]


async def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("not after 10 s")


async def test_a_file_is_accepted_and_returned_to_its_owner_alone(server: Server) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob:
        content = pdf("Ahoy there")
        mine = await attach_file(ada, content, name="my plan ünder.pdf", type="multipart/form-data")
        assert mine == {
            "id": mine["id"],
            "name": "my plan ünder.pdf",
            "size": len(content),
            "modality": "document",
            "mime_type": "application/pdf",
            "width": 0,
            "height": 0,
            "characters": len("[Page 1]\nAhoy there"),
            "url": f"/files/{mine['id']}",
            "note": "",
        }
        back = await ask(ada, "GET", mine["url"])
        assert (back.status, back.body) == (200, content)
        wanted = "attachment; filename*=utf-8''my%20plan%20%C3%BCnder.pdf"
        assert back.headers["content-disposition"] == wanted
        assert back.headers["content-type"] == "application/octet-stream"
        assert back.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in back.headers["content-security-policy"]
        assert back.headers["cross-origin-resource-policy"] == "same-origin"
        assert back.headers["cache-control"] == "private, no-cache"
        head = await ask(ada, "HEAD", mine["url"])
        assert (head.body, head.headers["content-length"]) == (b"", str(len(content)))
        again = await ask(ada, "GET", mine["url"], headers={"If-None-Match": back.headers["etag"]})
        assert (again.status, again.body) == (304, b"")
        known = {"If-None-Match": back.headers["etag"]}
        for method in ("GET", "HEAD", "DELETE"):
            theirs = await ask_from_page(bob, method, mine["url"])
            nobodys = await ask_from_page(bob, method, f"/files/{NOBODYS}")
            assert (theirs.status, theirs.body) == (404, nobodys.body), method
        assert (await ask(bob, "GET", mine["url"], headers=known)).status == 404
        assert (await ask_from_page(ada, "DELETE", mine["url"])).status == 200
        assert (await ask(ada, "GET", mine["url"])).status == 404


async def test_only_pictures_are_served_with_their_own_type(server: Server) -> None:
    """A page, an SVG and a sound are served as plain bytes, whatever their names are."""
    async with Person(server.url) as ada:
        for name in ("PNG", "SVG", "WAV"):
            content, modality, mime_type = ACCEPTED[name]
            mine = await attach_file(ada, content, name="photo.png", type="image/png")
            assert (mine["modality"], mine["mime_type"]) == (modality, mime_type)
            shown = (await ask(ada, "GET", mine["url"])).headers["content-type"]
            expected = mime_type if modality == "image" else "application/octet-stream"
            assert shown == expected, name


async def test_a_hostile_file_name_is_only_a_name(server: Server) -> None:
    async with Person(server.url) as ada:
        mine = await attach_file(ada, b"Hello", name='../gpj\u202e.exe"; x="\r\nSet-Cookie: x=1\0')
        assert mine["name"] == 'gpj.exe"; x=" Set-Cookie: x=1'
        answer = await ask(ada, "GET", mine["url"])
        said = answer.headers["content-disposition"]
        assert said == r'attachment; filename="gpj.exe\"; x=\" Set-Cookie: x=1"'
        assert "set-cookie" not in answer.headers


async def test_a_file_is_deleted_and_restored_with_its_conversation(server: Server) -> None:
    """The file is not found while the conversation is deleted, and found again after the undo."""
    async with Person(server.url) as ada:
        mine = await attach_file(ada, b"The quay needs dredging.", name="survey.txt")
        page = await ada.page()
        said = await page.say("And this?", attachments=[mine["id"]])
        assert said["state"] == "complete"
        stored = (await ada.page(page.conversation)).snapshot["messages"]
        (shown,) = next(m["attachments"] for m in stored if m["role"] == "user")
        assert (shown["name"], shown["id"]) == ("survey.txt", mine["id"])
        assert (await ask_from_page(ada, "DELETE", mine["url"])).status == 409
        path = f"/conversations/{page.conversation}"
        await ada.ask("DELETE", path)
        assert (await ask(ada, "GET", mine["url"])).status == 404
        await ada.ask("POST", f"{path}/restore")
        assert (await ask(ada, "GET", mine["url"])).status == 200


class TestRefusals:
    async def test_each_refusal_says_what_is_allowed_and_no_file_is_left(
        self, server: Server
    ) -> None:
        before = len(files_of(server))
        async with Person(server.url) as ada:
            for answer, status, code, said in (
                (
                    await upload_file(ada, b"PK\x03\x04..", name="x.txt"),
                    400,
                    "file_type",
                    "You can attach: pict",
                ),
                (
                    await upload_file(ada, picture("PNG")[:50]),
                    400,
                    "file_damaged",
                    "damaged or cut off",
                ),
                (await upload_file(ada, b""), 400, "file_empty", "empty"),
                (await upload_file(ada, b"Hello", name=""), 400, "bad_command", "needs a name"),
                (await upload_file(ada, b"x", name="ü" * 1000), 400, "bad_command", "needs a name"),
            ):
                assert (answer.status, answer.json["code"]) == (status, code)
                assert said in answer.json["message"]
                assert "Nothing was kept." in answer.json["message"]
            unsaid = {"X-CSRFToken": "wrong"}
            assert (await upload_file(ada, b"Hello", **unsaid)).status == 403
            assert (await ask(ada, "GET", "/files")).status == 405
        assert len(files_of(server)) == before

    @pytest.mark.parametrize("path", ["/files", "/conversations/import"])
    async def test_a_length_that_is_too_long_is_refused_before_anything_is_read(
        self, path: str, server: Server
    ) -> None:
        async with connect_to(server) as (reader, writer):
            writer.write(request(server, path, "Content-Length: 10737418240"))
            status, body = await read_answer(reader)
            assert (status, body["code"]) == (413, "too_large")
            assert "MB" in body["message"]

    async def test_without_a_length_the_received_bytes_are_counted(self, server: Server) -> None:
        """50 MB for a file, 21 MB for everything else."""
        before = len(files_of(server))
        chunk = b"100000\r\n" + bytes(MEGABYTE) + b"\r\n"
        async with Person(server.url) as ada:
            cookies = [f"{one.key}={one.value}" for one in ada.cookies()]
            own = ada.headers() | {"Cookie": "; ".join(cookies)}
        own |= {"X-File-Name": "a.txt", "Transfer-Encoding": "chunked"}
        headers = "\r\n".join(f"{name}: {value}" for name, value in own.items())
        for path, chunks in (("/conversations/import", 22), ("/files", 51)):
            async with connect_to(server) as (reader, writer):
                writer.write(request(server, path, headers))
                for _ in range(chunks):
                    writer.write(chunk)
                    await writer.drain()
                status, body = await read_answer(reader)
                assert (status, body["code"]) == (413, "too_large")
        await wait_until(lambda: len(files_of(server)) == before)

    async def test_an_upload_that_is_broken_off_leaves_no_file(self, server: Server) -> None:
        before = len(files_of(server))

        async def half() -> AsyncIterator[bytes]:
            yield bytes(2 * MEGABYTE)
            await wait_until(lambda: len(files_of(server)) > before)
            task.cancel()
            await asyncio.Event().wait()

        async with Person(server.url) as ada:
            task = asyncio.create_task(upload_file(ada, half()))
            with pytest.raises(asyncio.CancelledError):
                await task
        await wait_until(lambda: len(files_of(server)) == before)


def request(server: Server, path: str, headers: str) -> bytes:
    host = f"Host: 127.0.0.1:{server.port}"
    return f"POST {path} HTTP/1.1\r\n{host}\r\n{headers}\r\n\r\n".encode()


@asynccontextmanager
async def connect_to(
    server: Server,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, Any]]:
    """Status and JSON."""
    async with asyncio.timeout(10):
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split()[0])
        return int(head.split()[1]), json.loads(await reader.readexactly(length))
