"""Tokens of messages, as the model that answers would count them: files by the form they take."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from chatsite.history import Head, Transcript
from chatsite.messages import Attachment, Message, TokenCount
from chatsite.providers.base.files import NO_FILES, Files
from chatsite.providers.base.media import choose_form
from chatsite.providers.base.provider import Tokenizer
from chatsite.turns.agents.resolved_agent import ResolvedAgent
from chatsite.turns.context.file_forms import MEDIA, RenderedRequest, best_forms, forms_of, rendered


class FileCounts:
    """What files take, by id, form and tokenizer; those asked for longest ago go first. A page
    asks at every pause in typing, and ten long files take two seconds to count."""

    def __init__(self, most: int = 2_000) -> None:
        self._most = most
        self._counts: OrderedDict[tuple[str, ...], int] = OrderedDict()

    def get(self, key: tuple[str, ...]) -> int | None:
        if key in self._counts:
            self._counts.move_to_end(key)
        return self._counts.get(key)

    def keep(self, key: tuple[str, ...], count: int) -> None:
        self._counts[key] = count
        if len(self._counts) > self._most:
            self._counts.popitem(last=False)


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """Counts for one model. `files` are those of the owner whose messages are counted; `kept` is
    shared by all."""

    agent: ResolvedAgent
    files: Files = NO_FILES
    kept: FileCounts = field(default_factory=FileCounts)

    async def of(self, messages: Sequence[Message]) -> list[TokenCount]:
        """Each message's count, with the tokenizer's name and basis; one batch, and one for each
        file that wasn't counted yet."""
        tokenizer = self.agent.provider.tokenizer(self.agent.model)
        counts = await token_counts(tokenizer, [message.to_text_only() for message in messages])
        return [
            await self._with_files(tokenizer, message, count) if message.attachments else count
            for message, count in zip(messages, counts, strict=True)
        ]

    async def with_counts(self, messages: Sequence[Message]) -> list[Message]:
        counts = await self.of(messages)
        return [replace(m, tokens=count) for m, count in zip(messages, counts, strict=True)]

    async def complete(
        self, head: Head, transcript: Transcript
    ) -> tuple[Head, Transcript, dict[str, TokenCount]]:
        """Both with every message counted, and the counts that were made now, by message id."""
        tokenizer = self.agent.provider.tokenizer(self.agent.model)
        missing = [e.message for e in transcript.entries if self.is_missing(e.message, tokenizer)]
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

    async def as_sent(self, request: Sequence[Message]) -> RenderedRequest:
        """The request with its files in the form in which they go."""
        if not any(message.attachments for message in request):
            return RenderedRequest(tuple(request))
        return await rendered(request, forms_of(request, self.agent.model), self.files)

    def is_missing(self, message: Message, tokenizer: Tokenizer) -> bool:
        """A count by another tokenizer is made again; an estimate never replaces a real count. So
        is one of files that another model took in another form."""
        tokens = message.tokens
        if tokens is None:
            return True
        if tokens.tokenizer == self._name(tokenizer.name, message):
            return False
        return bool(message.attachments) or tokenizer.basis == "counted"

    def _forms(self, message: Message) -> set[str]:
        return {choose_form(attachment, self.agent.model) for attachment in message.attachments}

    async def _with_files(
        self, tokenizer: Tokenizer, message: Message, count: TokenCount
    ) -> TokenCount:
        files = [await self._of_file(tokenizer, file) for file in message.attachments]
        return replace(
            count,
            count=count.count + sum(files),
            tokenizer=self._name(count.tokenizer, message),
            basis="estimated" if self._forms(message) & MEDIA else count.basis,
        )

    async def _of_file(self, tokenizer: Tokenizer, file: Attachment) -> int:
        """By its best form: in a request that has too many it takes less, never more."""
        key = (file.id, choose_form(file, self.agent.model), tokenizer.name)
        count = self.kept.get(key)
        if count is None:
            alone = [Message.user(None, file, id=file.id)]
            sent = await rendered(alone, best_forms(alone, self.agent.model), self.files)
            empty = Message.user("", id="empty")
            with_frame, frame = await tokenizer.count([*sent.messages, empty])
            count = max(0, with_frame - frame)
            self.kept.keep(key, count)
        return count

    def _name(self, tokenizer: str, message: Message) -> str:
        return (
            "+".join((tokenizer, *sorted(self._forms(message))))
            if message.attachments
            else tokenizer
        )


async def token_counts(tokenizer: Tokenizer, messages: Sequence[Message]) -> list[TokenCount]:
    """Each message's count, with the tokenizer's name and basis."""
    if not messages:
        return []
    return [
        TokenCount(count=count, tokenizer=tokenizer.name, basis=tokenizer.basis)
        for count in await tokenizer.count(messages)
    ]
