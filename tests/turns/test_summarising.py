"""A summary is made after the answer, by a model on a real socket, for the next request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from django.db import connections

from chatsite import storage
from chatsite.cluster.presence import Presence
from chatsite.conversations.lifecycle import clear_conversation, delete_conversation
from chatsite.conversations.models import Summary
from chatsite.conversations.path import marks
from chatsite.conversations.path.queries import receipt_of
from chatsite.conversations.summaries import queries as summary_queries
from chatsite.conversations.summaries import versions as summaries
from chatsite.conversations.summaries.queries import SummaryVersions
from chatsite.errors import ProviderError, Refused
from chatsite.events import SummaryChanged, TurnEnded
from chatsite.history import show_receipt
from chatsite.messages import Message
from chatsite.providers.base.provider import Provider
from chatsite.storage import reading
from chatsite.turns.agents.resolved_agent import ResolvedAgent, missing_agent, resolve_agent
from chatsite.turns.answer.feed import ConversationFeeds
from chatsite.turns.context.decider import Decider
from chatsite.turns.context.turn_context import Contexts, PageRequest, TurnContext, TurnHooks
from chatsite.turns.evidence.compacting import Compactor, Wanted
from chatsite.turns.evidence.running_summary import MOST_AT_ONCE, Summariser
from chatsite.turns.running_turns import TurnLimits
from chatsite.turns.turns import Turns
from tests.conversations.builders import ADA, messages, new_id, run_in_threads, talk
from tests.fakes.openai_provider import provider_at
from tests.fakes.openai_server import FakeOpenAI
from tests.imported import import_conversation
from tests.turns.conftest import template

LONG = "An answer with forty words and more, so that three turns fill the budget. " * 8
RAMBLING = "They said this and that about it. " * 12
Replies = tuple[str | Callable[[Mapping[str, Any]], str], ...]


@dataclass
class SummaryWorld:
    """Turns with a summariser and a budget of 400 tokens, answered by the fake provider."""

    fake: FakeOpenAI
    wanted: Wanted = field(default_factory=Wanted)
    chat_settings: dict[str, Any] = field(
        default_factory=lambda: {"historyPolicy": "summary", "historyTokens": 400}
    )

    def __post_init__(self) -> None:
        self.provider = provider_at(self.fake.base_url)
        feeds = ConversationFeeds()
        self.summariser = Summariser(publish=feeds.publish)
        self.turns = Turns(
            presence=Presence(),
            contexts=Contexts(environment={}, resolve_agent=self.resolve_agent),
            decider=Decider(gatherers={"summary": self.summariser}),
            describe=lambda slug, *, staff: missing_agent(slug),
            limits=TurnLimits(answers=5, per_owner=5),
            feeds=feeds,
            hooks=TurnHooks(before=self.summariser.give_way, after=self.summariser.after_turn),
        )
        self.page_request = PageRequest(owner=ADA, conversation=new_id(), agent="demo", query="")
        self.compactor = Compactor(
            drafts=self.turns.drafts,
            tell=lambda conversation, state: feeds.publish(
                conversation, SummaryChanged(summary=state.view)
            ),
        )

    def resolve_agent(self, agent: str, model: str = "", *, staff: bool = False) -> ResolvedAgent:
        providers: dict[str, Provider] = {"openai": self.provider}
        agent_template = template(nodes=["llm.openai"], chatSettings=self.chat_settings)
        return resolve_agent(agent_template, providers)

    async def ask(self, text: str, *, replies: Replies = (LONG,)) -> Any:
        """Run one turn and return its receipt, without waiting for the summary after it."""
        self.fake.script.clear()
        self.fake.script.extend(replies)
        _, self.reader = await self.turns.snapshots.open(self.page_request)
        await self.turns.send(self.page_request, client_id=new_id(), text=text)
        while not isinstance(event := await asyncio.wait_for(self.reader.read(), 20), TurnEnded):
            pass
        assert event.problem is None, event.problem
        return show_receipt(await receipt_of(owner=ADA, turn=event.turn) or {})

    async def run_turn(self, text: str, *, replies: Replies = (LONG,)) -> Any:
        """Run one turn, wait for the summary after it, and return the turn's receipt."""
        receipt = await self.ask(text, replies=replies)
        while self.summary_tasks:
            await asyncio.wait(self.summary_tasks)
        return receipt

    @property
    def summary_tasks(self) -> list[asyncio.Task[None]]:
        return [task for _, task in self.summariser._making.values()]

    @property
    def context(self) -> TurnContext:
        return self.turns.contexts.of(self.page_request)

    async def versions(self) -> SummaryVersions:
        return await summary_queries.summary_versions(
            owner=ADA, conversation=self.page_request.conversation
        )

    async def asked(self) -> list[int]:
        """The sequence numbers of what was asked."""

        def read() -> list[int]:
            rows = messages(self.page_request.conversation).filter(role="user").order_by("seq")
            return list(rows.values_list("seq", flat=True))

        return await reading(read)()

    async def compact(self) -> str:
        """Apply a draft that the model writes in all its parts, and return it."""
        plan, text = await self.compactor.plan(self.context, self.wanted), ""
        for part in range(plan["parts"]):
            found = await self.compactor.draft(self.context, self.wanted, part=part, text=text)
            text = found["text"]
        wanted = {"version": plan["version"], "state": plan["state"]}
        await self.compactor.apply(self.context, self.wanted, text=text, by=found["by"], **wanted)
        return text

    async def until_summarised(self) -> None:
        """Three turns; the first of them are folded."""
        for number in range(1, 4):
            await self.run_turn(f"Question {number}?", replies=(LONG, "They asked first things."))


