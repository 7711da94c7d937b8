"""The engine's cache over HTTP: who may look, what is refused, and what pages are sent."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.signed_cookies import SessionStore
from django.test import AsyncRequestFactory

from chatsite.channels.channel import Rooms
from chatsite.conversations.models import Message
from chatsite.conversations.path.cache_places import mark_turns, place_books
from chatsite.errors import PromptTooLarge, ProviderError
from chatsite.events import CacheChanged, Event
from chatsite.kv_cache import pages as views
from chatsite.kv_cache.books import Book, Session, Span
from chatsite.kv_cache.cleanup import Cleanup
from chatsite.kv_cache.cleanup_preview import CleanupOffer, CleanupOffers
from chatsite.kv_cache.saved_sessions import drop_sessions, save_session
from chatsite.turns.context.turn_context import PageRequest
from tests.conversations.builders import ADA, begin, end, messages, new_id, talk
from tests.person import Person
from tests.running import Server
from tests.web.browser_requests import ask_from_page
from tests.web.test_marks import send_texts


def unload(server: Server, conversation: str, *seqs: int) -> None:
    """Unload messages as a cleanup of the engine would; in these tests the echo answers."""
    key = conversation.replace("-", "")
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3", timeout=10)) as database:
        places = ", ".join("?" * len(seqs))
        database.execute(
            "UPDATE conversations_message SET kv_status = -1 "
            f"WHERE conversation_id = ? AND turn_seq IN ({places})",
            (key, *seqs),
        )
        database.commit()


async def test_unloaded_messages_stay_out_until_they_are_loaded_again(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        first, second = await send_texts(page, "One", "Two")
        path = f"/conversations/{page.conversation}/cache"
        unload(server, page.conversation, 2, 4)
        found = await ada.ask("GET", path)
        assert (found["available"], found["strip"], found["strategies"]) == (False, [], [])
        assert "Not available for this model" in found["note"]
        assert found["cleanup"]["value"] == "removeOldestMessages"
        assert found["unloaded"]["turns"] == 2
        decided = (await page.preview("Three"))["decision"]
        assert {v["reason"] for v in decided["verdicts"]} >= {"unloaded", "current"}
        told = await ada.ask("POST", f"{path}/bring_back", {"turns": [2]})
        assert (told["turns"], told["messages"], told["status"][first]) == ([2], 2, 1)
        event = await page.until("cache_changed")
        assert event["status"] == told["status"]
        await ada.ask("PATCH", f"/messages/{second}", {"pinned": True})
        assert (await page.until("cache_changed"))["status"][second] == 1
        told = await ada.ask("POST", f"{path}/bring_back", {})
        assert told == {"turns": [], "messages": 0, "tokens": 0, "status": {}}
        fresh = (await ada.page(page.conversation)).snapshot
        assert {message["kv_status"] for message in fresh["messages"]} == {1}


@pytest.mark.parametrize(
    ("path", "body", "status", "expected"),
    [
        ("cleanup", {}, 400, "strategy is the name of one"),
        ("cleanup", {"strategy": "keepNothing"}, 400, "keepSystemPromptAndHalf, "),
        ("cleanup", {"strategy": "removeoldestmessages"}, 400, "removeOldestMessages was probably"),
        ("cleanup", {"strategy": "removeOldestMessages", "query": 7}, 400, "query is the page's"),
        ("cleanup", {"strategy": "removeOldestMessages"}, 409, "Not available for this model"),
        ("bring_back", {"turns": 2}, 400, "a list of at most"),
        ("bring_back", {"turns": [True]}, 400, "a list of at most"),
        ("bring_back", {"turns": [0]}, 400, "a list of at most"),
        ("bring_back", {"turns": [1] * 10_001}, 400, "a list of at most 10,000"),
    ],
)
async def test_a_wrong_request_is_refused_with_a_sentence(
    path: str, body: dict[str, Any], status: int, expected: str, server: Server
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("Hello")
        asked = f"/conversations/{page.conversation}/cache/{path}"
        answer = await ask_from_page(ada, "POST", asked, data=json.dumps(body))
        assert answer.status == status, answer.text
        assert expected in answer.json["message"]


# ---- where the engine answers: its view and its offers are faked, everything else is real -----
OFFERS = (
    CleanupOffer(
        name="keepSystemPromptOnly",
        words="Keep only the instructions",
        turns=(1, 3),
        messages=4,
        tokens=16,
        enough=True,
    ),
)


@dataclass
class Engine:
    """A fake of what the site knows of a running engine."""

    place: str = "slot"
    used: int = 40
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    fails: Exception | None = None
    told: list[Event] = field(default_factory=list)
    asked: list[Any] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)

    def view(self, conversation: str) -> Any:
        used = self.used if self.place == "slot" else 0
        return SimpleNamespace(
            available=True,
            note="",
            window=2048,
            used=used,
            place=self.place,
            places=self.places,
            misses=1,
        )

    async def offers(self, asking: Any) -> CleanupOffers:
        self.asked.append(asking)
        if self.fails:
            raise self.fails
        cleanup = Cleanup(value="keepSystemPromptOnly", source="template")
        return CleanupOffers(note="", window=2048, cleanup=cleanup, offers=OFFERS)

    async def choose(self, asking: Any, strategy: str) -> tuple[int, ...]:
        return next(offer.turns for offer in (await self.offers(asking)).offers)

    async def ask(
        self, view: Any, chat: str, body: Mapping[str, Any] | None = None, **query: str
    ) -> tuple[int, dict[str, Any]]:
        """Status and JSON of a view's answer to Ada."""
        factory = AsyncRequestFactory()
        request: Any = (
            factory.get("/", query)
            if body is None
            else factory.post("/", json.dumps(body), content_type="application/json")
        )
        request.session = SessionStore()
        request.session["guest"] = ADA.guest
        request.auser = anonymous_user
        site = SimpleNamespace(
            rooms=Rooms(),
            cache=self,
            cleanups=self,
            may_debug=lambda *, staff: True,
            page_request=lambda **asked: PageRequest(**asked),
            feeds=SimpleNamespace(publish=lambda conversation, event: self.told.append(event)),
            trim_ahead=SimpleNamespace(changed=self.changed.append),
        )
        request.scope["state"] = {"site": site}
        if self.place == "slot":
            rows = Message.objects.filter(conversation_id=chat, kv_start_position__gte=0)
            async for id, *place in rows.values_list("id", "kv_start_position", "kv_size"):
                self.places[str(id)] = (place[0], place[1])
        answer = await view(request, UUID(chat))
        return answer.status_code, json.loads(answer.content)


