"""BM25 of a conversation's passages: their own words, and the words of the window around them.

Work is bounded by what a question's rarer words touch, never by the conversation's length.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import nlargest
from operator import itemgetter

from chatsite.history.lexical.index import AROUND, OWN, REACH, Index

# The values published for short texts; others brought nothing on LoCoMo.
K1, B = 0.9, 0.4
# Postings that are spread over their windows for one question: 13 additions each. A conversation
# of 600 messages stays below. Words beyond it, the most common ones, are looked up only where a
# rarer word already led: at 50,000 messages a question takes 20 ms so, and seconds otherwise.
SPREAD = 1_500
CANDIDATES = 800

_WEIGHTS = (*reversed(AROUND), OWN, *AROUND)

Scores = dict[int, float]


def scores(index: Index, terms: Collection[str], *, own_weight: float = 1.0) -> Scores:
    """Own and window score as z-scores, added, less what a passage without any word gets.

    Holds every passage that a term reaches, so nothing for terms that never occur. At most
    CANDIDATES of them where a term is too common to be followed everywhere.
    """
    rare, common = _by_rarity(index, terms)
    own: Scores = {}
    window: Scores = {}
    for term in rare:
        places = index.postings.get(term, ())[-SPREAD:]
        _add(own, Counter(places), index.lengths, index.length, len(index))
        _add(window, _spread(index, term, places), index.widths, index.width, len(index))
    by_own, by_window = own_weight * _scale(own, len(index)), _scale(window, len(index))
    found = {place: by_window * score for place, score in window.items()}
    for place, score in own.items():
        found[place] += by_own * score  # what has a word has it in its window
    if not common:
        return found
    best = dict(nlargest(CANDIDATES, found.items(), key=itemgetter(1)))
    for term in common:
        _add_common(best, index, term, by_own, by_window)
    return best


def _by_rarity(index: Index, terms: Iterable[str]) -> tuple[list[str], list[str]]:
    """Those to follow everywhere, and those too common for it; the first is always followed."""
    reached = sorted((_reached(index, term), term) for term in set(terms))
    rare: list[str] = []
    common: list[str] = []
    spent = 0
    for count, term in reached:
        if count and (not rare or spent + count <= SPREAD):
            rare.append(term)
            spent += count
        elif count:
            common.append(term)
    return rare, common


def _reached(index: Index, term: str) -> int:
    """Postings to spread; a day's passages cost as much as postings do by the window."""
    days = sum(end - start for start, end in _days(index, term))
    return len(index.postings.get(term, ())) + -(-days // len(_WEIGHTS))


def _days(index: Index, term: str) -> Iterable[tuple[int, int]]:
    """First passage and the one behind the last of each talk of such a day, the newest ones."""
    left = SPREAD * len(_WEIGHTS)
    for session in reversed(index.days.get(term, ())):
        start, end = index.bounds(session)
        left -= end - start
        if left < 0:
            break
        yield start, end


def _spread(index: Index, term: str, places: Iterable[int]) -> Mapping[int, float]:
    """How often the term counts as occurring in each passage's window, the day's words with it."""
    near: Scores = {}
    get = near.get  # half the time of a defaultdict, in the loop that takes the most
    start = end = 0
    for place in places:
        if place >= end:
            start, end = index.session(place)
        first = place - REACH
        if start <= first and place + REACH < end:
            for other, weight in enumerate(_WEIGHTS, first):
                near[other] = get(other, 0.0) + weight
        else:
            for other in range(max(start, first), min(end, place + REACH + 1)):
                near[other] = get(other, 0.0) + _WEIGHTS[other - first]
    for start, end in _days(index, term):
        for place in range(start, end):
            near[place] = get(place, 0.0) + 1.0
    return near


def _add(
    into: Scores, counts: Mapping[int, float], sizes: Sequence[float], size: float, passages: int
) -> None:
    idf = _idf(passages, len(counts))
    level, slope = _level(size, passages)
    get = into.get
    for place, count in counts.items():
        score = idf * count / (count + level + slope * sizes[place])
        into[place] = get(place, 0.0) + score


def _level(size: float, passages: int) -> tuple[float, float]:
    """What slows a count's growth: a constant, and what to multiply a passage's length with.

    BM25's factor k1 + 1 is left out: z-scores don't see it.
    """
    return K1 * (1 - B), K1 * B * passages / max(size, 1)


def _add_common(best: Scores, index: Index, term: str, by_own: float, by_window: float) -> None:
    """Look a common term up at each candidate instead of following it to all its passages."""
    passages = len(index)
    places = index.postings.get(term, array("I"))
    days = set(index.days.get(term, ()))
    holding = min(len(places), passages)
    # As if it were spread evenly: in clusters it is in fewer windows, and counts a little more.
    reached = passages * (1 - (1 - holding / passages) ** len(_WEIGHTS))
    dated = sum(end - start for start, end in _days(index, term))
    own_idf = by_own * _idf(passages, holding)
    window_idf = by_window * _idf(passages, min(round(reached) + dated, passages))
    level, slope = _level(index.length, passages)
    _, wide_slope = _level(index.width, passages)
    for place in best:
        session = index.session_number(place)
        start, end = index.bounds(session)
        near = 1.0 if session in days else 0.0
        low = bisect_left(places, max(start, place - REACH))
        high = bisect_left(places, min(end, place + REACH + 1), low)
        for other in places[low:high]:
            near += _WEIGHTS[other - place + REACH]
        if near:
            count = bisect_right(places, place, low, high) - bisect_left(places, place, low, high)
            best[place] += own_idf * count / (count + level + slope * index.lengths[place])
            best[place] += window_idf * near / (near + level + wide_slope * index.widths[place])


def _idf(passages: int, holding: int) -> float:
    return math.log(1 + (passages - holding + 0.5) / (holding + 0.5))


def _scale(found: Scores, passages: int) -> float:
    """One divided by the standard deviation over all passages; 0 where all are the same."""
    mean = sum(found.values()) / max(passages, 1)
    variance = sum(score * score for score in found.values()) / max(passages, 1) - mean * mean
    return 1 / math.sqrt(variance) if variance > 1e-12 else 0.0
