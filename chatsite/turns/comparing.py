"""What-if: one turn under every policy there is here, without calling a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from chatsite.conversations.records import Loaded
from chatsite.errors import PromptTooLarge
from chatsite.history import Everything
from chatsite.history.comparing import ToolGroups, outcome
from chatsite.history.offers import Alternative, alternatives, as_then
from chatsite.providers.prices import PUBLISHED, Price, price_of, reusable
from chatsite.turns.answering import Answering
from chatsite.turns.deciding import Asking, Decider
from chatsite.turns.offering import Offering

ON_SENDING = "chosen on sending"
TOO_LARGE = "doesn't fit"


class AskedReads(Protocol):
    """What storage knows of a turn that was answered; `conversations.receipts` is one."""

    def as_asked(self, *, owner: Any, turn: str) -> tuple[str, Loaded, Mapping[str, Any]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparing:
    """Loads once and decides several times; nothing is stored but token counts."""

    decider: Decider
    reads: AskedReads
    offering: Offering
    answering: Callable[[str], Answering]

    async def of_draft(
        self, asking: Asking, draft: str, *, reply_to: str | None = None
    ) -> dict[str, Any]:
        """The next message of a conversation that has begun. Raises NotFound or ProviderError."""
        agent = await self.decider.run(
            self.decider.reads.agent_of, owner=asking.owner, conversation=asking.conversation
        )
        asking, answering = replace(asking, agent=agent), self.answering(agent)
        loaded = await self.decider.with_draft(
            asking, answering, draft, Everything(), reply_to=reply_to
        )
        return await self._compared(asking, answering, loaded)

    async def of_turn(self, asking: Asking, turn: str) -> dict[str, Any]:
        """A turn that was answered, under the settings it had, with the agent and the marks as
        they are now."""
        conversation, loaded, receipt = await self.decider.run(
            self.reads.as_asked, owner=asking.owner, turn=turn
        )
        asking = replace(asking, conversation=conversation, agent=loaded.agent)
        return await self._compared(asking, self.answering(loaded.agent), loaded, receipt)

    async def _compared(
        self,
        asking: Asking,
        answering: Answering,
        loaded: Loaded,
        receipt: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        sources = self.offering.sources(asking, answering)
        settings = sources.resolve()
        if receipt is not None:
            settings = as_then(settings, receipt)
        model = answering.model
        price = price_of(model.provider, model.name)
        loaded = await self.decider.counted(asking, answering, loaded)
        groups = ToolGroups(loaded.transcript.entries)
        rows = [
            await self._row(asking, answering, loaded, alternative, price, groups)
            for alternative in alternatives(sources, settings)
        ]
        return {
            "rows": rows,
            "stored": len(loaded.transcript.entries),
            "note": _note(rows, price, model.label),
        }

    async def _row(
        self,
        asking: Asking,
        answering: Answering,
        loaded: Loaded,
        alternative: Alternative,
        price: Price | None,
        groups: ToolGroups,
    ) -> dict[str, Any]:
        row: dict[str, Any] = {
            "key": alternative.key,
            "words": alternative.label,
            "in_force": alternative.in_force,
            "allowed": not alternative.why,
            "why": alternative.why,
            "address": dict(alternative.address),
            "outcome": None,
            "note": "",
        }
        if alternative.asks_model:
            return row | {"note": ON_SENDING}
        try:
            decision = await self.decider.decided(
                asking, answering, alternative.settings, loaded, preview=True
            )
        except PromptTooLarge:
            return row | {"note": TOO_LARGE}
        last = loaded.transcript.entries[-1].seq
        found = outcome(decision, groups, last=last)
        cost = None
        if price is not None:
            cost = price.cost(prompt=found.tokens, cached=reusable(found.leading))
        numbers = found.to_dict() | {"cost": cost}
        if loaded.receipt is None:
            numbers["share"] = None  # there was no request before this one
        return row | {"outcome": numbers, "note": " ".join(decision.notes)}


def _note(rows: list[dict[str, Any]], price: Price | None, label: str) -> str:
    bases = {row["outcome"]["basis"] for row in rows if row["outcome"]}
    tokens = "counted" if bases == {"counted"} else "estimated"
    cost = (
        f"Cost: that of the prompt, estimated from OpenAI's list prices of {PUBLISHED}."
        if price
        else f"No price known for {label}."
    )
    return f"Tokens: {tokens}. {cost}"
