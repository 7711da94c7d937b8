"""Tokens of messages, as the model that answers would count them: files by the form they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from chatsite.history import Head, Transcript
from chatsite.messages import Message, TokenCount
from chatsite.providers.base import NO_FILES, Files, Tokenizer
from chatsite.providers.forms import form_of
from chatsite.turns.answering import Answering
from chatsite.turns.files import MEDIA, Rendered, best_forms, forms_of, rendered


@dataclass(frozen=True, slots=True)
class Counting:
    """Counts for one model. `files` are those of the owner whose messages are counted."""

    answering: Answering
    files: Files = NO_FILES

    async def of(self, messages: Sequence[Message]) -> list[TokenCount]:
        """Each message's count, with the tokenizer's name and basis; one batch."""
        tokenizer = self.answering.provider.tokenizer(self.answering.model)
        # Each by its best form: in a request that has too many it takes less, never more.
        alone = await rendered(messages, best_forms(messages, self.answering.model), self.files)
        counts = await token_counts(tokenizer, alone.messages)
        return [
            self._with_files(message, count) if message.attachments else count
            for message, count in zip(messages, counts, strict=True)
        ]

    async def complete(
        self, head: Head, transcript: Transcript
    ) -> tuple[Head, Transcript, dict[str, TokenCount]]:
        """Both with every message counted, and the counts that were made now, by message id."""
        missing = [e.message for e in transcript.entries if self.is_missing(e.message)]
        every = [*head.messages, *missing]
        counts = dict(zip((m.id for m in every), await self.of(every), strict=True))
        entries = tuple(
            replace(e, message=replace(e.message, tokens=counts[e.message.id]))
            if e.message.id in counts
            else e
            for e in transcript.entries
        )
        return (
            head.counted([counts[m.id] for m in head.messages]),
            replace(transcript, entries=entries),
            {m.id: counts[m.id] for m in missing},
        )

    async def as_sent(self, request: Sequence[Message]) -> Rendered:
        """The request with its files in the form in which they go."""
        if not any(message.attachments for message in request):
            return Rendered(tuple(request))
        return await rendered(request, forms_of(request, self.answering.model), self.files)

    def is_missing(self, message: Message) -> bool:
        """A count by another tokenizer is made again; an estimate never replaces a real count. So
        is one of files that another model took in another form."""
        tokens = message.tokens
        if tokens is None:
            return True
        tokenizer = self.answering.provider.tokenizer(self.answering.model)
        if tokens.tokenizer == self._name(tokenizer.name, message):
            return False
        return bool(message.attachments) or tokenizer.basis == "counted"

    def _forms(self, message: Message) -> set[str]:
        return {form_of(attachment, self.answering.model) for attachment in message.attachments}

    def _with_files(self, message: Message, count: TokenCount) -> TokenCount:
        return replace(
            count,
            tokenizer=self._name(count.tokenizer, message),
            basis="estimated" if self._forms(message) & MEDIA else count.basis,
        )

    def _name(self, tokenizer: str, message: Message) -> str:
        return "+".join((tokenizer, *sorted(self._forms(message))))


async def token_counts(tokenizer: Tokenizer, messages: Sequence[Message]) -> list[TokenCount]:
    """Each message's count, with the tokenizer's name and basis."""
    if not messages:
        return []
    return [
        TokenCount(count=count, tokenizer=tokenizer.name, basis=tokenizer.basis)
        for count in await tokenizer.count(messages)
    ]
