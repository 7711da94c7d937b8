"""Asks an agent's strategy what to send: the gatherer of the policy `strategy`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from chatsite.agents.strategy.file import STRATEGY_FILE, StrategyFile
from chatsite.agents.strategy.protocol import StrategyFailure, StrategyInput
from chatsite.agents.strategy.worker import StrategyWorker
from chatsite.history import Evidence, StrategyChoice, StrategySlot
from chatsite.history.policies.strategy import STRATEGY
from chatsite.messages import Message
from chatsite.providers.base.provider import Tokenizer
from chatsite.turns.context.decider import DecisionInputs
from chatsite.wording import say


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyGatherer:
    """`file` finds an agent's strategy by its slug. A preview runs it too: it is no model."""

    strategies: StrategyWorker
    file: Callable[[str], StrategyFile | None]

    async def gather(self, inputs: DecisionInputs) -> Evidence:
        agent = inputs.context.agent
        file = self.file(agent.slug)
        if file is None:
            missing = f"{agent.slug}/{STRATEGY_FILE}"
            return _failed(say("{file}: there is no such file", file=missing))
        given = StrategyInput.from_transcript(
            inputs.transcript,
            agent.template,
            head=inputs.head,
            window=agent.window,
            budget=inputs.context.settings.tokens.value,
        )
        built = await self.strategies.run(file, given)
        if isinstance(built, StrategyFailure):
            return _failed(built.sentence(file.shown))
        slots = await _counted(built.slots, inputs.tokenizer)
        report = {
            "file": file.shown,
            "milliseconds": built.milliseconds,
            "slots": [_report(slot) for slot in slots],
        }
        return Evidence(chosen=StrategyChoice(slots=slots), reports={STRATEGY.evidence: report})


def _failed(sentence: str) -> Evidence:
    note = say(
        "The agent's strategy failed: {why}. The newest turns within the budget are sent instead.",
        why=sentence,
    )
    return Evidence(notes=(note,))


async def _counted(slots: Sequence[StrategySlot], tokenizer: Tokenizer) -> tuple[StrategySlot, ...]:
    """The slots with the tokens of their texts, counted in one batch."""
    texts = [item for slot in slots for item in slot.items if isinstance(item, Message)]
    counts = await tokenizer.count(texts) if texts else []
    counted = {
        text.id: replace(text, tokens=count) for text, count in zip(texts, counts, strict=True)
    }

    return tuple(
        replace(
            slot, items=tuple(it if isinstance(it, int) else counted[it.id] for it in slot.items)
        )
        for slot in slots
    )


def _report(slot: StrategySlot) -> dict[str, object]:
    texts = sum(isinstance(item, Message) for item in slot.items)
    return {
        "name": slot.name,
        "priority": slot.priority,
        "messages": len(slot.items) - texts,
        "texts": texts,
    }
