"""Titles by the fast model: what is made of its answer, and when it is asked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from django.db import connections
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsite import storage
from chatsite.cluster.presence import Presence
from chatsite.conversations.copies import copy_path, read_for_copy
from chatsite.conversations.lifecycle import delete_conversation, rename_conversation
from chatsite.conversations.models import Conversation
from chatsite.conversations.path import marks
from chatsite.events import Renamed, TurnEnded
from chatsite.providers.base.provider import Provider
from chatsite.providers.echo import EchoProvider
from chatsite.storage import reading
from chatsite.turns.agents.resolved_agent import ResolvedAgent, missing_agent, resolve_agent
from chatsite.turns.answer.feed import ConversationFeeds, FeedReader
from chatsite.turns.context.decider import Decider
from chatsite.turns.context.turn_context import Contexts, PageRequest, Room, TurnHooks
from chatsite.turns.running_turns import TurnLimits
from chatsite.turns.titles import titler
from chatsite.turns.titles.cleaning import LONGEST, clean_title
from chatsite.turns.titles.titler import CHARACTERS, TASK, Titler
from chatsite.turns.turns import Turns, Written
from tests.conversations.builders import ADA, BOB, messages, new_id
from tests.examples import some
from tests.fakes.openai_provider import provider_at
from tests.fakes.openai_server import FakeOpenAI
from tests.imported import import_conversation
from tests.turns.conftest import template

ASKED = "How deep is the harbour of Trondheim at low tide?"


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Harbour depth in Trondheim", "Harbour depth in Trondheim"),
        ('"Harbour Depth in Trondheim."', "Harbour Depth in Trondheim"),
        ("„Hafentiefe in Trondheim“", "Hafentiefe in Trondheim"),
        ("« Profondeur du port »", "Profondeur du port"),
        ("Title: Harbour depth", "Harbour depth"),
        ("**Title:** *Harbour depth*", "Harbour depth"),
        ("Titel: **Hafentiefe**", "Hafentiefe"),
        ("タイトル：港の深さ。", "港の深さ"),
        ("# Harbour depth\n\nIt is about a harbour.", "Harbour depth"),
        ("- `Harbour` depth", "Harbour depth"),
        ("Here is a title:\n\nHarbour depth", "Harbour depth"),
        ("Sure! Here you go\nHarbour depth", "Harbour depth"),
        ("```\nHarbour depth\n```", "Harbour depth"),
        ("<think>They want a title.</think>\nHarbour depth", "Harbour depth"),
        ("[Harbour depth](https://a.example)", "Harbour depth"),
        ("Why is the harbour deep?", "Why is the harbour deep?"),
        ("Harbour\u202e depth\x00 \U0001f6a2", "Harbour depth \U0001f6a2"),
        ("", None),
        ("\n \n", None),
        ("...", None),
        ("\U0001f6a2\U0001f6a2", None),
        ("<think>They want a title, and", None),
        ("New chat", None),
        ("I'm sorry, but I can't help with that.", None),
        ("I can’t do that", None),
        ("Es tut mir leid, das geht nicht", None),
        ("As an AI I have no titles", None),
        (ASKED, None),
        ("how deep is the harbour of Trondheim at low tide", None),
        ("How deep is the harbour of Trondheim…", None),
        ("It is about twelve metres deep at low tide, and a good deal deeper at high tide", None),
        ("a b c d e f g h i j", None),
        ("x" * 61, None),
    ],
)
def test_a_title_is_made_of_what_the_model_answered(answer: str, title: str | None) -> None:
    assert clean_title(answer, prompt=ASKED) == title


PIECES = st.sampled_from(
    [
        *"\"'“”„«»*_`#>-.:()[]{}\n \t\x00\u202e",
        "Title:",
        "<think>",
        "</think>",
        "harbour",
        "港",
        "1. ",
    ]
)


@settings(max_examples=some(2_000), deadline=None)
@given(st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join)), st.text())
def test_a_title_is_one_short_line_that_says_something_whatever_the_model_answers(
    answer: str, prompt: str
) -> None:
    title = clean_title(answer, prompt=prompt)
    if title is not None:
        assert 0 < len(title) <= LONGEST
        assert title == " ".join(title.split()) and title.isprintable()
        assert any(character.isalnum() for character in title)
        assert title != prompt


class TitledWorld:
    """Turns with a titler; one fake server answers the chat and writes the titles."""

    def __init__(self, fake: FakeOpenAI) -> None:
        self.fake = fake
        self.provider = provider_at(fake.base_url)
        self.feeds = ConversationFeeds()
        self.titler = Titler(on=True, publish=self.feeds.publish)
        self.title: str | Callable[[], str] = "Harbour depth"
        self.small: bool = True
        fake.script.append(self._answer)
        self.turns = Turns(
            presence=Presence(),
            contexts=Contexts(environment={}, resolve_agent=self.resolve_agent),
            decider=Decider(gatherers={}),
            describe=lambda slug, *, staff: missing_agent(slug),
            limits=TurnLimits(answers=5, per_owner=5),
            feeds=self.feeds,
            hooks=TurnHooks(after=self.titler.after_turn),
        )
        self.request = PageRequest(owner=ADA, conversation=new_id(), agent="demo", query="")

    def _answer(self, body: Any) -> str:
        if not str(body["messages"][-1]["content"]).startswith(TASK):
            return "About twelve metres."
        return self.title if isinstance(self.title, str) else self.title()

    def resolve_agent(self, agent: str, model: str = "", *, staff: bool = False) -> ResolvedAgent:
        providers: dict[str, Provider] = {"openai": self.provider}
        if not self.small:
            return resolve_agent(template(), {"echo": EchoProvider()})
        return resolve_agent(template(nodes=["llm.openai"]), providers)

    async def ask(self, text: str = ASKED, **more: Any) -> FeedReader:
        """Run a turn, and return what reads its page's events after it."""
        _, reader = await self.turns.snapshots.open(self.request)
        await self.turns.send(self.request, client_id=new_id(), text=text, **more)
        while not isinstance(await asyncio.wait_for(reader.read(), 20), TurnEnded):
            pass
        # The hook runs in the turn's task, after the event.
        await self.turns.idle(self.request.conversation)
        return reader

    async def titled(self) -> tuple[str, str | None]:
        """Wait for the titler, and return the title and who wrote it."""
        while tasks := list(self.titler._making.values()):
            await asyncio.wait(tasks)
        return await self.stored()

    async def stored(self) -> tuple[str, str | None]:
        def read() -> Any:
            found = Conversation.objects.filter(id=self.request.conversation)
            return found.values_list("title", "titled").get()

        title, by = await reading(read)()
        return title, by

    @property
    def asked(self) -> list[str]:
        """What was asked for titles."""
        said = [str(body["messages"][-1]["content"]) for body in self.fake.requests]
        return [text for text in said if text.startswith(TASK)]


