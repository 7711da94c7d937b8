"""BM25 of a conversation's passages: their own words, and the words of the window around them.

Work is bounded by what a question's rarer words touch, never by the conversation's length.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from heapq import nlargest
from itertools import compress
from operator import add, itemgetter, mul

from chatsite.history.lexical.index import AROUND, OWN, REACH, Index

# The values published for short texts; others brought nothing on LoCoMo.
K1, B = 0.9, 0.4
# Postings that are spread over their windows for one question: 13 additions each. Words beyond it,
# the most common ones, are looked up only where a rarer word already led. In chats of up to USUAL
# passages (1,000 messages with long answers have 2,500) next to nothing is beyond: 1,500 postings
# would lose two to three points there. At 50,000 messages 6,000 would take twice as long as 1,500.
SPREAD, SPREAD_HUGE, USUAL = 6_000, 1_500, 10_000
CANDIDATES, MANY = 800, 3_200

_WEIGHTS = (*reversed(AROUND), OWN, *AROUND)

Scores = dict[int, float]
Stretch = tuple[int, list[float]]
"""The first of neighbouring passages of a session, and a number for each of them."""


def scores(index: Index, terms: Collection[str], *, own_weight: float = 1.0) -> Scores:
    """Own and window score as z-scores, added, less what a passage without any word gets.

    Holds every passage that a term reaches, so nothing for terms that never occur. The best
    CANDIDATES of them where these are more than MANY or a term is too common to be followed
    everywhere.
    """
    most = _most(index)
    rare, common = _by_rarity(index, terms, most)
    own: Scores = {}
    window = [0.0] * len(index)
    for term in rare:
        counts = Counter(index.postings.get(term, ())[-most:])
        _add_own(own, index, counts)
        _add_window(window, index, _stretches(index, term, counts))
    near = dict(compress(enumerate(window), window))
    by_own = own_weight * _scale(own.values(), len(index))
    by_window = _scale(near.values(), len(index))
    best = {place: by_window * score for place, score in near.items()}
    for place, score in own.items():
        best[place] += by_own * score  # what has a word has it in its window
    if common or len(best) > MANY:
        best = dict(nlargest(CANDIDATES, best.items(), key=itemgetter(1)))
    around = _windows(index, best) if common else []
    for term in common:
        _add_common(best, index, term, around, by_own, by_window)
    return best


def _most(index: Index) -> int:
    """Postings to spread over their windows for one question."""
    return SPREAD if len(index) <= USUAL else SPREAD_HUGE


def _by_rarity(index: Index, terms: Iterable[str], most: int) -> tuple[list[str], list[str]]:
    """Those to follow everywhere, and those too common for it; the first is always followed."""
    reached = sorted((_reached(index, term), term) for term in set(terms))
    rare: list[str] = []
    common: list[str] = []
    spent = 0
    for count, term in reached:
        if count and (not rare or spent + count <= most):
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
    left = _most(index) * len(_WEIGHTS)
    for session in reversed(index.days.get(term, ())):
        start, end = index.bounds(session)
        left -= end - start
        if left < 0:
            break
        yield start, end


def _stretches(index: Index, term: str, counts: Mapping[int, int]) -> list[Stretch]:
    """How often the term counts as occurring in each passage's window, the day's words with it.

    `counts` are the term's own passages, in order. In stretches of neighbours, because lists of a
    dozen are added up four times faster than a mapping is filled.
    """
    dated = dict(_days(index, term))
    found: list[Stretch] = []
    begin = after = start = end = 0
    near: list[float] = []
    for place, count in counts.items():
        if place >= end:
            start, end = index.session(place)
            begin = after = start
            if start in dated:
                after, near = dated.pop(start), [1.0] * (end - start)
                found.append((start, near))
        around = _WEIGHTS if count == 1 else tuple([count * weight for weight in _WEIGHTS])
        first, behind = place - REACH, place + REACH + 1
        if first < start or behind > end:
            around = around[max(start - first, 0) : len(around) - max(behind - end, 0)]
            first, behind = max(first, start), min(behind, end)
        if first >= after:
            begin, near = first, list(around)
            found.append((begin, near))
        else:
            at = first - begin
            overlap = near[at : at + len(around)]
            near[at : at + len(overlap)] = [*map(add, overlap, around), *around[len(overlap) :]]
        if behind > after:
            after = behind
    found += ((start, [1.0] * (end - start)) for start, end in dated.items())
    return found


def _add_own(into: Scores, index: Index, counts: Mapping[int, int]) -> None:
    idf = _idf(len(index), len(counts))
    level, slope = _level(index.length, len(index))
    get, sizes = into.get, index.lengths
    for place, count in counts.items():
        score = idf * count / (count + level + slope * sizes[place])
        into[place] = get(place, 0.0) + score


def _add_window(into: list[float], index: Index, found: Iterable[Stretch]) -> None:
    idf = _idf(len(index), sum(len(counts) for _, counts in found))
    level, slope = _level(index.width, len(index))
    for start, counts in found:
        here = slice(start, start + len(counts))
        into[here] = [
            score + idf * count / (count + level + slope * width)
            for score, count, width in zip(into[here], counts, index.widths[here], strict=True)
        ]


def _level(size: float, passages: int) -> tuple[float, float]:
    """What slows a count's growth: a constant, and what to multiply a passage's length with.

    BM25's factor k1 + 1 is left out: z-scores don't see it.
    """
    return K1 * (1 - B), K1 * B * passages / max(size, 1)


def _windows(index: Index, places: Iterable[int]) -> list[tuple[int, int, int, int]]:
    """Of each passage: itself, its session, and its window's first passage and the one behind."""
    found = []
    for place in places:
        session = index.session_number(place)
        start, end = index.bounds(session)
        found.append((place, session, max(start, place - REACH), min(end, place + REACH + 1)))
    return found


def _add_common(
    best: Scores,
    index: Index,
    term: str,
    around: Iterable[tuple[int, int, int, int]],
    by_own: float,
    by_window: float,
) -> None:
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
    for place, session, first, behind in around:
        low = bisect_left(places, first)
        near = 1.0 if session in days else 0.0
        count = 0
        for other in places[low : bisect_left(places, behind, low)]:
            near += _WEIGHTS[other - place + REACH]
            count += other == place
        if near:
            best[place] += own_idf * count / (count + level + slope * index.lengths[place])
            best[place] += window_idf * near / (near + level + wide_slope * index.widths[place])


def _idf(passages: int, holding: int) -> float:
    return math.log(1 + (passages - holding + 0.5) / (holding + 0.5))


def _scale(scores: Collection[float], passages: int) -> float:
    """One divided by the standard deviation over all passages; 0 where all are the same."""
    mean = sum(scores) / max(passages, 1)
    variance = sum(map(mul, scores, scores)) / max(passages, 1) - mean * mean
    return 1 / math.sqrt(variance) if variance > 1e-12 else 0.0
