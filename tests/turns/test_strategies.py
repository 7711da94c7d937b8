"""A strategy's choice is evidence for the decision; a note says why there is none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from chatsite.agents.catalogue import Catalogue
from chatsite.agents.strategy.worker import StrategyWorker
from chatsite.history import Entry, Evidence, Transcript, decide, resolve
from chatsite.messages import Attachment, Message, TokenCount
from chatsite.providers.echo import EchoProvider
from chatsite.turns.agents.resolved_agent import resolve_agent
from chatsite.turns.context.decider import DecisionInputs
from chatsite.turns.evidence.strategy import StrategyGatherer
from tests.story.agents import write_agent
from tests.turns.conftest import context_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

REPORT = Attachment(id="f", name="report.pdf", size=9, modality="document")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def strategies() -> AsyncIterator[StrategyWorker]:
    made = StrategyWorker()
    yield made
    await made.stop()


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    write_agent(tmp_path, "ada", {"historyPolicy": "strategy"}, personality="Be kind.")
    return Catalogue(tmp_path)


def with_tokens(message: Message, tokens: int = 10) -> Message:
    return replace(message, tokens=TokenCount(count=tokens, tokenizer="t", basis="counted"))


def talk(turns: int, *, question: str = "question {}") -> list[Entry]:
    """Turns with questions 1, 3, 5 ... and answers 2, 4, 6 ...; the last one isn't answered."""
    messages: list[Message] = []
    for number in range(1, turns + 1):
        messages.append(Message.user(question.format(number), id=f"q{number}"))
        messages.append(Message.assistant(f"answer {number}", id=f"a{number}"))
    return [Entry(message=with_tokens(m), seq=seq) for seq, m in enumerate(messages[:-1], 1)]


def decision_inputs(
    catalogue: Catalogue, entries: list[Entry], budget: int = 1_000
) -> DecisionInputs:
    provider = EchoProvider(delay=0)
    agent = resolve_agent(catalogue.get("ada"), {"echo": provider})
    head = agent.head
    chat = {"historyPolicy": "strategy", "historyTokens": budget}
    return DecisionInputs(
        context=context_of(agent, resolve(environment={}, url={}, template=chat)),
        transcript=Transcript(entries=tuple(entries)),
        head=replace(head, messages=tuple(with_tokens(m) for m in head.messages)),
        preview=False,
    )


async def gather(
    strategies: StrategyWorker,
    catalogue: Catalogue,
    tmp_path: Path,
    source: str,
    turn: DecisionInputs,
) -> Evidence:
    (tmp_path / "ada" / "strategy.py").write_text(source)
    gatherer = StrategyGatherer(strategies=strategies, file=Catalogue(tmp_path).strategy)
    return await gatherer.gather(turn)


def request(turn: DecisionInputs, evidence: Evidence) -> list[str]:
    """The messages that the decision sends with this evidence."""
    decision = decide(
        turn.transcript,
        turn.context.settings,
        head=turn.head,
        window=turn.context.agent.window,
        evidence=evidence,
        agent="ada",
    )
    return [f"{m.role[0]}: {m.content}" for m in decision.request]


async def test_the_chosen_messages_have_counts_and_a_report(
    strategies: StrategyWorker, catalogue: Catalogue, tmp_path: Path
) -> None:
    source = """
def build(ctx):
    ctx.slots.add("system", "Rules.")
    ctx.slots.add("first", ctx.history.range(from_end=4, to_end=2), priority=2)
    ctx.slots.add("hint", "A hint.")
    ctx.slots.add("input", ctx.input)
"""
    turn = decision_inputs(catalogue, talk(3))
    evidence = await gather(strategies, catalogue, tmp_path, source, turn)
    assert evidence.chosen is not None and not evidence.notes
    assert [slot.items for slot in evidence.chosen.slots][1] == (1, 2)
    texts = [i for slot in evidence.chosen.slots for i in slot.items if isinstance(i, Message)]
    assert all(text.tokens and text.tokens.count > 0 for text in texts)
    report = evidence.reports["strategy"]
    assert report["file"] == "ada/strategy.py"
    assert report["slots"] == [
        {"name": "system", "priority": 0, "messages": 0, "texts": 1},
        {"name": "first", "priority": 2, "messages": 2, "texts": 0},
        {"name": "hint", "priority": 0, "messages": 0, "texts": 1},
    ]
    assert request(turn, evidence) == [
        "s: Be kind.",
        "s: Rules.",
        "u: question 1",
        "a: answer 1",
        "u: A hint.",
        "u: question 3",
    ]


