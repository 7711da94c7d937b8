"""One fold: older turns and the summary so far become the next summary, as a model writes it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from chatsite.conversations.summary_records import Standing, Unfolded
from chatsite.errors import ProviderError
from chatsite.history import Entry, Settings, Window, estimate_message
from chatsite.history.recalled import summary_text
from chatsite.history.summarising import (
    Load,
    Piece,
    again,
    cut,
    most_tokens,
    pieces,
    question,
    to_fold,
    words_for,
)
from chatsite.messages import UNSOUND, Message, TokenCount
from chatsite.providers.base import Model, Tokenizer, Usage
from chatsite.turns.answering import Answering
from chatsite.turns.completing import Unfinished, complete, side_model
from chatsite.turns.deciding import token_counts
from chatsite.turns.ports import Owner, Run

# For one call: a model on this machine reads some hundred tokens a second.
SECONDS = 120.0
# A run that needs more calls stores what it has; the next turn's end goes on from there.
MOST_PIECES = 24
# An estimate of tokens may come out a tenth too low, and the chat format takes some too.
ESTIMATE_SHARE = 85
LEAST_ROOM = 128


class SummaryWrites(Protocol):
    """`conversations.summaries` is one."""

    def fold(
        self,
        *,
        owner: Any,
        conversation: str,
        start: Unfolded,
        folded: Sequence[Entry],
        messages: int,
        text: str,
        by: str,
        tokens: TokenCount,
        report: Mapping[str, Any],
    ) -> Standing | None: ...
    def rewrite(
        self, *, owner: Any, conversation: str, version: int, text: str | None, tokens: TokenCount
    ) -> Standing: ...
    def switch(self, *, owner: Any, conversation: str, on: bool) -> Standing: ...


class SummaryReads(Protocol):
    """`conversations.summary_queries` is one."""

    def standing(self, *, owner: Any, conversation: str) -> Standing: ...
    def unfolded(self, *, owner: Any, conversation: str) -> Unfolded: ...
    def text_of(self, *, owner: Any, conversation: str, version: int) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the model wrote; not `whole` where it stopped at its longest length."""

    text: str
    whole: bool


