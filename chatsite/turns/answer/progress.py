"""A running turn: what it shares with all others, and what is known of it so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from chatsite.conversations.owners import Owner
from chatsite.conversations.records import StartedTurn
from chatsite.encoding import encode_fields
from chatsite.errors import ProviderError
from chatsite.history import Decision, tokens_of
from chatsite.history.room import weakest
from chatsite.kv_cache.books import CacheUse
from chatsite.providers.base.provider import Finished, Model, Price, Usage
from chatsite.providers.known.servers import SERVERS
from chatsite.turns.agents.resolved_agent import FALLBACKS
from chatsite.turns.answer.checkpoints import CheckpointSaver
from chatsite.turns.answer.feed import Feed, Generation
from chatsite.turns.answer.retries import CircuitBreaker
from chatsite.turns.answer.server_cuts import (
    ReportedPrompt,
    ServerCut,
    may_show,
    server_cut,
    unsure_of,
)
from chatsite.turns.context.decider import Decider
from chatsite.turns.context.file_forms import has_media
from chatsite.turns.context.turn_context import TurnContext
from chatsite.wording import later

NO_TOOLS = later("This model can't use tools, so it was asked without them.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnServices:
    """What every turn of the process uses. A tool may take `tool_seconds`; for `end_seconds` it is
    tried again to store an end."""

    decider: Decider
    checkpoints: CheckpointSaver
    breaker: CircuitBreaker
    clock: Callable[[], float]
    tool_seconds: float
    end_seconds: float


@dataclass(slots=True)
class Round:
    """One request of the turn. `sent` is its prompt in tokens by our count, `leading` as in its
    decision; `calls` are the names of the tools that were asked for; `retried` says why it was
    asked twice; `cache` is what the engine on this machine made of its KV cache."""

    number: int
    sent: int
    leading: int = 0
    usage: Usage = Usage()
    calls: tuple[str, ...] = ()
    first_token_ms: int | None = None
    retried: str = ""
    cache: CacheUse | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "round": self.number,
            "sent_tokens": self.sent,
            "leading": self.leading,
            "reported": self.usage.to_dict(),
            "calls": list(self.calls),
            "first_token_ms": self.first_token_ms,
            "retried": self.retried,
            "cache": self.cache.to_dict() if self.cache else None,
        }


@dataclass(slots=True)
class TurnProgress:
    """Filled while the turn is answered, read until its end. `context` is the one in force:
    whoever needs it reads it here, and only methods of this class replace it.

    `answer` is the id of the message being written, `generation` its text so far; `receipt` is
    that of the last request, as it is stored. `looked_back` is what the tool `recall` searched and
    opened.
    """

    context: TurnContext
    started: StartedTurn
    feed: Feed
    answer: str = field(init=False)
    generation: Generation = field(init=False)
    receipt: Mapping[str, Any] | None = None
    finished: Finished | None = None
    rounds: list[Round] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    looked_back: list[Mapping[str, object]] = field(default_factory=list)
    cut: ServerCut | None = None

    def __post_init__(self) -> None:
        started = self.started
        self.begin_message(
            started.answer,
            Generation(started.turn, text=started.text, reasoning=started.reasoning),
        )

    @property
    def id(self) -> str:
        return self.started.turn

    @property
    def names(self) -> dict[str, Any]:
        """What a receipt says of its turn outside of the row that holds it."""
        return {"turn": self.id, "number": self.started.number}

    # ---- what changes while it runs ----------------------------------------------------------
    def change_owner(self, owner: Owner) -> None:
        """A guest signed in while the turn ran: the conversation is the account's now."""
        self.context = self.context.with_owner(owner)

    def ask_otherwise(self, refused: ProviderError) -> None:
        """The server refused something of the last request: the model is asked without it."""
        agent = self.context.agent.as_known_now()
        if refused.code == "no_tools":
            agent = agent.without_tools()
        self.context = self.context.with_agent(agent)
        self.notes.append(NO_TOOLS if refused.code == "no_tools" else refused.again)
        self.rounds.pop()

    def begin_message(self, answer: str, generation: Generation) -> None:
        """The message `answer` is written from here on."""
        self.answer, self.generation = answer, generation
        self.feed.begin(generation)

    # ---- what a server did with the prompt ---------------------------------------------------
    def look_for_cut(self, decision: Decision, *, last: Mapping[str, Any] | None) -> None:
        """Note once a turn where the server silently dropped the beginning of the prompt. `last`
        is the receipt of the turn before."""
        model = self.context.agent.model
        reported = self.rounds[-1].usage.prompt
        if model.provider in FALLBACKS or self.cut is not None:
            return
        if not may_show(sent=decision.tokens, reported=reported):
            return
        server = SERVERS.get(model.provider)
        tools = sum(part.tokens for part in decision.parts if part.name == "tools")
        self.cut = server_cut(
            sent=decision.tokens,
            sent_basis=weakest(part.basis for part in decision.parts),
            reported=reported,
            before=self._reported_before(decision, last),
            leading=decision.leading,
            head=sum(tokens_of(message) for message in decision.request[: decision.head_messages]),
            # Some servers get no descriptions of tools where none may be called, and some ignore
            # them.
            unsure=unsure_of(decision.request, model) + tools,
            server=server.label if server and server.local else "The server",
            model=model.label,
        )

    def _reported_before(
        self, decision: Decision, last: Mapping[str, Any] | None
    ) -> ReportedPrompt | None:
        """The request before this one, as far as it was reported."""
        model = self.context.agent.model
        if len(self.rounds) == 1:
            return reported_in(last, model)
        reported = self.rounds[-2].usage.prompt
        if not reported or has_media(decision.request, model):
            return None
        return ReportedPrompt(sent=self.rounds[-2].sent, reported=reported)

    def response_before(self, last: Mapping[str, Any] | None) -> str:
        """The provider's id of its response to the request before, "" where it gave none."""
        if len(self.rounds) > 1:
            return self.rounds[-2].usage.response or ""
        model, found = self.context.agent.model, last or {}
        same = (found.get("provider") or {}).get("kind") == model.provider
        response = (found.get("reported") or {}).get("response")
        return response if same and isinstance(response, str) else ""

    # ---- the receipt -------------------------------------------------------------------------
    def full_receipt(self) -> dict[str, Any] | None:
        """The receipt with what was reported, as it is stored; None before the decision. The row
        that holds it knows which turn it is."""
        return {**self.receipt, **self.report()} if self.receipt is not None else None

    def report(self) -> dict[str, Any]:
        """Give what the answer adds to its receipt. Token counts are those of the last request, the
        cost is that of all."""
        usage = self.finished.usage if self.finished else None
        first = self.rounds[0].first_token_ms if self.rounds else None
        reported = encode_fields(usage or Usage()) | {
            "cost": self._cost(self.context.agent.model.price),
            "first_token_ms": first,
        }
        found: dict[str, Any] = {
            "reported": {name: value for name, value in reported.items() if value is not None}
        }
        if self.notes:
            found["notes"] = [*(self.receipt or {}).get("notes", ()), *self.notes]
        if self.looked_back:
            found["looked_back"] = list(self.looked_back)
        if len(self.rounds) > 1 or any(round.retried for round in self.rounds):
            found["rounds"] = [round.to_dict() for round in self.rounds]
        if self.rounds and (cache := self.rounds[-1].cache) is not None:
            found["cache"] = cache.to_dict()
        if self.cut is not None:
            found["server_cut"] = self.cut.to_dict()
        return found

    def _cost(self, price: Price | None) -> float | None:
        """In US dollars, estimated from list prices; None where the price or the count of a
        prompt isn't known."""
        if price is None or not self.rounds:
            return None
        usages = [round.usage for round in self.rounds]
        if any(usage.prompt is None for usage in usages):
            return None
        cost = sum(
            price.cost(
                prompt=usage.prompt or 0,
                cached=usage.cached or 0,
                written=usage.written or 0,
                answer=usage.completion or 0,
            )
            for usage in usages
        )
        return round(cost, 9)


def reported_in(receipt: Mapping[str, Any] | None, model: Model) -> ReportedPrompt | None:
    """What was reported for that receipt's prompt; None where another model answered, nothing was
    reported, the server cut it, or it held pictures or the like."""
    if not receipt or "server_cut" in receipt or receipt.get("media"):
        return None
    who = receipt.get("provider", {})
    if (who.get("kind"), who.get("model")) != (model.provider, model.name):
        return None
    reported = receipt.get("reported", {}).get("prompt")
    return ReportedPrompt(sent=receipt["prompt_tokens"], reported=reported) if reported else None
