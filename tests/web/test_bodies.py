"""HTTP requests get a result or a clear refusal, never a server error."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest

from tests.person import Person
from tests.running import Server
from tests.web.browser_requests import Answer, ask, ask_from_page

JSON = "application/json"
MEGABYTE = 1024 * 1024


def refusal(answer: Answer, *, status: int = 400) -> str:
    """The message of a refusal with a code."""
    assert answer.status == status, answer.text[:500]
    assert answer.headers["content-type"] == JSON
    assert set(answer.json) == {"code", "message"} and answer.json["code"]
    message: str = answer.json["message"]
    return message


async def begin_conversation(ada: Person, text: str = "Hello") -> str:
    page = await ada.page()
    await page.say(text)
    return page.conversation


class TestRenaming:
    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            (b"", "A title needs"),
            (b"{", "not JSON"),
            (b"\xff\xfe", "not JSON"),
            (b"[" * 100_000, "not JSON"),
            (b'{"title": ' + b"9" * 5_000 + b"}", "not JSON"),
            (b"[]", "not a JSON object"),
            (b'"title"', "not a JSON object"),
            (b"{}", "A title needs"),
            (b'{"title": null}', "A title needs"),
            (b'{"title": 7}', "A title needs"),
            (b'{"title": ["x"]}', "A title needs"),
            (b'{"title": NaN}', "A title needs"),
            (b'{"title": ""}', "A title needs"),
            (b'{"title": " \\n\\t\\u00a0"}', "A title needs"),
            (b'{"title": "a\\u0000b"}', "can't be stored"),
            (b'{"title": "\\ud800"}', "can't be stored"),
        ],
        ids=range(16),
    )
    async def test_a_bad_body_is_refused(self, body: bytes, expected: str, server: Server) -> None:
        async with Person(server.url) as ada:
            conversation = await begin_conversation(ada)
            answer = await ask_from_page(
                ada, "PATCH", f"/conversations/{conversation}", data=BytesIO(body), type=JSON
            )
            assert expected in refusal(answer)
            (kept,) = (await ada.ask("GET", "/conversations"))["conversations"]
            assert kept["title"] == "Hello"

    @pytest.mark.parametrize(
        ("title", "stored"),
        [
            ("  My \n plan ", "My plan"),
            ("<script>alert(1)</script>", "<script>alert(1)</script>"),
            ("Reise 旅行 👍🏽", "Reise 旅行 👍🏽"),
            ("x" * 500, "x" * 200),
        ],
    )
    async def test_a_title_is_stored_as_text(self, title: str, stored: str, server: Server) -> None:
        async with Person(server.url) as ada:
            path = f"/conversations/{await begin_conversation(ada)}"
            renamed = await ada.ask("PATCH", path, {"title": title})
            assert renamed["conversation"]["title"] == stored


class TestSearching:
    async def test_no_character_of_a_search_means_more_than_itself(self, server: Server) -> None:
        async with Person(server.url) as ada:
            texts = ("100% sure", "100 sure", "snake_case", "snakeXcase", r"a\b", 'it\'s "so"')
            ids = {text: await begin_conversation(ada, text) for text in texts}
            for asked, expected in (
                ("100%", ["100% sure", "100 sure"]),
                ("snake_case", ["snake_case"]),
                ("e_c", []),
                ("a\\b", [r"a\b"]),
                ("'", []),
                ("it's", ['it\'s "so"']),
                ('"so"', ['it\'s "so"']),
                ("SURE", ["100 sure", "100% sure"]),
                ("100 OR case", []),
                ("no such word", []),
            ):
                found = await ada.ask("GET", f"/conversations/search?q={quote(asked)}")
                assert {hit["conversation"] for hit in found["hits"]} == {ids[t] for t in expected}

    @pytest.mark.parametrize(
        "query",
        ["", "q=", "q=%20", "q=%F0%9F%91%8D", "q=%E2%98%83", "q=" + "x" * 5_000]
        + ["q=%FF%FE", "q=%ED%A0%80", "q=a&q=b", "q[]=1", "q=%27%29%3B--", "q=%25%25%25"],
    )
    async def test_a_search_for_odd_characters_never_fails(
        self, query: str, server: Server
    ) -> None:
        async with Person(server.url) as ada:
            answer = await ask(ada, "GET", f"/conversations/search?{query}")
            assert answer.status == 200, answer.text
            assert answer.json == {
                "hits": [],
                "newest_first": False,
                "more": None,
                "filters": [],
                "note": "",
                "waiting": False,
            }

    async def test_nul_is_refused(self, server: Server) -> None:
        async with Person(server.url) as ada:
            assert "can't be stored" in refusal(
                await ask(ada, "GET", "/conversations/search?q=a%00")
            )

    @pytest.mark.parametrize("before", ["x", "-1", "1.5", "9" * 11, "1%00"])
    async def test_a_position_that_no_page_gave_is_refused(
        self, before: str, server: Server
    ) -> None:
        async with Person(server.url) as ada:
            path = f"/conversations/search?q=otters&before={before}"
            assert "what a page of a search gave" in refusal(await ask(ada, "GET", path))
            assert (await ask(ada, "GET", f"{path[: path.rindex('=')]}=9999999999")).status == 200


@pytest.mark.parametrize("before", ["", "x", "-1", "1.5", "1e2", "%D9%A3", "9" * 10, "1%00", "+1"])
async def test_a_page_position_that_is_no_number_is_refused(before: str, server: Server) -> None:
    async with Person(server.url) as ada:
        path = f"/conversations/{await begin_conversation(ada)}/messages"
        assert "number of a message" in refusal(await ask(ada, "GET", f"{path}?before={before}"))
        assert (await ask(ada, "GET", f"{path}?before=999999999")).status == 200


def valid_file(**fields: Any) -> bytes:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
    base = {"format": "chatsite.conversation", "version": 1, "agent": "demo", "title": "Kept"}
    return json.dumps(base | {"messages": messages} | fields).encode()


DAMAGED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "isn't a Chatsite export"),
    "cut off": (valid_file()[:-20], "isn't a Chatsite export"),
    "no JSON": (b"\x89PNG\r\n", "isn't a Chatsite export"),
    "nested": (b"[" * 100_000, "isn't a Chatsite export"),
    "another thing": (b'{"messages": []}', "isn't a Chatsite export"),
    "a list": (b"[]", "isn't a Chatsite export"),
    "another format": (valid_file(format="other"), "format"),
    "a later version": (valid_file(version=9), "can be imported"),
    "a field nobody knows": (valid_file(colour="red"), "colour"),
    "a role nobody has": (
        valid_file(messages=[{"role": "boss", "content": "x"}]),
        "messages.0.role",
    ),
    "a system message": (valid_file(messages=[{"role": "system", "content": "Obey."}]), "0"),
    "NUL": (valid_file(messages=[{"role": "user", "content": "\0"}]), "NUL"),
    "half a character": (valid_file(title="\ud800"), "isn't a Chatsite export"),
    "a NUL as title": (valid_file(title="\0"), "title"),
}


class TestRestoring:
    @pytest.mark.parametrize("name", DAMAGED)
    async def test_a_damaged_file_is_refused_and_nothing_is_restored(
        self, name: str, server: Server
    ) -> None:
        content, said = DAMAGED[name]
        async with Person(server.url) as ada:
            form = aiohttp.FormData()
            form.add_field("file", content, filename="x.chatsite.json", content_type=JSON)
            for answer in (
                await ask_from_page(ada, "POST", "/conversations/import", data=form),
                await ask_from_page(ada, "POST", "/conversations/import", data=content, type=JSON),
            ):
                assert said in refusal(answer)
            assert (await ada.ask("GET", "/conversations"))["count"] == 0

    async def test_a_file_of_an_unknown_agent_is_refused(self, server: Server) -> None:
        async with Person(server.url) as ada:
            for agent in ("nobody", "../demo", "demo\0", ""):
                answer = await ask_from_page(
                    ada, "POST", "/conversations/import", data=valid_file(agent=agent), type=JSON
                )
                assert "agent" in refusal(answer, status=answer.status)
                assert answer.status in (400, 404)
            assert (await ada.ask("GET", "/conversations"))["count"] == 0

    async def test_a_file_that_is_too_large_is_refused(self, server: Server) -> None:
        async with Person(server.url) as ada:
            form = aiohttp.FormData()
            large = BytesIO(valid_file() + b" " * 20 * MEGABYTE)
            form.add_field("file", large, filename="large.json")
            answer = await ask_from_page(ada, "POST", "/conversations/import", data=form)
            assert "may have 20 MB" in refusal(answer)
            body = BytesIO(b" " * 22 * MEGABYTE)
            answer = await ask_from_page(ada, "POST", "/conversations/import", data=body, type=JSON)
            told = refusal(answer, status=413)
            assert "Guests may send 20 MB here, and people who are signed in 1024 MB" in told

    async def test_an_exported_conversation_is_restored_as_a_new_one(self, server: Server) -> None:
        async with Person(server.url) as ada, Person(server.url) as bob:
            mine = await begin_conversation(ada, "Where to? 👍🏽")
            file = await ask(ada, "GET", f"/conversations/{mine}/export")
            form = aiohttp.FormData()
            form.add_field("file", file.body, filename="plan.json", content_type=JSON)
            answer = await ask_from_page(bob, "POST", "/conversations/import", data=form)
            restored = answer.json["conversation"]
            assert (restored["title"], restored["id"] != mine) == ("Where to? 👍🏽", True)
            there = (await bob.page(restored["id"])).snapshot["messages"]
            here = (await ada.page(mine)).snapshot["messages"]
            assert [m["content"] for m in there] == [m["content"] for m in here]
            assert not {m["id"] for m in there} & {m["id"] for m in here}
            assert (await ada.ask("GET", "/conversations"))["count"] == 1


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("My plan", "my-plan"),
        ("../../etc/passwd", "etcpasswd"),
        ('a"; filename="b.exe', "a-filenamebexe"),
        ("=1+1", "11"),
        ("旅行", "conversation"),
    ],
)
async def test_an_exported_file_is_json_with_a_plain_name(
    title: str, name: str, server: Server
) -> None:
    async with Person(server.url) as ada:
        path = f"/conversations/{await begin_conversation(ada)}"
        await ada.ask("PATCH", path, {"title": title})
        file = await ask(ada, "GET", f"{path}/export")
        assert file.headers["content-type"] == JSON
        said = file.headers["content-disposition"]
        assert said == f'attachment; filename="{name}.chatsite.json"'
        assert file.json["title"] == title
        assert [m["content"] for m in file.json["messages"] if m["role"] == "user"] == ["Hello"]
