"""Draws cases for our policies, with evidence that may be right, wrong or nonsense."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from chatsite.history import (
    AddedMessage,
    Evidence,
    Hit,
    Previous,
    Recall,
    RunningSummary,
    StoredRun,
    StrategyChoice,
    StrategySlot,
    TriageChoice,
    Window,
)
from chatsite.kv_cache.cleanup import DEFAULT, STRATEGIES
from chatsite.messages import Message, TokenCount
from conformance_kit.cases import CaseEntry, total_tokens, with_tokens
from conformance_kit.conversations import Dials, paths
from conformance_kit.strategies.adapter import HEADS, PolicyCase

# Of larger ranges hypothesis draws mostly small numbers, and all later dials would stand at 0.
EVEN = st.integers(0, 2**24 - 1)
# 0 is a little less than the whole path takes: there is most to choose from then.
SIZES = (4_096, 1_000_000, 60, 100, 160, 0, 400, 0, 1_000, 0)
UNDER = (
    "all   50",
    "all   1",
    "lastN 3  50",
    "tokens   50",
    "relevant   50 lexical",
    "summary   50",
)
TEXTS = (
    Message.user("Remember: I like tea.", id="text-1"),
    Message.system("It is Monday.", id="text-2"),
    Message.assistant("Noted.", id="text-3"),
    Message.user("word " * 60, id="text-4"),
)

# None leaves a setting as it is built in.
CONVERSATION: dict[str, tuple[object, ...]] = {
    "always_include_recent": (1, 0, 2, None),
    "previous_tasks_count": (None, 0, 1),
    "context_truncation": (None, None, 3, 20),
    "lookback_count": (None, 0, 1, 3),
    "skip_selection_threshold": (0, None),
    "context_recency_hours": (None, None, 4),
    "context_min_messages": (0, 1, None),
    "use_selection": (None, None, None, False),
}


@st.composite
def cases(draw: st.DrawFn) -> PolicyCase:
    """Anything that our own `decide` may be given."""
    dials = Dials(draw(EVEN))
    entries = draw(paths())
    whole = total_tokens([entry.message for entry in entries])
    size = dials.of(SIZES) or max(60, whole)
    return PolicyCase(
        window=Window(size, size // dials.of((4, 10))),
        agent_head=dials.of(HEADS),
        length=dials.of((3, 0, 1, 2, 5, 20, 1_000_000)),
        budget=dials.of((None, None, None, 60, 300, 600, 5_000)),
        low_water=dials.of((50, 1, 25, 75, 100)),
        options=options(Dials(draw(EVEN))),
        evidence=evidence([Dials(draw(EVEN)) for _ in range(5)], entries),
        quoted=quoted(Dials(draw(EVEN)), entries),
        entries=entries,
    )


def options(dials: Dials) -> dict[str, object]:
    """Settings that some policies have; those that are as they are built in are left out."""
    step = dials.of((2, 3, 5, 1))
    found = {name: dials.of(values) for name, values in CONVERSATION.items()}
    said = {name: value for name, value in found.items() if value is not None}
    cleanup = dials.of((DEFAULT, *STRATEGIES))
    return {"historyStep": step, "conversation": said, "cacheCleanup": cleanup}


def evidence(dials: Sequence[Dials], entries: Sequence[CaseEntry]) -> Evidence:
    """What was gathered, a number for each: nothing, something, or what fits another path."""
    seqs = range(1, entries[-1].seq + 3)
    return Evidence(
        previous=previous(dials[0]),
        recall=recall(dials[1], seqs),
        triaged=triaged(dials[2], seqs),
        summary=summary(dials[3], seqs),
        chosen=chosen(dials[4], seqs),
    )


def previous(dials: Dials) -> Previous | None:
    """A receipt that may be wrong in every way: another path's, another head's, nonsense."""
    kind = dials.of(("none", "none", "some", "wrong"))
    if kind == "none":
        return None
    first = dials.of(range(1, 13))
    written = AddedMessage(kind="summary", role="user", digest="0" * 16, tokens=9)
    run = StoredRun(first, first + dials.of(range(20)), dials.of((0, 0, 3)))
    return Previous(
        head_hash="0" * 64 if kind == "wrong" else HEADS[0].hash,
        layout=(run,) if dials.of((True, False)) else (written, run),
        cut=dials.of((None, first, first + 3)),
        under=dials.of(UNDER),
    )


def recall(dials: Dials, seqs: range) -> Recall | None:
    """Hits on anything: instructions, tool results, the current message, what isn't there."""
    count = dials.of((None, 1, 3, 0, 5))
    if count is None:
        return None
    hits = (Hit(seq=dials.of(seqs), score=1.0 - n, why="it says tea") for n in range(count))
    return Recall(hits=tuple(hits))


def quoted(dials: Dials, entries: Sequence[CaseEntry]) -> dict[int, tuple[int, ...]]:
    """What was quoted for up to three earlier messages: anything, also what isn't there or stands
    below."""
    answers = [entry.seq for entry in entries if entry.message.role == "assistant"]
    seqs = range(1, entries[-1].seq + 3)
    return {
        dials.of(answers): tuple(dials.of(seqs) for _ in range(dials.of((1, 2, 3))))
        for _ in range(dials.of((0, 0, 1, 2, 3)) if answers else 0)
    }


def triaged(dials: Dials, seqs: range) -> TriageChoice | None:
    count = dials.of((None, 2, 0, 4))
    return (
        None
        if count is None
        else TriageChoice(turns=frozenset(dials.of(seqs) for _ in range(count)))
    )


def summary(dials: Dials, seqs: range) -> RunningSummary | None:
    """From the beginning to somewhere, or of what never was one piece of this path."""
    kind = dials.of(("none", "right", "right", "wrong"))
    if kind == "none":
        return None
    last = dials.of(seqs)
    return RunningSummary(
        id="s1",
        version=1,
        text="They spoke of tea.",
        first=1 if kind == "right" else dials.of(seqs),
        last=last,
        messages=last if kind == "right" else dials.of(seqs),
        by="small",
        tokens=TokenCount(count=dials.of((12, 40, 400)), tokenizer="test", basis="counted"),
    )


def chosen(dials: Dials, seqs: range) -> StrategyChoice | None:
    """Slots with messages of the path, doubled, in any order, or not there; and with texts."""
    count = dials.of((None, 1, 2, 3, 0))
    if count is None:
        return None
    slots = []
    for number in range(count):
        kinds = dials.of(("mmm", "m", "t", "mt", "tm", "mmtmm", "", "tt"))
        items: list[int | Message] = [
            dials.of(seqs) if kind == "m" else with_tokens(dials.of(TEXTS)) for kind in kinds
        ]
        slots.append(
            StrategySlot(name=f"slot {number}", priority=dials.of((0, 1, -1)), items=tuple(items))
        )
    return StrategyChoice(slots=tuple(slots))
