"""The adapter: cases with all that Chatsite's policies need, and what a policy makes of a case.

Nothing else translates between the kit's conversations and those of `chatsite.history`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from types import MappingProxyType
from typing import Protocol

from chatsite.errors import PromptTooLarge
from chatsite.history import (
    Cleaner,
    Decision,
    Entry,
    Evidence,
    Head,
    NotLoaded,
    Settings,
    Transcript,
    Window,
    decide,
    resolve,
)
from chatsite.history.path.shortened import SHORTENED
from chatsite.messages import Message
from conformance_kit.cases import PLENTY, Case, CaseEntry, with_tokens
from conformance_kit.trials import PolicyRefused, Trial

LENGTH, LOW_WATER = 20, 50
ROOMY = Window(PLENTY + 1, 1)
NOTHING_QUOTED: Mapping[int, tuple[int, ...]] = MappingProxyType({})


def counted_head(*, prefilled: bool = False) -> Head:
    """A head with token counts."""
    examples = (
        [Message.user("Hi", id="x1"), Message.assistant("Hello!", id="x2")] if prefilled else []
    )
    made = Head.of("You are helpful.", examples)
    return replace(made, messages=tuple(with_tokens(message) for message in made.messages))


HEADS = (counted_head(), counted_head(prefilled=True), Head.of(None))


@dataclass(frozen=True, kw_only=True)
class PolicyCase(Case):
    """Everything that `decide` takes, but for the policy.

    `options` are settings that some policies have, by their names in a template. `not_loaded` is
    the part of the path that the store didn't read. `quoted` are the messages that were quoted for
    earlier ones, by the sequence number of the answer that they are stored with.
    """

    head: tuple[Message, ...] = field(init=False)
    limit: int = field(init=False)
    agent_head: Head
    window: Window
    evidence: Evidence = Evidence()
    length: int = LENGTH
    budget: int | None = None
    low_water: int = LOW_WATER
    options: Mapping[str, object] = field(default_factory=dict, hash=False)
    not_loaded: NotLoaded = NotLoaded()
    quoted: Mapping[int, tuple[int, ...]] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "head", self.agent_head.messages)
        object.__setattr__(self, "limit", min(self.window.room, self.budget or self.window.room))

    @property
    def transcript(self) -> Transcript:
        entries = stored_entries(self.entries, quoted=self.quoted)
        return Transcript(entries=entries, not_loaded=self.not_loaded)

    @property
    def afresh(self) -> PolicyCase:
        """The case without the receipt of an earlier request."""
        return replace(self, evidence=replace(self.evidence, previous=None))

    def within(self, limit: int) -> PolicyCase:
        return replace(self, budget=limit)

    @property
    def unlimited(self) -> PolicyCase:
        return replace(self, window=ROOMY, budget=None)

    def lines(self) -> list[str]:
        lines = super().lines()
        lines += [f"length: {self.length}"] * (self.length != LENGTH)
        lines += [f"low-water mark: {self.low_water} %"] * (self.low_water != LOW_WATER)
        lines += [f"{name}: {value}" for name, value in self.options.items()]
        names = ("previous", "recall", "triaged", "summary", "chosen")
        found = {name: getattr(self.evidence, name) for name in names}
        lines += [f"quoted: {dict(self.quoted)}"] * bool(self.quoted)
        return lines + [f"{name}: {value}" for name, value in found.items() if value is not None]


def stored_entries(
    entries: Sequence[CaseEntry], *, quoted: Mapping[int, tuple[int, ...]] = NOTHING_QUOTED
) -> tuple[Entry, ...]:
    """The kit's entries as those of `chatsite.history`."""
    return tuple(
        Entry(
            message=entry.message,
            seq=entry.seq,
            pinned=entry.pinned,
            excluded=entry.excluded,
            unanswered=entry.unanswered,
            forgets_above=entry.forgets_above,
            at=entry.at,
            quoted=quoted.get(entry.seq, ()),
        )
        for entry in entries
    )


class PolicySubject(Protocol):
    """A policy with the settings that it is tried under."""

    @property
    def name(self) -> str: ...

    def run(self, case: PolicyCase) -> PolicyTrial:
        """Raises PolicyRefused."""
        ...


@dataclass(frozen=True)
class PolicyTrial(Trial):
    """A trial with the record of the choice."""

    case: PolicyCase
    subject: PolicySubject
    decision: Decision

    cut_mark = SHORTENED
    may_write = True

    @cached_property
    def unguarded(self) -> PolicyTrial:
        return self.subject.run(self.case.afresh.unlimited)

    @cached_property
    def quoted(self) -> set[int]:
        """Sequence numbers of the stored messages that are there as quoted text."""
        quoted = [verdict for verdict in self.decision.verdicts if verdict.quoted]
        return {e.seq for e in self.entries for run in quoted if run.first <= e.seq <= run.last}

    @cached_property
    def reasons(self) -> dict[int, str]:
        """The reason of each entry's verdict, by sequence number."""
        return {
            entry.seq: verdict.reason
            for verdict in self.decision.verdicts
            for entry in self.entries
            if verdict.first <= entry.seq <= verdict.last
        }


def decide_case(
    subject: PolicySubject,
    case: PolicyCase,
    settings: Settings,
    *,
    agent: str = "demo",
    evidence: Evidence | None = None,
    cleanup: Cleaner | None = None,
) -> PolicyTrial:
    """Decide the case under these settings. Raises PolicyRefused."""
    try:
        decision = decide(
            case.transcript,
            settings,
            head=case.agent_head,
            window=case.window,
            evidence=evidence or case.evidence,
            agent=agent,
            cleanup=cleanup,
        )
    except PromptTooLarge as error:
        raise PolicyRefused(error.message) from error
    return PolicyTrial(case, subject, decision.request, decision)


def settings_of(case: PolicyCase, policy: str, options: Mapping[str, object]) -> Settings:
    """The settings as an agent's template would give them."""
    template: dict[str, object] = {
        "historyPolicy": policy,
        "historyLength": case.length,
        "historyTokens": case.budget,
        "historyLowWater": case.low_water,
    }
    return _resolve(json.dumps({**template, **case.options, **options}))


@cache
def _resolve(template: str) -> Settings:
    """Of the settings in JSON: a case is decided some thirty times under the same ones."""
    return resolve(environment={}, url={}, template=json.loads(template))
