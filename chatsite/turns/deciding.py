"""From a conversation to a decision: what needs storage or a tokenizer is gathered here, and
`history.decide` is asked. The turn and the preview come this way and differ in nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from chatsite.conversations.records import Loaded
from chatsite.errors import BadCommand
from chatsite.history import (
    BACKGROUND,
    NO_EVIDENCE,
    Decision,
    Entry,
    Evidence,
    Head,
    Previous,
    Reach,
    Recall,
    Settings,
    Transcript,
    decide,
    first_values,
    reach,
    resolve,
)
from chatsite.messages import Message, TokenCount
from chatsite.providers.base import Tokenizer
from chatsite.turns.answering import Answering
from chatsite.turns.gathering import Gatherer, Gathering
from chatsite.turns.ports import Loads, Owner, Reads, Run, Writes

DRAFT = "draft"
# Policies that send everything as long as there is room for it.
ONLY_ON_OVERFLOW = ("lexical", "summary")
LONG = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Who asks where. `query` is the page's; `url_allowed`: its history settings may apply.
    `model` is the one chosen in the page, as `provider:name`, "" for the agent's own."""

    owner: Owner
    conversation: str
    agent: str
    query: str
    url_allowed: bool = True
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """`gatherers` by policy, or selector: what gets for it what storage doesn't hold."""

    environment: Mapping[str, str]
    run: Run
    loads: Loads
    reads: Reads
    writes: Writes
    gatherers: Mapping[str, Gatherer] = field(default_factory=dict)

    def settings(self, asking: Asking, answering: Answering) -> Settings:
        return resolve(
            environment=self.environment,
            url=first_values(asking.query),
            template=answering.template.chat_settings,
            url_allowed=asking.url_allowed,
        )

    async def for_turn(
        self, asking: Asking, answering: Answering, *, reply_to: str | None = None
    ) -> Decision:
        """The decision of the turn whose user message is the last one stored; it may take as long
        as the policy's model needs. `reply_to` is what that message replies to."""
        settings = self.settings(asking, answering)
        wanted = reach(settings, room=answering.window.room)
        loaded = await self._load(asking, wanted, ahead=0, reply_to=reply_to)
        return await self.decided(asking, answering, settings, loaded, preview=False)

    async def for_draft(
        self, asking: Asking, answering: Answering, draft: str, *, reply_to: str | None = None
    ) -> Decision:
        """The decision as it would be for a draft, even an empty one; nothing is stored of it."""
        settings = self.settings(asking, answering)
        wanted = reach(settings, room=answering.window.room)
        loaded = await self.with_draft(asking, answering, draft, wanted, reply_to=reply_to)
        return await self.decided(asking, answering, settings, loaded, preview=True)

    async def with_draft(
        self,
        asking: Asking,
        answering: Answering,
        draft: str,
        wanted: Reach,
        *,
        reply_to: str | None = None,
    ) -> Loaded:
        """What is stored, with the draft as its current message."""
        loaded = await self._load(asking, wanted, ahead=1, reply_to=reply_to)
        if loaded.agent not in ("", asking.agent):
            raise BadCommand("This conversation is with another agent.")
        new = [Message.user(draft, id=DRAFT, reply_to=reply_to)]
        if not loaded.transcript.entries and not loaded.transcript.unloaded.messages:
            new = [*greetings(answering), *new]  # they will be stored with it
        entries = [Entry(message=said, seq=seq) for seq, said in enumerate(new, loaded.next_seq)]
        transcript = replace(loaded.transcript, entries=(*loaded.transcript.entries, *entries))
        return replace(loaded, transcript=transcript)

    async def require_room(self, asking: Asking, answering: Answering, user: Message) -> None:
        """Raise PromptTooLarge where head and this message alone don't fit: before anything is
        stored, so that it doesn't stand in the way of every later turn."""
        tokenizer = answering.provider.tokenizer(answering.model)
        head = answering.head
        decide(
            Transcript(entries=(Entry(message=user, seq=1),)),
            self.settings(asking, answering),
            head=head.counted(await token_counts(tokenizer, head.messages)),
            window=answering.window,
            agent=asking.agent,
        )

    async def _load(
        self, asking: Asking, wanted: Reach, *, ahead: int, reply_to: str | None
    ) -> Loaded:
        return await self.run(
            self.loads.load,
            owner=asking.owner,
            conversation=asking.conversation,
            reach=wanted,
            ahead=ahead,
            reply_to=reply_to,
        )

    async def decided(
        self,
        asking: Asking,
        answering: Answering,
        settings: Settings,
        loaded: Loaded,
        *,
        preview: bool,
    ) -> Decision:
        """Count what isn't counted, gather what the policy needs, and decide."""
        tokenizer = answering.provider.tokenizer(answering.model)
        head, transcript = await self._counted(
            asking.conversation, tokenizer, answering.head, loaded.transcript
        )
        gathering = Gathering(
            owner=asking.owner,
            conversation=asking.conversation,
            agent=asking.agent,
            answering=answering,
            settings=settings,
            transcript=transcript,
            head=head,
            tokenizer=tokenizer,
            preview=preview,
        )
        evidence = await self._gathered(gathering)
        if evidence.recall is not None and transcript.unloaded.messages:
            transcript = await self._with_hits(gathering, evidence.recall)
        choose = partial(
            decide,
            transcript,
            settings,
            head=head,
            window=answering.window,
            evidence=replace(
                evidence,
                previous=Previous.from_dict(loaded.receipt) if loaded.receipt else None,
            ),
            agent=asking.agent,
        )
        # A long conversation takes 30 us a message: everybody else's answers would stand still.
        long = len(transcript.entries) > LONG
        return await asyncio.to_thread(choose) if long else choose()

    async def counted(self, asking: Asking, answering: Answering, loaded: Loaded) -> Loaded:
        """With every message counted, once for several decisions."""
        tokenizer = answering.provider.tokenizer(answering.model)
        _, transcript = await self._counted(
            asking.conversation, tokenizer, answering.head, loaded.transcript
        )
        return replace(loaded, transcript=transcript)

    async def _gathered(self, gathering: Gathering) -> Evidence:
        """What the policy in force needs besides the transcript; nothing where all of it fits."""
        settings = gathering.settings
        policy = settings.policy.value
        if policy == "relevant":
            policy = settings.selector.value
            if settings.triages and not settings.conversation.enabled.value:
                return NO_EVIDENCE
        gatherer = self.gatherers.get(policy)
        if gatherer is None or (policy in ONLY_ON_OVERFLOW and gathering.fits):
            return NO_EVIDENCE
        return await gatherer.gather(gathering)

    async def _with_hits(self, gathering: Gathering, recall: Recall) -> Transcript:
        """The transcript with the turns of the hits that were not read yet."""
        transcript = gathering.transcript
        known = {entry.seq for entry in transcript.entries}
        seqs = [hit.seq for hit in recall.hits if hit.seq not in known]
        if not seqs:
            return transcript
        found = await self.run(
            self.loads.turns_with,
            owner=gathering.owner,
            conversation=gathering.conversation,
            seqs=seqs,
        )
        wider = widened(transcript, [entry for entry in found if entry.seq not in known])
        _, counted = await self._counted(
            gathering.conversation, gathering.tokenizer, gathering.head, wider
        )
        return counted

    async def _counted(
        self, conversation: str, tokenizer: Tokenizer, head: Head, transcript: Transcript
    ) -> tuple[Head, Transcript]:
        """Count what isn't counted yet, or was by another tokenizer, in one batch; and keep it."""
        missing = [e.message for e in transcript.entries if needs_count(e.message, tokenizer)]
        every = [*head.messages, *missing]
        counts = dict(zip((m.id for m in every), await token_counts(tokenizer, every), strict=True))
        stored = {m.id: counts[m.id] for m in missing if not m.id.startswith(DRAFT)}
        if stored:
            await self.run(self.writes.save_counts, conversation=conversation, counts=stored)
        entries = tuple(
            replace(e, message=replace(e.message, tokens=counts[e.message.id]))
            if e.message.id in counts
            else e
            for e in transcript.entries
        )
        counted = head.counted([counts[m.id] for m in head.messages])
        return counted, replace(transcript, entries=entries)


