"""What a quote is worth for the room it takes.

Room is scarce: whoever fills it by score alone spends it on a few long answers, and finds less
with 1,000 tokens than with 500. Filling a sack by likelihood a token is the order by score less
the logarithm of the cost, because a score is about the logarithm of a likelihood.
"""

from __future__ import annotations

from math import log2

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
