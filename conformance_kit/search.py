"""Search drawn cases for the smallest one that breaks a property, and count how many do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Flaky
from hypothesis.strategies import SearchStrategy

from conformance_kit.cases import Case, split_turns, total_tokens
from conformance_kit.trials import PolicyRefused, Subject

# Takes a Trial, or what the subject's `run` returns, and raises AssertionError with the reason.
Check = Callable[[Any], None]


@dataclass(frozen=True)
class Counterexample:
    """A case in which a check fails, what was sent, and why that is wrong."""

    case: Case
    sent: str
    why: str

    def describe(self) -> str:
        case = self.case.in_short().replace("\n", "\n  ")
        return f"  {case}\n  sent: {self.sent}\n  wrong: {self.why}"


def smallest(
    subject: Subject, checks: Sequence[Check], drawn: SearchStrategy[Any], *, examples: int
) -> Counterexample | None:
    """The smallest case found in which one of the checks fails; None where all hold.

    The same cases are drawn every time.
    """
    found: list[Counterexample] = []

    @_settings(examples)
    @given(case=drawn)
    def holds(case: Case) -> None:
        broken = first_broken(subject, checks, case)
        if broken is not None:
            found.append(broken)
            raise AssertionError(broken.why)

    try:
        holds()
    except AssertionError:
        return found[-1]  # hypothesis ends with the smallest one
    except Flaky:
        return replace(found[-1], why=f"{found[-1].why} (not every time for the same messages)")
    return None


@dataclass(frozen=True)
class Tally:
    """How many cases there were, and in how many each property was broken.

    `roomy` counts the cases in which the instructions and the current turn fit, and `broken_roomy`
    what was broken in these.
    """

    cases: int
    roomy: int
    broken: Mapping[str, int]
    broken_roomy: Mapping[str, int]


def rates(
    subject: Subject,
    checks: Mapping[str, Sequence[Check]],
    drawn: SearchStrategy[Any],
    *,
    examples: int,
) -> Tally:
    """What breaks how often. The rates belong to the way in which cases are drawn."""
    totals: Counter[bool] = Counter()
    broken: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}

    @settings(_settings(examples), phases=[Phase.generate])
    @given(case=drawn)
    def count(case: Case) -> None:
        roomy = _always(case) <= case.limit
        totals[roomy] += 1
        for name, bound in checks.items():
            broken[roomy][name] += first_broken(subject, bound, case) is not None

    count()
    return Tally(totals.total(), totals[True], broken[True] + broken[False], broken[True])


def _always(case: Case) -> int:
    """Tokens of the head and the current turn, as they were stored."""
    current = split_turns(case.entries)[-1]
    return total_tokens(case.head) + total_tokens([entry.message for entry in current])


def first_broken(subject: Subject, checks: Sequence[Check], case: Case) -> Counterexample | None:
    """None where all checks hold, or the subject says that the case can't fit, and it can't."""
    sent = "?"
    try:
        trial = subject.run(case)
        sent = trial.in_short()
        for check in checks:
            check(trial)
    except PolicyRefused as refusal:
        refused = Counterexample(case, "nothing", f"it refused what fits: {refusal}")
        return None if needed_by(subject, case) > case.limit else refused
    except AssertionError as error:
        return Counterexample(case, sent, str(error))
    return None


def needed_by(subject: Subject, case: Case) -> int:
    """What head, instructions and the current turn take alone, in tokens.

    They are what the subject sends where there is room for everything, less the older turns and
    what it wrote itself; 0 where it refuses even then.
    """
    try:
        whole = subject.run(case.unlimited)
    except PolicyRefused:
        return 0
    written = {message.id for message in whole.written}
    others = written | {entry.message.id for turn in whole.older for entry in turn}
    return total_tokens([message for message in whole.request if message.id not in others])


def _settings(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
