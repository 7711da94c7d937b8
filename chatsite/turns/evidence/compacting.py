"""A person folds older turns into a summary: a plan with a draft, a model's draft in parts, apply,
undo, and apply again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from chatsite.conversations.owners import Owner
from chatsite.conversations.summaries.queries import (
    SummaryState,
    UnsummarisedPath,
    unsummarised_path,
)
from chatsite.conversations.summaries.versions import (
    CHANGED_SINCE,
    fold_summary,
    undo_compaction,
)
from chatsite.errors import BadCommand, ProviderError, Refused
from chatsite.history import RunningSummary, estimate_message
from chatsite.history.compaction import (
    HandFold,
    fingerprint,
    fold_by_hand,
    lost_instructions,
    lost_of,
    plain_draft,
)
from chatsite.history.summary_plan import SummaryPiece, summary_question, words_for_tokens
from chatsite.providers.base.provider import reusable
from chatsite.turns.context.drafts import EMPTY, Drafts
from chatsite.turns.context.turn_context import TurnContext
from chatsite.turns.evidence.running_summary import count_summary, require_short
from chatsite.turns.evidence.summary_fold import (
    LONGEST_LABEL,
    SummaryFold,
    find_lost,
    writing_model,
)
from chatsite.turns.evidence.summary_writer import Outdated
from chatsite.wording import later, say

# The newest turns that are listed; the others fold without being shown.
LISTED = 500
# For one part, asking once more for a shorter one included: a proxy in front ends what takes 120.
PART_SECONDS = 110.0
NOTHING = later("There is nothing to fold: the newest exchange stays as it is.")
OFF = later("The summary is switched off in this conversation. Switch it on to compact.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a person wants folded: all turns up to the one that begins with the message `to` (None:
    all but the newest two), `without` some. `keep` says what a model is to keep in particular."""

    without: Collection[int] = ()
    to: int | None = None
    keep: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compactor:
    """Built once by `wiring`; `tell` tells pages what holds now."""

    drafts: Drafts
    tell: Callable[[str, SummaryState], None]

    # ---- before it is applied ----------------------------------------------------------------
    async def plan(self, context: TurnContext, wanted: Wanted, text: str = "") -> dict[str, Any]:
        """What would fold, a draft without a model, and what `text` frees and lost, "" for that
        draft. Raises Refused where nothing can fold."""
        start, hand, state = await _folded(context, wanted)
        fold, base = SummaryFold(context, wanted.keep), start.state.summary
        held = base.text if base else ""
        draft = await asyncio.to_thread(plain_draft, hand.folded, before=held, most=fold.most)
        lost = await asyncio.to_thread(_lost, hand, text or draft)
        now, limit, after = await self._sizes(context, start, hand, text or draft)
        model, price, pieces = writing_model(context), context.agent.model.price, []
        if model is not None:
            try:
                pieces = await fold.pieces(start, hand.folded)
            except ProviderError:
                model = None  # Its window is too small for it.
        freed = max(0, now - after)
        return {
            "turns": [turn.to_dict() for turn in hand.listed[-LISTED:]],
            "earlier": len(hand.listed[:-LISTED]),
            "tokens": now,
            "freed": freed,
            "limit": limit,
            "cost": await asyncio.to_thread(_cost, fold, pieces) if model and model.price else None,
            "saves": price.cost(prompt=freed, cached=reusable(freed)) if price else None,
            "by": model.label if model else "",
            "parts": len(pieces),
            "draft": draft,
            "lost": lost,
            "version": base.version if base else 0,
            "state": state,
        }

    async def _sizes(
        self, context: TurnContext, start: UnsummarisedPath, hand: HandFold, text: str
    ) -> tuple[int, int, int]:
        """Tokens of the next request, its limit, and its tokens with this text in the place of
        what folds."""
        loaded = await self.drafts.load(context, EMPTY, context.reach)
        now = await self.drafts.decider.preview(context, loaded)
        base = start.state.summary
        tokens = await count_summary(text, context.agent.provider.tokenizer(context.agent.model))
        compaction = RunningSummary(
            id="draft",
            version=0,
            text=text,
            first=start.first,
            last=hand.covered[-1].seq,
            messages=hand.messages,
            by="",
            tokens=tokens,
            compaction=1,
            kept=(*(base.kept if base else ()), *hand.kept),
        )
        transcript = replace(loaded.transcript, compaction=compaction)
        after = await self.drafts.decider.preview(context, replace(loaded, transcript=transcript))
        return now.tokens, now.limit, after.tokens

    async def draft(
        self, context: TurnContext, wanted: Wanted, *, part: int, text: str
    ) -> dict[str, Any]:
        """Let the model write the part `part`, from 0 on; `text` is what it wrote so far.

        Raises ProviderError, and Refused where the conversation changed meanwhile.
        """
        start, hand, _ = await _folded(context, wanted)
        fold = SummaryFold(context, wanted.keep)
        pieces = await fold.pieces(start, hand.folded)
        if part >= len(pieces):
            raise BadCommand(say("There are {parts} parts.", parts=len(pieces)))
        writer = fold.writer(start, text if part else None)
        writer.pieces += pieces[:part]
        try:
            async with asyncio.timeout(PART_SECONDS):
                await writer.take_up(pieces[part])
        except Outdated:
            raise Refused(say(CHANGED_SINCE), code="changed") from None
        except TimeoutError:
            raise ProviderError(say("The model took too long."), code="timeout") from None
        return {
            "text": writer.text,
            "part": part,
            "parts": len(pieces),
            "tokens": writer.report()["tokens"],
            "seconds": round(writer.seconds, 2),
            "by": writer.model.label[:LONGEST_LABEL],
        }

    # ---- applying it -------------------------------------------------------------------------
    async def apply(
        self,
        context: TurnContext,
        wanted: Wanted,
        *,
        text: str,
        by: str,
        version: int,
        state: str = "",
    ) -> None:
        """Put the text in the place of what folds. `version` held, and `state` was told, when the
        plan was made: raises Refused where that changed, and for a text that is too long."""
        agent, owner, conversation = context.agent, context.owner, context.conversation
        tokens = await count_summary(text, agent.provider.tokenizer(agent.model))
        require_short(tokens, context)
        start, hand, now = await _folded(context, wanted)
        held = start.state.summary.version if start.state.summary else 0
        applied = None
        if version == held and state in ("", now):
            applied = await fold_summary(
                owner=owner,
                conversation=conversation,
                start=start,
                folded=hand.covered,
                messages=hand.messages,
                text=text,
                by=by,
                tokens=tokens,
                report={"lost": await find_lost(hand.folded, text)},
                kept=hand.kept,
            )
        if applied is None:
            raise Refused(say(CHANGED_SINCE), code="changed")
        self.tell(conversation, applied)

    async def undo(
        self, *, owner: Owner, conversation: str, version: int, again: bool = False
    ) -> None:
        """Send what the compaction stands for in its place again; or, `again`, the compaction.
        Raises NotFound, and Refused where another summary holds."""
        state = await undo_compaction(
            owner=owner, conversation=conversation, version=version, again=again
        )
        self.tell(conversation, state)


