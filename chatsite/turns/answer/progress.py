"""What is known so far of a turn: filled while it is answered, read when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chatsite.kv import Account
from chatsite.providers.base.model import Model, Price
from chatsite.providers.base.provider import Finished, Usage
from chatsite.turns.answer.feed import Generation
from chatsite.turns.answer.truncation import ReportedPrompt, ServerCut


@dataclass(slots=True)
class Round:
    """One request of the turn. `sent` is its prompt in tokens by our count; `calls` are the names
    of the tools that were asked for; `retried` says why it was asked twice; `cache` is what the
    engine on this machine made of its KV cache."""

    number: int
    sent: int
    usage: Usage = Usage()
    calls: tuple[str, ...] = ()
    first_token_ms: int | None = None
    retried: str = ""
    cache: Account | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "round": self.number,
            "sent_tokens": self.sent,
            "reported": _reported(self.usage),
            "calls": list(self.calls),
            "first_token_ms": self.first_token_ms,
            "retried": self.retried,
            "cache": self.cache.to_dict() if self.cache else None,
        }


@dataclass(slots=True)
class TurnProgress:
    """`answer` is the id of the message being written, `generation` its text so far; `receipt` is
    that of the last request."""

    answer: str
    generation: Generation
    receipt: Mapping[str, Any] | None = None
    finished: Finished | None = None
    rounds: list[Round] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    cut: ServerCut | None = None

    @property
    def has_written(self) -> bool:
        """Whether the turn left anything: a text, or calls of tools."""
        return self.generation.length > 0 or any(round.calls for round in self.rounds)

    def full_receipt(self, price: Price | None) -> dict[str, Any] | None:
        """The receipt with what was reported; None before the decision. Numbers of the prompt are
        those of the last request, the cost is that of all."""
        if self.receipt is None:
            return None
        usage = self.finished.usage if self.finished else None
        first = self.rounds[0].first_token_ms if self.rounds else None
        found = {
            **self.receipt,
            "notes": [*self.receipt["notes"], *self.notes],
            "reported": _reported(usage or Usage())
            | {"cost": self._cost(price), "first_token_ms": first},
        }
        if len(self.rounds) > 1 or any(round.retried for round in self.rounds):
            found["rounds"] = [round.to_dict() for round in self.rounds]
        if self.rounds and (cache := self.rounds[-1].cache) is not None:
            found["cache"] = cache.to_dict()
        if self.cut is not None:
            cut = self.cut
            found["server_cut"] = {
                "sent": cut.sent,
                "reported": cut.reported,
                "missing": cut.missing,
                "sentence": cut.sentence,
            }
        return found

    def _cost(self, price: Price | None) -> float | None:
        """In US dollars, estimated from list prices; None where the price or the count of a
        prompt isn't known."""
        if price is None or not self.rounds:
            return None
        usages = [round.usage for round in self.rounds]
        if any(usage.prompt is None for usage in usages):
            return None
        return sum(
            price.cost(
                prompt=usage.prompt or 0, cached=usage.cached or 0, answer=usage.completion or 0
            )
            for usage in usages
        )


def reported_before(receipt: Mapping[str, Any] | None, model: Model) -> ReportedPrompt | None:
    """What was reported for that receipt's prompt; None where another model answered, nothing was
    reported, the server cut it, or it held pictures or the like."""
    if not receipt or "server_cut" in receipt or receipt.get("media"):
        return None
    who = receipt.get("provider", {})
    if (who.get("kind"), who.get("model")) != (model.provider, model.name):
        return None
    reported = receipt.get("reported", {}).get("prompt")
    return ReportedPrompt(sent=receipt["prompt_tokens"], reported=reported) if reported else None


def _reported(usage: Usage) -> dict[str, Any]:
    return {
        "prompt": usage.prompt,
        "cached": usage.cached,
        "completion": usage.completion,
    }