def widened(transcript: Transcript, entries: Sequence[Entry]) -> Transcript:
    """With entries of what was not loaded; that part's totals shrink by them."""
    away = transcript.unloaded
    asked = [entry.message for entry in entries if entry.message.role == "user"]
    tokens = sum(entry.message.tokens.count for entry in entries if entry.message.tokens)
    return Transcript(
        entries=tuple(sorted((*transcript.entries, *entries), key=lambda entry: entry.seq)),
        unloaded=replace(
            away,
            messages=max(0, away.messages - len(entries)),
            users=max(0, away.users - len(asked)),
            background=max(0, away.background - sum(m.source in BACKGROUND for m in asked)),
            tokens=max(0, away.tokens - tokens),
        ),
    )


def greetings(answering: Answering) -> list[Message]:
    """The agent's greetings as they will be stored with the first message."""
    said = enumerate(answering.template.greeting)
    return [Message.assistant(text, id=f"{DRAFT}-greeting-{index}") for index, text in said]


def needs_count(message: Message, tokenizer: Tokenizer) -> bool:
    """A count by another tokenizer is made again; an estimate never replaces a real count."""
    tokens = message.tokens
    if tokens is None:
        return True
    return tokens.tokenizer != tokenizer.name and tokenizer.basis == "counted"


async def token_counts(tokenizer: Tokenizer, messages: Sequence[Message]) -> list[TokenCount]:
    """Each message's count, with the tokenizer's name and basis."""
    if not messages:
        return []
    return [
        TokenCount(count=count, tokenizer=tokenizer.name, basis=tokenizer.basis)
        for count in await tokenizer.count(messages)
    ]