@pytest.fixture
async def summary_world(
    monkeypatch: pytest.MonkeyPatch, transactional_db: None
) -> AsyncIterator[SummaryWorld]:
    """The store's threads close the connections that they open."""
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    with FakeOpenAI() as fake:
        made = SummaryWorld(fake)
        yield made
        await made.provider.aclose()
        storage.close()


@pytest.mark.slow
async def test_the_summary_replaces_the_covered_messages_in_the_next_request(
    summary_world: SummaryWorld,
) -> None:
    await summary_world.until_summarised()
    (newest, *_) = (await summary_world.versions()).versions
    assert newest.text == "They asked first things."
    receipt = await summary_world.run_turn("And then?")
    sent = [
        m for m in summary_world.fake.requests if "And then?" in str(m["messages"][-1]["content"])
    ][-1]
    texts = [str(m["content"]) for m in sent["messages"]]
    assert "They asked first things." in texts[1]
    assert not any("Question 1?" in text for text in texts)
    reasons = {run["reason"] for run in receipt["verdicts"] if run["first"] == 1}
    assert reasons == {"summarised"}
    covered = [run for run in receipt["verdicts"] if run["reason"] == "summarised"]
    assert max(run["last"] for run in covered) == newest.last
    assert receipt["reports"]["summary"]["by"] == newest.by


async def test_a_summary_is_made_after_the_answer_and_open_pages_are_told(
    summary_world: SummaryWorld,
) -> None:
    await summary_world.ask("Question 1?")
    while not (found := await summary_world.versions()).versions:
        await summary_world.run_turn("More?", replies=(LONG, "They asked first things."))
    event = await asyncio.wait_for(summary_world.reader.read(), 20)
    assert isinstance(event, SummaryChanged)
    assert (event.summary.version, event.summary.on) == (found.current, True)
    (first,) = found.versions
    assert (first.first, first.by) == (1, summary_world.provider.model(None).label)
    assert first.tokens is not None and first.seconds is not None and not first.shortened


async def test_the_next_summary_is_made_from_the_last_one_and_the_turns_since(
    summary_world: SummaryWorld,
) -> None:
    await summary_world.until_summarised()
    covered = (await summary_world.versions()).versions[0].last
    while (await summary_world.versions()).versions[0].last == covered:
        await summary_world.run_turn("More?", replies=(LONG, "They asked more."))
    asked = summary_world.fake.requests[-1]["messages"][-1]["content"]
    assert "They asked first things." in asked and "Question 1?" not in asked
    (newest, older, *_) = (await summary_world.versions()).versions
    assert (newest.text, newest.made_from) == ("They asked more.", older.version)
    assert newest.exchanges > older.exchanges > 0


