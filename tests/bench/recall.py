"""Evidence recall on LoCoMo: of the messages that hold an answer, how many would be sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from chatsite.history.lexical.index import Index, Line
from chatsite.history.lexical.ranking import SearchQuestion, rank_messages
from chatsite.messages import Message
from chatsite.providers.tokens.passage_vectors import PassageVectors
from chatsite.providers.tokens.sentence_vectors import SentenceVectors
from chatsite.providers.tokens.tokenizers import O200k
from tests.bench import locomo
from tests.bench.figures import Options, Row, table
from tests.bench.locomo import Dialogue, Question

BUDGETS = (1_000, 4_000)
# The newest messages always stay: so many, as far as they take this share of the budget.
NEWEST, NEWEST_SHARE = 6, 0.15
QUICK = 2

Order = Callable[[Question], Sequence[int]]
"""Messages' places in a dialogue, the one to keep first being first."""
Sent = Callable[[Question, int], frozenset[int]]
"""What is sent for a question within so many tokens, the question's own taken off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A dialogue with the tokens of its messages and of its answerable questions."""

    dialogue: Dialogue
    costs: tuple[int, ...]
    asked: Mapping[str, int]

    def newest(self, budget: int) -> list[int]:
        found: list[int] = []
        left = NEWEST_SHARE * budget
        for place in range(len(self.costs) - 1, max(len(self.costs) - 1 - NEWEST, -1), -1):
            left -= self.costs[place]
            if left < 0:
                break
            found.append(place)
        return found

    def answered(self, place: int) -> tuple[int, ...]:
        """The message and the one it answers, in the same talk."""
        said = self.dialogue.spoken
        follows = place and said[place - 1].session == said[place].session
        return (place - 1, place) if follows else (place,)


@dataclass(slots=True)
class Score:
    """Sums over questions: shares of evidence sent, and questions with all of it."""

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


Scores = dict[tuple[int, int], Score]
"""By budget and category; category 0 is all of them."""
Policy = Callable[[Counted], Sent]


async def run(options: Options) -> list[Row]:
    if options.locomo is None:
        print(locomo.WHERE)
        return []
    dialogues = [await _counted(found) for found in locomo.read(options.locomo)]
    if options.quick:
        dialogues = dialogues[:QUICK]
    print(
        f"{len(dialogues)} conversations, {sum(len(d.costs) for d in dialogues):,} messages; "
        "% of the evidence sent / % of questions with all of it.\n"
        "o200k tokens and 4 a message, the question inside the budget, the newest messages (up to\n"
        f"{NEWEST} within {NEWEST_SHARE:.0%}) always sent, every message a unit unless said.\n"
    )
    scores = {name: measured(policy, dialogues) for name, policy in policies().items()}
    heads = [f"{budget:,}" for budget in BUDGETS]
    categories = [number for number in locomo.CATEGORIES if number != locomo.ADVERSARIAL]
    names = [f"{BUDGETS[-1]:,} {locomo.CATEGORIES[number]}" for number in categories]
    keys = [*((budget, 0) for budget in BUDGETS), *((BUDGETS[-1], n) for n in categories)]
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
        " and ".join(str(scores[which][budget, 0]) for budget in BUDGETS)
        for which in (NEWEST_NAME, name)
    )
    return Row(
        what=f"evidence recall at 1,000 and 4,000 tokens: {name}",
        baseline=f"{baseline} (newest)",
        ours=ours,
        target=target,
    )


def policies() -> dict[str, Policy]:
    """By name, the baselines first; those with vectors only where they are installed."""
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
    def policy(counted: Counted, *, author: bool = True, answered: bool = False) -> Sent:
        order = lexical_order(counted.dialogue, vectors=vectors, author=author)
        return partial(_filled, counted, order, answered)

    return {
        name: policy,
        f"{name}, without the author cue": partial(policy, author=False),
        f"{name}, hits with what they answer": partial(policy, answered=True),
    }


def measured(policy: Policy, dialogues: Sequence[Counted]) -> Scores:
    scores = {(b, category): Score() for b in BUDGETS for category in range(5)}
    for counted in dialogues:
        sent = policy(counted)
        for question in counted.dialogue.answerable:
            for budget in BUDGETS:
                chosen = sent(question, budget)
                scores[budget, 0].add(question, chosen)
                scores[budget, question.category].add(question, chosen)
    return scores


async def _counted(dialogue: Dialogue) -> Counted:
    tokenizer = O200k.find()
    assert tokenizer is not None, "the file of o200k ranks is missing"
    said = [f"{spoken.author}: {spoken.text}" for spoken in dialogue.spoken]
    asked = [question.text for question in dialogue.answerable]
    counts = await tokenizer.count([Message.user(text, id="bench") for text in [*said, *asked]])
    questions = dict(zip(asked, counts[len(said) :], strict=True))
    return Counted(dialogue=dialogue, costs=tuple(counts[: len(said)]), asked=questions)


def lines_of(dialogue: Dialogue) -> Iterator[Line]:
    """As an index takes them: the author's name is one of the message's words."""
    for place, spoken in enumerate(dialogue.spoken):
        author = "ab"[dialogue.authors.index(spoken.author)]
        text = f"{spoken.author}: {spoken.text}"
        yield Line(seq=place + 1, author=author, text=text, at=spoken.at)


def lexical_order(
    dialogue: Dialogue, *, vectors: SentenceVectors | None = None, author: bool = True
) -> Order:
    """By falling score, then what has none, the newest first."""
    index = Index()
    meaning = PassageVectors(vectors, index) if vectors else None
    texts = index.extend(lines_of(dialogue))
    if meaning is not None:
        meaning.add(texts)
    newest = range(len(dialogue.spoken) - 1, -1, -1)

    def order(question: Question) -> Sequence[int]:
        asked = SearchQuestion(
            text=question.text, author=_named(question, dialogue) if author else ""
        )
        scores = rank_messages(index, asked, meaning=meaning)
        return sorted(newest, key=lambda place: -scores.get(place + 1, float("-inf")))

    return order


def _named(question: Question, dialogue: Dialogue) -> str:
    """The one author whom the question names, by the letter of `lines_of`."""
    text = question.text.casefold()
    named = [
        letter for letter, a in zip("ab", dialogue.authors, strict=True) if a.casefold() in text
    ]
    return named[0] if len(named) == 1 else ""


def _filled(
    counted: Counted, order: Order, answered: bool, question: Question, budget: int
) -> frozenset[int]:
    """The newest, then by the order whatever still fits."""
    kept = set(counted.newest(budget))
    left = budget - counted.asked[question.text] - sum(counted.costs[place] for place in kept)
    for place in order(question):
        unit = counted.answered(place) if answered else (place,)
        new = [one for one in unit if one not in kept]
        cost = sum(counted.costs[one] for one in new)
        if cost <= left:
            left -= cost
            kept.update(new)
    return frozenset(kept)


def _newest(counted: Counted) -> Sent:
    def sent(question: Question, budget: int) -> frozenset[int]:
        left, place = budget - counted.asked[question.text], len(counted.costs)
        while place and counted.costs[place - 1] <= left:
            place -= 1
            left -= counted.costs[place]
        return frozenset(range(place, len(counted.costs)))

    return sent


def _trimmed(counted: Counted) -> Sent:
    """langchain-core's `trim_messages`, which keeps the end."""
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
        room = budget - counted.asked[question.text]
        kept = trim_messages(messages, max_tokens=room, token_counter=tokens, strategy="last")
        return frozenset(int(message.id or 0) for message in kept)

    return sent
