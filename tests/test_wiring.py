"""The running site: one server a folder, permissions, and the provider of each agent."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.signed_cookies import SessionStore
from django.db import connections
from django.test import AsyncRequestFactory
from pytest_django import Settings

from chatsite import storage
from chatsite.conversations.owners import Owner
from chatsite.errors import NotFound, Refused
from chatsite.storage import Pieces, in_pieces, lock, reading, writing
from chatsite.turns.agents.resolved_agent import missing_agent
from chatsite.web.api import conversations as api
from chatsite.web.api.requests import View
from chatsite.wiring.site import Site
from chatsite.wording import say
from tests.conversations.builders import ADA, new_id, talk
from tests.pseudo_language import pseudo_language


@pytest.fixture
async def site(tmp_path: Path, settings: Settings) -> AsyncIterator[Site]:
    """Two agents, one of them broken; only echo can be reached."""
    settings.AGENTS_DIR = tmp_path
    for slug, document in (("demo", '{"name": "Memo", "personality": "You help."}'), ("bad", "{")):
        (tmp_path / slug).mkdir()
        (tmp_path / slug / "template.json").write_text(document)
    running = Site()
    yield running
    storage.close()


def test_a_second_lock_on_a_folder_is_refused_until_the_first_is_released(
    tmp_path: Path,
) -> None:
    first = lock(tmp_path / "var" / "server.lock")
    with pytest.raises(Refused, match="Another server already uses"):
        lock(tmp_path / "var" / "server.lock")
    first.close()
    lock(tmp_path / "var" / "server.lock").close()


async def test_a_broken_agent_is_described_with_its_reason_and_answers_nothing(site: Site) -> None:
    demo, bad = site.agents.all(staff=True)
    assert (demo["slug"], demo["broken"], demo["provider"]["kind"]) == ("demo", None, "echo")
    assert bad["slug"] == "bad"
    assert bad["broken"]["file"] == "bad/template.json" and bad["broken"]["reason"]
    with pytest.raises(NotFound):
        site.agents.resolve("bad")


async def test_a_guest_sees_no_files_of_a_broken_agent(site: Site, tmp_path: Path) -> None:
    (tmp_path / "demo" / "strategy.py").write_text("def build(ctx:")
    demo, bad = site.agents.all(staff=False)
    assert bad["broken"]["file"] == "" and "an administrator" not in bad["broken"]["reason"]
    assert "manage.py check" in bad["broken"]["reason"]
    assert demo["provider"]["note"].endswith(
        "Its strategy is broken. Until that is mended, the newest turns within the budget are sent."
    )
    shown = json.dumps(
        [demo, bad, *(site.agents.describe(s, staff=False) for s in ("demo", "bad"))]
    )
    assert "strategy.py" not in shown and "template.json" not in shown


async def test_a_broken_strategy_is_shown_on_the_card_and_breaks_no_agent(
    site: Site, tmp_path: Path
) -> None:
    (tmp_path / "demo" / "strategy.py").write_text("def build(ctx:")
    demo, _ = site.agents.all(staff=True)
    assert demo["broken"] is None
    assert "Its strategy is broken (demo/strategy.py, line 1: " in demo["provider"]["note"]
    assert site.agents.resolve("demo").slug == "demo"


async def test_a_missing_agent_is_described_like_the_others(site: Site) -> None:
    demo, missing = site.agents.describe("demo", staff=True), missing_agent("gone")
    assert site.agents.describe("gone", staff=True) is None and demo is not None
    assert set(missing) == set(demo)
    assert missing["broken"]["reason"] == "There is no such agent any more."
    json.dumps([*site.agents.all(staff=True), missing])


@pytest.mark.parametrize(
    ("who", "staff", "allowed"),
    [
        ("", False, True),
        ("everyone", False, True),
        ("staff", False, False),
        ("staff", True, True),
        ("off", True, False),
    ],
)
async def test_who_may_choose_in_a_link(
    site: Site, settings: Settings, who: str, staff: bool, allowed: bool
) -> None:
    settings.HISTORY_ENVIRONMENT = {"HISTORY_URL": who}
    request = site.page_request(
        owner=Owner(guest="ada"), staff=staff, conversation="c", agent="demo", query=""
    )
    assert request.url_allowed is allowed


@pytest.mark.parametrize(
    ("panel", "guest", "staff"),
    [("everyone", True, True), ("staff", False, True), ("off", False, False)],
)
async def test_who_may_open_the_panel(
    site: Site, settings: Settings, panel: str, guest: bool, staff: bool
) -> None:
    settings.DEBUG_PANEL = panel
    assert (site.may_debug(staff=False), site.may_debug(staff=True)) == (guest, staff)


async def test_the_exact_request_is_for_staff_or_for_debugging(
    site: Site, settings: Settings
) -> None:
    settings.DEBUG = False
    assert (site.may_see_request(staff=False), site.may_see_request(staff=True)) == (False, True)
    settings.DEBUG = True
    assert site.may_see_request(staff=False)


async def nobody_signed_in() -> AnonymousUser:
    return AnonymousUser()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("view", "method"), [(api.clear, "POST"), (api.conversation, "DELETE")])
async def test_the_search_index_of_a_cleared_or_deleted_conversation_leaves_the_memory(
    site: Site, view: View, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    chat, other = new_id(), new_id()
    for each in (chat, other):
        await reading(talk)(each, 1)
        site.recaller.indexes.use(each)
    request = AsyncRequestFactory().generic(method, "/")
    cast(Any, request).scope["state"] = {"site": site}
    request.session, request.auser = SessionStore(), nobody_signed_in
    request.session["guest"] = ADA.guest
    answer = await view(request, UUID(chat))
    assert answer.status_code == 200
    assert list(site.recaller.indexes) == [other]


@pytest.mark.django_db(transaction=True)
async def test_writers_wait_in_line_and_block_no_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In SQLite a writer that waits for another one sleeps up to 100 ms too long."""
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    may_end, begun = threading.Event(), asyncio.Event()
    loop, order = asyncio.get_running_loop(), []

    @writing
    def slow() -> str:
        loop.call_soon_threadsafe(begun.set)
        may_end.wait(20)
        order.append("slow")
        return threading.current_thread().name

    @writing
    def quick() -> str:
        order.append("quick")
        return threading.current_thread().name

    first, second = asyncio.create_task(slow()), asyncio.create_task(quick())
    await asyncio.wait_for(begun.wait(), 20)
    reader = await asyncio.wait_for(reading(lambda: threading.current_thread().name)(), 20)
    may_end.set()
    assert await first == await second != reader
    assert order == ["slow", "quick"]
    storage.close()


@pytest.mark.django_db(transaction=True)
async def test_storage_tells_people_in_their_language() -> None:
    """Its threads are others' too, so each unit runs in the context of whoever asks for it."""

    @in_pieces
    def pieces() -> Pieces[str]:
        yield
        return say("kept")

    with pseudo_language():
        assert await reading(lambda: say("kept"))() == "⟦kept⟧"
        assert await writing(lambda: say("kept"))() == "⟦kept⟧"
        assert await pieces() == "⟦kept⟧"
    assert await reading(lambda: say("kept"))() == "kept"


async def test_an_agent_that_is_switched_off_while_it_is_listed_stops_no_page(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = site.agents.catalogue.all()
    monkeypatch.setattr(site.agents.catalogue, "all", lambda: listed)
    changed = '{"name": "Memo", "personality": "You help.", "isEnabled": false}'
    (tmp_path / "demo" / "template.json").write_text(changed)
    off = None
    async with asyncio.timeout(20):
        while off is None:  # files are looked at once in a while
            await asyncio.sleep(0.02)
            off = next(one for one in site.agents.all(staff=False) if one["slug"] == "demo")[
                "broken"
            ]
    assert off["reason"].startswith("This agent is switched off here")
