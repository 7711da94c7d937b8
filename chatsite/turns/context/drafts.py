"""The next message, before it is sent: what would go with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chatsite.conversations.files.uploads import attachments_of
from chatsite.conversations.path.loading import load_path
from chatsite.conversations.path.queries import kept_choices
from chatsite.conversations.records import LoadedPath
from chatsite.errors import BadCommand
from chatsite.history import Decision, Entry, Reach
from chatsite.history.receipts.cache_miss import CacheRules
from chatsite.history.receipts.next_price import NextPrice, RequestBefore, price_next
from chatsite.messages import Attachment, Message
from chatsite.turns.context.decider import Decider
from chatsite.turns.context.file_forms import draft_file_notes, needs_another_model
from chatsite.turns.context.turn_context import DRAFT, Contexts, PageRequest, TurnContext
from chatsite.wording import say


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a person has written so far. `reply_to` is the id of a message on the path."""

    text: str = ""
    reply_to: str | None = None
    attachments: Sequence[Attachment] = ()


EMPTY = Draft()


# What is known of the cache of a server's model, by both names.
CacheFacts = Callable[[str, str], CacheRules]


def nothing_known(server: str, model: str) -> CacheRules:
    return CacheRules()


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafts:
    """Decides on drafts. Nothing is stored but token counts, and no model is asked."""

    contexts: Contexts
    decider: Decider
    cache_facts: CacheFacts = nothing_known

    async def preview(
        self,
        request: PageRequest,
        text: str,
        *,
        reply_to: str | None = None,
        attachments: Sequence[str] = (),
        too_large: bool = False,
    ) -> dict[str, Any]:
        """What the page shows of the next request. `attachments` are ids of uploaded files.

        Raises PromptTooLarge for one that can't be sent; with `too_large` it says what that would
        take: more tokens than its limit.
        """
        context = await self.context(request)
        own = await self.attachments(request, attachments)
        draft = Draft(text=text, reply_to=reply_to, attachments=own)
        loaded = await self.load(context, draft, context.reach)
        decide = self.decider.measure if too_large else self.decider.preview
        decision, model = await decide(context, loaded), context.agent.model
        price = None if too_large else self.price(context, loaded, decision)
        return decision.to_dict() | {
            "price": price.to_dict() if price else None,
            "files": list(draft_file_notes(decision.request, own, model)),
            "another_model": any(needs_another_model(file, model) for file in own),
            "dropped": context.agent.asked["dropped"],
            "offers": self.contexts.offers(context),
        }

    def price(
        self, context: TurnContext, loaded: LoadedPath, decision: Decision
    ) -> NextPrice | None:
        """What the request would cost; None where no price is known."""
        model, receipt = context.agent.model, loaded.receipt
        if model.price is None:
            return None
        asked = (receipt or {}).get("provider") or {}
        before = None
        if receipt and (asked.get("kind"), asked.get("model")) == (model.provider, model.name):
            before = RequestBefore(receipt=receipt, seconds=time.time() - loaded.sent)
        rules = self.cache_facts(model.provider, model.name)
        return price_next(decision, model.price.cost, rules, before)

    async def context(self, request: PageRequest) -> TurnContext:
        """Who answers, and the settings in force. Raises NotFound, ProviderError, and BadCommand
        for a choice for one answer that wouldn't count."""
        kept = await self.with_kept_choice(request)
        if request.once is None:
            return self.contexts.of(kept)
        context = self.contexts.of(replace(kept, history=request.once, query=""))
        self.require_allowed(context, request.once)
        return context

    def require_allowed(self, context: TurnContext, names: Collection[str]) -> None:
        """Raise BadCommand for a value of these names of the choice that wouldn't count."""
        if refused := self.contexts.sources(context).refused(names):
            raise BadCommand(
                say(
                    "{name}={raw} can't be chosen: {why}. What was chosen before is kept.",
                    name=refused.name,
                    raw=refused.raw,
                    why=refused.why,
                )
            )

    async def with_kept_choice(self, request: PageRequest) -> PageRequest:
        """With the choice that is kept with the conversation; until it has begun, the page's own
        holds. Raises NotFound for another owner's conversation."""
        kept = await kept_choices(owner=request.owner, conversation=request.conversation)
        if kept is None:
            return request
        history, tuning = kept
        tuned = tuning if request.tuning is None else request.tuning
        return replace(request, history=history, tuning=tuned)

    async def as_now(self, context: TurnContext) -> TurnContext:
        """A former turn's context with the choice that is kept now."""
        request = await self.with_kept_choice(context.page_request)
        return self.contexts.with_agent(request, context.agent)

    async def attachments(self, request: PageRequest, ids: Sequence[str]) -> tuple[Attachment, ...]:
        """Raises NotFound or Refused for what can't be attached here by this owner."""
        if not ids:
            return ()
        return await attachments_of(request.owner, ids, conversation=request.conversation)

    async def decide(self, context: TurnContext, draft: Draft = EMPTY) -> Decision:
        """The decision as it would be for the draft, even an empty one."""
        loaded = await self.load(context, draft, context.reach)
        return await self.decider.preview(context, loaded)

    async def price_of(self, context: TurnContext, draft: Draft) -> NextPrice | None:
        """What the draft's request would cost; None where no price is known."""
        if context.agent.model.price is None:
            return None
        loaded = await self.load(context, draft, context.reach)
        return self.price(context, loaded, await self.decider.preview(context, loaded))

    async def load(self, context: TurnContext, draft: Draft, wanted: Reach) -> LoadedPath:
        """The stored path, with the draft as its current message."""
        loaded: LoadedPath = await load_path(
            owner=context.owner,
            conversation=context.conversation,
            reach=wanted,
            ahead=1,
            reply_to=draft.reply_to,
        )
        if loaded.agent not in ("", context.agent.slug):
            raise BadCommand(say("This conversation is with another agent."))
        user = Message.user(draft.text, *draft.attachments, id=DRAFT, reply_to=draft.reply_to)
        new = [user]
        if not loaded.transcript.entries and not loaded.transcript.not_loaded.messages:
            new = [*context.greeting, user]  # the greetings will be stored with it
        places = enumerate(new, loaded.next_seq)
        entries = [Entry(message=message, seq=seq, draft=True) for seq, message in places]
        entries[0] = replace(entries[0], forgets_above=loaded.forgets_all)
        transcript = replace(loaded.transcript, entries=(*loaded.transcript.entries, *entries))
        return replace(loaded, transcript=transcript)
