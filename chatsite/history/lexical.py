"""Which messages of a conversation matter for a question: the selector `lexical`.

By the words they share with it, and by their meaning where sentence vectors are at hand. Every
weight was set once, by hand, on measured data: docs/benchmarks.md says what each brings.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from heapq import nlargest
from typing import Protocol

from chatsite.history.cues import asks_when
from chatsite.history.evidence import Hit
from chatsite.history.index import ASKS, TELLS_TIME, Index
from chatsite.history.scoring import CANDIDATES, Scores, scores
from chatsite.history.sharing import Sharing
from chatsite.history.words import spelled

# All in units of z-scores. A neighbour's score counts by a fifth: what answers a question often
# stands beside the words that ask for it.
NEIGHBOUR = 0.2
AUTHOR, WHEN, QUESTION = 4.0, 3.0, -1.0
# Beside sentence vectors a passage's own words count half: the vectors know them too.
OWN_BESIDE_MEANING = 0.5
# Nothing is recalled just to fill the room: by its words a message must reach this share of the
# best one's score. Four messages away from the only word that is shared it doesn't.
SHARE = 0.25
MOST = 200


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
class Asked:
    """A question. `author` is whose messages it is about, "" where it doesn't say, and `favour`
    how much that counts."""

    text: str
    author: str = ""
    favour: float = AUTHOR


def ranked(index: Index, asked: Asked, *, meaning: Meaning | None = None) -> dict[int, float]:
    """Every message that has something to do with the question, with its score, by seq."""
    return _by_message(index, _weighed(index, asked, *_found(index, asked, meaning)))


def recalled(
    index: Index,
    asked: Asked,
    *,
    meaning: Meaning | None = None,
    allowed: Callable[[int], bool] = lambda seq: True,
    most: int = MOST,
) -> tuple[Hit, ...]:
    """The messages worth recalling, the best first, each with its reason.

    `allowed` says of a sequence number whether that message may be recalled at all. A question of
    nothing but common words ("Thanks!") recalls nothing.
    """
    sharing = Sharing(index, spelled(asked.text))
    words, closeness = _found(index, asked, meaning)
    bar = SHARE * max(words.values(), default=0.0)
    found = _weighed(index, asked, words, closeness)
    hits: dict[int, Hit] = {}
    for place in sorted(found, key=found.__getitem__, reverse=True):
        seq = index.seqs[place]
        if seq in hits or not allowed(seq):
            continue
        by_words = words.get(place, 0.0) >= bar and sharing.tells(place)
        if by_words or place in closeness.close:
            hits[seq] = Hit(seq=seq, score=found[place], why=sharing.why(place))
            if len(hits) == most:
                break
    return tuple(hits.values())


def _found(index: Index, asked: Asked, meaning: Meaning | None) -> tuple[Scores, Closeness]:
    terms = {term for _, term in spelled(asked.text)}
    if meaning is None or not terms:
        return scores(index, terms), Closeness(scores={}, close=frozenset())
    words = scores(index, terms, own_weight=OWN_BESIDE_MEANING)
    return words, meaning.closeness(asked.text, among=words, best=CANDIDATES)


def _weighed(index: Index, asked: Asked, words: Scores, closeness: Closeness) -> Scores:
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
        score = plain[place] + NEIGHBOUR * (get(place - 1, 0.0) + get(place + 1, 0.0))
        if authors[place] == author:
            score += asked.favour
        if flags[place] & ASKS:
            score += QUESTION
        if flags[place] & TELLS_TIME:
            score += when
        found[place] = score
    return found


def _by_message(index: Index, found: Scores) -> dict[int, float]:
    """A message is worth what its best passage is."""
    best: dict[int, float] = {}
    for place, score in found.items():
        seq = index.seqs[place]
        best[seq] = max(score, best.get(seq, score))
    return best
