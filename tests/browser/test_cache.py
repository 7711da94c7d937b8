"""The KV cache in the panel: its strip, cleanups, and bringing messages back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from chatsite.events import CacheChanged, Delta, TurnStarted
from chatsite.messages import Message
from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.browser.scripted_page import CONVERSATION, ScriptedPage, snapshot, view
from tests.browser.test_accessibility import violations
from tests.running import Server
from tests.story.agents import brief_demo

pytestmark = pytest.mark.browser
LOADS = 90_000


def piece(seq: int, role: str, start: int, size: int, status: int = 1) -> dict[str, Any]:
    """The strip's piece of a message; `seq` 0 is the part before the first message."""
    return {
        "key": f"m{seq}" if seq else "",
        "seq": seq,
        "role": role,
        "kind": "message" if seq else "head",
        "start": start,
        "size": size,
        "status": status,
        "label": f"Text {seq}." if seq else "instructions",
    }


def strategy(name: str, words: str, *, turns: int) -> dict[str, Any]:
    tokens = {"tokens": 70 * turns, "messages": 2 * turns, "enough": True}
    return {"name": name, "words": words, "turns": turns, **tokens}


FOUND = {
    "available": True,
    "note": "",
    "window": 2048,
    "used": 270,
    "free": 1778,
    "place": "slot",
    "cleanup": {
        "value": "removeOldestMessages",
        "source": "template",
        "words": "Unload the oldest turns",
        "passed_over": [],
    },
    "strip": [
        piece(0, "system", 0, 184),
        piece(2, "user", -1, 30, status=-1),
        piece(3, "assistant", -1, 40, status=-1),
        piece(4, "user", 184, 31, status=0),
        piece(5, "assistant", 215, 55),
    ],
    "strategies": [
        strategy("keepSystemPromptOnly", "Keep only the instructions", turns=2),
        strategy("removeOldestMessages", "Unload the oldest turns", turns=0),
    ],
    "unloaded": {"turns": 1, "messages": 2, "tokens": 70},
    "turns": [
        {
            "number": 1,
            "expected": 0,
            "reused": 0,
            "evaluated": 260,
            "first_token_ms": 1204.0,
            "origin": "none",
        },
        {
            "number": 2,
            "expected": 200,
            "reused": 184,
            "evaluated": 60,
            "first_token_ms": 80.0,
            "origin": "slot",
        },
    ],
    "misses": 1,
    "saved": None,
}


class FakeCacheApi:
    """Answers the cache API instead of the server; `changes` are the requested changes, `held` the
    requests that stay unanswered until `answer_late`."""

    def __init__(self, chat: Chat) -> None:
        self.changes: list[tuple[str, Any]] = []
        self.held: list[Route] = []
        self.hold = True
        chat.page.route("**/cache?*", self._on_read)
        chat.page.route("**/cache/*", self._on_change)

    def answer_at_once(self) -> None:
        self.hold = False

    def answer_late(self, found: dict[str, Any]) -> None:
        assert self.held
        for route in self.held:
            route.fulfill(json=found)

    def _on_read(self, route: Route) -> None:
        if self.hold:
            self.held.append(route)
        else:
            route.fulfill(json=FOUND)

    def _on_change(self, route: Route) -> None:
        name = route.request.url.rsplit("/", 1)[1]
        self.changes.append((name, json.loads(route.request.post_data or "{}")))
        route.fulfill(json={"turns": [2, 4], "messages": 4, "tokens": 140, "status": {}})


