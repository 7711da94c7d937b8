"""The turns that run now: one in a conversation, a few an owner, and how they all end together."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from chatsite.conversations.turn.begin import too_many_answers
from chatsite.errors import TooMany
from chatsite.events import TurnStarted
from chatsite.turns.answer.writer import AnswerWriter
from chatsite.wording import say


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """How many answers may be written at once."""

    answers: int
    per_owner: int


@dataclass(slots=True, eq=False)
class RunningTurn:
    """A turn from the moment it is admitted until it has ended."""

    owner: str
    client_id: str
    started: asyncio.Future[TurnStarted]
    writer: AnswerWriter | None = None
    task: asyncio.Task[None] | None = None


class RunningTurns:
    """By conversation; one object for the process."""

    def __init__(self, limits: TurnLimits) -> None:
        self.limits = limits
        self._running: dict[str, RunningTurn] = {}
        self._owners: Counter[str] = Counter()
        self.draining = False

    def __contains__(self, conversation: str) -> bool:
        return conversation in self._running

    def get(self, conversation: str) -> RunningTurn | None:
        return self._running.get(conversation)

    def receipt_of(self, turn: str) -> dict[str, Any] | None:
        """The receipt so far of a turn that runs, with its turn's id; None where it doesn't run, or
        isn't decided."""
        for running in self._running.values():
            progress = running.writer.turn if running.writer else None
            if progress is not None and progress.id == turn and progress.receipt is not None:
                return {**progress.receipt, **progress.report(), **progress.names}
        return None

    def owners(self) -> Collection[str]:
        """The keys of those for whom answers are being written."""
        return self._owners.keys()

    def stop_all(self, owner: str) -> None:
        """Stop the answers of one owner, as by Stop: what is written is kept."""
        for running in self._running.values():
            if running.owner == owner and running.writer is not None:
                running.writer.cancel("stopped")

    def admit(self, conversation: str, owner: str, client_id: str) -> RunningTurn:
        """Make room for a turn. Raises TooMany."""
        if self.draining:
            raise TooMany(
                say("The server is restarting. Your text is kept; send it again in a moment.")
            )
        if self._owners[owner] >= self.limits.per_owner:
            raise too_many_answers(self.limits.per_owner)
        if len(self._running) >= self.limits.answers:
            raise TooMany(say("Too many answers are being written right now. Your text is kept."))
        running = RunningTurn(owner, client_id, asyncio.Future())
        self._running[conversation] = running
        self._owners[owner] += 1
        return running

    def forget(self, conversation: str, running: RunningTurn) -> None:
        if self._running.get(conversation) is running:
            del self._running[conversation]
            self._owners[running.owner] -= 1
            if self._owners[running.owner] <= 0:
                del self._owners[running.owner]

    def give_up(self) -> None:
        """End all answers of this server with what is written of them."""
        for running in self._running.values():
            if running.writer is not None:
                running.writer.cancel("interrupted")

    async def drain(self, seconds: float) -> None:
        """Refuse new turns, let those under way end, then keep what is written of the rest."""
        self.draining = True
        tasks = {running.task for running in self._running.values() if running.task}
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=seconds)
        self.give_up()
        if late:
            await asyncio.wait(late)
