"""What the next request would cost, estimated from list prices, before it is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from chatsite.encoding import Record
from chatsite.history.decision.receipt import Decision, Stored
from chatsite.history.receipts.cache_miss import CacheRules
from chatsite.history.token_estimate import estimate_message, tokens_of
from chatsite.messages import Message

# How many of the last answers say how long the next one will be.
ANSWERS = 5
# US dollars for so many tokens: `prompt`, of which `cached` and `written`, and `answer`.
Cost = Callable[..., float]
# What a price is made of: the answer, and of the prompt what the agent says, the descriptions of
# its tools, their results, files, earlier messages, and the message itself.
PricePart = Literal["answer", "agent", "tools", "results", "files", "earlier", "current"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestBefore:
    """The request before, of the same model: its stored `receipt`, and for how many seconds its
    prompt has been kept in the provider's cache."""

    receipt: Stored
    seconds: float

    @property
    def reported(self) -> Mapping[str, int | None]:
        found: Mapping[str, int | None] = self.receipt.get("reported", {})
        return found

    @property
    def scale(self) -> float:
        """How many tokens the provider counts for one of ours; 1 where that can't be said."""
        told, sent = self.reported.get("prompt"), self.receipt.get("prompt_tokens")
        if not told or not sent or self.receipt.get("media") or "server_cut" in self.receipt:
            return 1.0
        return float(told / sent)


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPrice(Record):
    """US dollars: `low` where the cache has all that it can have, `high` where it has nothing, the
    same where it is known which. Of both `answer` is for an answer as long as the last ones, None
    where there is none to go by. `part` makes up most of the price, "" where nothing does."""

    low: float
    high: float
    answer: float | None
    part: PricePart | Literal[""]


def price_next(
    decision: Decision, cost: Cost, rules: CacheRules, before: RequestBefore | None
) -> NextPrice:
    """The price of a request that answers a draft; `before` is None where none was sent to this
    model."""
    scale = before.scale if before else 1.0
    prompt = round(decision.tokens * scale)
    pays_writes = before is not None and before.reported.get("written") is not None

    def cost_with(cached: int) -> float:
        written = rules.reusable(prompt) - cached if pays_writes else 0
        return cost(prompt=prompt, cached=cached, written=written)

    tools = next((part.tokens for part in decision.parts if part.name == "tools"), 0)
    leading = decision.leading + tools if decision.leading else 0
    cached = rules.reusable(min(leading * scale, prompt)) if before else 0
    surely, longest = rules.kept or (0, float("inf"))
    if before and before.seconds > longest:
        cached = 0
    low = cost_with(cached)
    high = low if before and before.seconds <= surely else cost_with(0)
    tokens = _usual_answer(decision, before)
    answer = None if tokens is None else cost(prompt=0, answer=tokens)
    more = answer or 0
    part = _most(decision, high, more)
    return NextPrice(low=low + more, high=high + more, answer=answer, part=part)


def _usual_answer(decision: Decision, before: RequestBefore | None) -> int | None:
    """Tokens of an answer like the last ones. What a model thinks is billed and not sent again, so
    the last answer says how much that is."""
    told = before.reported.get("completion") if before else None
    sizes = [
        tokens_of(message)
        for message in decision.request[decision.head_messages :]
        if message.role == "assistant" and not message.calls
    ][-ANSWERS:]
    if not sizes:
        return told
    return round(median(sizes)) + max(0, (told or 0) - sizes[-1])


def _most(decision: Decision, prompt: float, answer: float) -> PricePart | Literal[""]:
    """What makes up at least half of the price."""
    tokens = {part.name: part.tokens for part in decision.parts[:-2]}
    *earlier, current = decision.request[decision.head_messages :]
    results = sum(tokens_of(message) for message in earlier if message.role == "tool")
    own, others = _files(current), sum(map(_files, earlier))
    tools, said = tokens.get("tools", 0), tokens.get("current", 0)
    talk = sum(
        tokens.get(name, 0) for name in ("history", "recalled", "summary", "notes", "strategy")
    )
    sizes: dict[PricePart, int] = {
        "agent": decision.tokens - tools - said - talk,
        "tools": tools,
        "results": results,
        "files": own + others,
        "earlier": talk - results - others,
        "current": said - own,
    }
    whole, largest = prompt + answer, max(sizes, key=lambda name: sizes[name])
    if 2 * answer >= whole > 0:
        return "answer"
    share = prompt * sizes[largest] / max(1, decision.tokens)
    return largest if 2 * share >= whole > 0 else ""


def _files(message: Message) -> int:
    """Tokens of a message's files."""
    if not message.attachments:
        return 0
    return max(0, tokens_of(message) - estimate_message(replace(message, attachments=())))
