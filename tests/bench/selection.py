"""Which messages would be sent for a question if the whole budget were the search's to fill."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from chatsite.history.lexical.index import Index, Line, worth
from chatsite.history.lexical.ranking import SearchQuestion, question_in_chat, rank_messages
from chatsite.history.path.added_messages import LABEL_TOKENS
from chatsite.messages import Message
from chatsite.providers.tokens.passage_vectors import PassageVectors
from chatsite.providers.tokens.sentence_vectors import SentenceVectors
from chatsite.providers.tokens.tokenizers import O200k
from tests.bench.dialogues import Dialogue, Question

# The newest messages are always sent: at most this number, within this share of the budget.
NEWEST, NEWEST_SHARE = 6, 0.15

Sent = Callable[[int], frozenset[int]]
"""The places of the messages sent within a budget that includes the question."""
Asking = Callable[[Dialogue, Question], SearchQuestion]
Scores = Mapping[int, float]
"""Scores of messages by place; what the question has nothing to do with is absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedDialogue:
    """A dialogue with the tokens of its messages and questions; `label` is what a quote takes
    besides."""

    dialogue: Dialogue
    costs: tuple[int, ...]
    question_costs: Mapping[str, int]
    label: int

    def room(self, question: Question, budget: int) -> int:
        return budget - self.question_costs[question.text]

    def newest(self, question: Question, budget: int) -> list[int]:
        """The messages that are sent whatever is found, the newest first."""
        found: list[int] = []
        left = NEWEST_SHARE * budget
        for place in range(question.until - 1, max(question.until - 1 - NEWEST, -1), -1):
            left -= self.costs[place]
            if left < 0:
                break
            found.append(place)
        return found

    def with_question(self, place: int) -> tuple[int, ...]:
        """The message and the one it answers, if both are in one session."""
        spoken = self.dialogue.spoken
        follows = place and spoken[place - 1].session == spoken[place].session
        if follows and self.dialogue.with_assistant:
            follows = spoken[place].author == self.dialogue.authors[1]
        return (place - 1, place) if follows else (place,)

    def cost(self, places: Iterable[int]) -> int:
        """The tokens of quotes of these."""
        return sum(self.costs[place] + self.label for place in places)


async def counted(dialogue: Dialogue) -> CountedDialogue:
    """With the tokens of o200k and 4 a message. Between two people the author's name is text of the
    message and a quote needs no label, as in the figures that others publish."""
    tokenizer = O200k.find()
    assert tokenizer is not None, "the file of o200k ranks is missing"
    texts = [line.text for line in lines_of(dialogue)]
    questions = [question.text for question in dialogue.questions]
    messages = [Message.user(text, id="bench") for text in [*texts, *questions]]
    counts = [each.count for each in await tokenizer.count(messages)]
    return CountedDialogue(
        dialogue=dialogue,
        costs=tuple(counts[: len(texts)]),
        question_costs=dict(zip(questions, counts[len(texts) :], strict=True)),
        label=LABEL_TOKENS if dialogue.with_assistant else 0,
    )


def lines_of(dialogue: Dialogue) -> Iterator[Line]:
    """Lines for the index. Between two people the author's name is one of the message's words."""
    for place, spoken in enumerate(dialogue.spoken):
        number = dialogue.authors.index(spoken.author)
        named = "" if dialogue.with_assistant else f"{spoken.author}: "
        author = ("ua" if dialogue.with_assistant else "ab")[number]
        yield Line(seq=place + 1, author=author, text=f"{named}{spoken.text}", at=spoken.at)


def search_question(dialogue: Dialogue, question: Question) -> SearchQuestion:
    """A question as the product asks it; between two people, with the author whom it names."""
    if dialogue.with_assistant:
        return question_in_chat(question.text)
    return SearchQuestion(text=question.text, author=_author_in(question, dialogue))


def _author_in(question: Question, dialogue: Dialogue) -> str:
    """The letter (see `lines_of`) of the author that the question names; "" if none or both."""
    text = question.text.casefold()
    named = [
        letter for letter, a in zip("ab", dialogue.authors, strict=True) if a.casefold() in text
    ]
    return named[0] if len(named) == 1 else ""


def ranked(
    dialogue: Dialogue, *, asking: Sequence[Asking], vectors: SentenceVectors | None = None
) -> Iterator[tuple[Question, list[Scores]]]:
    """Every question with the scores of the messages before it, once for each way of asking."""
    index = Index()
    meaning = PassageVectors(vectors, index) if vectors else None
    lines = list(lines_of(dialogue))
    for question in sorted(dialogue.questions, key=lambda question: question.until):
        if index.last < question.until:
            texts = index.extend(lines[index.last : question.until])
            if meaning is not None:
                meaning.add(texts)
        yield (
            question,
            [_scores(index, ask(dialogue, question), meaning) for ask in asking],
        )


def _scores(index: Index, asked: SearchQuestion, meaning: PassageVectors | None) -> Scores:
    return {seq - 1: score for seq, score in rank_messages(index, asked, meaning=meaning).items()}


def fill(
    counted: CountedDialogue,
    question: Question,
    scores: Scores,
    *,
    with_question: bool = False,
    priced: bool = True,
) -> Sent:
    """The newest messages, then by falling worth every message that still fits, and then those
    without a score, newest first. `with_question`: each with the message that it answers."""
    unit = counted.with_question if with_question else _alone
    value = {
        place: worth(score, counted.cost(unit(place))) if priced else score
        for place, score in scores.items()
    }
    newest = range(question.until - 1, -1, -1)
    order = sorted(newest, key=lambda place: -value.get(place, float("-inf")))
    return partial(_filled, counted, question, [unit(place) for place in order])


def _alone(place: int) -> tuple[int, ...]:
    return (place,)


def _filled(
    counted: CountedDialogue, question: Question, units: Sequence[tuple[int, ...]], budget: int
) -> frozenset[int]:
    kept = set(counted.newest(question, budget))
    left = counted.room(question, budget) - sum(counted.costs[place] for place in kept)
    for unit in units:
        new = [place for place in unit if place not in kept]
        cost = counted.cost(new)
        if cost <= left:
            left -= cost
            kept.update(new)
    return frozenset(kept)


def newest_only(counted: CountedDialogue, question: Question) -> Sent:
    """The newest messages that fit."""

    def sent(budget: int) -> frozenset[int]:
        left, place = counted.room(question, budget), question.until
        while place and counted.costs[place - 1] <= left:
            place -= 1
            left -= counted.costs[place]
        return frozenset(range(place, question.until))

    return sent
