"""Our own policies as they are tried: each with the settings under which it chooses differently."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial

from chatsite.conformance.cases import Case
from chatsite.conformance.seen import Refused, Seen
from chatsite.errors import PromptTooLarge
from chatsite.history import Cleaner, Settings, decide, resolve
from chatsite.kv.cleanup import make_room
from chatsite.kv.cleanup_setting import resolve_cleanup


@dataclass(frozen=True)
class Variant:
    """A policy under settings of its own, by their names in a template. `cleans`: as the engine's
    model is asked, with a cleanup in the guard's place."""

    name: str
    policy: str
    options: Mapping[str, object] = field(default_factory=dict, hash=False)
    cleans: bool = False

    def see(self, case: Case) -> Seen:
        try:
            decision = decide(
                case.transcript,
                self.settings(case),
                head=case.head,
                window=case.window,
                evidence=case.evidence,
                agent="demo",
                cleanup=cleaner(case.options) if self.cleans else None,
            )
        except PromptTooLarge as error:
            raise Refused(error.message) from error
        return Seen(case, self, decision.request, decision)

    def settings(self, case: Case) -> Settings:
        """As if the agent's template had said so."""
        template: dict[str, object] = {
            "historyPolicy": self.policy,
            "historyLength": case.length,
            "historyTokens": case.budget,
            "historyLowWater": case.low_water,
        }
        return _resolved(json.dumps({**template, **case.options, **self.options}))


def cleaner(options: Mapping[str, object]) -> Cleaner:
    """The strategy that a template with these settings names."""
    found = resolve_cleanup(environment="", template=options)
    return Cleaner(
        strategy=found.value,
        source=found.source,
        words=found.words,
        makes_room=partial(make_room, found.value),
    )


@cache
def _resolved(template: str) -> Settings:
    """Of the settings in JSON: a case is decided some thirty times under the same ones."""
    return resolve(environment={}, url={}, template=json.loads(template))


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
