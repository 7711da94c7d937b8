"""A summary is made after the answer, by a model on a real socket, and comes before the next."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from django.db import connections

from chatsite.conversations import store, summaries
from chatsite.conversations.database.work import StorageThreads
from chatsite.conversations.models import Summary
from chatsite.conversations.reads import summary_queries
from chatsite.conversations.upkeep import marks
from chatsite.conversations.values.summary_records import SummaryVersions
from chatsite.errors import Refused
from chatsite.events import SummaryChanged, TurnEnded
from chatsite.messages import Message
from chatsite.providers.base.provider import Provider
from chatsite.turns.agents.resolved_agent import ResolvedAgent, missing_agent, resolve_agent
from chatsite.turns.answer.feed import ConversationFeeds
from chatsite.turns.context.decider import Decider
from chatsite.turns.context.turn_context import Contexts, PageRequest, TurnContext, TurnHooks
from chatsite.turns.evidence.running_summary import MOST_AT_ONCE, Summariser
from chatsite.turns.running_turns import TurnLimits
from chatsite.turns.turns import Turns
from chatsite.wiring import storage_on
from tests.conversations.builders import ADA, messages, new_id, run_in_threads, talk
from tests.fakes.openai_provider import provider_at
from tests.fakes.openai_server import FakeOpenAI
from tests.turns.conftest import template

LONG = "An answer with forty words and more, so that three turns fill the budget. " * 8
RAMBLING = "They said this and that about it. " * 12
Replies = tuple[str | Callable[[Mapping[str, Any]], str], ...]


@dataclass
class House:
    """Turns with a summariser, answered by the fake provider. A budget of 400 tokens."""

    fake: FakeOpenAI
    chat_settings: dict[str, Any] = field(
        default_factory=lambda: {"historyPolicy": "summary", "historyTokens": 400}
    )
    run: StorageThreads = field(default_factory=StorageThreads)

    def __post_init__(self) -> None:
        self.provider = provider_at(self.fake.base_url)
        storage, feeds = storage_on(self.run), ConversationFeeds()
        self.summariser = Summariser(storage=storage, publish=feeds.publish)
        self.turns = Turns(
            storage=storage,
            contexts=Contexts(environment={}, resolve_agent=self.resolve_agent),
            decider=Decider(storage=storage, gatherers={"summary": self.summariser}),
            describe=missing_agent,
            limits=TurnLimits(answers=5, per_owner=5),
            feeds=feeds,
            hooks=TurnHooks(before=self.summariser.give_way, after=self.summariser.after_turn),
        )
        self.asking = PageRequest(owner=ADA, conversation=new_id(), agent="demo", query="")

    def resolve_agent(self, agent: str, model: str = "", *, staff: bool = False) -> ResolvedAgent:
        providers: dict[str, Provider] = {"openai": self.provider}
        made = template(nodes=["llm.openai"], chatSettings=self.chat_settings)
        return resolve_agent(made, providers)

    async def ask(self, text: str, *, replies: Replies = (LONG,)) -> Any:
        """One turn; its receipt. What is made after it may still be under way."""
        self.fake.script.clear()
        self.fake.script.extend(replies)
        _, self.reader = await self.turns.snapshots.open(self.asking)
        await self.turns.send(self.asking, client_id=new_id(), text=text)
        while not isinstance(event := await asyncio.wait_for(self.reader.read(), 20), TurnEnded):
            pass
        assert event.problem is None, event.problem
        return event.receipt

    async def say(self, text: str, *, replies: Replies = (LONG,)) -> Any:
        """One turn and what is made after it; its receipt."""
        receipt = await self.ask(text, replies=replies)
        while self.making:
            await asyncio.wait(self.making)
        return receipt

    @property
    def making(self) -> list[asyncio.Task[None]]:
        return [task for _, task in self.summariser._making.values()]

    @property
    def context(self) -> TurnContext:
        return self.turns.contexts.of(self.asking)

    async def versions(self) -> SummaryVersions:
        return await self.run(
            summary_queries.summary_versions, owner=ADA, conversation=self.asking.conversation
        )

    async def until_summarised(self) -> None:
        """Three turns; the first of them are folded."""
        for number in range(1, 4):
            await self.say(f"Question {number}?", replies=(LONG, "They asked first things."))


@pytest.fixture
async def house(monkeypatch: pytest.MonkeyPatch, transactional_db: None) -> AsyncIterator[House]:
    """The store's threads close the connections that they open."""
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    with FakeOpenAI() as fake:
        made = House(fake)
        yield made
        await made.provider.aclose()
        made.run.close()


