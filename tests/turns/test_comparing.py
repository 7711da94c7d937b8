"""One turn under other policies: the numbers that a turn would really have, and no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from chatsite.conversations.models import Message as Row
from chatsite.conversations.models import Turn
from chatsite.errors import NotFound
from chatsite.history import show_receipt
from chatsite.messages import Attachment, Basis, Message, TokenCount, ToolCall
from chatsite.providers.base.provider import Model
from chatsite.turns.agents.resolved_agent import ResolvedAgent
from chatsite.turns.context.drafts import Draft
from chatsite.turns.context.turn_context import Contexts, PageRequest
from chatsite.turns.what_if.comparison import PolicyComparison
from tests.conversations.builders import ADA, BOB, new_id, row
from tests.imported import import_conversation
from tests.turns.conftest import World


class Letters:
    """Counts a token a letter, plus the letters of the model's name, so that models differ."""

    basis: Basis = "counted"

    def __init__(self, model: str) -> None:
        self.name = model or "own"

    async def count(self, messages: Sequence[Message]) -> list[TokenCount]:
        return [
            TokenCount(
                count=len(one.content or "") + len(self.name),
                tokenizer=self.name,
                basis=self.basis,
            )
            for one in messages
        ]


def make_comparison(world: World) -> PolicyComparison:
    return PolicyComparison(drafts=world.turns.drafts)


def by_words(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["words"]: row for row in found["rows"]}


async def talk(world: World, *texts: str, query: str = "") -> PageRequest:
    page_request = replace(world.page_request(), query=query)
    for text in texts:
        await world.run_turn(page_request, text)
    return page_request


async def test_each_row_says_what_the_next_message_would_really_be_sent_with(world: World) -> None:
    page_request = await talk(world, *"One Two Three Four Five Six Seven".split())
    asked = len(world.provider.requests)
    found = await make_comparison(world).of_draft(page_request, Draft(text="Eight"))
    assert found["stored"] == 14  # the draft isn't stored
    rows = by_words(found)
    assert list(rows) == ["none", "lastN 5", "lastN 20", "all", "tokens", "relevant"]
    assert [words for words, one in rows.items() if one["in_force"]] == ["lastN 20"]
    for words, query in (
        ("none", "historyPolicy=none"),
        ("lastN 5", "historyLength=5"),
        ("all", "historyPolicy=all"),
        ("tokens", "historyPolicy=tokens"),
    ):
        there = replace(page_request, query=query)
        seen = await world.turns.drafts.preview(there, "Eight")
        outcome = rows[words]["outcome"]
        assert outcome["messages"] == seen["facts"]["sent"], words
        assert outcome["tokens"] == seen["prompt_tokens"], words
        assert outcome["leading"] == seen["leading"], words
    assert len(world.provider.requests) == asked


async def test_a_row_leads_to_its_policy_by_what_it_changes(world: World) -> None:
    page_request = await talk(world, "One", query="historyPolicy=none")
    rows = by_words(await make_comparison(world).of_draft(page_request, Draft(text="")))
    assert rows["lastN 5"]["changes"] == {
        "historyPolicy": "lastN", "historySelector": None, "historyLength": "5",
    }  # fmt: skip
    assert all(one["allowed"] for one in rows.values())


async def test_what_is_locked_is_shown_and_marked(world: World) -> None:
    page_request = await talk(world, "One", "Two")
    locked = make_comparison(world)
    environment = {"HISTORY_POLICY": "none"}
    contexts = Contexts(environment=environment, resolve_agent=world.resolve_agent)
    locked = replace(locked, drafts=replace(locked.drafts, contexts=contexts))
    rows = by_words(await locked.of_draft(page_request, Draft(text="Three")))
    assert rows["none"]["in_force"]
    assert not any(one["allowed"] for one in rows.values())
    assert "HISTORY_POLICY" in rows["all"]["why"]
    assert rows["all"]["outcome"]["messages"] == 4


async def test_an_answered_turn_is_compared_under_the_settings_of_its_time(world: World) -> None:
    page_request = await talk(world, "One", "Two", "Three", query="historyPolicy=all")
    turns = await world.run(lambda: list(Turn.objects.order_by("number")))
    receipt = show_receipt(turns[1].whole_receipt or {})
    now = replace(page_request, query="historyPolicy=none&historyTokens=900")
    rows = by_words(await make_comparison(world).of_turn(now, str(turns[1].id)))
    then = rows["all"]
    assert then["in_force"] and receipt
    assert then["outcome"]["messages"] == receipt["facts"]["sent"] == 3
    assert then["outcome"]["tokens"] == receipt["prompt_tokens"]
    assert then["outcome"]["leading"] == receipt["leading"] > 0
    assert rows["none"]["outcome"]["messages"] == 1
    first = by_words(await make_comparison(world).of_turn(page_request, str(turns[0].id)))
    assert first["all"]["outcome"]["share"] is None


