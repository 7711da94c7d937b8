"""Conversations of a data set as paths, with the questions that are asked in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from chatsite.history import Entry
from chatsite.messages import Message, TokenCount
from chatsite.providers.tokens.tokenizers import O200k
from tests.bench.dialogues import Dialogue, Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question as the current message of a path. `evidence` are sequence numbers."""

    entry: Entry
    evidence: frozenset[int]
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A conversation as a path. `questions` by the number of messages that stand before them."""

    name: str
    path: tuple[Entry, ...]
    questions: Mapping[int, tuple[Asked, ...]]


def counted(message: Message, count: int) -> Message:
    return replace(message, tokens=TokenCount(count=count, tokenizer="o200k_base", basis="counted"))


def tokens(messages: Iterable[Message]) -> int:
    return sum(message.tokens.count for message in messages if message.tokens)


async def talk_of(dialogue: Dialogue) -> Talk:
    """The first of the two speakers is the user, the other one the assistant.

    FileNotFoundError without the tokenizer's ranks.
    """
    ranks = O200k.find()
    if ranks is None:
        raise FileNotFoundError("the ranks of o200k_base are missing: chatsite/providers/tokens")
    spoken = [
        (Message.user if said.author == dialogue.authors[0] else Message.assistant)(
            said.text, id=said.id
        )
        for said in dialogue.spoken
    ]
    asked = [Message.user(question.text, id="question") for question in dialogue.questions]
    counts = [each.count for each in await ranks.count([*spoken, *asked])]
    path = tuple(
        Entry(message=counted(message, count), seq=seq, at=said.at)
        for seq, (message, count, said) in enumerate(
            zip(spoken, counts[: len(spoken)], dialogue.spoken, strict=True), 1
        )
    )
    questions: dict[int, tuple[Asked, ...]] = defaultdict(tuple)
    for question, message, count in zip(
        dialogue.questions, asked, counts[len(spoken) :], strict=True
    ):
        questions[question.until] += (_asked(question, counted(message, count)),)
    return Talk(name=dialogue.name, path=path, questions=questions)


def _asked(question: Question, message: Message) -> Asked:
    return Asked(
        entry=Entry(message=message, seq=question.until + 1),
        evidence=frozenset(place + 1 for place in question.evidence),
        kind=question.kind,
    )
