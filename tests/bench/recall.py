"""Evidence recall: the share of messages holding an answer that would be sent, in three sets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from chatsite.history.lexical.ranking import NEIGHBOUR, QUESTION_MARK, SearchQuestion
from chatsite.providers.tokens.sentence_vectors import SentenceVectors
from tests.bench.dialogues import BEAM_FACTS, SOURCES, Dialogue, Question, missing, read
from tests.bench.figures import Options, Row, table
from tests.bench.selection import (
    NEWEST,
    NEWEST_SHARE,
    Asking,
    CountedDialogue,
    Sent,
    counted,
    fill,
    newest_only,
    ranked,
    search_question,
)

BUDGETS = (1_000, 4_000)
QUICK = 2
# The least at 1,000 and at 4,000 tokens: by words, with vectors; of BEAM, its kinds of facts.
FLOORS = {
    "locomo": ("83.7/77.7 and 92.8/88", "86.3/80.7 and 95/91; goal 96/92"),
    "realmem": ("43/32.5 at 4,000", "44/34 at 4,000"),
    "beam": ("62/46 and 77/65", "69/56 and 79/68; goal 86/77"),
}
FACTS = "facts"


@dataclass(slots=True)
class Score:
    """Sums over questions: shares of evidence sent, and questions with all evidence sent."""

    recall: float = 0.0
    whole: int = 0
    questions: int = 0

    def add(self, question: Question, sent: frozenset[int]) -> None:
        self.recall += len(question.evidence & sent) / len(question.evidence)
        self.whole += question.evidence <= sent
        self.questions += 1

    def __str__(self) -> str:
        if not self.questions:
            return "-"
        return f"{100 * self.recall / self.questions:.1f}/{100 * self.whole / self.questions:.1f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How found messages are asked for and put into the budget."""

    name: str
    asking: Asking = search_question
    with_question: bool = False
    priced: bool = True


Scores = dict[tuple[str, int, str], Score]
"""Scores by what is sent, budget and kind of question; "" is all kinds, FACTS BEAM's five."""


async def run(options: Options) -> list[Row]:
    print(
        "% of the evidence sent / % of questions with all of it. o200k tokens and 4 a message (a\n"
        "quote in a chat with an assistant: 16 more), the question inside the budget, the newest\n"
        f"messages (up to {NEWEST} within {NEWEST_SHARE:.0%}) always sent, every message a unit "
        "unless said.\n"
    )
    if lacking := missing(options.data):
        print(f"{lacking}\n")
    rows: list[Row] = []
    for name, file in options.data.items():
        dialogues = [await counted(found) for found in read(file)]
        rows += _measured(name, dialogues[:QUICK] if options.quick else dialogues)
    return rows


def _measured(name: str, dialogues: Sequence[CountedDialogue]) -> Iterator[Row]:
    scores: Scores = defaultdict(Score)
    for one in dialogues:
        for question in one.dialogue.questions:
            _add(scores, "newest", question, newest_only(one, question))
    if name == "locomo":
        _add_trimmed(scores, dialogues)
    for by, vectors in _kinds().items():
        for one in dialogues:
            _add_found(scores, by, one, vectors)
    questions = sum(len(one.dialogue.questions) for one in dialogues)
    print(
        f"{SOURCES[name].title}: {len(dialogues)} conversations, "
        f"{sum(len(one.costs) for one in dialogues):,} messages, {questions:,} questions\n"
    )
    counting = FACTS if any(kind == FACTS for _, _, kind in scores) else ""
    print(f"{_overall(scores)}\n\n{_by_kind(scores)}\n", flush=True)
    for by, floor in zip(_kinds(), FLOORS[name], strict=False):
        yield Row(
            what=f"evidence recall at 1,000 and 4,000 tokens, {SOURCES[name].title}"
            f"{f' ({counting})' if counting else ''}: {by}",
            baseline=f"{_both(scores, _unpriced(by), counting)} (no price, one set of cues)",
            ours=_both(scores, by, counting),
            target=f"at least {floor}",
        )


def _both(scores: Mapping[tuple[str, int, str], Score], what: str, kind: str) -> str:
    return " and ".join(str(scores[what, budget, kind]) for budget in BUDGETS)


