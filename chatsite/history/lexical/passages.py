"""Long texts in parts, so that one paragraph of a long answer can be found by what it says.

Room is scarce: whoever fills it by score alone spends it on a few long answers, and finds less
with 1,000 tokens than with 500. Filling a sack by likelihood a token is the order by score less
the logarithm of the cost, because a score is about the logarithm of a likelihood.
"""

from __future__ import annotations

import re
from math import log2

# Characters. A message of up to LONG is one passage: 250 words, most of what people write. Beyond,
# parts of about PART at the best border near it.
LONG = 1_500
PART = 700
_BORDERS = (
    re.compile(r"\n\s*\n"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?])\s|(?<=[\u3002\uff01\uff1f\u0964])"),
    re.compile(r"\s"),
)


def passages(text: str) -> list[str]:
    """The text in order; parts end at a paragraph, a line, a sentence or a word, if they can."""
    found = []
    start = 0
    while len(text) - start > LONG:
        end = _border(text, start + PART // 2, start + PART + PART // 2)
        found.append(text[start:end])
        start = end
    found.append(text[start:])
    return found


def _border(text: str, earliest: int, latest: int) -> int:
    """The last border of the best kind between the two; `latest` where there is none."""
    for border in _BORDERS:
        ends = [match.end() for match in border.finditer(text, earliest, latest)]
        if ends:
            return ends[-1]
    return latest


# Score, in z-scores, that each doubling of the cost takes. A choice between two worlds: BEAM, whose
# evidence is in what people wrote, gains five to seven points by 0.6 and more by more;
# RealMem, whose evidence is mostly in long replies, loses under one point by that and two by 1.
# LoCoMo is the same with any. See docs/benchmarks.md.
WEIGHT = 0.6
# Tokens. Among messages of a sentence or two, length says nothing about worth: on LoCoMo, whose
# messages take 30 to 50 tokens, a price from the first token on loses up to three points.
FREE = 80


def worth(score: float, cost: int) -> float:
    """`score` less the price of `cost`, the tokens that the quote would take."""
    return score - WEIGHT * log2(max(cost, FREE) / FREE)