@pytest.fixture
async def titled_world(
    monkeypatch: pytest.MonkeyPatch, transactional_db: None
) -> AsyncIterator[TitledWorld]:
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    with FakeOpenAI() as fake:
        made = TitledWorld(fake)
        yield made
        await made.titler.drain()
        await made.provider.aclose()
        storage.close()


async def test_the_first_answer_brings_a_title_and_pages_are_told(
    titled_world: TitledWorld, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "chatsite")
    reader = await titled_world.ask("x" * 5_000)
    assert await titled_world.titled() == ("Harbour depth", "model")
    event = await asyncio.wait_for(reader.read(), 20)
    assert isinstance(event, Renamed) and event.title == "Harbour depth"
    (asked,) = titled_world.asked
    assert len(asked) < len(TASK) + CHARACTERS + 100 and "About twelve metres." in asked
    assert "Harbour" not in caplog.text and "twelve" not in caplog.text and "xxx" not in caplog.text
    await titled_world.ask("And at high tide?")
    assert await titled_world.titled() == ("Harbour depth", "model")
    assert len(titled_world.asked) == 1


@pytest.mark.parametrize(
    "answer",
    ["[[mode=500]]", "[[mode=cut;at=1]]", "[[mode=empty]]", "I'm sorry, I can't.", ASKED],
)
async def test_a_model_that_fails_leaves_the_first_words(
    titled_world: TitledWorld, answer: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "chatsite")
    titled_world.title = answer
    await titled_world.ask()
    assert await titled_world.titled() == (ASKED, None)
    assert "no title for" in caplog.text and "harbour" not in caplog.text


