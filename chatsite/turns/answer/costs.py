"""What the answers of a conversation cost, for the picture in the debug panel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chatsite.conversations.records import AnswerUsage
from chatsite.encoding import Record, encode_fields
from chatsite.history.receipts.difference import part_of
from chatsite.providers.base.provider import CACHE_STEP, Price
from chatsite.providers.known.models import ModelFacts

SHOWN = 60
Facts = Callable[[str, str], ModelFacts | None]
# Read from the cache, read anew, and written as the answer.
Split = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCost(Record):
    """One answer at the message `seq`: its tokens of all requests as they were reported, and what
    they cost in US dollars, None where that isn't known. `missed`: much of what the cache could
    have had was read anew."""

    turn: str
    seq: int
    tokens: Split
    dollars: Split | None
    missed: bool


def picture_costs(answers: Sequence[AnswerUsage], facts: Facts) -> dict[str, Any]:
    """The newest answers of which something was reported, oldest first, with the number (`count`)
    and the sums of all: `tokens`, and `dollars`, None where an answer's cost isn't known."""
    found: list[AnswerCost] = []
    before = 0
    for answer in answers:
        receipt = answer.receipt
        who, told = receipt.get("provider") or {}, receipt.get("reported") or {}
        rounds = [one.get("reported") or {} for one in receipt.get("rounds") or ()] or [told]
        if not any(one.get("prompt") or one.get("completion") for one in rounds):
            continue
        known = facts(who.get("kind", ""), who.get("model", "")) or ModelFacts(window=0)
        tokens, prices = _split(rounds, None), _split(rounds, known.price)
        cost, scale = told.get("cost"), sum(prices)
        split = None if cost is None else tuple(cost * part / (scale or 1) for part in prices)
        missed = _missed(receipt, rounds, before, known.least_cached)
        found.append(
            AnswerCost(
                turn=answer.turn, seq=answer.seq, tokens=tokens, dollars=split, missed=missed
            )
        )
        before = rounds[-1].get("prompt") or 0
    costs = [one.dollars for one in found]
    return {
        "answers": [encode_fields(one) for one in found[-SHOWN:]],
        "count": len(found),
        "tokens": sum(sum(one.tokens) for one in found),
        "dollars": None if None in costs else sum(sum(one or ()) for one in costs),
    }


def _split(rounds: Sequence[Mapping[str, Any]], price: Price | None) -> Split:
    """In dollars, or in tokens where no price is known."""
    cached, prompt, written, answer = (
        sum(one.get(name) or 0 for one in rounds)
        for name in ("cached", "prompt", "written", "completion")
    )
    fresh = max(0, prompt - cached)
    if price is None:
        return cached, fresh, answer
    return (
        price.cost(prompt=cached, cached=cached),
        price.cost(prompt=fresh, written=written),
        price.cost(prompt=0, answer=answer),
    )


def _missed(
    receipt: Mapping[str, Any], rounds: Sequence[Mapping[str, Any]], before: int, least: int
) -> bool:
    """The cache could have had the prompt `before`, but for what is another one in each request:
    the new message and its quotes. A twentieth of a prompt isn't told, as in `cache_miss`."""
    sent, last = receipt.get("prompt_tokens") or 1, rounds[-1].get("prompt") or 0
    stays = (sent - part_of(receipt, "current", "recalled")) * last / sent
    could, lost, read = min(before, stays), 0.0, 0
    for one in rounds:
        if one.get("cached") is None:
            return False
        lost += max(0, could - one["cached"]) if could >= max(1, least) else 0
        could = one.get("prompt") or 0
        read += could
    return lost > max(CACHE_STEP, read / 20)
