"""From a conversation to a decision: counts and evidence are collected here, and `history.decide`
is asked. A turn and a preview take the same way."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from chatsite.conversations.lifecycle import save_counts
from chatsite.conversations.path.loading import load_turns
from chatsite.conversations.records import LoadedPath
from chatsite.history import (
    NO_EVIDENCE,
    Cleaner,
    Decision,
    Entry,
    Evidence,
    Head,
    Previous,
    Recall,
    RequestRoom,
    Transcript,
    decide,
)
from chatsite.history.path.added_messages import block_tokens
from chatsite.history.path.marks import unanswered_notes
from chatsite.history.path.transcript import within_talk_limit
from chatsite.kv_cache.cleanup import Cleanup, make_room, resolve_cleanup
from chatsite.messages import Message
from chatsite.providers.base.provider import Tokenizer
from chatsite.turns.agents.resolved_agent import ResolvedAgent
from chatsite.turns.context.file_forms import StoredFiles
from chatsite.turns.context.loaded_path import with_entries
from chatsite.turns.context.token_counts import CountCache, TokenCounter
from chatsite.turns.context.turn_context import DRAFT, TurnContext

# So many messages, and so many characters of results in which lines are looked for, take some ms.
LONG, LONG_RESULTS = 1_000, 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionInputs:
    """A turn, or a `preview` of one, with every message counted; the transcript's last turn is the
    current one. For a preview no model is asked and nothing is waited for."""

    context: TurnContext
    transcript: Transcript
    head: Head
    preview: bool

    @property
    def tokenizer(self) -> Tokenizer:
        agent = self.context.agent
        return agent.provider.tokenizer(agent.model)

    @property
    def current(self) -> Message:
        """The user message that is to be answered."""
        entries = self.transcript.entries
        return next(e.message for e in reversed(entries) if e.message.role == "user")

    @property
    def fits(self) -> bool:
        """Whether head and whole conversation are within the limit, with the tokens for quoting
        the notes of background tasks."""
        entries = self.transcript.entries
        if self.transcript.not_loaded.messages:
            return False
        messages = [*self.head.messages, *(entry.message for entry in entries)]
        asked = max(place for place, e in enumerate(entries) if e.message.role == "user")
        total = sum(message.tokens.count for message in messages if message.tokens)
        return total + block_tokens(unanswered_notes(entries[:asked])) <= self.context.limit


class Gatherer(Protocol):
    """Gets the evidence that a policy needs and storage alone doesn't have.

    It never raises for what fails on the way: the evidence's notes say so.
    """

    async def gather(self, inputs: DecisionInputs) -> Evidence: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundDecision:
    """A round's decision and the evidence for it. `last` is the receipt of the turn before,
    `above` the seq of the newest stored message that was decided on."""

    decision: Decision
    evidence: Evidence
    last: Mapping[str, Any] | None
    above: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """`gatherers` by the key of the evidence that they gather. `stores_counts` is False when
    previewing with a model that won't answer the next turn: its counts would replace those that
    are needed then. `cache_cleanup` is the environment's CACHE_CLEANUP."""

    gatherers: Mapping[str, Gatherer] = field(default_factory=dict)
    counts: CountCache = field(default_factory=CountCache)
    stores_counts: bool = True
    cache_cleanup: str = ""

    def counter(self, context: TurnContext) -> TokenCounter:
        files = StoredFiles(context.owner)
        return TokenCounter(context.agent, files, self.counts)

    def cleanup(self, agent: ResolvedAgent) -> Cleanup:
        """What is unloaded when the cache of the model on this machine is full, and who set it."""
        template = agent.template.chat_settings
        return resolve_cleanup(environment=self.cache_cleanup, template=template)

    async def require_room(self, context: TurnContext, user: Message) -> None:
        """Raise PromptTooLarge where head and this message alone don't fit: before it is stored,
        because it would make every later turn fail too."""
        room = RequestRoom.of(
            context.agent.window,
            budget=context.settings.tokens.value,
            head=await self.counter(context).head(),
            system=(),
            current=[user],
        )
        if room.exceeded:
            raise room.refusal()

    # ---- deciding ----------------------------------------------------------------------------
    async def decide_round(
        self,
        context: TurnContext,
        loaded: LoadedPath,
        *,
        before: RoundDecision | None = None,
        written: Entry | None = None,
    ) -> RoundDecision:
        """The decision of one round; the last user message that was `loaded` is answered. It may
        take as long as the policy's model needs.

        `before` is the decision of the round before: its evidence is used again, so that no model
        is asked twice and the prompt keeps its beginning. `written` is the answer to continue.
        """
        above = loaded.transcript.entries[-1].seq
        if written is not None:
            entries = (*loaded.transcript.entries, written)
            loaded = replace(loaded, transcript=replace(loaded.transcript, entries=entries))
        inputs = await self._inputs(context, loaded.transcript, preview=False)
        if before is None:
            evidence, previous = await self._collect_evidence(inputs), loaded.receipt
        else:
            evidence, previous = before.evidence, before.decision.to_stored()
        decision = await self._run_policy(inputs, evidence, previous)
        return RoundDecision(decision=decision, evidence=evidence, last=loaded.receipt, above=above)

    async def preview(self, context: TurnContext, loaded: LoadedPath) -> Decision:
        """The decision as far as it is certain without asking a model."""
        inputs = await self._inputs(context, loaded.transcript, preview=True)
        evidence = await self._collect_evidence(inputs)
        return await self._run_policy(inputs, evidence, loaded.receipt)

    async def measure(self, context: TurnContext, loaded: LoadedPath) -> Decision:
        """The same for a message that doesn't fit: what it would take, of how much."""
        inputs = await self._inputs(context, loaded.transcript, preview=True)
        return await self._run_policy(inputs, NO_EVIDENCE, loaded.receipt, over_limit=True)

    async def with_counts(self, context: TurnContext, loaded: LoadedPath) -> LoadedPath:
        """The path with every message counted, once for several decisions."""
        transcript = await self._count(context, loaded.transcript)
        return replace(loaded, transcript=transcript)

    async def _inputs(
        self, context: TurnContext, transcript: Transcript, *, preview: bool
    ) -> DecisionInputs:
        transcript = await self._count(context, transcript)
        transcript = within_talk_limit(transcript, context.settings.talk_limit)
        head = await self.counter(context).head()
        return DecisionInputs(context=context, transcript=transcript, head=head, preview=preview)

    async def _collect_evidence(self, inputs: DecisionInputs) -> Evidence:
        """What the policy in force needs besides the transcript; nothing where all of it fits."""
        policy = inputs.context.settings.active_policy
        gatherer = self.gatherers.get(policy.evidence)
        if gatherer is None or (policy.gathers_on_overflow and inputs.fits):
            return NO_EVIDENCE
        return await gatherer.gather(inputs)

    async def _run_policy(
        self,
        inputs: DecisionInputs,
        evidence: Evidence,
        previous: Mapping[str, Any] | None,
        *,
        over_limit: bool = False,
    ) -> Decision:
        """`previous` is the receipt of the request before this one."""
        context, transcript = inputs.context, inputs.transcript
        if context.settings.active_policy.quotes_stay and transcript.not_loaded.messages:
            transcript = await self._with_sources(inputs, evidence.recall)
        choose = partial(
            decide,
            transcript,
            context.settings,
            head=inputs.head,
            window=context.agent.window,
            evidence=replace(evidence, previous=Previous.from_dict(previous) if previous else None),
            agent=context.agent.slug,
            cleanup=self._cleaner(context.agent) if context.agent.has_cache else None,
            over_limit=over_limit,
        )
        # A long conversation takes 30 us a message, and would hold up everybody else's answers; so
        # would large results, 20 us for 1,000 characters.
        results = (len(e.message.content or "") for e in transcript.entries if e.may_give_way)
        long = len(transcript.entries) > LONG or sum(results) > LONG_RESULTS
        return await asyncio.to_thread(choose) if long else choose()

    def _cleaner(self, agent: ResolvedAgent) -> Cleaner:
        cleanup = self.cleanup(agent)
        return Cleaner(
            strategy=cleanup.value,
            source=cleanup.source,
            words=cleanup.words,
            makes_room=partial(make_room, cleanup.value),
        )

    async def _with_sources(self, inputs: DecisionInputs, recall: Recall | None) -> Transcript:
        """The transcript with those turns that may be quoted and were not loaded yet: the hits',
        and those that were quoted for earlier messages."""
        transcript = inputs.transcript
        known = {entry.seq for entry in transcript.entries}
        hits = {hit.seq for hit in recall.hits} if recall else set()
        quoted = {seq for entry in transcript.entries for seq in entry.quoted}
        seqs = sorted((hits | quoted) - known)
        if not seqs:
            return transcript
        found: Sequence[Entry] = await load_turns(
            owner=inputs.context.owner, conversation=inputs.context.conversation, seqs=seqs
        )
        wider = with_entries(transcript, [entry for entry in found if entry.seq not in known])
        return await self._count(inputs.context, wider)

    async def _count(self, context: TurnContext, transcript: Transcript) -> Transcript:
        """With every message counted; new counts of stored messages are stored."""
        counted, made = await self.counter(context).complete(transcript)
        stored = {id: count for id, count in made.items() if not id.startswith(DRAFT)}
        if stored and self.stores_counts:
            await save_counts(conversation=context.conversation, counts=stored)
        return counted
