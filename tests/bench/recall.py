"""Evidence recall on LoCoMo: the share of messages holding an answer that would be sent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from chatsite.history.lexical.index import Index, Line
from chatsite.history.lexical.ranking import SearchQuestion, rank_messages
from chatsite.messages import Message
from chatsite.providers.tokens.passage_vectors import PassageVectors
from chatsite.providers.tokens.sentence_vectors import SentenceVectors
from chatsite.providers.tokens.tokenizers import O200k
from tests.bench import dialogues
from tests.bench.dialogues import Dialogue, Question
from tests.bench.figures import Options, Row, table

BUDGETS = (1_000, 4_000)
# The newest messages are always sent: at most this number, within this share of the budget.
NEWEST, NEWEST_SHARE = 6, 0.15
QUICK = 2

Order = Callable[[Question], Sequence[int]]
"""The places of messages in a dialogue, the most important one first."""
Sent = Callable[[Question, int], frozenset[int]]
"""The places of the messages sent for a question within a budget that includes the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedDialogue:
    """A dialogue with the tokens of its messages and of its answerable questions."""

    dialogue: Dialogue
    costs: tuple[int, ...]
    question_costs: Mapping[str, int]

    def newest(self, budget: int) -> list[int]:
        found: list[int] = []
        left = NEWEST_SHARE * budget
        for place in range(len(self.costs) - 1, max(len(self.costs) - 1 - NEWEST, -1), -1):
            left -= self.costs[place]
            if left < 0:
                break
            found.append(place)
        return found

    def with_question(self, place: int) -> tuple[int, ...]:
        """The message and the one it answers, if both are in one session."""
        spoken = self.dialogue.spoken
        follows = place and spoken[place - 1].session == spoken[place].session
        return (place - 1, place) if follows else (place,)


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


Scores = dict[tuple[int, str], Score]
"""Scores by (budget, kind of question); the kind "" is all kinds."""
Policy = Callable[[CountedDialogue], Sent]


async def run(options: Options) -> list[Row]:
    file = options.data.get("locomo")
    if file is None:
        print(dialogues.missing(options.data))
        return []
    counted = [await _counted(found) for found in dialogues.read(file)]
    if options.quick:
        counted = counted[:QUICK]
    print(
        f"{len(counted)} conversations, {sum(len(d.costs) for d in counted):,} messages; "
        "% of the evidence sent / % of questions with all of it.\n"
        "o200k tokens and 4 a message, the question inside the budget, the newest messages (up to\n"
        f"{NEWEST} within {NEWEST_SHARE:.0%}) always sent, every message a unit unless said.\n"
    )
    scores = {name: score_policy(policy, counted) for name, policy in policies().items()}
    heads = [f"{budget:,}" for budget in BUDGETS]
    kinds = sorted({question.kind for one in counted for question in one.dialogue.questions})
    names = [f"{BUDGETS[-1]:,} {kind}" for kind in kinds]
    keys = [*((budget, "") for budget in BUDGETS), *((BUDGETS[-1], kind) for kind in kinds)]
    lines = ([name, *(str(found[key]) for key in keys)] for name, found in scores.items())
    print(table(("what is sent", *heads, *names), lines), flush=True)
    return [_row(name, target, scores) for name, target in TARGETS.items() if name in scores]


TARGETS = {
    "lexical": "82/76 and 92/87",
    "lexical, hits with what they answer": "91/86 at 4,000",
    "lexical with vectors": "85/79 and 94/89",
    "lexical with vectors, hits with what they answer": "92/87 at 4,000",
}
NEWEST_NAME = "newest"


def _row(name: str, target: str, scores: Mapping[str, Scores]) -> Row:
    baseline, ours = (
        " and ".join(str(scores[which][budget, ""]) for budget in BUDGETS)
        for which in (NEWEST_NAME, name)
    )
    return Row(
        what=f"evidence recall at 1,000 and 4,000 tokens: {name}",
        baseline=f"{baseline} (newest)",
        ours=ours,
        target=target,
    )


def policies() -> dict[str, Policy]:
    """Policies by name, baselines first; those with vectors only if vectors are installed."""
    found: dict[str, Policy] = {NEWEST_NAME: _newest}
    try:
        from langchain_core import __version__ as version
    except ImportError:
        print("langchain-core isn't installed: make bench installs it.")
    else:
        found[f"langchain-core {version} trim_messages"] = _trimmed
    vectors = SentenceVectors.find()
    found |= _lexical("lexical", None)
    if vectors is not None:
        found |= _lexical("lexical with vectors", vectors)
    return found


