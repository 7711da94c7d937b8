"""Every answer tells the browser what to forbid, and no page needs anything forbidden."""

from __future__ import annotations

import re

import pytest

from tests.person import Person
from tests.running import Server
from tests.web.browser_requests import NOBODYS, Answer, ask

POLICY = {
    "default-src": {"'none'"},
    "script-src": {"'self'"},
    "worker-src": {"'self'"},
    "style-src": {"'self'"},
    "img-src": {"'self'", "data:", "blob:"},
    "font-src": {"'self'"},
    "connect-src": {"'self'"},
    "frame-src": {"'self'"},
    "manifest-src": {"'self'"},
    "frame-ancestors": {"'none'"},
    "base-uri": {"'none'"},
    "form-action": {"'self'"},
}
PATHS = {
    "/": 302,
    "/chat": 200,
    "/chat?agent=demo&debug=true": 200,
    f"/chat/{NOBODYS}": 404,
    "/nowhere": 404,
    "/accounts/login/": 200,
    "/accounts/signup/": 200,
    "/accounts/logout/": 405,
    "/admin/login/": 200,
    "/conversations": 200,
    "/conversations/search?q=%00": 400,
    f"/conversations/{NOBODYS}/export": 404,
    "/static/nothing.js": 404,
}


def check(answer: Answer) -> None:
    directives = (part.split() for part in answer.headers["content-security-policy"].split(";"))
    assert {name: set(values) for name, *values in directives} == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert "access-control-allow-origin" not in answer.headers
    if not answer.headers["content-type"].startswith("text/javascript"):
        assert {"private", "no-store"} <= set(answer.headers["cache-control"].split(", "))


@pytest.mark.parametrize("path", PATHS)
async def test_every_answer_has_the_headers_that_forbid_what_no_page_needs(
    path: str, server: Server
) -> None:
    async with Person(server.url) as ada:
        answer = await ask(ada, "GET", path)
        assert answer.status == PATHS[path]
        check(answer)


async def test_a_refused_form_and_a_static_file_have_the_headers_too(server: Server) -> None:
    async with Person(server.url) as ada:
        refused = await ask(ada, "POST", "/accounts/login/")
        assert refused.status == 403
        check(refused)
        page = await ask(ada, "GET", "/chat")
        found = re.search(r'src="(/static/[^"]+\.js)"', page.text)
        assert found is not None
        script = await ask(ada, "GET", found[1])
        assert script.status == 200
        check(script)


@pytest.mark.parametrize("path", ["/chat", "/accounts/login/", "/accounts/signup/", "/nowhere"])
async def test_no_page_holds_an_inline_script_or_style(path: str, server: Server) -> None:
    async with Person(server.url) as ada:
        text = (await ask(ada, "GET", path)).text
        scripts = re.findall(r"<script([^>]*)>", text)
        assert all("src=" in one or 'type="application/json"' in one for one in scripts)
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", text)


async def test_pages_and_lists_are_not_cached_by_proxies(server: Server) -> None:
    async with Person(server.url) as ada:
        for path in ("/chat", "/conversations"):
            assert "cookie" in (await ask(ada, "GET", path)).headers["vary"].lower()


async def test_the_frame_of_a_diagram_can_do_nothing_but_draw(server: Server) -> None:
    async with Person(server.url) as ada:
        answer = await ask(ada, "GET", "/diagram")
        directives = (one.split() for one in answer.headers["content-security-policy"].split(";"))
        assert {name: set(values) for name, *values in directives} == {
            "default-src": {"'none'"},
            "script-src": {"'self'"},
            "style-src": {"'unsafe-inline'"},
            "base-uri": {"'none'"},
            "form-action": {"'none'"},
            "frame-ancestors": {"'self'"},
            "sandbox": {"allow-scripts"},
        }
        assert answer.headers["x-frame-options"] == "SAMEORIGIN"
        assert "set-cookie" not in answer.headers


async def test_the_frame_of_a_preview_reaches_nothing(server: Server) -> None:
    async with Person(server.url) as ada:
        answer = await ask(ada, "GET", "/preview")
        directives = (one.split() for one in answer.headers["content-security-policy"].split(";"))
        assert {name: set(values) for name, *values in directives} == {
            "default-src": {"'none'"},
            "script-src": {"'self'", "'unsafe-inline'"},
            "style-src": {"'unsafe-inline'"},
            **{name: {"data:"} for name in ("img-src", "font-src", "media-src")},
            "base-uri": {"'none'"},
            "form-action": {"'none'"},
            "frame-ancestors": {"'self'"},
            "sandbox": {"allow-scripts"},
        }
        assert answer.headers["x-frame-options"] == "SAMEORIGIN"
        assert answer.headers["x-dns-prefetch-control"] == "off"
        assert "set-cookie" not in answer.headers