@pytest.mark.slow
async def test_the_summary_stands_for_what_it_covers_in_the_next_request(house: House) -> None:
    await house.until_summarised()
    (newest, *_) = (await house.versions()).versions
    assert newest.text == "They asked first things."
    receipt = await house.say("And then?")
    sent = [m for m in house.fake.requests if "And then?" in str(m["messages"][-1]["content"])][-1]
    texts = [str(m["content"]) for m in sent["messages"]]
    assert "They asked first things." in texts[1]
    assert not any("Question 1?" in text for text in texts)
    reasons = {run["reason"] for run in receipt["verdicts"] if run["first"] == 1}
    assert reasons == {"summarised"}
    covered = [run for run in receipt["verdicts"] if run["reason"] == "summarised"]
    assert max(run["last"] for run in covered) == newest.last
    assert receipt["reports"]["summary"]["by"] == newest.by


async def test_it_is_made_after_the_answer_and_open_pages_learn_of_it(house: House) -> None:
    await house.ask("Question 1?")
    while not (found := await house.versions()).versions:
        await house.say("More?", replies=(LONG, "They asked first things."))
    event = await asyncio.wait_for(house.reader.read(), 20)
    assert isinstance(event, SummaryChanged)
    assert (event.summary.version, event.summary.on) == (found.current, True)
    (first,) = found.versions
    assert (first.first, first.by) == (1, house.provider.model(None).label)
    assert first.tokens is not None and first.seconds is not None and not first.shortened


async def test_the_next_one_is_made_from_the_last_and_what_was_said_since(house: House) -> None:
    await house.until_summarised()
    covered = (await house.versions()).versions[0].last
    while (await house.versions()).versions[0].last == covered:
        await house.say("More?", replies=(LONG, "They asked more."))
    asked = house.fake.requests[-1]["messages"][-1]["content"]
    assert "They asked first things." in asked and "Question 1?" not in asked
    (newest, older, *_) = (await house.versions()).versions
    assert (newest.text, newest.made_from) == ("They asked more.", older.version)
    assert newest.messages > older.messages


async def test_a_reply_that_is_too_long_is_asked_for_again_and_then_cut_at_a_sentence(
    house: House,
) -> None:
    for number in range(1, 4):
        await house.say(f"Question {number}?", replies=(LONG, RAMBLING, RAMBLING))
    newest = (await house.versions()).versions[0]
    assert newest.shortened
    assert newest.text.endswith("about it. [...]")
    assert await house.run(lambda: Summary.objects.first().tokens) <= 64  # type: ignore[union-attr]
    assert "too long" in house.fake.requests[-1]["messages"][-1]["content"]


async def test_a_failing_model_breaks_no_turn_and_the_next_receipt_says_so(house: House) -> None:
    for number in range(1, 4):
        await house.say(f"Question {number}?", replies=(f"{LONG} [[mode=401]]",))
    assert (await house.versions()).versions == ()
    receipt = await house.say("And then?")
    assert any("bring the summary up to date failed" in note for note in receipt["notes"])
    assert not any("sk-" in note for note in receipt["notes"])