@dataclass(slots=True)
class Made:
    """The text as far as it is, what it covers, and what making it took."""

    text: str
    tokens: TokenCount | None = None
    pieces: list[Piece] = field(default_factory=list)
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


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """What stands after a fold, None for what stood before, and why it went no further."""

    standing: Standing | None = None
    failure: ProviderError | TimeoutError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """What is needed to make one conversation's next summary."""

    owner: Owner
    conversation: str
    answering: Answering
    settings: Settings
    run: Run
    reads: SummaryReads
    writes: SummaryWrites

    async def make(self) -> Folded:
        """Nothing stands anew where no fold is needed, or the conversation changed meanwhile.

        What was made before a call failed, or was cancelled, is stored. Raises NotFound for a
        conversation that is gone, ProviderError where no model can be asked.
        """
        start = await self.run(
            self.reads.unfolded, owner=self.owner, conversation=self.conversation
        )
        if not start.standing.on:
            return Folded()
        load = await self._load(start)
        folded = to_fold(start.entries, load)
        if not folded:
            return Folded()
        model, most = self._model(), most_tokens(load.limit)
        base = start.standing.summary
        made = Made(base.text if base else "")
        failure: ProviderError | TimeoutError | None = None
        for piece in pieces(start.entries, folded, room=_room(model, most))[:MOST_PIECES]:
            try:
                await self._take_up(piece, made, model, most)
            except (ProviderError, TimeoutError) as error:
                failure = error
                break
            except asyncio.CancelledError:
                break
        stored = await self._store(start, made, model) if made.tokens else None
        return Folded(standing=stored, failure=failure)

    async def _load(self, start: Unfolded) -> Load:
        head, window = self.answering.head.messages, self.answering.window
        counts = await token_counts(self._tokenizer, head)
        summary = start.standing.summary
        return Load(
            fixed=sum(count.count for count in counts),
            summary=summary.tokens.count if summary else 0,
            limit=limit_of(window, self.settings),
            low_water=self.settings.low_water.value,
        )

    @property
    def _tokenizer(self) -> Tokenizer:
        """That of the model that will read the summary."""
        return self.answering.provider.tokenizer(self.answering.model)

    def _model(self) -> Model:
        """The one that writes: by name, or the provider's small one, or its own."""
        if self.answering.provider.kind == "echo":
            raise ProviderError("No model answers here that could write one.", code="no_model")
        small = side_model(self.answering, self.settings.summary_model.value)
        return small or self.answering.provider.model(None)

    async def _take_up(self, piece: Piece, made: Made, model: Model, most: int) -> None:
        """One piece more is covered; a piece in which nothing was said costs no call."""
        if piece.text:
            asked = question(summary=made.text, text=piece.text, words=words_for(most))
            reply = await self._ask(asked, made, model, most)
            tokens = await self._count(reply.text)
            if tokens.count > most or not reply.whole:
                reply = await self._shorter(reply, made, model, most)
                tokens = await self._count(reply.text)
            made.text, made.tokens = reply.text, tokens
        made.pieces.append(piece)

    async def _shorter(self, long: Reply, made: Made, model: Model, most: int) -> Reply:
        """Ask once for a shorter one; what is still too long is cut at a sentence."""
        reply = await self._ask(again(long.text, words=words_for(most)), made, model, most)
        text = min(reply.text, long.text, key=len)
        tokens = await self._count(text)
        if text == reply.text and reply.whole and tokens.count <= most:
            return reply
        made.shortened = True
        characters = len(text)
        while tokens.count > most:
            characters = min(characters * most // tokens.count, characters - 1)
            text = cut(text, characters=characters)
            tokens = await self._count(text)
        return Reply(text=text, whole=True)

    async def _ask(self, messages: Sequence[Message], made: Made, model: Model, most: int) -> Reply:
        started = time.monotonic()
        try:
            completed = await complete(
                self.answering.provider,
                model,
                messages,
                # Of its own: the conversation's prompt keeps its place in the engine.
                conversation=f"{self.conversation}:summary",
                max_tokens=_reply_tokens(most),
                seconds=SECONDS,
            )
            reply = Reply(text=_clean(completed.text), whole=True)
            made.usages.append(completed.usage)
        except Unfinished as error:
            if not error.text:
                raise
            reply = Reply(text=_clean(error.text), whole=False)
            made.usages.append(error.usage)
        made.seconds += time.monotonic() - started
        if not reply.text:
            raise ProviderError("The model wrote nothing.", code="empty_answer")
        return reply

    async def _count(self, text: str) -> TokenCount:
        return await summary_tokens(text, self._tokenizer)

    async def _store(self, start: Unfolded, made: Made, model: Model) -> Standing | None:
        assert made.tokens is not None
        return await self.run(
            self.writes.fold,
            owner=self.owner,
            conversation=self.conversation,
            start=start,
            folded=[entry for piece in made.pieces for entry in piece.entries],
            messages=sum(piece.messages for piece in made.pieces),
            text=made.text,
            by=model.label,
            tokens=made.tokens,
            report=made.report(),
        )


def limit_of(window: Window, settings: Settings) -> int:
    """What a prompt may take, in tokens."""
    budget = settings.tokens.value
    return window.room if budget is None else min(budget, window.room)


async def summary_tokens(text: str, tokenizer: Tokenizer) -> TokenCount:
    """What a summary takes as a message of its own, its label included."""
    message = Message.user(summary_text(text), id="summary")
    return (await token_counts(tokenizer, [message]))[0]


def _clean(text: str) -> str:
    return UNSOUND.sub("\N{REPLACEMENT CHARACTER}", text).strip()


def _reply_tokens(most: int) -> int:
    """Room for a reply that is too long: it can be shortened, where a broken one says less."""
    return 2 * most


def _room(model: Model, most: int) -> int:
    """Tokens of one piece beside the question, the summary so far and the reply."""
    frame = sum(estimate_message(m) for m in question(summary="-", text="-", words=most))
    room = (model.window - frame - most - _reply_tokens(most)) * ESTIMATE_SHARE // 100
    if room < LEAST_ROOM:
        raise ProviderError(f"The window of {model.label} is too small for it.", code="window")
    return room
