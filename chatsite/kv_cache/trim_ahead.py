"""Trimming ahead: what the next request won't have leaves this machine's cache before it is made.

After an answer, and after messages were left out or unloaded, the next decision is made for an
empty message. What these policies leave out then, they leave out whatever is written, but for what
a reply or another try wants: that is still on disk.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from chatsite.errors import ChatsiteError
from chatsite.messages import Message
from chatsite.turns.context.drafts import Drafts
from chatsite.turns.context.turn_context import TurnContext

logger = logging.getLogger("chatsite.turns")
# A person who asks again at once shouldn't wait for a decision that isn't needed any more.
QUIET_SECONDS = 1.0
# Conversations whose last turn is known; the engine has fewer slots.
KEPT = 16


class TrimmableCache(Protocol):
    """Names what trimming ahead asks of the provider whose cache it is."""

    def can_trim(self, conversation: str) -> bool: ...

    async def trim(self, conversation: str, messages: Sequence[Message]) -> None:
        """Begin to cut out what the next request, `messages` with an empty one at the end, won't
        have. Raises ProviderError."""
        ...


@dataclass(kw_only=True, eq=False)
class TrimAhead:
    """Trims after answers. `running` says whether an answer is being written somewhere."""

    drafts: Drafts
    cache: TrimmableCache
    running: Callable[[str], bool]
    quiet: float = QUIET_SECONDS
    _last: OrderedDict[str, TurnContext] = field(default_factory=OrderedDict, init=False)
    _trimming: dict[str, asyncio.Task[None]] = field(default_factory=dict, init=False)

    def after_turn(self, context: TurnContext) -> None:
        conversation = context.conversation
        self._last.pop(conversation, None)
        if not context.agent.has_cache or context.settings.active_policy.depends_on_words:
            return
        self._last[conversation] = context
        if len(self._last) > KEPT:
            self._last.popitem(last=False)
        self.changed(conversation)

    def changed(self, conversation: str) -> None:
        """Begin again, since the conversation's next request has changed; returns at once."""
        self.give_way(conversation)
        if conversation in self._last:
            task = asyncio.create_task(self._trim(self._last[conversation]))
            self._trimming[conversation] = task
            task.add_done_callback(lambda done: self._forget_task(conversation, done))

    def give_way(self, conversation: str) -> None:
        """Stop trimming for a turn that begins: its own request will trim the cache."""
        if task := self._trimming.pop(conversation, None):
            task.cancel()

    def stop(self) -> None:
        for conversation in list(self._trimming):
            self.give_way(conversation)

    def _forget_task(self, conversation: str, task: asyncio.Task[None]) -> None:
        if self._trimming.get(conversation) is task:
            del self._trimming[conversation]

    async def _trim(self, context: TurnContext) -> None:
        conversation = context.conversation
        await asyncio.sleep(self.quiet)
        if self.running(conversation) or not self.cache.can_trim(conversation):
            return
        try:
            context = await self.drafts.as_now(context)
            if context.settings.active_policy.depends_on_words:
                return
            decision = await self.drafts.decide(context)
            sent = await self.drafts.decider.counter(context).as_sent(decision.request)
            await self.cache.trim(conversation, sent.messages)
        except ChatsiteError as error:  # it is gone, or another owner's now: no harm is done
            logger.info("nothing is trimmed ahead in %s: %s", conversation, error.message)
        except Exception:
            logger.exception("trimming ahead in %s failed", conversation)
