"""What-if: one turn under every policy there is here, without calling a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from chatsite.conversations.values.records import LoadedPath, PastTurn
from chatsite.errors import PromptTooLarge
from chatsite.history import Everything, Settings, reach
from chatsite.history.records.comparison import ToolGroups, figures_of
from chatsite.history.settings.alternatives import Alternative, alternatives, as_then
from chatsite.messages import Attachment
from chatsite.providers.base.model import PUBLISHED, Price, reusable
from chatsite.providers.tokens.sentence_vectors import SentenceVectors
from chatsite.turns.agents.resolved_agent import ResolvedAgent
from chatsite.turns.context.decider import Decider
from chatsite.turns.context.loaded_path import as_loaded
from chatsite.turns.context.policy_offers import Offering
from chatsite.turns.context.turn_context import PageRequest
from chatsite.turns.snapshots import AgentResolver
from chatsite.turns.what_if.past_evidence import decider_of_turn

ON_SENDING = "chosen on sending"
TOO_LARGE = "doesn't fit"
OTHER_MODEL = "{then} answered then and can't be had now: this is as {now} would be asked."
STRATEGY_NOW = "By the agent's strategy as it is now."

# What storage gives, or would have given, for some settings.
Read = Callable[[Settings], Awaitable[LoadedPath]]


class AskedReads(Protocol):
    """What storage knows of a turn that was answered; `conversations.reads.receipts` is one."""

    def past_turn(self, *, owner: Any, turn: str) -> PastTurn: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyComparison:
    """Nothing is stored but token counts. `vectors` are those that the recaller searches with."""

    decider: Decider
    reads: AskedReads
    offering: Offering
    answering: AgentResolver
    vectors: SentenceVectors | None = None

    async def of_draft(
        self,
        asking: PageRequest,
        draft: str,
        *,
        reply_to: str | None = None,
        attachments: Sequence[Attachment] = (),
    ) -> dict[str, Any]:
        """The next message of a conversation that has begun. Raises NotFound or ProviderError."""
        agent = await self.decider.run(
            self.decider.reads.agent_of, owner=asking.owner, conversation=asking.conversation
        )
        answering = self.answering(agent, asking.model, staff=asking.staff)
        asking = replace(asking, agent=agent)
        whole = await self.decider.with_draft(
            asking, answering, draft, Everything(), reply_to=reply_to, attachments=attachments
        )
        whole = await self.decider.counted(asking, answering, whole)

        async def read(settings: Settings) -> LoadedPath:
            wanted = reach(settings, room=answering.window.room)
            if wanted == Everything():
                return whole
            return await self.decider.with_draft(
                asking, answering, draft, wanted, reply_to=reply_to, attachments=attachments
            )

        settings = self.offering.sources(asking, answering).resolve()
        return await _Turn(self.decider, asking, answering, whole, read).compared(
            self.offering, settings
        )

    async def of_turn(self, asking: PageRequest, turn: str) -> dict[str, Any]:
        """A turn that was answered, under the settings it had and with what could be gathered
        then, as the model that answered would be asked; the agent and the marks are as they are
        now."""
        asked = await self.decider.run(self.reads.past_turn, owner=asking.owner, turn=turn)
        agent = asked.loaded.agent
        asking = replace(asking, conversation=asked.conversation, agent=agent)
        now = self.answering(agent, asked.model, staff=asking.staff)
        answering = self._that_answered(asked, now, staff=asking.staff)
        decider = replace(self.decider, keeps=answering.full_name == now.full_name)
        whole = await decider.counted(asking, answering, asked.loaded)
        decider = decider_of_turn(decider, asked, vectors=self.vectors)

        async def read(settings: Settings) -> LoadedPath:
            wanted = reach(settings, room=answering.window.room)
            return replace(whole, transcript=as_loaded(whole.transcript.entries, wanted))

        settings = self.offering.sources(asking, answering).resolve()
        found = await _Turn(decider, asking, answering, whole, read, past=True).compared(
            self.offering, as_then(settings, asked.receipt)
        )
        return found | {"note": " ".join(filter(None, (_changed(asked, answering), found["note"])))}

    def _that_answered(self, asked: PastTurn, now: ResolvedAgent, *, staff: bool) -> ResolvedAgent:
        """With the model of the turn, where it can be had; else as the next turn would be."""
        then = _model_then(asked)
        if then in ("", now.full_name):
            return now
        tried = (self.answering(now.agent, name, staff=staff) for name in ("", then))
        return next((one for one in tried if one.full_name == then), now)


@dataclass(frozen=True, slots=True)
class _Turn:
    """One turn with its whole path, and how much of it storage gives for each policy."""

    decider: Decider
    asking: PageRequest
    answering: ResolvedAgent
    whole: LoadedPath
    read: Read
    past: bool = False

    async def compared(self, offering: Offering, settings: Settings) -> dict[str, Any]:
        sources = offering.sources(self.asking, self.answering)
        model = self.answering.model
        price = model.price
        groups = ToolGroups(self.whole.transcript.entries)
        rows = [
            await self._row(alternative, price, groups)
            for alternative in alternatives(sources, settings)
        ]
        return {
            "rows": rows,
            "stored": len(self.whole.transcript.entries),
            "note": _note(rows, price, model.label),
        }

    async def _row(
        self, alternative: Alternative, price: Price | None, groups: ToolGroups
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
        settings = alternative.settings
        # Whether triage was switched on then, a receipt says only where it applied.
        if alternative.asks_model or (self.past and settings.listed_policy.asks_model):
            return row | {"note": ON_SENDING}
        loaded = await self.read(settings)
        try:
            decision = await self.decider.decided(
                self.asking, self.answering, settings, loaded, preview=True
            )
        except PromptTooLarge:
            return row | {"note": TOO_LARGE}
        found = figures_of(decision, groups, last=loaded.transcript.entries[-1].seq)
        cost = None
        if price is not None:
            cost = price.cost(prompt=found.tokens, cached=reusable(found.leading))
        numbers = found.to_dict() | {"cost": cost}
        if loaded.receipt is None:
            numbers["share"] = None  # there was no request before this one
        notes = list(decision.notes)
        if self.past and settings.active_policy.runs_agent_code:
            notes.append(STRATEGY_NOW)
        return row | {"outcome": numbers, "note": " ".join(notes)}


def _model_then(asked: PastTurn) -> str:
    """As `provider:model`; "" where the receipt doesn't say."""
    provider: Mapping[str, str] = asked.receipt.get("provider") or {}
    return f"{provider['kind']}:{provider['model']}" if provider.get("kind") else ""


def _changed(asked: PastTurn, answering: ResolvedAgent) -> str:
    then = _model_then(asked)
    if not then or then == answering.full_name:
        return ""
    label = asked.receipt["provider"].get("label") or then
    return OTHER_MODEL.format(then=label, now=answering.model.label)


def _note(rows: list[dict[str, Any]], price: Price | None, label: str) -> str:
    bases = {row["outcome"]["basis"] for row in rows if row["outcome"]}
    tokens = "counted" if bases == {"counted"} else "estimated"
    cost = (
        f"Cost: that of the prompt, estimated from list prices of {PUBLISHED}."
        if price
        else f"No price known for {label}."
    )
    return f"Tokens: {tokens}. {cost}"
