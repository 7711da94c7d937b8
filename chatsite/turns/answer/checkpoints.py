"""What is being written is saved now and then, all answers of the server in one unit of work."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from chatsite.conversations.records import Saved
from chatsite.conversations.turn.rounds import save_checkpoints

if TYPE_CHECKING:
    from chatsite.turns.answer.writer import AnswerWriter

logger = logging.getLogger("chatsite.turns")
# What a killed process loses is at most a second of text: saved a little more often than that.
SAVE_SECONDS = 0.8


class CheckpointSaver:
    """Works while something is being written. A killed server leaves texts and receipts."""

    def __init__(self) -> None:
        self._written: set[AnswerWriter] = set()
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def saving(self, answer: AnswerWriter) -> Iterator[None]:
        """As long as the block runs, the answer is saved."""
        self._written.add(answer)
        if self._task is None:
            self._task = asyncio.create_task(self._keep_saving())
        try:
            yield
        finally:
            self._written.discard(answer)
            if not self._written:
                self._task.cancel()
                self._task = None

    async def _keep_saving(self) -> None:
        while True:
            await asyncio.sleep(SAVE_SECONDS)
            try:
                await self._save(list(self._written))
            except Exception:
                logger.exception("answers couldn't be saved in between")

    async def _save(self, answers: list[AnswerWriter]) -> None:
        """All at once; one by one where that fails, so that one that can't be stored holds up
        no other."""
        found = {answer: answer.unsaved() for answer in answers}
        news = {answer: text for answer, text in found.items() if text is not None}
        saved = Saved(full={})
        try:
            if news:
                saved = await save_checkpoints(list(news.values()))
        except Exception:
            if len(answers) == 1:
                raise
            for answer in news:
                with suppress(Exception):
                    await self._save([answer])
            raise
        for answer, text in news.items():
            answer.saved()
            if text.turn in saved.full:
                answer.no_room(saved.full[text.turn])
            if text.turn in saved.ended:
                answer.cancel("interrupted")  # by another server, which took this one for dead