def _lexical(name: str, vectors: SentenceVectors | None) -> dict[str, Policy]:
    def policy(
        counted: CountedDialogue, *, author: bool = True, with_question: bool = False
    ) -> Sent:
        order = lexical_order(counted.dialogue, vectors=vectors, author=author)
        return partial(_fill_budget, counted, order, with_question)

    return {
        name: policy,
        f"{name}, without the author cue": partial(policy, author=False),
        f"{name}, hits with what they answer": partial(policy, with_question=True),
    }


def score_policy(policy: Policy, dialogues: Sequence[CountedDialogue]) -> Scores:
    scores: Scores = defaultdict(Score)
    for counted in dialogues:
        sent = policy(counted)
        for question in counted.dialogue.questions:
            for budget in BUDGETS:
                places = sent(question, budget)
                scores[budget, ""].add(question, places)
                scores[budget, question.kind].add(question, places)
    return scores


async def _counted(dialogue: Dialogue) -> CountedDialogue:
    tokenizer = O200k.find()
    assert tokenizer is not None, "the file of o200k ranks is missing"
    texts = [f"{spoken.author}: {spoken.text}" for spoken in dialogue.spoken]
    questions = [question.text for question in dialogue.questions]
    counts = await tokenizer.count(
        [Message.user(text, id="bench") for text in [*texts, *questions]]
    )
    question_costs = dict(zip(questions, counts[len(texts) :], strict=True))
    return CountedDialogue(
        dialogue=dialogue, costs=tuple(counts[: len(texts)]), question_costs=question_costs
    )


def lines_of(dialogue: Dialogue) -> Iterator[Line]:
    """Lines for the index; the author's name is one of the message's words."""
    for place, spoken in enumerate(dialogue.spoken):
        author = "ab"[dialogue.authors.index(spoken.author)]
        text = f"{spoken.author}: {spoken.text}"
        yield Line(seq=place + 1, author=author, text=text, at=spoken.at)


def lexical_order(
    dialogue: Dialogue, *, vectors: SentenceVectors | None = None, author: bool = True
) -> Order:
    """Orders messages by falling score, then those without a score, newest first."""
    index = Index()
    meaning = PassageVectors(vectors, index) if vectors else None
    texts = index.extend(lines_of(dialogue))
    if meaning is not None:
        meaning.add(texts)
    newest = range(len(dialogue.spoken) - 1, -1, -1)

    def order(question: Question) -> Sequence[int]:
        query = SearchQuestion(
            text=question.text, author=_author_in(question, dialogue) if author else ""
        )
        scores = rank_messages(index, query, meaning=meaning)
        return sorted(newest, key=lambda place: -scores.get(place + 1, float("-inf")))

    return order


def _author_in(question: Question, dialogue: Dialogue) -> str:
    """The letter (see `lines_of`) of the author that the question names; "" if none or both."""
    text = question.text.casefold()
    named = [
        letter for letter, a in zip("ab", dialogue.authors, strict=True) if a.casefold() in text
    ]
    return named[0] if len(named) == 1 else ""


def _fill_budget(
    counted: CountedDialogue, order: Order, with_question: bool, question: Question, budget: int
) -> frozenset[int]:
    """The newest messages, then in the given order every message that still fits."""
    kept = set(counted.newest(budget))
    left = (
        budget - counted.question_costs[question.text] - sum(counted.costs[place] for place in kept)
    )
    for place in order(question):
        unit = counted.with_question(place) if with_question else (place,)
        new = [one for one in unit if one not in kept]
        cost = sum(counted.costs[one] for one in new)
        if cost <= left:
            left -= cost
            kept.update(new)
    return frozenset(kept)


def _newest(counted: CountedDialogue) -> Sent:
    def sent(question: Question, budget: int) -> frozenset[int]:
        left, place = budget - counted.question_costs[question.text], len(counted.costs)
        while place and counted.costs[place - 1] <= left:
            place -= 1
            left -= counted.costs[place]
        return frozenset(range(place, len(counted.costs)))

    return sent


def _trimmed(counted: CountedDialogue) -> Sent:
    """langchain-core's `trim_messages` with the strategy that keeps the newest messages."""
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, trim_messages

    messages: list[BaseMessage] = [
        (HumanMessage, AIMessage)[counted.dialogue.authors.index(spoken.author)](
            content=spoken.text, id=str(place)
        )
        for place, spoken in enumerate(counted.dialogue.spoken)
    ]

    def tokens(some: Sequence[BaseMessage]) -> int:
        return sum(counted.costs[int(message.id or 0)] for message in some)

    def sent(question: Question, budget: int) -> frozenset[int]:
        room = budget - counted.question_costs[question.text]
        kept = trim_messages(messages, max_tokens=room, token_counter=tokens, strategy="last")
        return frozenset(int(message.id or 0) for message in kept)

    return sent
