"""Every route that takes an id answers "not found" to everyone but the owner."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

import pytest
from django.urls import reverse

from tests.person import Page, Person
from tests.routes import own_routes
from tests.running import Server
from tests.web.browser_requests import NOBODYS, Answer, ask, ask_from_page
from tests.web.conftest import STAFF


@dataclass(frozen=True)
class Case:
    """How a route with an id is requested, and what its owner gets."""

    method: str = "GET"
    query: str = ""
    body: str | None = None
    owner_gets: int = 200


OWNED: dict[str, tuple[Case, ...]] = {
    "conversation-page": (Case(), Case(method="HEAD")),
    "conversation": (
        Case(method="PATCH", body='{"title": "Renamed"}'),
        Case(method="DELETE"),
    ),
    "restore": (Case(method="POST"),),
    "clear": (Case(method="POST"),),
    # It isn't temporary.
    "close": (Case(method="POST", owner_gets=409),),
    "keep": (Case(method="POST"),),
    "forget": (Case(method="POST", body='{"on": true}'),),
    # A conversation's id is no prompt's: tests/web/test_prompts.py.
    "prompt": (Case(method="PUT", body='{"name": "a", "text": "b"}', owner_gets=404),),
    "messages": (Case(query="?before=9"),),
    "export": (Case(),),
    "cache": (Case(),),
    # The echo has no cache to clean up.
    "cache-cleanup": (
        Case(method="POST", body='{"strategy": "keepSystemPromptOnly"}', owner_gets=409),
    ),
    "cache-bring-back": (Case(method="POST", body='{"turns": [2]}'),),
    "kept-whole": (Case(method="POST", body='{"messages": [2], "on": true}'),),
    "summary": (Case(), Case(method="POST", body='{"version": 1, "text": "x"}', owner_gets=404)),
    "summary-switch": (Case(method="POST", body='{"on": false}'),),
    # One exchange folds nothing, and there is nothing to undo.
    "compact": (Case(method="POST", body='{"version": 0, "text": "x"}', owner_gets=409),),
    "compact-plan": (Case(method="POST", body="{}", owner_gets=409),),
    "compact-draft": (Case(method="POST", body='{"part": 0}', owner_gets=409),),
    "compact-undo": (Case(method="POST", body='{"version": 1}', owner_gets=409),),
    "compact-again": (Case(method="POST", body='{"version": 1}', owner_gets=409),),
    "file": (Case(), Case(method="HEAD"), Case(method="DELETE")),
    "message": tuple(
        Case(method="PATCH", body=f'{{"{mark}": true}}')
        for mark in ("pinned", "excluded", "forget_above")
    )
    + (Case(method="DELETE"),),
    "message-text": (Case(method="PUT", body='{"text": "Otherwise."}'),),
    # Nothing was deleted.
    "message-restore": (Case(method="POST", owner_gets=404),),
    "why": (Case(query="?query=historyPolicy%3Dnone&draft=And"),),
    "message-version": (Case(),),
    "show": (Case(method="POST"),),
    "message-copy": (Case(method="POST", body=f'{{"conversation": "{uuid4()}"}}'),),
    "receipt": (Case(),),
    "costs": (Case(),),
    "request": (Case(owner_gets=404),),  # for staff alone, where DEBUG is off
    "compare-draft": (Case(method="POST", body='{"draft": "And?"}'),),
    # Guests share nothing, unless the server says so.
    "shares": (Case(), Case(method="POST", body="{}", owner_gets=409)),
    "compare-turn": (Case(method="POST", body='{"query": "historyPolicy=none"}'),),
}
WITHOUT_ID = {
    *(
        "home",
        "chat",
        "chat-with-slash",
        "conversations",
        "search",
        "bookmarks",
        "changes",
        "diagram",
        "preview",
        "prompts",
        "files",
        "import",
        "import-progress",
        "sample",
        "session",
        "language",
        "models",
        "own-agents",
        "own-agent-form",
        "own-agent-check",
        "own-instructions",
        "login",
        "logout",
        "signup",
        "account",
        "password",
        "account-export",
        "account-delete",
        "mail-addresses",
        "admin-password",
        "admin-mails",
        "health",
        "ready",
    ),
    "admin/",
}
# Only where the server reads a mailbox: tests/story/test_mail_addresses.py.
WITH_MAIL = {"mail-address", "mail-address-remove"}
# By a link's id, or by its token alone: tests/shares/.
OF_LINKS = {"share", "shared", "shared-file"}
# By an agent's slug: tests/own_agents/test_own_agents.py.
OF_AGENTS = {"own-agent", "own-agent-restore", "own-agent-version"}
ROUTE_CASES = [(name, case) for name, cases in OWNED.items() for case in cases]


def route_names() -> tuple[set[str], set[str]]:
    """The names of the routes that take an id, and of those that take none."""
    with_id = {name for name, pattern in own_routes() if "<" in pattern}
    return with_id, {name for name, _ in own_routes()} - with_id | {"admin/"}


def test_every_route_is_covered_by_these_tests() -> None:
    assert route_names() == (set(OWNED) | WITH_MAIL | OF_LINKS | OF_AGENTS, WITHOUT_ID)


def id_for(name: str, page: Page, turn: str, file: str) -> str:
    """The id that a route of this name takes: of a turn, a message, a file or the conversation."""
    if name == "file":
        return file
    if name in ("receipt", "request", "compare-turn"):
        return turn
    if name.startswith("message-") or name in ("message", "why", "show"):
        id: str = page.events[-1]["message"]["id"]
        return id
    return page.conversation


async def request_route(person: Person, name: str, case: Case, id: str) -> Answer:
    path = reverse(name, args=[id]) + case.query
    type = "application/json" if case.body else ""
    return await ask_from_page(person, case.method, path, data=case.body, type=type)


async def attach_file(person: Person) -> str:
    """The id of a file that this person attached."""
    headers = person.headers() | {"X-File-Name": "plan.txt"}
    answer = await ask(person, "POST", "/files", data=b"My plan", headers=headers)
    id: str = answer.json["attachment"]["id"]
    return id


async def test_no_route_distinguishes_another_persons_id_from_an_unknown_one(
    server: Server,
) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob, Person(server.url) as grace:
        page, gone = await ada.page(), await ada.page()
        file, gone_file = await attach_file(ada), await attach_file(ada)
        turn = (await page.say("My plan", attachments=[file]))["turn"]
        gone_turn = (await gone.say("My past", attachments=[gone_file]))["turn"]
        await ada.ask("DELETE", f"/conversations/{gone.conversation}")
        await (await bob.page()).say("Of another")
        await grace.sign_in(*STAFF)
        async with Person(server.url) as nobody:
            for name, case in ROUTE_CASES:
                ids = (
                    id_for(name, page, turn, file),
                    id_for(name, gone, gone_turn, gone_file),
                )
                for person in (bob, grace, nobody):
                    unknown = await request_route(person, name, case, NOBODYS)
                    assert unknown.status == 404, name
                    for id in ids:
                        theirs = await request_route(person, name, case, id)
                        assert (theirs.status, theirs.body) == (404, unknown.body), name
            assert (await nobody.ask("GET", "/conversations"))["count"] == 0
            assert (await nobody.ask("GET", "/conversations?q=plan"))["count"] == 0
        (mine,) = (await ada.ask("GET", "/conversations"))["conversations"]
        assert (mine["id"], mine["title"]) == (page.conversation, "My plan")
        assert len((await ada.page(page.conversation)).snapshot["messages"]) == 3


async def test_every_route_answers_the_owner(server: Server) -> None:
    async with Person(server.url) as ada:
        page, file = await ada.page(), await attach_file(ada)
        turn = (await page.say("My plan", attachments=[file]))["turn"]
        for name, case in sorted(
            ROUTE_CASES, key=lambda request_route: request_route[0] in ("restore", "clear")
        ):
            id = id_for(name, page, turn, file)
            if case.method == "DELETE":
                continue
            if name == "restore":
                await ada.ask("DELETE", f"/conversations/{id}")
            assert (await request_route(ada, name, case, id)).status == case.owner_gets, name


@pytest.mark.parametrize(
    "path",
    [
        "/chat/1",
        "/chat/../../etc/passwd",
        "/chat/%00",
        f"/conversations/{NOBODYS}%00/export",
        "/conversations/1/export",
        "/turns/x/receipt",
        "/turns/%E2%98%83/request",
        "/nowhere",
    ],
)
async def test_a_malformed_id_is_not_found(path: str, server: Server) -> None:
    async with Person(server.url) as ada:
        answer = await ask(ada, "GET", path)
        assert answer.status == 404
        assert "Page not found" in answer.text


@pytest.mark.parametrize("agent", ["nobody", "../demo", "..%2Fdemo", "demo%00", "%FF", "/etc"])
async def test_an_agent_that_isnt_here_is_told_and_not_repeated(agent: str, server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page_data(f"/chat?agent={agent}")
        assert (page["agent"], page["unknown_agent"]) == ("demo", True)
        answer = await ask(ada, "GET", f"/chat?agent={agent}")
        assert "nobody" not in answer.text and "/etc" not in answer.text