def test_the_strip_can_be_read_and_walked_and_a_cleanup_frees_cells(visit: Visit) -> None:
    chat = visit()
    api = FakeCacheApi(chat)
    part = chat.panel.locator("[data-section=cache]")
    # Opened elsewhere before its answer comes, so the page must have asked by then.
    with chat.page.expect_request("**/cache?*"):
        chat.open("/chat?debug=true").say("One.")
        expect(part).to_contain_text("Looking at it…")
    chat.page.locator("#new").click()
    expect(part).to_be_hidden()
    api.answer_at_once()
    chat.row("One.").get_by_role("link").click()
    expect(part.locator("h3")).to_have_text("KV cache270 of 2,048 cells · 184 reused")
    strip = part.get_by_role("listbox")
    pieces = strip.get_by_role("option")
    expect(pieces).to_have_count(6)
    api.answer_late(FOUND | {"available": False, "note": "Too late."})
    expect(pieces.nth(1)).to_have_accessible_name("2 user, took 30 cells, unloaded: “Text 2.”")
    pieces.nth(3).click()
    expect(pieces.nth(3)).to_have_attribute("aria-selected", "true")
    for key in ("End", "ArrowLeft", "ArrowLeft"):
        chat.page.keyboard.press(key)
    expect(strip.get_by_role("option", selected=True)).to_have_accessible_name(
        "4 user, 31 cells from 184 on, marked for cleanup: “Text 4.”"
    )
    expect(part.locator(".kv-told")).to_contain_text("4 user, 31 cells from 184 on")
    pieces.last.hover()
    expect(part.locator(".kv-told")).to_have_text("1,778 cells free")
    part.locator("summary", has_text="Each piece as a table").click()
    expect(part.locator(".kv-table tbody tr")).to_have_count(5)
    expect(part.locator(".kv-turns tr.led")).to_have_text("200 expected")
    for scheme in ("light", "dark"):
        chat.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert violations(chat.page) == [], scheme
    nothing = part.get_by_role("button", name="Unload the oldest turns")
    expect(nothing).to_contain_text("nothing to free")
    expect(nothing).to_be_disabled()
    keep = part.get_by_role("button", name="Keep only the instructions")
    expect(keep).to_contain_text("frees 140 tokens, 2 turns")
    keep.press("Enter")
    expect(chat.toasts).to_contain_text("2 turns unloaded")
    expect(keep).to_be_focused()
    chat.toasts.get_by_role("button", name="Bring back").click()
    part.get_by_role("button", name="Bring all back").click()
    expect(chat.page.locator("#status")).to_have_text("2 turns brought back.")
    assert api.changes == [
        ("cleanup", {"strategy": "keepSystemPromptOnly", "query": "debug=true"}),
        ("bring_back", {"turns": [2, 4]}),
        ("bring_back", {}),
    ]


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Server]:
    """A server on which the embedded model answers in a few tokens."""
    agents = brief_demo(tmp_path / "agents", tokens=6)
    with Server(
        tmp_path / "var", CHAT_ENGINE="auto", OPENAI_API_KEY="", AGENTS_DIR=str(agents)
    ) as server:
        yield server


def cached_messages(server: Server) -> list[tuple[int, int, int]]:
    """For every message that was sent: number of cells, first cell, and state."""
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3")) as stored:
        return stored.execute(
            "SELECT kv_size, kv_start_position, kv_status FROM conversations_message "
            "WHERE turn_seq > 0 ORDER BY seq"
        ).fetchall()


@pytest.mark.engine
def test_a_cleanup_unloads_turns_until_they_are_brought_back(
    visit: Visit, embedded: Server
) -> None:
    chat = visit(base_url=embedded.url).open("/chat?debug=true")
    expect(chat.page.locator("#engine")).to_be_hidden(timeout=LOADS)
    chat.turns("What is a quay?", "What is a tide?")
    part = chat.panel.locator("[data-section=cache]")
    loaded = part.locator(".kv-loaded[role=option]")
    expect(loaded).to_have_count(4)
    for shown, (size, start, status) in zip(loaded.all(), cached_messages(embedded), strict=True):
        assert status == 1
        words = shown.get_attribute("aria-label") or ""
        assert f"{size} cells from {start} on, loaded" in words
    expect(part.locator(".kv-turns tbody tr")).to_have_count(2)
    expect(part).to_contain_text("Every turn reused what was predicted.")
    part.get_by_role("button", name="Keep only the instructions").click()
    expect(chat.toasts).to_contain_text("2 turns unloaded")
    marks = chat.users.locator(".mark", has_text="Not sent: unloaded by a cleanup")
    expect(marks).to_have_count(2)
    expect(chat.panel.locator(".fate code", has_text="unloaded")).not_to_have_count(0)
    expect(part.locator(".kv-marked[role=option]")).to_have_count(4)
    marks.first.get_by_role("button", name="Bring back").click()
    expect(marks).to_have_count(1)
    chat.say("And now?")
    expect(part.locator(".kv-gone[role=option]")).to_have_count(2)
    part.get_by_role("button", name="Bring all back").click()
    expect(marks).to_have_count(0)
    assert [status for _, _, status in cached_messages(embedded)] == [1] * 6
    chat.page.close()  # the page would look for the server, which stops here


def test_an_automatic_cleanup_is_announced_with_a_button_that_undoes_it(visit: Visit) -> None:
    older = view(Message.user("How high is it?", id="u1"), 1)
    answer = view(Message.assistant("Ten metres.", id="a1"), 2)
    question = view(Message.user("And how deep?", id="u2"), 3)
    scripted = ScriptedPage(visit(), snapshot(older, answer))
    scripted.send(
        TurnStarted(conversation=CONVERSATION, turn="t2", client_id="x", messages=(question,)),
        CacheChanged(status={"u1": 0, "a1": 0}),
        Delta(turn="t2", offset=0, text="Six."),
    )
    toasts = scripted.chat.page.locator("#toasts")
    expect(toasts).to_contain_text("The context is full: 1 older exchange unloaded.")
    expect(toasts.get_by_role("button", name="Bring back")).to_be_visible()
    scripted.send(CacheChanged(status={"u1": -1, "a1": -1}))
    expect(toasts.locator(".toast")).to_have_count(1)
