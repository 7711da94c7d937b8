"""What-if equals what a preview and a turn really have, under every policy that is offered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from chatsite.agents.catalogue import Catalogue
from chatsite.agents.strategy.worker import StrategyWorker
from chatsite.conversations.models import Conversation, Message, Summary, Turn
from chatsite.conversations.path import active_path, loading, marks
from chatsite.conversations.summaries import queries as summary_queries
from chatsite.conversations.summaries import versions as summaries
from chatsite.conversations.turn import receipts
from chatsite.history import Everything, Users, show_receipt
from chatsite.history.policies import strategy
from chatsite.providers.base.provider import Provider
from chatsite.turns.agents.resolved_agent import ResolvedAgent, resolve_agent
from chatsite.turns.context.drafts import Draft
from chatsite.turns.context.loaded_path import as_storage_loads
from chatsite.turns.context.turn_context import PageRequest
from chatsite.turns.evidence.recall import Recaller
from chatsite.turns.evidence.running_summary import Summariser
from chatsite.turns.evidence.strategy import StrategyGatherer
from chatsite.turns.what_if import past_evidence as past
from chatsite.turns.what_if.comparison import ON_SENDING, STRATEGY_NOW
from tests.conversations.builders import ADA, token_count
from tests.conversations.builders import user_message as spoken
from tests.conversations.test_loading import add, chat_of
from tests.story.agents import write_agent
from tests.turns.conftest import World, template
from tests.turns.test_comparing import by_words, make_comparison

BUDGET = 130
TEXTS = [f"Question {number} about the quay and its {number} cranes." for number in range(8)]
# Sends the oldest message that it is shown, and a word for each.
OLDEST = """
def build(ctx):
    shown = ctx.history.recent(10_000)
    ctx.slots.add("oldest", shown[:1])
    ctx.slots.add("count", "one " * len(shown))
    ctx.slots.add("input", ctx.input)
"""


@dataclass
class WorldWithPolicy(World):
    """A world whose agent sets the policy, with every gatherer and a budget that fills up."""

    chat: dict[str, Any] = field(default_factory=dict)

    def resolve_agent(self, agent: str, model: str = "", *, staff: bool = False) -> ResolvedAgent:
        providers: dict[str, Provider] = {"echo": self.provider}
        return resolve_agent(
            template(chatSettings={"historyTokens": BUDGET, **self.chat}), providers
        )


@pytest.fixture
async def policy_world(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[WorldWithPolicy]:
    """A strategy is shown the last three turns."""
    monkeypatch.setattr(strategy, "STRATEGY_TURNS", 3)
    write_agent(tmp_path, "demo")
    (tmp_path / "demo" / "strategy.py").write_text(OLDEST)
    made = WorldWithPolicy()
    strategies = StrategyWorker()
    gatherers: dict[str, Any] = {
        "lexical": Recaller(),
        "summary": Summariser(publish=lambda conversation, event: None),
        "strategy": StrategyGatherer(strategies=strategies, file=Catalogue(tmp_path).strategy),
    }
    made.decider = replace(made.decider, gatherers=gatherers)
    yield made
    await strategies.stop()


def fold(chat: str, count: int, text: str) -> None:
    """Fold the oldest `count` messages that the valid summary doesn't cover."""
    start = summary_queries.unsummarised_path.here(owner=ADA, conversation=chat)
    made = summaries.fold_summary.here(
        owner=ADA,
        conversation=chat,
        start=start,
        folded=list(start.entries[:count]),
        messages=(start.state.summary.messages if start.state.summary else 0) + count,
        text=text,
        by="a small model",
        tokens=token_count(9),
        report={},
    )
    assert made is not None


async def talk_with_folds(world: WorldWithPolicy, *, query: str = "") -> PageRequest:
    """Eight turns; after the fourth and the seventh, older turns are folded into a summary."""
    page_request = replace(world.page_request(), query=query)
    for number, text in enumerate(TEXTS, 1):
        await world.run_turn(page_request, text)
        if number in (4, 7):
            await world.run(
                fold, page_request.conversation, 4, f"They spoke of cranes, {number} times."
            )
    return page_request


OFF = {"historySelector": "triage", "conversation": {"enabled": False}}


@pytest.mark.parametrize(
    ("key", "chat"),
    [
        ("lastN 20", {"historyPolicy": "lastN"}),
        ("summary", {"historyPolicy": "summary"}),
        ("strategy", {"historyPolicy": "strategy"}),
        ("relevant triage", {"historyPolicy": "relevant", **OFF}),
    ],
)
async def test_every_row_equals_the_preview_under_its_policy(
    policy_world: WorldWithPolicy, key: str, chat: dict[str, Any]
) -> None:
    policy_world.chat = chat
    page_request = await talk_with_folds(policy_world)
    pinned = await policy_world.run(lambda: str(Message.objects.get(seq=3).id))
    await marks.pin_message(owner=ADA, message=pinned, on=True)
    rows = (
        await make_comparison(policy_world).of_draft(
            page_request, Draft(text="What of 2 cranes?", reply_to=pinned)
        )
    )["rows"]
    always = {"none", "lastN 5", "lastN 20", "all", "tokens", "relevant lexical"}
    assert {one["key"] for one in rows} == always | {key}
    for one in rows:
        query = "&".join(f"{name}={value}" for name, value in one["changes"].items() if value)
        there = replace(page_request, query=query)
        seen = await policy_world.turns.drafts.preview(there, "What of 2 cranes?", reply_to=pinned)
        found = (one["outcome"]["messages"], one["outcome"]["tokens"], one["outcome"]["leading"])
        assert found == (seen["facts"]["sent"], seen["prompt_tokens"], seen["leading"]), one["key"]
        assert one["note"] == " ".join(seen["notes"]), one["key"]


