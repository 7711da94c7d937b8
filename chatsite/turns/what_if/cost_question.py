"""Asks before a message is sent that would cost more than the administrator's limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from chatsite.conversations.turn.receipts import cost_since, is_begun
from chatsite.errors import ChatsiteError, CostsMore
from chatsite.history.settings.offers import SettingSources
from chatsite.turns.context.drafts import Draft, Drafts
from chatsite.turns.context.turn_context import PageRequest
from chatsite.turns.what_if.comparison import PolicyComparison
from chatsite.wording import later, say

ASKS_FIRST = later("Nothing was sent: this message costs more than is sent without asking.")


@dataclass(frozen=True, slots=True)
class CostQuestion:
    """In US dollars: above `per_message`, or where a person's answers since midnight (UTC) come to
    more than `per_day`, the person is asked. None never asks."""

    comparison: PolicyComparison
    per_message: float | None = None
    per_day: float | None = None

    @property
    def drafts(self) -> Drafts:
        return self.comparison.drafts

    async def ask(
        self,
        request: PageRequest,
        client_id: str,
        text: str,
        *,
        reply_to: str | None = None,
        attachments: Sequence[str] = (),
    ) -> None:
        """Raise CostsMore where this message needs the person's word; its `costs` are the `price`,
        what was `spent` today where that is why, and a `cheaper` policy or None. Raises as a
        preview does. A message that was stored already doesn't ask."""
        if self.per_message is None:
            return
        context = await self.drafts.context(request)
        files = await self.drafts.attachments(request, attachments)
        draft = Draft(text=text, reply_to=reply_to, attachments=files)
        price = await self.drafts.price_of(context, draft)
        if price is None or not price.high:
            return
        spent = None
        if (
            price.high <= self.per_message
            and (spent := await self._too_much(request, price.high)) is None
        ):
            return
        conversation = request.conversation
        if await is_begun(owner=request.owner, conversation=conversation, client_id=client_id):
            return
        sources = self.drafts.contexts.sources(context)
        cheaper = await self._cheaper(request, draft, sources, price.high)
        costs = {"price": price.to_dict(), "spent": spent, "cheaper": cheaper}
        raise CostsMore(say(ASKS_FIRST), costs)

    async def _too_much(self, request: PageRequest, more: float) -> float | None:
        """What the owner's answers have cost today, where so much more is above the limit."""
        if self.per_day is None:
            return None
        midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        spent = await cost_since(owner=request.owner, since=midnight)
        return spent if spent + more > self.per_day else None

    async def _cheaper(
        self, request: PageRequest, draft: Draft, sources: SettingSources, price: float
    ) -> Mapping[str, Any] | None:
        """Of the policies that this person may choose and that halve the price the one that sends
        most, if it can be without asking; None where there is none, and in a new conversation."""
        if sources.why_closed:
            return None
        try:
            found = await self.comparison.of_draft(request, draft)
        except ChatsiteError:  # the question is asked without an offer
            return None

        def high(row: Mapping[str, Any]) -> float:
            return float(row["outcome"]["price"]["high"])

        possible = [row for row in found["rows"] if row["allowed"] and row["outcome"]]
        rows = [row for row in possible if 2 * high(row) <= price]
        if not rows:
            return None
        best = max(rows, key=lambda row: (high(row) <= (self.per_message or 0), high(row)))
        return {
            "words": best["in_words"],
            "price": best["outcome"]["price"],
            "once": dict(sources.after(best["changes"]).conversation),
        }
