"""No other site can change anything through the browser of someone who is signed in here."""

from __future__ import annotations

import pytest
from django.urls import reverse

from tests.person import Person, kind_of
from tests.running import Server
from tests.web.browser_requests import NOBODYS, ask, ask_from_page
from tests.web.test_ownership import OF_AGENTS, OWNED, WITHOUT_ID

PATHS = {
    **{name: reverse(name, args=[NOBODYS]) for name in OWNED},
    **{name: reverse(name, args=["own-000000000000"]) for name in sorted(OF_AGENTS)},
    **{name: reverse(name) for name in sorted(WITHOUT_ID - {"admin/"})},
    "admin/": "/admin/login/",
}
CHANGING = {
    "conversation": ("PATCH", "DELETE"),
    "restore": ("POST",),
    "clear": ("POST",),
    "close": ("POST",),
    "keep": ("POST",),
    "forget": ("POST",),
    "prompts": ("POST",),
    "prompt": ("PUT", "DELETE"),
    "kept-whole": ("POST",),
    "cache-cleanup": ("POST",),
    "cache-bring-back": ("POST",),
    "message": ("PATCH", "DELETE"),
    "message-text": ("PUT",),
    "message-restore": ("POST",),
    "show": ("POST",),
    "message-copy": ("POST",),
    "compare-draft": ("POST",),
    "compare-turn": ("POST",),
    "summary": ("POST",),
    "summary-switch": ("POST",),
    "compact": ("POST",),
    "compact-plan": ("POST",),
    "compact-draft": ("POST",),
    "compact-undo": ("POST",),
    "compact-again": ("POST",),
    "changes": ("POST",),
    "shares": ("POST",),
    "import": ("POST",),
    "sample": ("POST",),
    "session": ("POST",),
    "language": ("POST",),
    "own-agents": ("POST",),
    "own-agent": ("PUT", "DELETE"),
    "own-agent-check": ("POST",),
    "own-agent-restore": ("POST",),
    "own-agent-version": ("POST",),
    "own-instructions": ("PUT",),
    "import-progress": ("DELETE",),
    "files": ("POST",),
    "file": ("DELETE",),
    "login": ("POST",),
    "logout": ("POST",),
    "signup": ("POST",),
    "password": ("POST",),
    "mail-addresses": ("POST",),
    "account-delete": ("POST",),
    "admin/": ("POST",),
}


@pytest.mark.parametrize("name", PATHS)
async def test_nothing_is_changed_without_the_pages_token(name: str, server: Server) -> None:
    async with Person(server.url) as ada:
        token = ada.cookie("csrf")
        forged: tuple[dict[str, str], ...] = (
            {},
            {"Origin": server.url},
            {"Origin": server.url, "X-CSRFToken": "x" * 64},
            {"Origin": "http://evil.example", "X-CSRFToken": token},
            {"Origin": "null", "X-CSRFToken": token},
        )
        for method in CHANGING.get(name, ()):
            for headers in forged:
                answer = await ask(ada, method, PATHS[name], headers=headers)
                assert answer.status == 403, (method, headers)


@pytest.mark.parametrize("name", sorted(set(PATHS) - set(CHANGING)))
async def test_a_route_that_only_reads_accepts_no_other_method(name: str, server: Server) -> None:
    async with Person(server.url) as ada:
        for method in ("POST", "PATCH", "DELETE", "PUT"):
            answer = await ask_from_page(ada, method, PATHS[name])
            assert answer.status == 405, method


@pytest.mark.parametrize(
    "name", ["conversation", "restore", "clear", "message", "show", "files", "import", "logout"]
)
async def test_a_route_that_changes_something_does_nothing_on_get(
    name: str, server: Server
) -> None:
    async with Person(server.url) as ada:
        assert (await ask(ada, "GET", PATHS[name])).status == 405


async def test_a_forged_request_leaves_everything_as_it_was(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("Mine")
        path = f"/conversations/{page.conversation}"
        assert (await ask(ada, "DELETE", path)).status == 403
        assert (await ask(ada, "PATCH", path, data='{"title": "x"}')).status == 403
        assert (await ask(ada, "POST", f"{path}/clear")).status == 403
        (mine,) = (await ada.ask("GET", "/conversations"))["conversations"]
        assert mine["title"] == "Mine"
        assert len((await ada.page(page.conversation)).snapshot["messages"]) == 3


async def test_cookies_are_limited_to_this_site_and_scripts_can_not_read_the_session(
    server: Server,
) -> None:
    async with Person(server.url) as ada:
        kept = {kind_of(each.key): each for each in ada.http.cookie_jar}
        assert set(kept) == {"csrf", "session"}
        assert all(each["samesite"] == "Lax" for each in kept.values())
        assert kept["session"]["httponly"]