async def anonymous_user() -> AnonymousUser:
    return AnonymousUser()


@pytest.fixture
def chat(transactional_db: None) -> str:
    """Three turns: the first unloaded, the third in the cache; its session is saved."""
    conversation = new_id()
    talk(conversation, 3)
    ids = [str(id) for id in messages(conversation).order_by("seq").values_list("id", flat=True)]
    mark_turns.here(conversation=conversation, turns=[1])
    place_books.here(conversation=conversation, places={ids[4]: (20, 8), ids[5]: (28, 12)})
    book = Book(tuple(range(30)), (Span("head", 20), Span(ids[4], 10)))
    saved = Session(key=conversation, fingerprint="x", book=book, file="a", size=900, digest="d")
    save_session.here(conversation=conversation, session=saved)
    return conversation


async def test_the_panel_gets_all_about_the_cache_in_one_answer(chat: str) -> None:
    engine = Engine()
    status, found = await engine.ask(views.cache_view, chat, query="historyPolicy=none")
    assert status == 200
    asking = engine.asked[0]
    assert (asking.agent, asking.query, asking.conversation) == ("demo", "historyPolicy=none", chat)
    assert [(one["kind"], one["seq"], one["start"], one["size"]) for one in found["strip"]] == [
        ("head", 0, 0, 20),
        ("message", 1, -1, -1),
        ("message", 2, -1, -1),
        ("message", 5, 20, 8),
        ("message", 6, 28, 12),
    ]
    del found["strip"]
    saved = found.pop("saved")
    assert (saved["bytes"], saved["at"][:2]) == (900, "20")
    assert found == {
        "available": True,
        "note": "",
        "window": 2048,
        "used": 40,
        "free": 2008,
        "place": "slot",
        "cleanup": {
            "value": "keepSystemPromptOnly",
            "source": "template",
            "words": "Keep only the instructions",
            "passed_over": [],
        },
        "strategies": [
            {
                "name": "keepSystemPromptOnly",
                "words": "Keep only the instructions",
                "turns": 2,
                "messages": 4,
                "tokens": 16,
                "enough": True,
            }
        ],
        "unloaded": {"turns": 1, "messages": 2, "tokens": 8},
        "turns": [],
        "misses": 1,
    }


async def test_a_conversation_in_no_slot_is_shown_as_saved_or_not_cached(chat: str) -> None:
    engine = Engine(place="none")
    _, found = await engine.ask(views.cache_view, chat)
    assert (found["place"], found["used"], len(found["strip"])) == ("saved", 30, 4)
    await drop_sessions(keys=[chat])
    _, found = await engine.ask(views.cache_view, chat)
    assert (found["place"], found["used"], len(found["strip"])) == ("none", 0, 2)


async def test_the_cache_is_shown_even_if_the_next_message_does_not_fit(chat: str) -> None:
    engine = Engine(fails=PromptTooLarge("The instructions alone are too long."))
    _, found = await engine.ask(views.cache_view, chat)
    assert found["available"] and found["note"] == "The instructions alone are too long."
    assert (len(found["strip"]), found["strategies"]) == (5, [])
    engine.fails = ProviderError("No model can be reached.")
    _, found = await engine.ask(views.cache_view, chat)
    assert not found["available"] and found["note"] == "No model can be reached."


async def test_a_cleanup_marks_the_offered_turns_and_open_pages_are_told(chat: str) -> None:
    engine = Engine()
    status, told = await engine.ask(views.clean_cache, chat, {"strategy": "keepSystemPromptOnly"})
    assert (status, told["turns"], told["messages"], told["tokens"]) == (200, [3], 2, 8)
    assert set(told["status"].values()) == {-1}
    assert engine.told == [CacheChanged(status=told["status"])]
    assert engine.changed == [chat]


async def test_nothing_changes_while_an_answer_is_written(chat: str) -> None:
    engine = Engine()
    begun = await sync_to_async(begin)(chat)
    for view, body in (
        (views.clean_cache, {"strategy": "keepSystemPromptOnly"}),
        (views.bring_back_unloaded, {}),
    ):
        status, told = await engine.ask(view, chat, body)
        assert (status, told["code"]) == (409, "turn_running")
    await sync_to_async(end)(begun)
    assert engine.told == [] and engine.changed == []
