"""Which messages of a conversation matter for a question: the selector `lexical`.

By the words they share with it, and by their meaning where sentence vectors are at hand. Every
weight was set once, by hand, on measured data: docs/benchmarks.md says what each brings.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Container, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from heapq import nlargest
from typing import Protocol

from chatsite.history.evidence import Hit
from chatsite.history.lexical.index import ASKS, TELLS_TIME, Index
from chatsite.history.lexical.scoring import CANDIDATES, Scores, scores
from chatsite.history.lexical.sharing import Sharing
from chatsite.history.lexical.words import asks_when, author_meant, spelled
from chatsite.wording import later

# All in units of z-scores. Between two people a neighbour's score counts by a fifth, because what
# answers a question often is beside the words that ask for it, and one that asks tells little.
AUTHOR, WHEN = 4.0, 3.0
NEIGHBOUR, QUESTION_MARK = 0.2, -1.0
# In a chat with an assistant a neighbour is often a further part of the same long answer, and a
# person states something and asks in the same message ("I set it to 5. Can you ..."): half the
# share and no question mark find up to three points more on BEAM, and as much on RealMem.
# Who is meant is less sure than where a name is named: an answer can hold what a person asks about
# as "my". So half.
NEIGHBOUR_IN_CHAT, QUESTION_MARK_IN_CHAT, ROLE = 0.1, 0.0, 2.0
# Beside sentence vectors a passage's own words count half: the vectors know them too.
OWN_BESIDE_MEANING = 0.5
# Nothing is recalled just to fill the room: by its words a message must reach this share of the
# best one's score. On LoCoMo a quarter would lose six points of recall, a tenth one.
SHARE = 0.1
MOST = 200
MEANT = later("it means something close to your message")


@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness:
    """Passages by weighted z-scores of their meaning; `close` are near enough to be recalled."""

    scores: Mapping[int, float]
    close: AbstractSet[int]


class Meaning(Protocol):
    """Sentence vectors of an index's passages."""

    def closeness(self, question: str, *, among: Collection[int], best: int) -> Closeness:
        """Of the passages `among` and of the `best` ones in meaning."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuestion:
    """A question. `author` is the one whose messages it is about, "" where it doesn't say, and
    `favour` how much that counts. `neighbour` is the share that a passage gets of the score of
    either one beside it, and `question_mark` what a passage with a question mark gets."""

    text: str
    author: str = ""
    favour: float = AUTHOR
    neighbour: float = NEIGHBOUR
    question_mark: float = QUESTION_MARK


def question_in_chat(text: str) -> SearchQuestion:
    """A person's question to an assistant: "I" and "you said" show whose words it is about."""
    role = author_meant(text)
    return SearchQuestion(
        text=text,
        author=role[0] if role else "",
        favour=ROLE,
        neighbour=NEIGHBOUR_IN_CHAT,
        question_mark=QUESTION_MARK_IN_CHAT,
    )


def rank_messages(
    index: Index, asked: SearchQuestion, *, meaning: Meaning | None = None
) -> dict[int, float]:
    """Every message that has something to do with the question, with its score, by seq."""
    return _by_message(index, _weighed(index, asked, *_found(index, asked, meaning)))


def recall_messages(
    index: Index,
    asked: SearchQuestion,
    *,
    meaning: Meaning | None = None,
    before: int,
    after: int = 0,
    without: Container[int] = (),
    most: int = MOST,
) -> tuple[Hit, ...]:
    """The messages worth recalling, the best first, each with its reason.

    Only those between the sequence numbers `after` and `before`, and not those in `without`. A
    question of nothing but common words ("Thanks!") recalls nothing.
    """
    start, end = bisect_right(index.seqs, after), bisect_left(index.seqs, before)
    sharing = Sharing(index, spelled(asked.text), first=start, end=end, without=without)
    words, closeness = _found(index, asked, meaning)
    bar = SHARE * max((score for place, score in words.items() if start <= place < end), default=0)
    found = _weighed(index, asked, words, closeness)
    hits: dict[int, Hit] = {}
    for place in sorted(found, key=found.__getitem__, reverse=True):
        seq = index.seqs[place]
        if not start <= place < end or seq in hits or seq in without:
            continue
        why = sharing.why(place) if words.get(place, 0.0) >= bar else ""
        if why or place in closeness.close:
            hits[seq] = Hit(seq=seq, score=found[place], why=why or MEANT)
            if len(hits) == most:
                break
    return tuple(hits.values())


def _found(
    index: Index, asked: SearchQuestion, meaning: Meaning | None
) -> tuple[Scores, Closeness]:
    terms = {term for _, term in spelled(asked.text)}
    if meaning is None or not terms:
        return scores(index, terms), Closeness(scores={}, close=frozenset())
    words = scores(index, terms, own_weight=OWN_BESIDE_MEANING)
    return words, meaning.closeness(asked.text, among=words, best=CANDIDATES)


def _weighed(index: Index, asked: SearchQuestion, words: Scores, closeness: Closeness) -> Scores:
    """Words and meaning together, the neighbours' share, and the cues."""
    plain = dict(words)
    for place, score in closeness.scores.items():
        plain[place] = plain.get(place, 0.0) + score
    if len(plain) > CANDIDATES:
        chosen = nlargest(CANDIDATES, plain, key=plain.__getitem__)
    else:
        chosen = list(plain)
    when = WHEN if asks_when(asked.text) else 0.0
    author = ord(asked.author) if asked.author else -1
    get, flags, authors = plain.get, index.flags, index.authors
    found: Scores = {}
    for place in chosen:
        score = plain[place] + asked.neighbour * (get(place - 1, 0.0) + get(place + 1, 0.0))
        if authors[place] == author:
            score += asked.favour
        if flags[place] & ASKS:
            score += asked.question_mark
        if flags[place] & TELLS_TIME:
            score += when
        found[place] = score
    return found


def _by_message(index: Index, found: Scores) -> dict[int, float]:
    """A message has the score of its best passage."""
    best: dict[int, float] = {}
    for place, score in found.items():
        seq = index.seqs[place]
        best[seq] = max(score, best.get(seq, score))
    return best
