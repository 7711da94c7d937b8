"""The low-water mark that follows from a model's prices, for the value "auto"."""

from __future__ import annotations

# Percent: a lower mark leaves too little of the talk, a higher one cuts with nearly every message.
LEAST, MOST = 20, 90
WITHOUT_PRICE = 50
# A message with its answer takes so much of the room for history. Fixed, since a mark that changes
# from message to message would cut with each of them.
MESSAGE = 1 / 50
# The highest mark is taken with which memory costs at most so much of what it costs at least.
DEARER = 1.1


def low_water_by_price(cached: float | None) -> int:
    """The mark in percent. `cached` is what a token from the cache costs, of one that is read anew:
    0 to 1, None where no price is known."""
    if cached is None:
        return WITHOUT_PRICE
    prices = {mark: memory_price(mark, cached=cached) for mark in range(LEAST, MOST + 1)}
    most = DEARER * min(prices.values())
    return max(mark for mark, price in prices.items() if price <= most)


def memory_price(mark: int, *, cached: float) -> float:
    """What a remembered token costs for each message, in tokens that are read anew.

    With a room of 1 and the share w after a cut, (1-w)/MESSAGE messages follow until the next one.
    Each reads (1+w)/2 from the cache on average, and its own tokens anew; the cut reads w anew.
    """
    w = mark / 100
    remembered = (1 + w) / 2
    cut = (1 - cached) * w * MESSAGE / (1 - w)
    return (cached * remembered + MESSAGE + cut) / remembered