async def test_a_reply_that_is_too_long_is_asked_for_again_and_then_cut_at_a_sentence(
    summary_world: SummaryWorld,
) -> None:
    for number in range(1, 4):
        await summary_world.run_turn(f"Question {number}?", replies=(LONG, RAMBLING, RAMBLING))
    newest = (await summary_world.versions()).versions[0]
    assert newest.shortened
    assert newest.text.endswith("about it. [...]")
    assert await reading(lambda: Summary.objects.first().tokens)() <= 64  # type: ignore[union-attr]
    assert "too long" in summary_world.fake.requests[-1]["messages"][-1]["content"]


async def test_a_failing_model_breaks_no_turn_and_the_next_receipt_says_so(
    summary_world: SummaryWorld,
) -> None:
    for number in range(1, 4):
        await summary_world.run_turn(f"Question {number}?", replies=(f"{LONG} [[mode=401]]",))
    assert (await summary_world.versions()).versions == ()
    receipt = await summary_world.run_turn("And then?")
    assert any("bring the summary up to date failed" in note for note in receipt["notes"])
    assert not any("sk-" in note for note in receipt["notes"])


async def test_a_long_path_takes_several_calls_and_a_failure_keeps_the_earlier_summaries(
    summary_world: SummaryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "chatsite.turns.evidence.summary_fold.room_of", lambda model, most, task: 100
    )
    conversation = summary_world.page_request.conversation
    await reading(talk)(conversation, 40)
    replies = (LONG, "First notes.", "Second notes.", "Third notes. [[mode=401]]")
    await summary_world.run_turn("Where were we?", replies=replies)
    asked = [str(request["messages"][-1]["content"]) for request in summary_world.fake.requests[1:]]
    assert len(asked) == 4
    assert "question 1\n" in asked[0] and "Summary so far" not in asked[0]
    assert "First notes." in asked[1] and "Second notes." in asked[2]
    assert "question 1\n" not in asked[1]
    (made,) = (await summary_world.versions()).versions
    assert made.text == "Third notes. [[mode=401]]" and 10 < made.last < 80
    assert f"question {made.last // 2}\n" in asked[2]
    receipt = await summary_world.run_turn("And then?", replies=(LONG, "All of it."))
    assert any("bring the summary up to date failed" in note for note in receipt["notes"])


async def test_with_the_summary_switched_off_the_newest_turns_are_sent_and_none_is_made(
    summary_world: SummaryWorld,
) -> None:
    await summary_world.until_summarised()
    count = len((await summary_world.versions()).versions)
    conversation = summary_world.page_request.conversation
    await summary_world.summariser.switch(owner=ADA, conversation=conversation, on=False)
    receipt = await summary_world.run_turn("And then?")
    await summary_world.run_turn("And on?")
    assert any("switched off" in note for note in receipt["notes"])
    assert not any(run["reason"] == "summarised" for run in receipt["verdicts"])
    assert len((await summary_world.versions()).versions) == count
    await summary_world.summariser.switch(owner=ADA, conversation=conversation, on=True)
    receipt = await summary_world.run_turn("Back?")
    assert "summary" in [item.get("kind") for item in receipt["layout"]]


async def test_a_summary_rewritten_by_a_person_is_sent_and_used_for_the_next_one(
    summary_world: SummaryWorld,
) -> None:
    await summary_world.until_summarised()
    version = (await summary_world.versions()).current
    made = await summary_world.summariser.rewrite(
        summary_world.context,
        version=version,
        text="Ada likes short answers.",
    )
    assert made.summary is not None and made.summary.by == "you"
    await summary_world.run_turn("And then?")
    texts = [str(request["messages"]) for request in summary_world.fake.requests]
    assert any("Ada likes short answers." in text and "And then?" in text for text in texts)
    with pytest.raises(Refused, match="Your text is kept"):
        await summary_world.summariser.rewrite(
            summary_world.context,
            version=version,
            text="word " * 200,
        )


async def test_under_another_policy_no_summary_is_made(summary_world: SummaryWorld) -> None:
    summary_world.chat_settings["historyPolicy"] = "lastN"
    await summary_world.until_summarised()
    assert (await summary_world.versions()).versions == ()


