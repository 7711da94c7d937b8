"""From a conversation to a decision: what needs storage or a tokenizer is gathered here, and
`history.decide` is asked. The turn and the preview come this way and differ in nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

from chatsite.agents.template import Template
from chatsite.conversations.values.records import LoadedPath
from chatsite.errors import BadCommand
from chatsite.history import (
    NO_EVIDENCE,
    Decision,
    Entry,
    Evidence,
    Head,
    Previous,
    Reach,
    Recall,
    RequestRoom,
    Settings,
    Transcript,
    decide,
    first_values,
    reach,
    resolve,
)
from chatsite.kv.cleanup_setting import Cleanup
from chatsite.messages import Attachment, Message
from chatsite.providers.base.files import NO_FILES, Files
from chatsite.turns.agents.resolved_agent import ResolvedAgent
from chatsite.turns.context.cache_cleanup import cleaner_of, cleanup_of
from chatsite.turns.context.gatherer import DecisionInputs, Gatherer
from chatsite.turns.context.loaded_path import with_entries
from chatsite.turns.context.token_counts import FileCounts, TokenCounter
from chatsite.turns.context.turn_context import DRAFT, PageRequest, greeting_messages
from chatsite.turns.ports import Loads, Reads, TurnOwner, WorkRunner, Writes

LONG = 1_000
# So many addresses and agents have their settings kept.
KEPT = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundDecision:
    """A decision, what was gathered for it, and the receipt of the turn before it. `above` is the
    seq of the newest stored message that was decided on."""

    decision: Decision
    evidence: Evidence
    last: Mapping[str, Any] | None
    above: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """`gatherers` by the key of the evidence that they gather: what storage doesn't hold. `files`
    gives the stored files of one owner. `keeps`: counts that are made are stored; not so for a
    look through another model's eyes than the next turn's, which would have to count anew.
    `cache_cleanup` is the environment's CACHE_CLEANUP."""

    environment: Mapping[str, str]
    run: WorkRunner
    loads: Loads
    reads: Reads
    writes: Writes
    gatherers: Mapping[str, Gatherer] = field(default_factory=dict)
    files: Callable[[TurnOwner], Files] = lambda owner: NO_FILES
    file_counts: FileCounts = field(default_factory=FileCounts)
    keeps: bool = True
    cache_cleanup: str = ""
    _resolved: Callable[[str, bool, Template], Settings] = field(init=False)

    def __post_init__(self) -> None:
        """Resolving takes 2 ms of a turn and is asked for three times in each."""
        resolved = lru_cache(maxsize=KEPT)(self._resolve)
        object.__setattr__(self, "_resolved", resolved)

    def _resolve(self, query: str, url_allowed: bool, template: Template) -> Settings:
        return resolve(
            environment=self.environment,
            url=first_values(query),
            template=template.chat_settings,
            url_allowed=url_allowed,
        )

    def counting(self, asking: PageRequest, answering: ResolvedAgent) -> TokenCounter:
        return TokenCounter(answering, self.files(asking.owner), self.file_counts)

    def settings(self, asking: PageRequest, answering: ResolvedAgent) -> Settings:
        return self._resolved(asking.query, asking.url_allowed, answering.template)

    def cleanup(self, answering: ResolvedAgent) -> Cleanup:
        """What goes when the cache of the model on this machine is full, and who set that."""
        return cleanup_of(answering, self.cache_cleanup)

    async def for_turn(
        self,
        asking: PageRequest,
        answering: ResolvedAgent,
        loaded: LoadedPath,
        *,
        before: RoundDecision | None = None,
        written: Entry | None = None,
    ) -> RoundDecision:
        """The decision of the turn whose user message is the last one that was `loaded`; it may
        take as long as the policy's model needs.

        `before` is that of the turn's last round: what was gathered for it holds on, so that no
        model is asked twice and the prompt keeps its beginning. `written` is the answer that is
        to be continued.
        """
        settings = self.settings(asking, answering)
        above = loaded.transcript.entries[-1].seq
        if written is not None:
            entries = (*loaded.transcript.entries, written)
            loaded = replace(loaded, transcript=replace(loaded.transcript, entries=entries))
        gathering = await self._gathering(asking, answering, settings, loaded, preview=False)
        if before is None:
            evidence, previous = await self._gathered(gathering), loaded.receipt
        else:
            evidence, previous = before.evidence, before.decision.to_dict()
        decision = await self._decided(gathering, evidence, previous)
        return RoundDecision(decision=decision, evidence=evidence, last=loaded.receipt, above=above)

    async def for_draft(
        self,
        asking: PageRequest,
        answering: ResolvedAgent,
        draft: str,
        *,
        reply_to: str | None = None,
        attachments: Sequence[Attachment] = (),
    ) -> Decision:
        """The decision as it would be for a draft, even an empty one; nothing is stored of it."""
        settings = self.settings(asking, answering)
        wanted = self.reach(asking, answering)
        loaded = await self.with_draft(
            asking, answering, draft, wanted, reply_to=reply_to, attachments=attachments
        )
        return await self.decided(asking, answering, settings, loaded, preview=True)

    async def with_draft(
        self,
        asking: PageRequest,
        answering: ResolvedAgent,
        draft: str,
        wanted: Reach,
        *,
        reply_to: str | None = None,
        attachments: Sequence[Attachment] = (),
    ) -> LoadedPath:
        """What is stored, with the draft as its current message."""
        loaded = await self.load(asking, wanted, ahead=1, reply_to=reply_to)
        if loaded.agent not in ("", asking.agent):
            raise BadCommand("This conversation is with another agent.")
        new = [Message.user(draft, *attachments, id=DRAFT, reply_to=reply_to)]
        if not loaded.transcript.entries and not loaded.transcript.not_loaded.messages:
            new = [*greeting_messages(answering), *new]  # they will be stored with it
        entries = [Entry(message=said, seq=seq) for seq, said in enumerate(new, loaded.next_seq)]
        transcript = replace(loaded.transcript, entries=(*loaded.transcript.entries, *entries))
        return replace(loaded, transcript=transcript)

    def reach(self, asking: PageRequest, answering: ResolvedAgent) -> Reach:
        """How far back a turn of theirs is decided on."""
        return reach(self.settings(asking, answering), room=answering.window.room)

    async def load(
        self,
        asking: PageRequest,
        wanted: Reach,
        *,
        ahead: int = 0,
        reply_to: str | None = None,
    ) -> LoadedPath:
        """What is stored that far back. `reply_to` is what the current message replies to; it is
        not stored yet where `ahead` is 1."""
        return await self.run(
            self.loads.load_path,
            owner=asking.owner,
            conversation=asking.conversation,
            reach=wanted,
            ahead=ahead,
            reply_to=reply_to,
        )

    async def require_room(
        self, asking: PageRequest, answering: ResolvedAgent, user: Message
    ) -> None:
        """Raise PromptTooLarge where head and this message alone don't fit: before anything is
        stored, so that it doesn't stand in the way of every later turn."""
        head = answering.head
        counts = await self.counting(asking, answering).of(head.messages)
        room = RequestRoom.of(
            answering.window,
            budget=self.settings(asking, answering).tokens.value,
            head=head.counted(counts),
            system=(),
            current=[user],
        )
        room.require()

    async def decided(
        self,
        asking: PageRequest,
        answering: ResolvedAgent,
        settings: Settings,
        loaded: LoadedPath,
        *,
        preview: bool,
    ) -> Decision:
        """Count what isn't counted, gather what the policy needs, and decide."""
        gathering = await self._gathering(asking, answering, settings, loaded, preview=preview)
        evidence = await self._gathered(gathering)
        return await self._decided(gathering, evidence, loaded.receipt)

    async def _gathering(
        self,
        asking: PageRequest,
        answering: ResolvedAgent,
        settings: Settings,
        loaded: LoadedPath,
        *,
        preview: bool,
    ) -> DecisionInputs:
        head, transcript = await self._counted(asking, answering, loaded.transcript)
        return DecisionInputs(
            owner=asking.owner,
            conversation=asking.conversation,
            agent=asking.agent,
            answering=answering,
            settings=settings,
            transcript=transcript,
            head=head,
            tokenizer=answering.provider.tokenizer(answering.model),
            preview=preview,
        )

    async def _decided(
        self, gathering: DecisionInputs, evidence: Evidence, previous: Mapping[str, Any] | None
    ) -> Decision:
        """`previous` is the receipt of the request before this one."""
        transcript, answering = gathering.transcript, gathering.answering
        if evidence.recall is not None and transcript.not_loaded.messages:
            transcript = await self._with_hits(gathering, evidence.recall)
        choose = partial(
            decide,
            transcript,
            gathering.settings,
            head=gathering.head,
            window=answering.window,
            evidence=replace(evidence, previous=Previous.from_dict(previous) if previous else None),
            agent=gathering.agent,
            cleanup=cleaner_of(answering, self.cache_cleanup),
        )
        # A long conversation takes 30 us a message: everybody else's answers would stand still.
        long = len(transcript.entries) > LONG
        return await asyncio.to_thread(choose) if long else choose()

    async def counted(
        self, asking: PageRequest, answering: ResolvedAgent, loaded: LoadedPath
    ) -> LoadedPath:
        """With every message counted, once for several decisions."""
        _, transcript = await self._counted(asking, answering, loaded.transcript)
        return replace(loaded, transcript=transcript)

    async def _gathered(self, gathering: DecisionInputs) -> Evidence:
        """What the policy in force needs besides the transcript; nothing where all of it fits."""
        policy = gathering.settings.active_policy
        gatherer = self.gatherers.get(policy.evidence)
        if gatherer is None or (policy.gathers_on_overflow and gathering.fits):
            return NO_EVIDENCE
        return await gatherer.gather(gathering)

    async def _with_hits(self, gathering: DecisionInputs, recall: Recall) -> Transcript:
        """The transcript with the turns of the hits that were not read yet."""
        transcript = gathering.transcript
        known = {entry.seq for entry in transcript.entries}
        seqs = [hit.seq for hit in recall.hits if hit.seq not in known]
        if not seqs:
            return transcript
        found = await self.run(
            self.loads.load_turns,
            owner=gathering.owner,
            conversation=gathering.conversation,
            seqs=seqs,
        )
        wider = with_entries(transcript, [entry for entry in found if entry.seq not in known])
        asking = PageRequest(
            owner=gathering.owner,
            conversation=gathering.conversation,
            agent=gathering.agent,
            query="",
        )
        _, counted = await self._counted(asking, gathering.answering, wider)
        return counted

    async def _counted(
        self, asking: PageRequest, answering: ResolvedAgent, transcript: Transcript
    ) -> tuple[Head, Transcript]:
        """With every message counted; new counts are stored where they are kept."""
        counting = self.counting(asking, answering)
        head, counted, made = await counting.complete(answering.head, transcript)
        stored = {id: count for id, count in made.items() if not id.startswith(DRAFT)}
        if stored and self.keeps:
            await self.run(self.writes.save_counts, conversation=asking.conversation, counts=stored)
        return head, counted
