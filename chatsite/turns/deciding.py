"""From a conversation to a decision: what needs storage or a tokenizer is gathered here, and
`history.decide` is asked. The turn and the preview come this way and differ in nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

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
        current = Entry(message=Message.user(draft, id=DRAFT), seq=loaded.next_seq)
        transcript = replace(loaded.transcript, entries=(*loaded.transcript.entries, current))
        return await self._decide(
            asking, answering, settings, replace(loaded, transcript=transcript)
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
        head = answering.head()
        tokenizer = answering.provider.tokenizer(answering.model)
        counted = await self._counted(asking.conversation, tokenizer, head, loaded.transcript)
        head, transcript = counted
        current = transcript.entries[-1].message
        return decide(
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

    async def _counted(
        self, conversation: str, tokenizer: Tokenizer, head: Head, transcript: Transcript
    ) -> tuple[Head, Transcript]:
        """Count what isn't counted yet, or was by another tokenizer, in one batch; and keep it."""
        missing = [e.message for e in transcript.entries if needs_count(e.message, tokenizer)]
        every = [*head.messages, *missing]
        counts = dict(zip((m.id for m in every), await token_counts(tokenizer, every), strict=True))
        stored = {message.id: counts[message.id] for message in missing if message.id != DRAFT}
        if stored:
            await self.run(self.writes.save_counts, conversation=conversation, counts=stored)
        entries = tuple(
            replace(e, message=replace(e.message, tokens=counts[e.message.id]))
            if e.message.id in counts
            else e
            for e in transcript.entries
        )
        counted = tuple(replace(m, tokens=counts[m.id]) for m in head.messages)
        return replace(head, messages=counted), replace(transcript, entries=entries)


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
