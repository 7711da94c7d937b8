"""A conversation as Markdown and as text, for reading elsewhere."""

from __future__ import annotations

from tests.person import Person
from tests.running import Server
from tests.web.browser_requests import ask


async def test_it_says_who_said_what_and_what_the_model_saw(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        ended = await page.say("What is **a quay**?")
        address = f"/conversations/{page.conversation}/export"
        marked = await ask(ada, "GET", f"{address}?format=markdown")
        assert marked.headers["content-type"] == "text/markdown; charset=utf-8"
        assert 'filename="what-is-a-quay.md"' in marked.headers["content-disposition"]
        assert marked.text.startswith("# What is **a quay**?\n\nA conversation with Memo, ")
        assert "\n\n## You\n\nWhat is **a quay**?\n\n## Memo\n\n" in marked.text
        assert ended["message"]["content"].strip() in marked.text
        assert " saw: " in marked.text.split("## You")[0]

        plain = await ask(ada, "GET", f"{address}?format=text")
        assert plain.headers["content-type"] == "text/plain; charset=utf-8"
        assert "\n\nYou:\n\nWhat is **a quay**?\n\nMemo:\n\n" in plain.text


async def test_another_format_is_refused_and_nobody_else_gets_it(server: Server) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob:
        page = await ada.page()
        await page.say("Between us")
        address = f"/conversations/{page.conversation}/export"
        refused = await ask(ada, "GET", f"{address}?format=docx")
        assert refused.status == 400
        assert refused.json["message"] == "The format is json, markdown or text."
        assert (await ask(bob, "GET", f"{address}?format=markdown")).status == 404
