"""From a conversation to a decision: what needs storage or a tokenizer is gathered here, and
`history.decide` is asked. The turn and the preview come this way and differ in nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from chatsite.conversations.records import Loaded
from chatsite.errors import BadCommand
from chatsite.history import (
    Decision,
    Entry,
    Evidence,
    Head,
    Previous,
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
from chatsite.turns.ports import Owner, Reads, Run, Writes

DRAFT = "draft"
LONG = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Who asks where. `query` is the page's; `url_allowed`: its history settings may apply."""

    owner: Owner
    conversation: str
    agent: str
    query: str
    url_allowed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    environment: Mapping[str, str]
    run: Run
    reads: Reads
    writes: Writes

    def settings(self, asking: Asking, answering: Answering) -> Settings:
        return resolve(
            environment=self.environment,
            url=first_values(asking.query),
            template=answering.template.chat_settings,
            url_allowed=asking.url_allowed,
        )

    async def for_turn(self, asking: Asking, answering: Answering) -> Decision:
        """The decision of the turn whose user message is the last one stored."""
        settings = self.settings(asking, answering)
        loaded = await self._load(asking, settings, ahead=0)
        return await self._decide(asking, answering, settings, loaded)

    async def for_draft(self, asking: Asking, answering: Answering, draft: str) -> Decision:
        """The decision as it would be for a draft, even an empty one; nothing is stored of it."""
        settings = self.settings(asking, answering)
        loaded = await self._load(asking, settings, ahead=1)
        if loaded.agent not in ("", asking.agent):
            raise BadCommand("This conversation is with another agent.")
        new = [Message.user(draft, id=DRAFT)]
        if not loaded.transcript.entries and not loaded.transcript.unloaded.messages:
            new = [*greetings(answering), *new]  # they will be stored with it
        entries = [Entry(message=said, seq=seq) for seq, said in enumerate(new, loaded.next_seq)]
        transcript = replace(loaded.transcript, entries=(*loaded.transcript.entries, *entries))
        return await self._decide(
            asking, answering, settings, replace(loaded, transcript=transcript)
        )

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

    async def _load(self, asking: Asking, settings: Settings, *, ahead: int) -> Loaded:
        return await self.run(
            self.reads.load,
            owner=asking.owner,
            conversation=asking.conversation,
            reach=reach(settings),
            ahead=ahead,
        )

    async def _decide(
        self, asking: Asking, answering: Answering, settings: Settings, loaded: Loaded
    ) -> Decision:
        tokenizer = answering.provider.tokenizer(answering.model)
        head, transcript = await self._counted(
            asking.conversation, tokenizer, answering.head, loaded.transcript
        )
        current = transcript.entries[-1].message
        choose = partial(
            decide,
            transcript,
            settings,
            head=head,
            window=answering.window,
            evidence=Evidence(
                previous=Previous.from_dict(loaded.receipt) if loaded.receipt else None,
                reply_to=frozenset({current.reply_to} if current.reply_to else ()),
            ),
            agent=asking.agent,
        )
        # A long conversation takes 30 us a message: everybody else's answers would stand still.
        long = len(transcript.entries) > LONG
        return await asyncio.to_thread(choose) if long else choose()

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
