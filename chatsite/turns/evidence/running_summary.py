"""The running summary of a conversation: made after an answer, gathered before the next one."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from chatsite.conversations.values.summary_records import SummaryState
from chatsite.errors import NotFound, ProviderError, Refused
from chatsite.events import Event, SummaryChanged
from chatsite.history import Evidence, Settings, estimate_message
from chatsite.history.policies.summary import SUMMARY
from chatsite.messages import Message, TokenCount
from chatsite.providers.base.provider import Tokenizer
from chatsite.turns.agents.resolved_agent import ResolvedAgent
from chatsite.turns.context.gatherer import DecisionInputs
from chatsite.turns.context.turn_context import PageRequest
from chatsite.turns.evidence.completion import FAST
from chatsite.turns.evidence.summary_fold import (
    SummaryFold,
    SummaryReads,
    SummaryWrites,
    limit_of,
    writing_model,
)
from chatsite.turns.evidence.summary_writer import summary_tokens
from chatsite.turns.ports import TurnOwner, WorkRunner

logger = logging.getLogger("chatsite.turns")
# What went wrong, for the next receipts of so many conversations.
MAX_FAILURES = 1_000
# A person's own summary may be longer than a model's, but leaves room for the conversation.
PARTS_OF_LIMIT = 3
# In the whole process: nobody waits for a summary, and its calls take from what the provider lets
# this server ask at once and a minute, and of memory. The others wait for their turn.
MOST_AT_ONCE = 4
ON_THIS_MACHINE = "embedded"
OFF = "The summary is switched off in this conversation: only the newest turns are sent."
FAILED = "The last attempt to bring the summary up to date failed."


class Summariser:
    """Built once by `wiring`. One summary at a time is made in a conversation."""

    def __init__(
        self,
        *,
        run: WorkRunner,
        reads: SummaryReads,
        writes: SummaryWrites,
        answering: Callable[[str], ResolvedAgent],
        publish: Callable[[str, Event], None],
    ) -> None:
        self.run = run
        self.reads = reads
        self.writes = writes
        self.answering = answering
        self.publish = publish
        self._making: dict[str, tuple[SummaryFold, asyncio.Task[None]]] = {}
        self._at_once = asyncio.Semaphore(MOST_AT_ONCE)
        self._failures: OrderedDict[str, str] = OrderedDict()
        self._draining = False

    # ---- before an answer --------------------------------------------------------------------
    async def gather(self, gathering: DecisionInputs) -> Evidence:
        """The summary that holds for the path, where there is one and it is switched on."""
        standing = await self.standing(gathering.owner, gathering.conversation)
        if not standing.on:
            return Evidence(notes=(OFF,))
        failure = self._failures.get(gathering.conversation)
        said = (failure, _not_the_named_one(gathering.answering, gathering.settings))
        notes = tuple(note for note in said if note)
        summary = standing.summary
        if summary is None:
            return Evidence(notes=notes)
        tokens = await _counted(summary.text, gathering.tokenizer)
        report = {"version": summary.version, "messages": summary.messages, "by": summary.by}
        return Evidence(
            summary=replace(summary, tokens=tokens), notes=notes, reports={SUMMARY.evidence: report}
        )

    async def standing(self, owner: TurnOwner, conversation: str) -> SummaryState:
        return await self.run(self.reads.summary_state, owner=owner, conversation=conversation)

    # ---- after an answer ---------------------------------------------------------------------
    def after_turn(self, asking: PageRequest, answering: ResolvedAgent, settings: Settings) -> None:
        """Begin to make the next summary where the policy needs one; nobody waits for it."""
        conversation = asking.conversation
        if (
            settings.active_policy.evidence != SUMMARY.evidence
            or self._draining
            or conversation in self._making
        ):
            return
        fold = SummaryFold(
            owner=asking.owner,
            conversation=conversation,
            answering=answering,
            settings=settings,
            run=self.run,
            reads=self.reads,
            writes=self.writes,
        )
        task = asyncio.create_task(self._make(fold))
        self._making[conversation] = (fold, task)
        # Not in `_make`: a task that is cancelled before its first step never gets there.
        task.add_done_callback(lambda _: self._making.pop(conversation))

    def give_way(self, asking: PageRequest, answering: ResolvedAgent) -> None:
        """An answer begins: on this machine's own processors nothing is made beside it."""
        for fold, task in self._making.values():
            if answering.provider.kind == fold.answering.provider.kind == ON_THIS_MACHINE:
                task.cancel()

    async def _make(self, fold: SummaryFold) -> None:
        try:
            async with self._at_once:
                folded = await fold.make()
            if folded.standing is not None:
                self.publish(fold.conversation, SummaryChanged(summary=folded.standing.view))
            if folded.failure is not None:
                self._failed(fold.conversation, folded.failure)
            else:
                self._failures.pop(fold.conversation, None)
        except NotFound:
            logger.info("%s is gone: it needs no summary", fold.conversation)
        except ProviderError as error:
            self._failed(fold.conversation, error)
        except Exception:
            logger.exception("no summary of %s", fold.conversation)
            self._note(fold.conversation, "Something went wrong here.")

    def _failed(self, conversation: str, error: ProviderError | TimeoutError) -> None:
        if isinstance(error, ProviderError):
            logger.warning("no summary of %s: %s (%s)", conversation, error.code, error.detail)
            self._note(conversation, _first_sentence(error.message))
        else:
            logger.warning("no summary of %s: timeout", conversation)
            self._note(conversation, "The model took too long.")

    def _note(self, conversation: str, why: str) -> None:
        """For the conversation's next receipts, until an attempt succeeds."""
        self._failures[conversation] = f"{FAILED} {why}"
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
        self, asking: PageRequest, settings: Settings, *, version: int, text: str | None
    ) -> SummaryState:
        """A new version with a person's text and the coverage of `version`; None brings the text
        of that version back. Raises NotFound, and Refused for what can't be used or is too long."""
        answering = self.answering(asking.agent)
        owner, conversation, said = asking.owner, asking.conversation, text
        if said is None:
            said = await self.run(
                self.reads.summary_text, owner=owner, conversation=conversation, version=version
            )
        tokens = await _counted(said, answering.provider.tokenizer(answering.model))
        most = limit_of(answering.window, settings) // PARTS_OF_LIMIT
        if text is not None and tokens.count > most:
            raise Refused(
                f"This summary takes {tokens.count:,} tokens, and {most:,} are allowed, so that "
                "there is room for the conversation. Your text is kept; shorten it.",
                code="summary_too_long",
            )
        standing = await self.run(
            self.writes.rewrite_summary,
            owner=owner,
            conversation=conversation,
            version=version,
            text=text,
            tokens=tokens,
        )
        self.publish(conversation, SummaryChanged(summary=standing.view))
        return standing

    async def switch(self, *, owner: TurnOwner, conversation: str, on: bool) -> SummaryState:
        """Whether the summary is sent, and made, in this conversation."""
        standing = await self.run(
            self.writes.switch_summary, owner=owner, conversation=conversation, on=on
        )
        self.publish(conversation, SummaryChanged(summary=standing.view))
        return standing


async def _counted(text: str, tokenizer: Tokenizer) -> TokenCount:
    """Estimated where nobody can count now."""
    try:
        return await summary_tokens(text, tokenizer)
    except ProviderError:
        count = estimate_message(Message.user(text, id="summary"))
        return TokenCount(count=count, tokenizer="estimate", basis="estimated")


def _not_the_named_one(answering: ResolvedAgent, settings: Settings) -> str:
    """Where the model that is to write summaries can't be had at the agent's provider."""
    name, model = settings.summary_model.value, writing_model(answering, settings)
    if model is None or name in (FAST, model.name):
        return ""
    return f"{name} was to write the summaries; {model.name} writes them here."


def _first_sentence(text: str) -> str:
    """What happened, without what the person at the page could do about an answer."""
    return text.partition(". ")[0].rstrip(".") + "."