async def test_only_the_owner_can_compare_a_conversation(world: World) -> None:
    page_request = await talk(world, "One")
    turn = await world.run(lambda: str(Turn.objects.get().id))
    bob = replace(page_request, owner=BOB)
    with pytest.raises(NotFound):
        await make_comparison(world).of_draft(bob, Draft(text=""))
    with pytest.raises(NotFound):
        await make_comparison(world).of_turn(bob, turn)
    with pytest.raises(NotFound):
        await make_comparison(world).of_draft(
            world.page_request(), Draft(text="")
        )  # one that hasn't begun


async def test_a_message_that_fits_nowhere_says_so_in_every_row(world: World) -> None:
    page_request = replace(await talk(world, "One"), query="historyTokens=1")
    found = await make_comparison(world).of_draft(page_request, Draft(text="Far too much"))
    assert {one["note"] for one in found["rows"]} == {"doesn't fit"}


async def test_no_price_is_made_up(world: World) -> None:
    found = await make_comparison(world).of_draft(await talk(world, "One"), Draft(text=""))
    assert found["note"].startswith("Tokens: estimated. No price known for")
    assert {one["outcome"]["cost"] for one in found["rows"]} == {None}


class TestTheModelThatAnswers:
    @pytest.fixture
    def two(self, world: World, monkeypatch: pytest.MonkeyPatch) -> World:
        """A model of this agent's own, and another one that can be chosen, by the same provider."""
        one = world.resolve_agent("demo")

        def answers(agent: str, model: str = "", *, staff: bool = False) -> ResolvedAgent:
            if model != "echo:large":
                return one
            return replace(one, model=replace(one.model, name="large", label="Large"))

        def tokenizer(model: Model) -> Letters:
            return Letters(model.name)

        monkeypatch.setattr(world.contexts, "resolve_agent", answers)
        monkeypatch.setattr(world.provider, "tokenizer", tokenizer)
        return world

    async def counted_by(self, world: World) -> set[str]:
        return await world.run(lambda: set(Row.objects.values_list("tokenizer", flat=True)))

    async def test_the_chosen_model_is_compared_with_its_own_window_tokenizer_and_files(
        self, two: World
    ) -> None:
        page_request = await talk(two, "One", "Two", "Three")
        chosen_request = replace(page_request, model="echo:large")
        attached = (Attachment(id=new_id(), name="tides.txt", size=9, modality="document"),)
        plain = by_words(await make_comparison(two).of_draft(chosen_request, Draft(text="Four")))[
            "all"
        ]["outcome"]
        seen = await two.turns.drafts.preview(chosen_request, "Four")
        assert plain["tokens"] == seen["prompt_tokens"]
        own = await two.turns.drafts.preview(page_request, "Four")
        assert seen["prompt_tokens"] != own["prompt_tokens"]
        found = await make_comparison(two).of_draft(
            chosen_request, Draft(text="Four", attachments=attached)
        )
        assert by_words(found)["all"]["outcome"]["tokens"] > plain["tokens"]
        assert "No price known for Large." in found["note"]

    async def test_a_turn_is_compared_as_the_model_that_answered_it(self, two: World) -> None:
        page_request = await talk(two, "One", "Two")
        await two.run_turn(replace(page_request, model="echo:large"), "Three")
        await two.run_turn(page_request, "Four")
        turns = await two.run(lambda: list(Turn.objects.order_by("number")))
        own = await self.counted_by(two)
        receipt = show_receipt(turns[2].whole_receipt or {})
        assert receipt["provider"]["model"] == "large"
        found = await make_comparison(two).of_turn(page_request, str(turns[2].id))
        (then,) = [one for one in found["rows"] if one["in_force"]]
        assert then["outcome"]["tokens"] == receipt["prompt_tokens"]
        assert "can't be had now" not in found["note"]
        assert await self.counted_by(two) == own  # the next turn would count all of it again
        resolve = two.contexts.resolve_agent
        contexts = Contexts(
            environment={}, resolve_agent=lambda agent, model="", *, staff=False: resolve(agent)
        )
        gone = replace(make_comparison(two), drafts=replace(two.turns.drafts, contexts=contexts))
        found = await gone.of_turn(page_request, str(turns[2].id))
        assert found["note"].startswith("Large answered then and can't be had now: this is as ")


async def test_tool_groups_are_left_out_whole_or_sent_whole(world: World) -> None:
    def call(number: int) -> list[Message]:
        calls = (ToolCall(id=f"c{number}", name="search", arguments={}),)
        return [
            Message.user(f"Look {number}", id=new_id()),
            Message.assistant("", id=new_id(), calls=calls),
            Message.tool("Found.", id=new_id(), call_id=f"c{number}"),
            Message.assistant("It is there.", id=new_id()),
        ]

    messages = [message for number in range(6) for message in call(number)]
    stored = await import_conversation(owner=ADA, agent="demo", title="Tools", messages=messages)
    page_request = world.page_request(stored.id)
    rows = by_words(await make_comparison(world).of_draft(page_request, Draft(text="And now?")))
    groups = {
        words: (one["outcome"]["groups"], one["outcome"]["groups_left_out"])
        for words, one in rows.items()
    }
    assert groups["all"] == (6, 0) and groups["lastN 5"] == (6, 2) and groups["none"] == (6, 6)
    assert {one["outcome"]["groups_cut"] for one in rows.values()} == {0}
    found = await world.run(row, stored.id)
    assert found.path_messages == 24