def _overall(scores: Scores) -> str:
    """All kinds of questions together, and BEAM's facts."""
    kinds = sorted({kind for _, _, kind in scores} & {"", FACTS})
    heads = [f"{budget:,} {kind}".strip() for kind in kinds for budget in BUDGETS]
    lines = (
        [what, *(str(scores[what, budget, kind]) for kind in kinds for budget in BUDGETS)]
        for what in dict.fromkeys(what for what, _, _ in scores)
    )
    return table(("what is sent", *heads), lines)


def _by_kind(scores: Scores) -> str:
    """Each kind of question, by what is found by, at the larger budget."""
    budget, by = BUDGETS[-1], list(_kinds())
    ways = [way for kind in by for way in (kind, _unpriced(kind))]
    kinds = sorted({kind for _, _, kind in scores} - {"", FACTS})
    lines = (
        [
            f"{kind.replace('_', ' ')}{' (a fact)' if kind in BEAM_FACTS else ''}",
            str(scores[by[0], budget, kind].questions),
            *(str(scores[way, budget, kind]) for way in ways),
        ]
        for kind in kinds
    )
    return table((f"kind of question, {budget:,} tokens", "questions", *ways), lines)


def _unpriced(by: str) -> str:
    return f"{by}, no price"


def _kinds() -> dict[str, SentenceVectors | None]:
    """What messages are found by; vectors only where they are installed."""
    vectors = SentenceVectors.find()
    return {"words": None} | ({"words and vectors": vectors} if vectors else {})


def _ways(dialogue: Dialogue, by: str) -> list[Way]:
    ways = [
        Way(name=by),
        Way(name=f"{by}, hits with what they answer", with_question=True),
        Way(name=_unpriced(by), asking=_with_one_set_of_cues, priced=False),
    ]
    if not dialogue.with_assistant:
        ways.append(Way(name=f"{by}, without the author cue", asking=_without_author))
    return ways


def _with_one_set_of_cues(dialogue: Dialogue, question: Question) -> SearchQuestion:
    """With the cues of two people's talks in every chat: how all were asked at first."""
    asked = search_question(dialogue, question)
    return replace(asked, neighbour=NEIGHBOUR, question_mark=QUESTION_MARK)


def _without_author(dialogue: Dialogue, question: Question) -> SearchQuestion:
    return replace(search_question(dialogue, question), author="")


def _add_found(
    scores: Scores, by: str, one: CountedDialogue, vectors: SentenceVectors | None
) -> None:
    ways = _ways(one.dialogue, by)
    asking = [way.asking for way in ways]
    for question, found in ranked(one.dialogue, asking=asking, vectors=vectors):
        for way, theirs in zip(ways, found, strict=True):
            sent = fill(one, question, theirs, with_question=way.with_question, priced=way.priced)
            _add(scores, way.name, question, sent)


def _add(scores: Scores, what: str, question: Question, sent: Sent) -> None:
    for budget in BUDGETS:
        places = sent(budget)
        kinds = ["", question.kind, *([FACTS] if question.kind in BEAM_FACTS else [])]
        for kind in kinds:
            scores[what, budget, kind].add(question, places)


def _add_trimmed(scores: Scores, dialogues: Sequence[CountedDialogue]) -> None:
    """langchain-core's `trim_messages` with the strategy that keeps the newest messages."""
    try:
        from langchain_core import __version__ as version
    except ImportError:
        print("langchain-core isn't installed: make bench installs it.\n")
        return
    for one in dialogues:
        for question in one.dialogue.questions:
            _add(
                scores, f"langchain-core {version} trim_messages", question, _trimmed(one, question)
            )


def _trimmed(one: CountedDialogue, question: Question) -> Sent:
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, trim_messages

    messages: list[BaseMessage] = [
        (HumanMessage, AIMessage)[one.dialogue.authors.index(spoken.author)](
            content=spoken.text, id=str(place)
        )
        for place, spoken in enumerate(one.dialogue.spoken[: question.until])
    ]

    def tokens(some: Sequence[BaseMessage]) -> int:
        return sum(one.costs[int(message.id or 0)] for message in some)

    def sent(budget: int) -> frozenset[int]:
        room = one.room(question, budget)
        kept = trim_messages(messages, max_tokens=room, token_counter=tokens, strategy="last")
        return frozenset(int(message.id or 0) for message in kept)

    return sent