async def test_no_answer_waits_for_the_summary_and_a_server_stop_cancels_it(
    summary_world: SummaryWorld,
) -> None:
    hangs = f"{LONG} [[mode=hang0]]"
    while not summary_world.summary_tasks or not summary_world.fake.in_flight:
        await summary_world.ask("More?", replies=(hangs,))
    (summary_tasks,) = summary_world.summary_tasks
    await summary_world.ask("And then?")
    assert summary_world.summary_tasks == [summary_tasks]
    await asyncio.wait_for(summary_world.summariser.drain(), 10)
    assert (await summary_world.versions()).versions == () and not summary_world.summary_tasks


async def test_a_turn_that_ends_while_a_summary_is_made_is_followed_by_the_next(
    summary_world: SummaryWorld,
) -> None:
    for number in range(2):
        await summary_world.run_turn(f"Question {number}?")
    await summary_world.ask("More?", replies=(LONG, "[[first=1;text=First notes.]]"))
    while not summary_world.fake.in_flight:
        assert summary_world.summary_tasks
        await asyncio.sleep(0.01)
    await summary_world.run_turn("And then?", replies=(LONG, "Second notes."))
    second, first = (await summary_world.versions()).versions
    assert (first.text, second.text) == ("First notes.", "Second notes.")
    assert first.last < second.last


async def test_a_local_summary_gives_way_to_the_next_answer_and_keeps_its_progress(
    summary_world: SummaryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "chatsite.turns.evidence.summary_fold.room_of", lambda model, most, task: 100
    )
    monkeypatch.setattr(summary_world.provider, "kind", "embedded")
    await reading(talk)(summary_world.page_request.conversation, 40)
    await summary_world.ask(
        "Where were we?", replies=(LONG, "First notes.", "More. [[mode=hang0]]")
    )
    # A list of another thread tells nobody.
    while "More." not in str(summary_world.fake.requests[-1]) or not summary_world.fake.in_flight:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    (summary_tasks,) = summary_world.summary_tasks
    await summary_world.ask("And then?")
    assert summary_tasks.done() and summary_world.fake.client_aborts == 1
    assert (await summary_world.versions()).versions[-1].text == "More. [[mode=hang0]]"
    await summary_world.summariser.drain()


async def test_a_summary_cancelled_before_its_first_step_is_made_after_the_next_turn(
    summary_world: SummaryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary_world.provider, "kind", "embedded")
    summary_world.summariser.after_turn(summary_world.context)
    (summary_tasks,) = summary_world.summary_tasks
    summary_world.summariser.give_way(summary_world.context)
    await asyncio.wait([summary_tasks])
    assert summary_tasks.cancelled() and not summary_world.summary_tasks
    summary_world.summariser.after_turn(summary_world.context)
    assert summary_world.summary_tasks
    await summary_world.summariser.drain()


def changed(change: str, conversation: str, seq: int) -> None:
    match change:
        case "leave out":
            marks.exclude_message.here(
                owner=ADA, message=str(messages(conversation).get(seq=seq).id), on=True
            )
        case "forget above":
            below = messages(conversation).get(seq=seq + 2)
            marks.forget_above_message.here(owner=ADA, message=str(below.id), on=True)
        case "clear":
            clear_conversation.here(owner=ADA, conversation=conversation)
        case "delete":
            delete_conversation.here(owner=ADA, conversation=conversation)
        case "switch off":
            summaries.switch_summary.here(owner=ADA, conversation=conversation, on=False)


def answering_after(change: Callable[[], None], text: str) -> Callable[[Mapping[str, Any]], str]:
    """Replies that make the change while the first call for a summary is running."""
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
async def test_words_removed_while_a_summary_is_made_are_not_sent_any_more(
    summary_world: SummaryWorld, monkeypatch: pytest.MonkeyPatch, change: str, text: str
) -> None:
    monkeypatch.setattr(
        "chatsite.turns.evidence.summary_fold.room_of", lambda model, most, task: 100
    )
    conversation = summary_world.page_request.conversation
    await reading(talk)(conversation, 40)
    answer = answering_after(lambda: changed(change, conversation, 1), text)
    await summary_world.run_turn("Where were we?", replies=(LONG, answer))
    assert len(summary_world.fake.requests) == 2
    assert not await reading(Summary.objects.exists)()


