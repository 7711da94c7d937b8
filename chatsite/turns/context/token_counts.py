"""Tokens of messages, as the model that answers would count them: files by the form they take."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from chatsite.history import Head, Transcript
from chatsite.history.path.added_messages import summary_message
from chatsite.history.room import weakest
from chatsite.messages import Attachment, Message, TokenCount, messages_as_read
from chatsite.providers.base.files import NO_FILES, Files
from chatsite.providers.base.media import choose_form
from chatsite.providers.base.provider import Tokenizer
from chatsite.turns.agents.resolved_agent import ResolvedAgent
from chatsite.turns.context.file_forms import (
    MEDIA,
    RenderedRequest,
    best_forms,
    forms_of,
    render_files,
)

K = TypeVar("K")
V = TypeVar("V")


class _Recent(OrderedDict[K, V]):
    """Keeps the `most` entries that were used last."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def use(self, key: K) -> V | None:
        if key in self:
            self.move_to_end(key)
        return self.get(key)

    def keep(self, key: K, value: V) -> None:
        self[key] = value
        if len(self) > self._most:
            self.popitem(last=False)


class CountCache:
    """Counts that no message stores; shared by all turns.

    `files` by id, form and tokenizer: a page asks at every pause in typing, and ten long files
    take two seconds to count. `heads`, counted, by hash, tokenizer, basis and the tokens of its
    tools: a turn asks three times.
    """

    def __init__(self) -> None:
        self.files: _Recent[tuple[str, str, str], TokenCount] = _Recent(2_000)
        self.heads: _Recent[tuple[str, str, str, int], Head] = _Recent(100)


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """Counts for one model. `files` are those of the owner whose messages are counted."""

    agent: ResolvedAgent
    files: Files = NO_FILES
    cache: CountCache = field(default_factory=CountCache)

    async def of(self, messages: Sequence[Message]) -> list[TokenCount]:
        """Each message's count, with the tokenizer's name and basis; one batch, and one for each
        file that wasn't counted yet."""
        tokenizer = self.agent.provider.tokenizer(self.agent.model)
        read = messages_as_read(messages)
        texts = [m.to_text_only() if m.attachments else m for m in read]
        counts = await tokenizer.count(texts) if texts else []
        return [
            await self._with_files(tokenizer, message, count) if message.attachments else count
            for message, count in zip(messages, counts, strict=True)
        ]

    async def with_counts(self, messages: Sequence[Message]) -> list[Message]:
        counts = await self.of(messages)
        return [replace(m, tokens=count) for m, count in zip(messages, counts, strict=True)]

    async def head(self) -> Head:
        """The agent's head with every message counted."""
        head = self.agent.head
        tokenizer = self.agent.provider.tokenizer(self.agent.model)
        key = (head.hash, tokenizer.name, tokenizer.basis, head.tools)
        counted = self.cache.heads.use(key)
        if counted is None:
            counts = await tokenizer.count(head.messages) if head.messages else []
            counted = head.counted(counts)
            self.cache.heads.keep(key, counted)
        return counted

    async def complete(self, transcript: Transcript) -> tuple[Transcript, dict[str, TokenCount]]:
        """With every message counted, and the counts that were made now, by message id."""
        tokenizer = self.agent.provider.tokenizer(self.agent.model)
        summary = transcript.compaction
        if summary and summary.tokens.tokenizer != tokenizer.name:
            [count] = await tokenizer.count([summary_message(summary.text, summary.tokens)])
            transcript = replace(transcript, compaction=replace(summary, tokens=count))
        missing = [e.message for e in transcript.entries if self.is_missing(e.message, tokenizer)]
        if not missing:
            return transcript, {}
        counts = dict(zip((m.id for m in missing), await self.of(missing), strict=True))
        entries = tuple(
            replace(e, message=replace(e.message, tokens=counts[e.message.id]))
            if e.message.id in counts
            else e
            for e in transcript.entries
        )
        return replace(transcript, entries=entries), counts

    async def as_sent(self, request: Sequence[Message]) -> RenderedRequest:
        """The request with its speakers' names, and its files in the form in which they go."""
        read = messages_as_read(request)
        if not any(message.attachments for message in read):
            return RenderedRequest(read)
        return await render_files(read, forms_of(read, self.agent.model), self.files)

    def is_missing(self, message: Message, tokenizer: Tokenizer) -> bool:
        """A count by another tokenizer is made again, also where this one estimates: for its model
        the other's has no margin. But the engine here estimates only until it is ready, and never
        replaces its own counts then."""
        tokens = message.tokens
        if tokens is None:
            return True
        if tokens.tokenizer == self._name(tokenizer.name, message):
            return False
        waits = self.agent.has_cache and tokenizer.basis == "estimated"
        return bool(message.attachments) or not waits

    def _forms(self, message: Message) -> set[str]:
        return {choose_form(attachment, self.agent.model) for attachment in message.attachments}

    async def _with_files(
        self, tokenizer: Tokenizer, message: Message, count: TokenCount
    ) -> TokenCount:
        files = [await self._of_file(tokenizer, file) for file in message.attachments]
        return replace(
            count,
            count=count.count + sum(file.count for file in files),
            tokenizer=self._name(count.tokenizer, message),
            basis="estimated"
            if self._forms(message) & MEDIA
            else weakest(one.basis for one in (count, *files)),
        )

    async def _of_file(self, tokenizer: Tokenizer, file: Attachment) -> TokenCount:
        """By its best form: in a request that has too many it takes less, never more."""
        key = (file.id, choose_form(file, self.agent.model), tokenizer.name)
        count = self.cache.files.use(key)
        if count is None:
            alone = [Message.user(None, file, id=file.id)]
            sent = await render_files(alone, best_forms(alone, self.agent.model), self.files)
            empty = Message.user("", id="empty")
            with_frame, frame = await tokenizer.count([*sent.messages, empty])
            count = replace(with_frame, count=max(0, with_frame.count - frame.count))
            self.cache.files.keep(key, count)
        return count

    def _name(self, tokenizer: str, message: Message) -> str:
        return (
            "+".join((tokenizer, *sorted(self._forms(message))))
            if message.attachments
            else tokenizer
        )