async def test_a_model_without_an_end_is_cut_and_one_that_is_slow_isnt_waited_for(
    titled_world: TitledWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    titled_world.title = "[[tokens=100000;over=1]]"
    await titled_world.ask()
    assert await titled_world.titled() == (ASKED, None)
    monkeypatch.setattr(titler, "SECONDS", 0.05)
    titled_world.request = replace(titled_world.request, conversation=new_id())
    titled_world.title = "[[mode=hang0]]"
    await titled_world.ask()
    assert await titled_world.titled() == (ASKED, None)


async def test_a_stopping_server_doesnt_wait_and_after_a_restart_the_chat_goes_on(
    titled_world: TitledWorld,
) -> None:
    titled_world.title = "[[mode=hang0]]"
    await titled_world.ask()
    await asyncio.wait_for(titled_world.titler.drain(), 5)
    assert await titled_world.titled() == (ASKED, None)
    titled_world.titler.on = True  # as a new one
    await titled_world.ask("And at high tide?")
    assert await titled_world.titled() == (ASKED, None)


async def test_what_a_person_does_while_the_model_is_asked_wins(titled_world: TitledWorld) -> None:
    async def do_while_asked(act: Callable[[], Any]) -> None:
        titled_world.request = replace(titled_world.request, conversation=new_id())
        titled_world.title = "[[first=0.3;text=Harbour depth]]"
        before = len(titled_world.asked)
        await titled_world.ask()
        while len(titled_world.asked) == before:  # noqa: ASYNC110 - it lives in another thread
            await asyncio.sleep(0.005)
        await act()

    def of() -> dict[str, Any]:
        return {"owner": ADA, "conversation": titled_world.request.conversation}

    await do_while_asked(lambda: rename_conversation(**of(), title="My harbour"))
    assert await titled_world.titled() == ("My harbour", "person")
    # Renamed to the very first words: these are now meant.
    await do_while_asked(lambda: rename_conversation(**of(), title=ASKED))
    assert await titled_world.titled() == (ASKED, "person")
    await do_while_asked(lambda: delete_conversation(**of()))
    assert await titled_world.titled() == (ASKED, None)


async def test_no_model_is_asked_where_nobody_wants_a_title(titled_world: TitledWorld) -> None:
    """Rooms, mail, temporary chats, what is left out, agents without a fast model, and switched
    off."""

    async def not_asked(**more: Any) -> None:
        await titled_world.ask(**more)
        assert (await titled_world.titled())[1] is None
        assert titled_world.asked == []
        titled_world.request = replace(titled_world.request, conversation=new_id(), room=None)

    await not_asked(written=Written(source="email"))
    titled_world.request = replace(titled_world.request, room=Room(name="Quay", settings={}))
    await not_asked()
    titled_world.titler.on = False
    await titled_world.ask()
    of = titled_world.request.conversation
    titled_world.titler.on = True

    def change(**values: Any) -> Any:
        return reading(lambda: Conversation.objects.filter(id=of).update(**values))()

    await change(temporary=True)
    context = titled_world.turns.contexts.of(titled_world.request)
    titled_world.titler.after_turn(context)
    assert await titled_world.titled() == (ASKED, None)
    await change(temporary=None)
    first = await reading(lambda: str(messages(of).get(role="user").id))()
    await marks.exclude_message(owner=ADA, message=first, on=True)
    titled_world.titler.after_turn(context)
    assert await titled_world.titled() == (ASKED, None)
    titled_world.request = replace(titled_world.request, conversation=new_id())
    titled_world.small = False
    await not_asked()


async def test_copies_and_imports_get_titles_of_their_own(titled_world: TitledWorld) -> None:
    await titled_world.ask()
    await titled_world.titled()
    of = titled_world.request.conversation
    last = await reading(lambda: str(messages(of).order_by("seq").last().id))()  # type: ignore[union-attr]
    copies = [
        (await copy_path(owner=ADA, copy=await read_for_copy(owner=ADA, message=last), id=new_id()))
        for _ in range(2)
    ]
    assert [one.title for one in copies] == ["Harbour depth (2)", "Harbour depth (3)"]
    imported = [
        await import_conversation(owner=owner, agent="demo", title=title, messages=())
        for owner, title in ((ADA, "Harbour depth"), (ADA, "Harbour depth (2)"), (ADA, "harbour"))
        + ((BOB, "Harbour depth"), (ADA, "Budget (2026)"), (ADA, "x" * 300), (ADA, "x" * 300))
    ]
    titles = [one.title for one in imported]
    assert titles[:3] == ["Harbour depth (4)", "Harbour depth (5)", "harbour"]
    assert titles[3:5] == ["Harbour depth", "Budget (2026)"]
    assert titles[5] == "x" * 200 and titles[6].endswith("x (2)") and len(titles[6]) <= 200
