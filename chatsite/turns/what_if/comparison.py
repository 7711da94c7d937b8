"""What-if: one turn under every policy there is here, without calling a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from chatsite.conversations.path.queries import agent_of
from chatsite.conversations.records import LoadedPath, PastTurn
from chatsite.conversations.turn.receipts import past_turn
from chatsite.errors import PromptTooLarge
from chatsite.history import Everything, Settings
from chatsite.history.receipts.replay import ToolGroups
from chatsite.history.settings.offers import Alternative, SettingSources, alternatives, as_then
from chatsite.providers.base.provider import PUBLISHED, Price, reusable
from chatsite.providers.tokens.sentence_vectors import SentenceVectors
from chatsite.turns.agents.resolved_agent import ResolvedAgent
from chatsite.turns.context.drafts import Draft, Drafts
from chatsite.turns.context.loaded_path import as_storage_loads
from chatsite.turns.context.turn_context import PageRequest, TurnContext
from chatsite.turns.what_if.past_evidence import decider_of_turn
from chatsite.wording import later, say

ON_SENDING = later("chosen on sending")
TOO_LARGE = later("doesn't fit")
OTHER_MODEL = later("{then} answered then and can't be had now: this is as {now} would be asked.")
STRATEGY_NOW = later("By the agent's strategy as it is now.")

# What storage gives, or would have given, for some settings.
Read = Callable[[Settings], Awaitable[LoadedPath]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyComparison:
    """Nothing is stored but token counts. `vectors` are those that the recaller searches with."""

    drafts: Drafts
    vectors: SentenceVectors | None = None

    async def of_draft(self, request: PageRequest, draft: Draft) -> dict[str, Any]:
        """Compare the policies for the next message of a conversation that has begun. Raises
        NotFound or ProviderError."""
        agent = await agent_of(owner=request.owner, conversation=request.conversation)
        context = await self.drafts.context(replace(request, agent=agent))
        whole = await self.drafts.load(context, draft, Everything())
        whole = await self.drafts.decider.with_counts(context, whole)

        async def read(settings: Settings) -> LoadedPath:
            wanted = context.with_settings(settings).reach
            return (
                whole if wanted == Everything() else await self.drafts.load(context, draft, wanted)
            )

        turn = _ComparedTurn(self.drafts, context, whole, read)
        return await turn.compare(self.drafts.contexts.sources(context), context.settings)

    async def of_turn(self, request: PageRequest, turn: str) -> dict[str, Any]:
        """Compare the policies for a turn that was answered, under the settings it had and with the
        evidence that could be had then, as the model that answered would be asked; the agent and
        the marks are as they are now."""
        past = await past_turn(owner=request.owner, turn=turn)
        request = replace(request, conversation=past.conversation, agent=past.loaded.agent)
        request = await self.drafts.with_kept_choice(request)
        now = self.drafts.contexts.agent_of(request, past.model)
        agent = self._that_answered(request, past, now)
        context = self.drafts.contexts.with_agent(request, agent)
        decider = replace(self.drafts.decider, stores_counts=agent.full_name == now.full_name)
        whole = await decider.with_counts(context, past.loaded)

        async def read(settings: Settings) -> LoadedPath:
            wanted = context.with_settings(settings).reach
            stored = whole.transcript
            loaded = as_storage_loads(stored.entries, wanted, stored.compaction)
            return replace(whole, transcript=loaded)

        decider = decider_of_turn(decider, past, vectors=self.vectors)
        drafts = replace(self.drafts, decider=decider)
        compared = _ComparedTurn(drafts, context, whole, read, is_past=True)
        found = await compared.compare(
            self.drafts.contexts.sources(context), as_then(context.settings, past.receipt)
        )
        return found | {"note": " ".join(filter(None, (_changed(past, agent), found["note"])))}

    def _that_answered(
        self, request: PageRequest, past: PastTurn, now: ResolvedAgent
    ) -> ResolvedAgent:
        """With the model of the turn, where it can be had; else as the next turn would be."""
        then = _model_then(past)
        if then in ("", now.full_name):
            return now
        tried = (self.drafts.contexts.agent_of(request, name) for name in ("", then))
        return next((one for one in tried if one.full_name == then), now)


@dataclass(frozen=True, slots=True)
class _ComparedTurn:
    """One turn with its whole path; `read` gives as much of it as storage gives for settings."""

    drafts: Drafts
    context: TurnContext
    whole: LoadedPath
    read: Read
    is_past: bool = False

    async def compare(self, sources: SettingSources, settings: Settings) -> dict[str, Any]:
        model = self.context.agent.model
        groups = ToolGroups(self.whole.transcript.entries)
        rows = [
            await self._row(alternative, model.price, groups)
            for alternative in alternatives(sources, settings)
        ]
        return {
            "rows": rows,
            "stored": sum(not entry.draft for entry in self.whole.transcript.entries),
            "note": _note(rows, model.price, model.label),
        }

    async def _row(
        self, alternative: Alternative, price: Price | None, groups: ToolGroups
    ) -> dict[str, Any]:
        row: dict[str, Any] = {
            "key": alternative.key,
            "words": alternative.label,
            "in_words": alternative.settings.words,
            "in_force": alternative.in_force,
            "allowed": not alternative.why,
            "why": alternative.why,
            "changes": dict(alternative.changes),
            "outcome": None,
            "note": "",
        }
        settings = alternative.settings
        # Whether triage was switched on then, a receipt says only where it applied.
        if alternative.asks_model or (self.is_past and settings.listed_policy.asks_model):
            return row | {"note": say(ON_SENDING)}
        loaded = await self.read(settings)
        try:
            decision = await self.drafts.decider.preview(
                self.context.with_settings(settings), loaded
            )
        except PromptTooLarge:
            return row | {"note": say(TOO_LARGE)}
        found = groups.figures(decision, last=loaded.transcript.entries[-1].seq)
        cost = None
        if price is not None:
            cost = price.cost(prompt=found.tokens, cached=reusable(found.leading))
        numbers = found.to_dict() | {"cost": cost, "exchanges": asdict(decision.exchanges)}
        if not self.is_past:
            price_now = self.drafts.price(self.context, loaded, decision)
            numbers["price"] = price_now.to_dict() if price_now else None
        if loaded.receipt is None:
            numbers["share"] = None  # there was no request before this one
        notes = [say(note) for note in decision.notes if note]
        if self.is_past and settings.active_policy.runs_agent_code:
            notes.append(say(STRATEGY_NOW))
        return row | {"outcome": numbers, "note": " ".join(notes)}


def _model_then(past: PastTurn) -> str:
    """As `provider:model`; "" where the receipt doesn't say."""
    provider: Mapping[str, str] = past.receipt.get("provider") or {}
    return f"{provider['kind']}:{provider['model']}" if provider.get("kind") else ""


def _changed(past: PastTurn, agent: ResolvedAgent) -> str:
    then = _model_then(past)
    if not then or then == agent.full_name:
        return ""
    label = past.receipt["provider"].get("label") or then
    return say(OTHER_MODEL, then=label, now=agent.model.label)


def _note(rows: list[dict[str, Any]], price: Price | None, label: str) -> str:
    bases = {row["outcome"]["basis"] for row in rows if row["outcome"]}
    counted = bases == {"counted"}
    tokens = say("Tokens: counted.") if counted else say("Tokens: estimated.")
    cost = (
        say(
            "Cost: that of the prompt, estimated from list prices of {published}.",
            published=PUBLISHED,
        )
        if price
        else say("No price known for {model}.", model=label)
    )
    return f"{tokens} {cost}"
