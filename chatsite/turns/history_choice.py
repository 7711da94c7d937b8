"""Choosing a policy and its settings for a conversation that has begun."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from chatsite.conversations.lifecycle import choose_history
from chatsite.conversations.path.queries import agent_of, kept_choice
from chatsite.errors import NotFound
from chatsite.events import HistoryChosen
from chatsite.history.settings.choosers import Choice
from chatsite.turns.answer.feed import ConversationFeeds
from chatsite.turns.context.drafts import Drafts
from chatsite.turns.context.turn_context import PageRequest
from chatsite.wording import say


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryChoices:
    """Keeps a choice with its conversation and tells the pages. `changed` is called with the
    conversation's id."""

    drafts: Drafts
    feeds: ConversationFeeds
    changed: Callable[[str], None]

    async def choose(self, request: PageRequest, choice: Choice) -> None:
        """Keep `choice` in place of what was kept before; an empty one leaves all to the agent.

        What was kept already may stay although it doesn't count now. Raises BadCommand for a new
        value that wouldn't count, NotFound, and ProviderError where no model can answer.
        """
        owner, conversation = request.owner, request.conversation
        kept = await kept_choice(owner=owner, conversation=conversation)
        if kept is None:
            raise NotFound(say("There is no such conversation."))
        if new := {name for name, value in choice.items() if kept.get(name) != value}:
            agent = await agent_of(owner=owner, conversation=conversation)
            draft = replace(request, agent=agent, history=choice, query="")
            self.drafts.require_allowed(self.drafts.contexts.of(draft), new)
        await choose_history(owner=owner, conversation=conversation, history=choice)
        self.changed(conversation)
        self.feeds.of(conversation).publish(HistoryChosen(history=choice))
