"""The running summary of a conversation: made after an answer, gathered before the next one."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from chatsite.conversations.owners import Owner
from chatsite.conversations.summaries.queries import SummaryState, summary_state, summary_text
from chatsite.conversations.summaries.versions import rewrite_summary, switch_summary
from chatsite.errors import NotFound, ProviderError, Refused
from chatsite.events import Event, SummaryChanged
from chatsite.history import Evidence, estimate_message
from chatsite.history.policies.summary import SUMMARY
from chatsite.messages import Message, TokenCount
from chatsite.providers.base.provider import Tokenizer
from chatsite.turns.context.decider import DecisionInputs
from chatsite.turns.context.turn_context import TurnContext
from chatsite.turns.evidence.completion import FAST
from chatsite.turns.evidence.summary_fold import SummaryFold, writing_model
from chatsite.turns.evidence.summary_writer import summary_tokens
from chatsite.wording import later, say

logger = logging.getLogger("chatsite.turns")
# What went wrong, for the next receipts of so many conversations.
MAX_FAILURES = 1_000
# A person's own summary may be longer than a model's, but leaves room for the conversation.
PARTS_OF_LIMIT = 3
# In the whole process: nobody waits for a summary, and its calls take from what the provider lets
# this server ask at once and a minute, and of memory. The others wait for their turn.
MOST_AT_ONCE = 4
OFF = later("The summary is switched off in this conversation: only the newest turns are sent.")
FAILED = later("The last attempt to bring the summary up to date failed.")


class Summariser:
    """Built once by `wiring`. One summary at a time is made in a conversation."""

    def __init__(self, *, publish: Callable[[str, Event], None]) -> None:
        self.publish = publish
        self._making: dict[str, tuple[SummaryFold, asyncio.Task[None]]] = {}
        self._next: dict[str, TurnContext] = {}
        self._at_once = asyncio.Semaphore(MOST_AT_ONCE)
        self._failures: OrderedDict[str, str] = OrderedDict()
        self._draining = False

    # ---- before an answer --------------------------------------------------------------------
    async def gather(self, inputs: DecisionInputs) -> Evidence:
        """Return the summary that holds for the path, where there is one and it is switched on."""
        state = await self.state(inputs.context.owner, inputs.context.conversation)
        if not state.on:
            return Evidence(notes=(OFF,))
        why = self._failures.get(inputs.context.conversation)
        failure = say("{failed} {why}", failed=say(FAILED), why=say(why)) if why else ""
        possible = (failure, _other_model_note(inputs.context))
        notes = tuple(note for note in possible if note)
        summary = state.summary
        if summary is None:
            return Evidence(notes=notes)
        tokens = await count_summary(summary.text, inputs.tokenizer)
        return Evidence(
            summary=replace(summary, tokens=tokens),
            notes=notes,
            reports={SUMMARY.evidence: summary.report},
        )

    async def state(self, owner: Owner, conversation: str) -> SummaryState:
        return await summary_state(owner=owner, conversation=conversation)

    # ---- after an answer ---------------------------------------------------------------------
    def after_turn(self, context: TurnContext) -> None:
        """Begin to make the next summary where the policy needs one; nobody waits for it.

        After a turn that ended while one was being made, the next follows at once: it reads what
        this turn added."""
        conversation = context.conversation
        evidence = context.settings.active_policy.evidence
        if evidence != SUMMARY.evidence or self._draining:
            return
        if conversation in self._making:
            self._next[conversation] = context
            return
        fold = SummaryFold(context)
        task = asyncio.create_task(self._make(fold))
        self._making[conversation] = (fold, task)
        # Not in `_make`: a task that is cancelled before its first step never gets there.
        task.add_done_callback(lambda _: self._ended(conversation))

    def _ended(self, conversation: str) -> None:
        del self._making[conversation]
        if context := self._next.pop(conversation, None):
            self.after_turn(context)

    def give_way(self, context: TurnContext) -> None:
        """An answer begins: on this machine's own processors nothing is made beside it."""
        for conversation, (fold, task) in self._making.items():
            if context.agent.has_cache and fold.context.agent.has_cache:
                self._next.pop(conversation, None)
                task.cancel()

    async def _make(self, fold: SummaryFold) -> None:
        conversation = fold.context.conversation
        try:
            async with self._at_once:
                folded = await fold.make()
            if folded.state is not None:
                self.publish(conversation, SummaryChanged(summary=folded.state.view))
            if folded.failure is not None:
                raise folded.failure
            self._failures.pop(conversation, None)
        except NotFound:
            logger.info("%s is gone: it needs no summary", conversation)
        except ProviderError as error:
            logger.warning("no summary of %s: %s (%s)", conversation, error.code, error.detail)
            # What happened, without what the person at the page could do about an answer.
            self._note(conversation, error.message.partition(". ")[0].rstrip(".") + ".")
        except TimeoutError:
            logger.warning("no summary of %s: timeout", conversation)
            self._note(conversation, later("The model took too long."))
        except Exception:
            logger.exception("no summary of %s", conversation)
            self._note(conversation, later("Something went wrong here."))

    def _note(self, conversation: str, why: str) -> None:
        """Tell why in the conversation's next receipts, until an attempt succeeds."""
        self._failures[conversation] = why
        if len(self._failures) > MAX_FAILURES:
            self._failures.popitem(last=False)

    async def drain(self) -> None:
        """End what is being made; it is made again after the conversation's next turn."""
        self._draining = True
        tasks = [task for _, task in self._making.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # ---- what a person does ------------------------------------------------------------------
    async def rewrite(
        self, context: TurnContext, *, version: int, text: str | None
    ) -> SummaryState:
        """Store a new version with a person's text and the coverage of `version`; None restores the
        text of that version. Raises NotFound, and Refused for what can't be used or is too long."""
        agent, owner, conversation = context.agent, context.owner, context.conversation
        new_text = text
        if new_text is None:
            new_text = await summary_text(owner=owner, conversation=conversation, version=version)
        tokens = await count_summary(new_text, agent.provider.tokenizer(agent.model))
        if text is not None:
            require_short(tokens, context)
        state = await rewrite_summary(
            owner=owner, conversation=conversation, version=version, text=text, tokens=tokens
        )
        self.publish(conversation, SummaryChanged(summary=state.view))
        return state

    async def switch(self, *, owner: Owner, conversation: str, on: bool) -> SummaryState:
        """Set whether the summary is sent, and made, in this conversation."""
        state = await switch_summary(owner=owner, conversation=conversation, on=on)
        self.publish(conversation, SummaryChanged(summary=state.view))
        return state


def require_short(tokens: TokenCount, context: TurnContext) -> None:
    """Raise Refused for a person's text that leaves too little room for the conversation."""
    most = context.limit // PARTS_OF_LIMIT
    if tokens.count > most:
        raise Refused(
            say(
                "This summary takes {count:,} tokens, and {most:,} are allowed, so that "
                "there is room for the conversation. Your text is kept; shorten it.",
                count=tokens.count,
                most=most,
            ),
            code="summary_too_long",
        )


async def count_summary(text: str, tokenizer: Tokenizer) -> TokenCount:
    """Estimated where the tokenizer can't be reached."""
    try:
        return await summary_tokens(text, tokenizer)
    except ProviderError:
        count = estimate_message(Message.user(text, id="summary"))
        return TokenCount(count=count, tokenizer="estimate", basis="estimated")


def _other_model_note(context: TurnContext) -> str:
    """Where another model than the one in the settings writes the summaries."""
    name, model = context.settings.summary_model.value, writing_model(context)
    if model is None or name in (FAST, model.name):
        return ""
    return say(
        "{wanted} was to write the summaries; {model} writes them here.",
        wanted=name,
        model=model.name,
    )
