"""What the answers of a conversation cost, for the picture in the debug panel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chatsite.history.receipts.difference import part_of
from chatsite.providers.base.provider import CACHE_STEP, Price
from chatsite.providers.known.models import ModelFacts

SHOWN = 60
Stored = Mapping[str, Any]


def picture_costs(
    answers: Sequence[tuple[str, int, Stored]], facts: Callable[[str, str], ModelFacts | None]
) -> dict[str, Any]:
    """`answers` are turns with the seq of their last message and what receipts say of usage.

    Of the newest of which something was reported, oldest first: `parts` were read from the cache,
    read anew and written, in US dollars, or in tokens where the cost of one isn't known; `cached`
    is the percentage of the prompts; `missed` says that much of what the cache could have had was
    read anew. `count` and `total` are of all.
    """
    found: list[dict[str, Any]] = []
    costs: list[float | None] = []
    before = 0
    for turn, seq, receipt in answers:
        who, told = receipt.get("provider") or {}, receipt.get("reported") or {}
        rounds = [one.get("reported") or {} for one in receipt.get("rounds") or ()] or [told]
        if not any(one.get("prompt") or one.get("completion") for one in rounds):
            continue
        known = facts(who.get("kind", ""), who.get("model", "")) or ModelFacts(window=0)
        tokens, prices = _split(rounds, None), _split(rounds, known.price)
        cached = round(100 * tokens[0] / max(1, tokens[0] + tokens[1]))
        missed = _missed(receipt, rounds, before, known.least_cached)
        told_of = {"turn": turn, "seq": seq, "cached": cached, "missed": missed}
        found.append({**told_of, "parts": tokens, "prices": prices})
        costs.append(told.get("cost"))
        before = rounds[-1].get("prompt") or 0
    dollars = None not in costs
    for one, cost in zip(found, costs, strict=True):
        prices = one.pop("prices")
        if dollars:  # prices may have changed since: the parts are of what was stored
            one["parts"] = [(cost or 0) * part / (sum(prices) or 1) for part in prices]
    total = sum(sum(one["parts"]) for one in found)
    return {"answers": found[-SHOWN:], "count": len(found), "total": total, "dollars": dollars}


def _split(rounds: Sequence[Stored], price: Price | None) -> list[float]:
    """In dollars, or in tokens where no price is known."""
    cached, prompt, written, answer = (
        sum(one.get(name) or 0 for one in rounds)
        for name in ("cached", "prompt", "written", "completion")
    )
    fresh = max(0, prompt - cached)
    if price is None:
        return [cached, fresh, answer]
    reused = price.cost(prompt=cached, cached=cached)
    return [reused, price.cost(prompt=fresh, written=written), price.cost(prompt=0, answer=answer)]


def _missed(receipt: Stored, rounds: Sequence[Stored], before: int, least: int) -> bool:
    """The cache could have had the prompt `before`, but for what is another one in each request:
    the new message and its quotes. A twentieth of a prompt isn't told, as in `cache_miss`."""
    if not isinstance(receipt.get("parts"), dict):  # as receipts of before had them
        return False
    sent, last = receipt.get("prompt_tokens") or 1, rounds[-1].get("prompt") or 0
    could = min(before, (sent - part_of(receipt, "current", "recalled")) * last / sent)
    lost, read = 0.0, 0
    for one in rounds:
        if one.get("cached") is None:
            return False
        lost += max(0, could - one["cached"]) if could >= max(1, least) else 0
        could = one.get("prompt") or 0
        read += could
    return lost > max(CACHE_STEP, read / 20)
