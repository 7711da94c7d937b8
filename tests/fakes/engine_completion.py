"""One request for an answer at the fake engine, event by event as llama.cpp's server sends them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.engine_cells import Cells
from tests.fakes.engine_words import END, is_first_half, next_token, spelled

Json = dict[str, Any]


@dataclass(frozen=True)
class Pause:
    """Where an answer waits until its client has disconnected: after a number of batches of the
    prompt, or of tokens of the answer. Like an engine that notices that late, it then still reads
    `ahead` tokens of the prompt or of its answer. `silent`: no event is sent before the pause,
    which is at the latest before the prompt's last batch."""

    batches: int | None = None
    tokens: int | None = None
    ahead: int = 0
    silent: bool = False


@dataclass
class Completion:
    """`gone` returns when the client has closed the connection."""

    asked: Json
    cells: Cells
    window: int
    batch: int
    pause: Pause
    gone: Callable[[], Awaitable[None]]
    says: list[int] = field(default_factory=list)
    _shape: Json = field(default_factory=dict)
    _predicted: int = 0
    _ended: str = ""

    async def events(self) -> AsyncIterator[Json]:
        """The events, up to a pause."""
        prompt: list[int] = self.asked["prompt"]
        reused = self.cells.begin(prompt, chunk=self.asked.get("n_cache_reuse", 16))
        self._shape = {"index": 0, "stop": False, "id_slot": -1, "tokens_evaluated": len(prompt)}
        async for event in self._read(prompt, reused):
            if not self.pause.silent:
                yield event
        if len(self.cells) < len(prompt):
            return
        async for event in self._say(prompt):
            yield event
        if self._ended:
            yield {
                "stop": True,
                "stop_type": self._ended,
                "timings": {"cache_n": reused, "prompt_n": len(prompt) - reused},
                "tokens_evaluated": len(prompt),
                "tokens_predicted": self._predicted,
            }

    async def _read(self, prompt: list[int], reused: int) -> AsyncIterator[Json]:
        """The prompt: one event before its first batch, one after each."""
        done = 0
        yield self._progress(prompt, reused)
        while len(self.cells) < len(prompt):
            last = len(prompt) - len(self.cells) <= self.batch
            if done == self.pause.batches or (self.pause.silent and last):
                await self.gone()
                self.cells.evaluate(prompt[len(self.cells) : -1][: self.pause.ahead])
                return
            self.cells.evaluate(prompt[len(self.cells) :][: self.batch])
            done += 1
            yield self._progress(prompt, reused)

    def _progress(self, prompt: list[int], reused: int) -> Json:
        progress = {"total": len(prompt), "cache": reused, "processed": len(self.cells)}
        nothing = {"content": "", "tokens": [0], "tokens_predicted": 0}
        return self._shape | nothing | {"prompt_progress": progress}

    async def _say(self, prompt: list[int]) -> AsyncIterator[Json]:
        """The answer, with an event for each token that ends a character. A predicted token is
        read only with the next one."""
        most = min(max(self.asked["n_predict"], 1), self.window - len(prompt))
        while self._predicted < most:
            if self._predicted == self.pause.tokens:
                await self.gone()
                for _ in range(self.pause.ahead):
                    self.cells.evaluate([next_token(self.cells.read)])
                return
            id = self.says.pop(0) if self.says else next_token(self.cells.read)
            self._predicted += 1
            if not is_first_half(id):
                said = {"content": "" if id == END else spelled([id]), "tokens": [id]}
                yield self._shape | said | {"tokens_predicted": self._predicted}
            if id == END:
                self._ended = "eos"
                return
            if self._predicted < most and self._predicted != self.pause.tokens:
                self.cells.evaluate([id])
        self._ended = "limit"