async def test_the_choice_of_a_model_is_not_guessed(policy_world: WorldWithPolicy) -> None:
    policy_world.chat = {"historyPolicy": "relevant", "historySelector": "triage"}
    rows = by_words(
        await make_comparison(policy_world).of_draft(
            await talk_with_folds(policy_world), Draft(text="And now?")
        )
    )
    triage = rows["relevant, triage"]
    assert triage["in_force"] and triage["outcome"] is None and triage["note"] == ON_SENDING


@pytest.mark.parametrize("policy", ["lastN", "tokens", "relevant", "summary", "strategy"])
async def test_the_row_in_force_of_an_answered_turn_equals_its_receipt(
    policy_world: WorldWithPolicy, policy: str
) -> None:
    policy_world.chat = {"historyPolicy": policy}
    page_request = await talk_with_folds(policy_world)
    for turn in await policy_world.run(lambda: list(Turn.objects.order_by("number"))):
        receipt = show_receipt(turn.whole_receipt or {})
        assert receipt
        rows = (await make_comparison(policy_world).of_turn(page_request, str(turn.id)))["rows"]
        then = next(one["outcome"] for one in rows if one["in_force"])
        receipt_figures = (receipt["facts"]["sent"], receipt["prompt_tokens"])
        assert (then["messages"], then["tokens"]) == receipt_figures, turn.number
        assert then["leading"] == receipt["leading"], turn.number


async def test_a_turn_gets_the_summary_of_its_time_whichever_policy_it_had(
    policy_world: WorldWithPolicy,
) -> None:
    policy_world.chat = {"historyPolicy": "summary", "historyTokens": 90}
    page_request = await talk_with_folds(policy_world, query="historyPolicy=tokens")
    turns = await policy_world.run(lambda: list(Turn.objects.order_by("number")))
    versions: list[int | None] = []
    for index in (3, 5, 7):
        turn = str(turns[index].id)
        past_turn = await receipts.past_turn(owner=ADA, turn=turn)
        versions.append(past_turn.summary.version if past_turn.summary else None)
        note = by_words(await make_comparison(policy_world).of_turn(page_request, turn))["summary"][
            "note"
        ]
        assert (past.NO_SUMMARY in note) == (past_turn.summary is None), note
    assert versions == [None, 1, 2]


async def test_a_note_says_that_the_text_of_a_summary_is_not_stored_any_more(
    policy_world: WorldWithPolicy,
) -> None:
    policy_world.chat = {"historyPolicy": "summary"}
    page_request = await talk_with_folds(policy_world)
    last = await policy_world.run(lambda: str(Turn.objects.order_by("-number")[0].id))
    row = by_words(await make_comparison(policy_world).of_turn(page_request, last))["summary"]
    assert past.NO_SUMMARY not in row["note"]
    await policy_world.run(lambda: Summary.objects.update(text="", stale=True))
    row = by_words(await make_comparison(policy_world).of_turn(page_request, last))["summary"]
    assert past.NO_SUMMARY in row["note"]


async def test_a_note_says_what_is_not_known_about_an_old_turn(
    policy_world: WorldWithPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy_world.chat = {"historyPolicy": "strategy"}
    page_request = await talk_with_folds(policy_world)
    monkeypatch.setattr(past, "COLD", 10)
    last = await policy_world.run(lambda: str(Turn.objects.order_by("-number")[0].id))
    rows = by_words(await make_comparison(policy_world).of_turn(page_request, last))
    assert rows["strategy"]["note"] == STRATEGY_NOW
    assert past.TOO_LONG in rows["relevant"]["note"]


@pytest.mark.django_db
@pytest.mark.parametrize("briefed", [False, True])
def test_a_path_is_cut_as_storage_reads_it(briefed: bool) -> None:
    chat = chat_of(9)
    add(chat, "briefing")
    ask(chat)
    if briefed:
        add(chat, "briefing")
        ask(chat)
    whole = loading.load_path.here(owner=ADA, conversation=chat, reach=Everything()).transcript
    ids = {entry.seq: entry.message.id for entry in whole.entries}
    for marked in (False, True):
        if marked:
            marks.pin_message.here(owner=ADA, message=ids[3], on=True)
            marks.exclude_message.here(owner=ADA, message=ids[6], on=True)
            marks.forget_above_message.here(owner=ADA, message=ids[2], on=True)
            whole = loading.load_path.here(
                owner=ADA, conversation=chat, reach=Everything()
            ).transcript
        for users in (1, 2, 4, 9, 50):
            read = loading.load_path.here(
                owner=ADA, conversation=chat, reach=Users(users)
            ).transcript
            assert as_storage_loads(whole.entries, Users(users)) == read, (users, marked)
    *above, current = whole.entries
    replying = [*above, replace(current, message=replace(current.message, reply_to=ids[8]))]
    read = loading.load_path.here(
        owner=ADA, conversation=chat, reach=Users(2), reply_to=ids[8]
    ).transcript
    cut = as_storage_loads(replying, Users(2))
    assert [e.seq for e in cut.entries] == [e.seq for e in read.entries]
    assert cut.not_loaded == read.not_loaded


def ask(chat: str) -> None:
    row = Conversation.objects.get(id=chat)
    active_path.append_to_path(row, [spoken("And then?")], now=timezone.now())
    row.save()