async def test_much_at_once_takes_several_calls_and_what_was_made_before_a_failure_is_kept(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatsite.turns.evidence.summary_fold.room_of", lambda model, most: 100)
    conversation = house.asking.conversation
    await house.run(talk, conversation, 40)
    replies = (LONG, "First notes.", "Second notes.", "Third notes. [[mode=401]]")
    await house.say("Where were we?", replies=replies)
    asked = [str(request["messages"][-1]["content"]) for request in house.fake.requests[1:]]
    assert len(asked) == 4
    assert "question 1\n" in asked[0] and "Summary so far" not in asked[0]
    assert "First notes." in asked[1] and "Second notes." in asked[2]
    assert "question 1\n" not in asked[1]
    (made,) = (await house.versions()).versions
    assert made.text == "Third notes. [[mode=401]]" and 10 < made.last < 80
    assert f"question {made.last // 2}\n" in asked[2]
    receipt = await house.say("And then?", replies=(LONG, "All of it."))
    assert any("bring the summary up to date failed" in note for note in receipt["notes"])


async def test_switched_off_the_newest_turns_are_sent_and_none_is_made(house: House) -> None:
    await house.until_summarised()
    count = len((await house.versions()).versions)
    conversation = house.asking.conversation
    await house.summariser.switch(owner=ADA, conversation=conversation, on=False)
    receipt = await house.say("And then?")
    await house.say("And on?")
    assert any("switched off" in note for note in receipt["notes"])
    assert not any(run["reason"] == "summarised" for run in receipt["verdicts"])
    assert len((await house.versions()).versions) == count
    await house.summariser.switch(owner=ADA, conversation=conversation, on=True)
    receipt = await house.say("Back?")
    assert any(run["reason"] == "summarised" for run in receipt["verdicts"])


async def test_a_persons_text_is_what_is_sent_and_what_the_next_one_is_made_from(
    house: House,
) -> None:
    await house.until_summarised()
    version = (await house.versions()).current
    made = await house.summariser.rewrite(
        house.context,
        version=version,
        text="Ada likes short answers.",
    )
    assert made.summary is not None and made.summary.by == "you"
    await house.say("And then?")
    texts = [str(request["messages"]) for request in house.fake.requests]
    assert any("Ada likes short answers." in text and "And then?" in text for text in texts)
    with pytest.raises(Refused, match="Your text is kept"):
        await house.summariser.rewrite(
            house.context,
            version=version,
            text="word " * 200,
        )


async def test_under_another_policy_none_is_made(house: House) -> None:
    house.chat_settings["historyPolicy"] = "lastN"
    await house.until_summarised()
    assert (await house.versions()).versions == ()


async def test_no_answer_waits_for_it_and_the_end_of_the_server_ends_it(house: House) -> None:
    hangs = f"{LONG} [[mode=hang0]]"
    while not house.making or not house.fake.in_flight:
        await house.ask("More?", replies=(hangs,))
    (making,) = house.making
    await house.ask("And then?")
    assert house.making == [making]
    await asyncio.wait_for(house.summariser.drain(), 10)
    assert (await house.versions()).versions == () and not house.making


async def test_on_this_machine_it_gives_way_to_the_next_answer_and_keeps_what_it_has(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatsite.turns.evidence.summary_fold.room_of", lambda model, most: 100)
    monkeypatch.setattr(house.provider, "kind", "embedded")
    await house.run(talk, house.asking.conversation, 40)
    await house.ask("Where were we?", replies=(LONG, "First notes.", "More. [[mode=hang0]]"))
    # A list of another thread tells nobody.
    while "More." not in str(house.fake.requests[-1]) or not house.fake.in_flight:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    (making,) = house.making
    await house.ask("And then?")
    assert making.done() and house.fake.client_aborts == 1
    assert (await house.versions()).versions[-1].text == "More. [[mode=hang0]]"
    await house.summariser.drain()


async def test_ended_before_its_first_step_it_is_made_after_the_next_turn(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house.provider, "kind", "embedded")
    house.summariser.after_turn(house.context)
    (making,) = house.making
    house.summariser.give_way(house.context)
    await asyncio.wait([making])
    assert making.cancelled() and not house.making
    house.summariser.after_turn(house.context)
    assert house.making
    await house.summariser.drain()


def changed(change: str, conversation: str, seq: int) -> None:
    match change:
        case "leave out":
            marks.exclude_message(
                owner=ADA, message=str(messages(conversation).get(seq=seq).id), on=True
            )
        case "forget above":
            below = messages(conversation).get(seq=seq + 2)
            marks.forget_above_message(owner=ADA, message=str(below.id), on=True)
        case "clear":
            store.clear_conversation(owner=ADA, conversation=conversation)
        case "delete":
            store.delete_conversation(owner=ADA, conversation=conversation)
        case "switch off":
            summaries.switch_summary(owner=ADA, conversation=conversation, on=False)


def answering_after(change: Callable[[], None], text: str) -> Callable[[Mapping[str, Any]], str]:
    """The change is made while the first call for a summary is under way."""
    asked: list[Mapping[str, Any]] = []

    def answer(body: Mapping[str, Any]) -> str:
        if not asked:
            # In a thread of its own: the fake's has a loop, in which the store refuses to work.
            assert run_in_threads(1, change) == [None]
        asked.append(body)
        return text

    return answer


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("leave out", "Notes."),
        ("leave out", RAMBLING),
        ("forget above", "Notes."),
        ("clear", "Notes."),
        ("delete", "Notes."),
        ("switch off", RAMBLING),
    ],
)
async def test_what_is_taken_back_while_one_is_made_is_sent_no_further(
    house: House, monkeypatch: pytest.MonkeyPatch, change: str, text: str
) -> None:
    monkeypatch.setattr("chatsite.turns.evidence.summary_fold.room_of", lambda model, most: 100)
    conversation = house.asking.conversation
    await house.run(talk, conversation, 40)
    answer = answering_after(lambda: changed(change, conversation, 1), text)
    await house.say("Where were we?", replies=(LONG, answer))
    assert len(house.fake.requests) == 2
    assert not await house.run(Summary.objects.exists)