async def test_a_summary_ends_before_a_message_that_is_left_out_meanwhile(
    summary_world: SummaryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "chatsite.turns.evidence.summary_fold.room_of", lambda model, most, task: 100
    )
    conversation = summary_world.page_request.conversation
    await reading(talk)(conversation, 40)
    answer = answering_after(lambda: changed("leave out", conversation, 31), "Notes.")
    await summary_world.run_turn("Where were we?", replies=(LONG, answer))
    (made,) = (await summary_world.versions()).versions
    assert 10 < made.last < 31
    assert not any("question 16\n" in str(request) for request in summary_world.fake.requests[1:])


async def test_only_a_few_summaries_are_made_at_the_same_time(summary_world: SummaryWorld) -> None:
    texts = [Message.user(LONG, id=""), Message.assistant(LONG, id="")] * 5

    def imported() -> str:
        said = [replace(message, id=new_id()) for message in texts]
        view = import_conversation.here(owner=ADA, agent="demo", title="Long", messages=said)
        return view.id

    summary_world.fake.script.append(lambda body: "[[first=0.3;text=Notes.]]")
    for _ in range(2 * MOST_AT_ONCE):
        page_request = replace(summary_world.page_request, conversation=await reading(imported)())
        summary_world.summariser.after_turn(summary_world.turns.contexts.of(page_request))
    while summary_world.summary_tasks:
        await asyncio.wait(summary_world.summary_tasks)
    assert summary_world.fake.seen.max_in_flight <= MOST_AT_ONCE
    assert await reading(Summary.objects.count)() == 2 * MOST_AT_ONCE


async def test_the_receipt_says_that_another_model_than_the_named_one_wrote_the_summary(
    summary_world: SummaryWorld,
) -> None:
    await summary_world.provider.aclose()
    summary_world.provider = provider_at(summary_world.fake.base_url, model="mine")
    await summary_world.until_summarised()
    receipt = await summary_world.run_turn("And then?")
    assert not any("was to write" in note for note in receipt["notes"])
    summary_world.chat_settings["historySummaryModel"] = "big"
    receipt = await summary_world.run_turn("And on?")
    assert "big was to write the summaries; mine writes them here." in receipt["notes"]


async def test_a_model_writes_a_draft_part_by_part_and_it_is_sent_under_another_policy(
    summary_world: SummaryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "chatsite.turns.evidence.summary_fold.room_of", lambda model, most, task: 100
    )
    summary_world.chat_settings = {
        "historyPolicy": "lastN",
        "historySummaryPrompt": "List what holds, a line each.",
    }
    await reading(talk)(summary_world.page_request.conversation, 14)
    summary_world.fake.script.extend(("First notes.", "All notes, B-107 too."))
    summary_world.wanted = Wanted(keep="berths")
    plan = await summary_world.compactor.plan(summary_world.context, summary_world.wanted)
    assert plan["parts"] == 2 and plan["by"] == summary_world.provider.model(None).label
    assert "- question 1" in plan["draft"] and "question 13" not in plan["draft"]
    of_text = await summary_world.compactor.plan(
        summary_world.context, summary_world.wanted, "Notes."
    )
    longer = await summary_world.compactor.plan(
        summary_world.context, summary_world.wanted, "Notes. " * 60
    )
    assert of_text["freed"] > longer["freed"] and of_text["draft"] == plan["draft"]
    assert await summary_world.compact() == "All notes, B-107 too."
    task, asked = (
        [request["messages"][place]["content"] for request in summary_world.fake.requests]
        for place in (0, -1)
    )
    assert set(task) == {"List what holds, a line each.\nKeep in particular: berths"}
    assert "question 1\n" in asked[0] and "First notes." in asked[1]
    receipt = await summary_world.ask("And then?", replies=("Well.",))
    assert receipt["facts"]["policy"] == "lastN" and receipt["reports"]["summary"]["compaction"]
    texts = [str(m["content"]) for m in summary_world.fake.requests[-1]["messages"]]
    assert sum("All notes, B-107 too." in text for text in texts) == 1
    assert not any("question 3" in text for text in texts) and any(
        "question 13" in t for t in texts
    )
    (version,) = (await summary_world.versions()).versions
    assert version.by == plan["by"] and version.exchanges == 12