async def test_the_budget_is_reduced_by_the_head_and_the_current_message(
    strategies: StrategyWorker, catalogue: Catalogue, tmp_path: Path
) -> None:
    source = """
def build(ctx):
    ctx.slots.add("newest", ctx.history.by_tokens(ctx.budget))
    ctx.slots.add("said", f"{ctx.budget} of {ctx.budget.limit}", priority=-1)
"""
    turn = decision_inputs(catalogue, talk(9), budget=65)
    evidence = await gather(strategies, catalogue, tmp_path, source, turn)
    assert evidence.chosen is not None
    newest, said = evidence.chosen.slots
    assert newest.items == (13, 14, 15, 16)
    assert isinstance(said.items[0], Message) and said.items[0].content == "45 of 65"


async def test_a_strategy_never_sees_messages_that_the_user_left_out(
    strategies: StrategyWorker, catalogue: Catalogue, tmp_path: Path
) -> None:
    source = "def build(ctx): ctx.slots.add('all', ctx.history.recent_text(99))"
    entries = talk(5)
    entries[2] = replace(entries[2], forgets_above=True)
    entries[4] = replace(entries[4], excluded=True)
    entries[7] = replace(entries[7], excluded=True)
    turn = decision_inputs(catalogue, entries)
    evidence = await gather(strategies, catalogue, tmp_path, source, turn)
    assert request(turn, evidence)[1:-1] == [
        "u: User: question 2\n\nAssistant: answer 2\n\nUser: question 4"
    ]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def build(ctx):\n    raise ValueError(ctx.input)", "line 2: ValueError"),
        ("def build(ctx):\n    return ctx.input", "it returned a str"),
        ("def build(ctx:", "line 1: it isn't valid Python ('(' was never closed)"),
        ("def build(ctx):\n    ctx.slots.add('x', 1)", 'line 2: slot "x": content must be'),
    ],
)
async def test_a_failing_strategy_is_named_and_the_newest_turns_are_sent(
    strategies: StrategyWorker, catalogue: Catalogue, tmp_path: Path, source: str, words: str
) -> None:
    turn = decision_inputs(catalogue, talk(3))
    evidence = await gather(strategies, catalogue, tmp_path, source, turn)
    (note,) = evidence.notes
    assert evidence.chosen is None
    assert note.startswith("The agent's strategy failed: ada/strategy.py")
    assert words in note and note.endswith("The newest turns within the budget are sent instead.")
    assert "question" not in note
    assert len(request(turn, evidence)) == 6


async def test_a_missing_file_is_reported(strategies: StrategyWorker, catalogue: Catalogue) -> None:
    gatherer = StrategyGatherer(strategies=strategies, file=catalogue.strategy)
    evidence = await gatherer.gather(decision_inputs(catalogue, talk(1)))
    assert "ada/strategy.py: there is no such file" in evidence.notes[0]


class TestTheShippedExample:
    @pytest.fixture
    def source(self) -> str:
        return (Path(__file__).parents[2] / "agents" / "keeper" / "strategy.py").read_text()

    async def test_keeps_notes_in_view_and_names_files_that_are_not(
        self, strategies: StrategyWorker, catalogue: Catalogue, tmp_path: Path, source: str
    ) -> None:
        entries = talk(20)
        note = with_tokens(Message.user("Keep: we go to Lisbon", id="q1"))
        report = with_tokens(Message.user("Read this", REPORT, id="q2"))
        entries[0] = replace(entries[0], message=note)
        entries[2] = replace(entries[2], message=report)
        turn = decision_inputs(catalogue, entries, budget=220)
        evidence = await gather(strategies, catalogue, tmp_path, source, turn)
        said = request(turn, evidence)
        assert said[1].startswith('s: Messages that begin with "Keep:"')
        assert said[2] == "u: Keep: we go to Lisbon"
        assert said[3].startswith("u: question ")
        assert said[-2:] == [
            "u: Files from earlier in this conversation: report.pdf",
            "u: question 20",
        ]

    async def test_without_notes_and_files_it_adds_nothing_of_its_own(
        self, strategies: StrategyWorker, catalogue: Catalogue, tmp_path: Path, source: str
    ) -> None:
        turn = decision_inputs(catalogue, talk(3))
        evidence = await gather(strategies, catalogue, tmp_path, source, turn)
        assert len(request(turn, evidence)) == 6