async def test_before_what_is_left_out_meanwhile_a_summary_ends(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatsite.turns.evidence.summary_fold.room_of", lambda model, most: 100)
    conversation = house.asking.conversation
    await house.run(talk, conversation, 40)
    answer = answering_after(lambda: changed("leave out", conversation, 31), "Notes.")
    await house.say("Where were we?", replies=(LONG, answer))
    (made,) = (await house.versions()).versions
    assert 10 < made.last < 31
    assert not any("question 16\n" in str(request) for request in house.fake.requests[1:])


async def test_no_more_than_a_few_are_made_at_once(house: House) -> None:
    texts = [Message.user(LONG, id=""), Message.assistant(LONG, id="")] * 5

    def imported() -> str:
        said = [replace(message, id=new_id()) for message in texts]
        view = store.import_conversation(owner=ADA, agent="demo", title="Long", messages=said)
        return view.id

    house.fake.script.append(lambda body: "[[first=0.3;text=Notes.]]")
    for _ in range(2 * MOST_AT_ONCE):
        asking = replace(house.asking, conversation=await house.run(imported))
        house.summariser.after_turn(house.turns.contexts.of(asking))
    while house.making:
        await asyncio.wait(house.making)
    assert house.fake.seen.max_in_flight <= MOST_AT_ONCE
    assert await house.run(Summary.objects.count) == 2 * MOST_AT_ONCE


async def test_where_another_model_writes_than_the_named_one_the_receipt_says_so(
    house: House,
) -> None:
    await house.provider.aclose()
    house.provider = provider_at(house.fake.base_url, model="mine")
    await house.until_summarised()
    receipt = await house.say("And then?")
    assert not any("was to write" in note for note in receipt["notes"])
    house.chat_settings["historySummaryModel"] = "big"
    receipt = await house.say("And on?")
    assert "big was to write the summaries; mine writes them here." in receipt["notes"]