async def test_an_automatic_fold_goes_on_from_a_compaction(summary_world: SummaryWorld) -> None:
    await reading(talk)(summary_world.page_request.conversation, 6)
    summary_world.fake.script.extend(("By hand.",))
    await summary_world.compact()
    receipt = await summary_world.run_turn("More?", replies=(LONG, "By itself."))
    assert receipt["reports"]["summary"]["compaction"] == 1, "sent though all would fit"
    while (await summary_world.versions()).current == 1:
        await summary_world.run_turn("More?", replies=(LONG, "By itself."))
    newest, first = (await summary_world.versions()).versions[:2]
    assert (newest.text, newest.compaction, newest.made_from) == ("By itself.", 1, first.version)
    assert "By hand." in summary_world.fake.requests[-1]["messages"][-1]["content"]
    conversation = summary_world.page_request.conversation
    await summary_world.compactor.undo(owner=ADA, conversation=conversation, version=1)
    assert (await summary_world.versions()).current == 0


async def test_a_part_of_a_draft_ends_before_a_proxy_gives_it_up(
    summary_world: SummaryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatsite.turns.evidence.compacting.PART_SECONDS", 1.0)
    await reading(talk)(summary_world.page_request.conversation, 5)
    summary_world.fake.script.append("[[first=30;text=Notes.]]")
    with pytest.raises(ProviderError, match="The model took too long"):
        await summary_world.compact()


@pytest.mark.parametrize(("left_in_place", "current"), [(False, 1), (True, 2)])
async def test_a_turn_that_a_compaction_leaves_in_place_brings_the_next_fold_nearer(
    summary_world: SummaryWorld, left_in_place: bool, current: int
) -> None:
    for text, reply in (("Long?", LONG), ("Short?", "Yes."), ("And?", "No.")):
        await summary_world.run_turn(text, replies=(reply,))
    asked = await summary_world.asked()
    summary_world.wanted = Wanted(without=asked[:1] if left_in_place else (), to=asked[1])
    summary_world.fake.script.extend(("By hand.",))
    await summary_world.compact()
    for reply in (LONG, "word " * 30):
        await summary_world.run_turn("More?", replies=(reply, "By itself."))
    assert (await summary_world.versions()).current == current


async def test_a_draft_is_refused_where_no_model_answers_or_the_conversation_changed(
    summary_world: SummaryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = summary_world.page_request.conversation
    await reading(talk)(conversation, 5)
    plan = await summary_world.compactor.plan(summary_world.context, summary_world.wanted)
    summary_world.fake.script.extend(("Notes. [[mode=401]]",))
    await reading(changed)("leave out", conversation, 3)
    with pytest.raises(Refused, match="was changed since"):
        await summary_world.compactor.apply(
            *(summary_world.context, summary_world.wanted),
            text="Notes.",
            by="",
            version=0,
            state=plan["state"],
        )
    assert (await summary_world.versions()).versions == ()
    monkeypatch.setattr(summary_world.provider, "kind", "echo")
    with pytest.raises(ProviderError, match="No model answers here"):
        await summary_world.compactor.draft(
            summary_world.context, summary_world.wanted, part=0, text=""
        )
    without = await summary_world.compactor.plan(summary_world.context, summary_world.wanted)
    assert (without["by"], without["parts"], without["cost"]) == ("", 0, None)


@pytest.mark.parametrize(("fold_at", "folds"), [("10%", True), ("99%", False), ("390", True)])
async def test_the_setting_says_when_the_summary_begins(
    summary_world: SummaryWorld, fold_at: str, folds: bool
) -> None:
    summary_world.chat_settings["historyFoldAt"] = fold_at
    for number in range(3):
        await summary_world.run_turn(f"Short {number}?", replies=("Yes.", "They agreed."))
    assert bool((await summary_world.versions()).versions) == folds
