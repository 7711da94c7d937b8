"""Writing a summary: a model is asked, and asked again where it wrote too much."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from chatsite.errors import ProviderError
from chatsite.history import estimate_message
from chatsite.history.path.added_messages import summary_text
from chatsite.history.summary_plan import (
    SummaryPiece,
    SummaryTask,
    cut_at_sentence,
    shorter_question,
    summary_question,
    words_for_tokens,
)
from chatsite.messages import UNSOUND, Message, TokenCount
from chatsite.providers.base.provider import Model, Tokenizer, Usage
from chatsite.turns.agents.resolved_agent import ResolvedAgent
from chatsite.turns.evidence.completion import Unfinished, complete
from chatsite.wording import say

# For one call: a model on this machine reads some hundred tokens a second.
SECONDS = 120.0
# An estimate of tokens may come out a tenth too low, and the chat format takes some too.
ESTIMATE_SHARE = 85
LEAST_ROOM = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenReply:
    """What the model wrote; not `whole` where it stopped at its longest length."""

    text: str
    whole: bool


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


class Outdated(Exception):
    """What was to be summarised was left out, forgotten, deleted or switched off meanwhile."""


@dataclass(slots=True, kw_only=True)
class SummaryWriter:
    """Has `model` write what `agent`'s model will read, in at most `most` tokens of that.

    Before each call `may_send` is asked about all pieces that went into what is sent. `text` is the
    summary so far, `pieces` what it covers, and the others are what making it took.
    """

    agent: ResolvedAgent
    conversation: str
    model: Model
    most: int
    may_send: Callable[[Sequence[SummaryPiece]], Awaitable[bool]]
    task: SummaryTask
    text: str
    tokens: TokenCount | None = None
    pieces: list[SummaryPiece] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    seconds: float = 0.0
    shortened: bool = False

    def report(self) -> dict[str, Any]:
        """Tokens are those that the provider reported, None where it doesn't."""
        prompts = [usage.prompt for usage in self.usages]
        completions = [usage.completion for usage in self.usages]
        return {
            "calls": len(self.usages),
            "prompt": _sum(prompts),
            "completion": _sum(completions),
            "tokens": _sum([*prompts, *completions]),
            "seconds": round(self.seconds, 2),
            "shortened": self.shortened,
        }

    async def take_up(self, piece: SummaryPiece) -> None:
        """One piece more is covered; a piece in which nothing was said costs no call.

        Raises Outdated where nothing may be sent any more, and what the provider raises.
        """
        if piece.text:
            asked = summary_question(
                summary=self.text,
                text=piece.text,
                words=words_for_tokens(self.most),
                task=self.task,
            )
            reply = await self._ask(asked, piece)
            text, tokens = reply.text, await self._count(reply.text)
            if tokens.count > self.most or not reply.whole:
                text = await self._shorten(text, piece)
                tokens = await self._count(text)
            self.text, self.tokens = text, tokens
        self.pieces.append(piece)

    async def _shorten(self, long: str, piece: SummaryPiece) -> str:
        """Ask once for a shorter one; what is still too long is cut at a sentence."""
        asked = shorter_question(long, words=words_for_tokens(self.most), task=self.task)
        reply = await self._ask(asked, piece)
        text = min(reply.text, long, key=len)
        tokens = await self._count(text)
        if text == reply.text and reply.whole and tokens.count <= self.most:
            return text
        self.shortened = True
        characters = len(text)
        while tokens.count > self.most:
            characters = min(characters * self.most // tokens.count, characters - 1)
            text = cut_at_sentence(text, characters=characters)
            tokens = await self._count(text)
        return text

    async def _ask(self, messages: Sequence[Message], piece: SummaryPiece) -> WrittenReply:
        if not await self.may_send([*self.pieces, piece]):
            raise Outdated
        started = time.monotonic()
        try:
            completed = await complete(
                self.agent.provider,
                self.model,
                messages,
                # Of its own: the conversation's prompt keeps its place in the engine.
                conversation=f"{self.conversation}:summary",
                max_tokens=_reply_tokens(self.most),
                seconds=SECONDS,
            )
            reply = WrittenReply(text=_clean(completed.text), whole=True)
            self.usages.append(completed.usage)
        except Unfinished as error:
            if not error.text:
                raise
            reply = WrittenReply(text=_clean(error.text), whole=False)
            self.usages.append(error.usage)
        self.seconds += time.monotonic() - started
        if not reply.text:
            raise ProviderError(say("The model wrote nothing."), code="empty_answer")
        return reply

    async def _count(self, text: str) -> TokenCount:
        tokenizer = self.agent.provider.tokenizer(self.agent.model)
        return await summary_tokens(text, tokenizer)


async def summary_tokens(text: str, tokenizer: Tokenizer) -> TokenCount:
    """Return what a summary takes as a message of its own, its label included."""
    message = Message.user(summary_text(text), id="summary")
    [count] = await tokenizer.count([message])
    return count


def _clean(text: str) -> str:
    return UNSOUND.sub("\N{REPLACEMENT CHARACTER}", text).strip()


def _reply_tokens(most: int) -> int:
    """Room for a reply that is too long: it can be shortened, where a broken one says less."""
    return 2 * most


def room_of(model: Model, most: int, task: SummaryTask) -> int:
    """Tokens of one piece beside the question, the summary so far and the reply."""
    asked = summary_question(summary="-", text="-", words=most, task=task)
    frame = sum(map(estimate_message, asked))
    room = (model.window - frame - most - _reply_tokens(most)) * ESTIMATE_SHARE // 100
    if room < LEAST_ROOM:
        raise ProviderError(
            say("The window of {label} is too small for it.", label=model.label), code="window"
        )
    return room
