"""An agent's strategy as a subject of the kit, under the rules that hold for every policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from chatsite.agents.strategy.protocol import StrategyFailure, StrategyInput
from chatsite.agents.strategy.worker import StrategyResult
from chatsite.agents.template import Template
from chatsite.history import StrategyChoice, StrategySlot
from chatsite.history.policies.strategy import STRATEGY
from chatsite.messages import Message
from conformance_kit.cases import with_tokens
from conformance_kit.properties import PROPERTIES
from conformance_kit.search import Check, Counterexample
from conformance_kit.strategies.adapter import PolicyCase, PolicyTrial, decide_case, settings_of
from conformance_kit.trials import PolicyRefused

# The properties that bind any choice. The others are a strategy's own affair: it may send less than
# fits, a text in place of a message, or something else when there is more room.
BOUND = ("P1", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P19")
NOT_ITS_OWN = "its own affair, or held for whatever a strategy chooses by the policy itself"
IT_RUNS = "it runs, within its time limit"
SLOWEST = 5

StrategyRun = Callable[[StrategyInput], StrategyResult | StrategyFailure]


class TooSlow(BaseException):
    """The strategy reached its time limit again and again; more tries would take minutes. Not an
    Exception: hypothesis would go on shrinking the case."""

    def __init__(self, broken: Counterexample) -> None:
        super().__init__(broken.why)
        self.broken = broken


class StrategySubject:
    """A strategy in its worker. `run` calls it and waits; `tried` is called for each new
    conversation.

    Several checks of the same case share one call: only `slots` always makes another.
    """

    def __init__(
        self, name: str, template: Template, *, run: StrategyRun, tried: Callable[[], None]
    ) -> None:
        self.name = name
        self._template = template
        self._run = run
        self._tried = tried
        self._last: tuple[PolicyCase, PolicyTrial | Exception] | None = None
        self._slow: list[PolicyCase] = []

    def run(self, case: PolicyCase) -> PolicyTrial:
        if self._last is None or self._last[0] is not case:
            self._tried()
            try:
                self._last = (case, self._decide(case))
            except (AssertionError, PolicyRefused) as error:
                self._last = (case, error)
        _, found = self._last
        if isinstance(found, Exception):
            raise found
        return found

    def _decide(self, case: PolicyCase) -> PolicyTrial:
        settings = settings_of(case, STRATEGY.name, {})
        evidence = replace(case.evidence, chosen=StrategyChoice(slots=self.slots(case)))
        return decide_case(self, case, settings, evidence=evidence, agent=self._template.slug)

    def slots(self, case: PolicyCase) -> tuple[StrategySlot, ...]:
        """The strategy's slots with token counts. Raises AssertionError where the strategy
        fails."""
        given = StrategyInput.from_transcript(
            case.transcript,
            self._template,
            head=case.agent_head,
            window=case.window,
            budget=case.budget,
        )
        built = self._run(given)
        if isinstance(built, StrategyResult):
            return tuple(_with_tokens(slot) for slot in built.slots)
        why = "\n".join([built.sentence(self.name), *built.trace.splitlines()])
        if built.ended:
            self._slow.append(case)
            if len(self._slow) >= SLOWEST:
                case = min(self._slow, key=lambda case: len(case.in_short()))
                raise TooSlow(Counterexample(case, "?", why))
        raise AssertionError(why)


def it_runs(trial: PolicyTrial) -> None:
    """`run` has done that already."""


def it_chooses_the_same_again(trial: PolicyTrial) -> None:
    assert isinstance(trial.subject, StrategySubject)
    first, again = trial.subject.slots(trial.case), trial.subject.slots(trial.case)
    assert first == again, "another choice the second time, for the same conversation"


def checks() -> dict[str, tuple[Check, ...]]:
    """The checks of a strategy, by sentence. If the first one fails, no other can hold."""
    found: dict[str, tuple[Check, ...]] = {
        IT_RUNS: (it_runs,),
        "it chooses the same again for the same conversation": (it_chooses_the_same_again,),
    }
    return found | {
        f"{number}: {PROPERTIES[number].sentence}": PROPERTIES[number].checks for number in BOUND
    }


def _with_tokens(slot: StrategySlot) -> StrategySlot:
    items = tuple(with_tokens(item) if isinstance(item, Message) else item for item in slot.items)
    return replace(slot, items=items)