async def _folded(context: TurnContext, wanted: Wanted) -> tuple[UnsummarisedPath, HandFold, str]:
    """The path, what folds of it, and a text that changes with both."""
    start = await unsummarised_path(owner=context.owner, conversation=context.conversation)
    if not start.state.on:
        raise Refused(say(OFF), code="summary_off")
    above = start.state.summary.id if start.state.summary else ""

    def fold() -> tuple[HandFold, str]:  # 50 us a message: not on everybody's thread
        hand = fold_by_hand(start.entries, without=wanted.without, to=wanted.to)
        return hand, fingerprint(hand.covered, above=above)

    hand, state = await asyncio.to_thread(fold)
    if not hand.folded:
        raise Refused(say(NOTHING), code="nothing_to_fold")
    return start, hand, state


def _lost(hand: HandFold, text: str) -> list[dict[str, Any]]:
    lost = (*lost_instructions(hand.folded, text), *lost_of(hand.folded, text))
    return [value.to_dict() for value in lost]


def _cost(fold: SummaryFold, pieces: Collection[SummaryPiece]) -> float:
    """US dollars for all parts, estimated; a summary so far takes as much as it may."""
    price, words = fold.model.price, words_for_tokens(fold.most)
    asked = [
        summary_question(summary="-", text=piece.text, words=words, task=fold.task)
        for piece in pieces
    ]
    prompt = sum(estimate_message(message) for messages in asked for message in messages)
    answer = fold.most * len(pieces)
    return price.cost(prompt=prompt + answer, answer=answer) if price else 0.0
