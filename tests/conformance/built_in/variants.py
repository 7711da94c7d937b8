"""Chatsite's policies as subjects of the kit: one policy may be tried under several settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from chatsite.history import Cleaner
from chatsite.kv_cache.cleanup import make_room, resolve_cleanup
from conformance_kit.strategies.adapter import PolicyCase, PolicyTrial, decide_case, settings_of

NO_ROOM = ("over_budget", "over_window")
LEFT_BY_CUT = (*NO_ROOM, "above_cut")


@dataclass(frozen=True)
class Variant:
    """A policy under settings of its own, by their names in a template. `cleans`: as the engine's
    model is asked, with a cleanup in the guard's place."""

    name: str
    policy: str
    options: Mapping[str, object] = field(default_factory=dict, hash=False)
    cleans: bool = False

    def run(self, case: PolicyCase) -> PolicyTrial:
        """Raises PolicyRefused."""
        cleanup = cleaner(case.options) if self.cleans else None
        settings = settings_of(case, self.policy, self.options)
        return decide_case(self, case, settings, cleanup=cleanup)


def cleaner(options: Mapping[str, object]) -> Cleaner:
    """The strategy that a template with these settings names."""
    found = resolve_cleanup(environment="", template=options)
    return Cleaner(
        strategy=found.value,
        source=found.source,
        words=found.words,
        makes_room=partial(make_room, found.value),
    )


NONE = Variant("none", "none")
LAST_N = Variant("lastN", "lastN", {"historyStep": 1})
STEPWISE = Variant("lastN with a step", "lastN")
ALL = Variant("all", "all")
CLEANED = Variant("all with a cleanup", "all", cleans=True)
TOKENS = Variant("tokens", "tokens")
LEXICAL = Variant("relevant, lexical", "relevant")
TRIAGE = Variant("relevant, triage", "relevant", {"historySelector": "triage"})
SUMMARY = Variant("summary", "summary")
STRATEGY = Variant("strategy", "strategy")

VARIANTS = (NONE, LAST_N, STEPWISE, ALL, CLEANED, TOKENS, LEXICAL, TRIAGE, SUMMARY, STRATEGY)
