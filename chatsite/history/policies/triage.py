"""`relevant` with the selector `triage`: a fast model is asked which of the older turns matter.

Where no model can be asked nothing is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields
from datetime import datetime, timedelta

from chatsite.history.evidence import RunningSummary
from chatsite.history.path.marks import (
    is_background,
    is_excluded,
    is_unanswered,
    is_unloaded,
    remembered_from,
)
from chatsite.history.path.transcript import BACKGROUND, Entry, PathTurn, is_covered
from chatsite.history.path.turn_verdicts import PolicyChoice, TurnRule
from chatsite.history.policies.base import DecisionContext, Policy, TriageTerms, Users
from chatsite.history.reasons import Reason
from chatsite.wording import later, say, say_count

CHOSEN = later("chosen by a fast model")
PASSED_OVER = later("a fast model left it out")
NOBODY_CHOSE = later("Nobody chose among the older turns: all that fit are sent.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TriagePlan:
    """What becomes of the older turns: `certain` are sent, the model is asked about `candidates`.

    Both are oldest first. Without candidates no model is asked. `left_out` says why the other
    turns aren't sent, by the sequence number of their first message; "" where a mark's sentence
    says it. `scope` is what is looked at, in words: "the last 25 turns".
    """

    certain: tuple[PathTurn, ...]
    candidates: tuple[PathTurn, ...]
    left_out: Mapping[int, str]
    scope: str


def plan_triage(
    turns: Sequence[PathTurn],
    terms: TriageTerms,
    *,
    marker: int = 0,
    compaction: RunningSummary | None = None,
) -> TriagePlan:
    """Divide the older turns, oldest first, the current one not among them.

    Turns of background tasks are passed over. Turns that a person left out or asked to forget
    (those that begin before `marker`), turns that a cleanup unloaded or a `compaction` stands for,
    and messages whose answer failed count in the lookback but are never shown to a model.
    """
    lookback, hours = terms.lookback_count, terms.context_recency_hours
    people = [turn for turn in turns if not is_background(turn)]
    looked_at = people[max(0, len(people) - lookback) :]
    marker = max(marker, remembered_from([entry for turn in looked_at for entry in turn.entries]))
    usable = [
        turn
        for turn in looked_at
        if _first(turn) >= marker
        and not (is_excluded(turn) or is_unloaded(turn) or is_unanswered(turn))
        and not is_covered(turn, compaction)
    ]
    recent = _recent(usable, hours=hours, least=terms.context_min_messages)
    newest = terms.always_include_recent
    asks = terms.use_selection and len(recent) > max(terms.skip_selection_threshold, newest)
    split = len(recent) - newest if asks else 0
    scope = say("this message")
    if lookback:
        scope = say_count("the last turn", "the last {count} turns", lookback)
    left_out = dict.fromkeys(map(_first, turns), "")
    for turn in people[: len(people) - len(looked_at)]:
        left_out[_first(turn)] = say("older than {scope}", scope=scope)
    for turn in usable:
        left_out[_first(turn)] = say(
            "more than {hours:g} hours older than the newest turn", hours=hours
        )
    recent_firsts = set(map(_first, recent))
    return TriagePlan(
        certain=tuple(recent[split:]),
        candidates=tuple(recent[:split]),
        left_out={first: why for first, why in left_out.items() if first not in recent_firsts},
        scope=scope,
    )


def _recent(turns: list[PathTurn], *, hours: float, least: int) -> list[PathTurn]:
    """Keep the turns within `hours` of the newest turn, the newest `least`, and any turn whose
    time isn't known."""
    newest = time_of(turns[-1]) if turns else None
    if hours <= 0 or len(turns) <= least or newest is None:
        return turns
    # Compared as a span: hours may reach back to before the calendar begins.
    longest = timedelta(hours=hours)
    times = [time_of(turn) or newest for turn in turns]
    spared = len(turns) - least
    return [
        turn
        for position, turn in enumerate(turns)
        if position >= spared or newest - times[position] <= longest
    ]


def triage_reasons(
    plan: TriagePlan, chosen: AbstractSet[int] | None
) -> dict[int, tuple[Reason, str]]:
    """Every turn of the plan by its first message: the reason and a sentence of its own.

    `chosen` are candidates by the same number; None, where no model has chosen, keeps them all.
    """
    found: dict[int, tuple[Reason, str]] = {
        first: ("over_length", why) for first, why in plan.left_out.items()
    }
    for turn in plan.candidates:
        first = _first(turn)
        if chosen is None:
            why = say("within {scope}; no model has chosen among them", scope=plan.scope)
            found[first] = "within_length", why
        elif first in chosen:
            found[first] = "relevant", CHOSEN
        else:
            found[first] = "not_relevant", PASSED_OVER
    newest = say_count(
        "within the newest turn", "within the newest {count} turns", len(plan.certain)
    )
    for turn in plan.certain:
        why = newest if plan.candidates else say("within {scope}", scope=plan.scope)
        found[_first(turn)] = "within_length", why
    return found


def _first(turn: PathTurn) -> int:
    return turn.entries[0].seq


def time_of(turn: PathTurn) -> datetime | None:
    """Find the time of the turn's newest message, those of background tasks not among them."""
    return [entry for entry in turn.entries if not is_of_background(entry)][-1].at


def is_of_background(entry: Entry) -> bool:
    return entry.message.source in BACKGROUND


def choose_by_model(context: DecisionContext) -> PolicyChoice:
    """Send the turns that a fast model chose, in place; the whole lookback where none chose."""
    terms, evidence = context.terms, context.evidence
    plan = plan_triage(
        context.path.older, terms, marker=context.marker, compaction=context.compaction
    )
    found = triage_reasons(plan, evidence.triaged.turns if evidence.triaged else None)
    limit = terms.context_truncation

    def rule(turn: PathTurn) -> TurnRule:
        reason, why = found[_first(turn)]
        return TurnRule(reason=reason, why=why, limit=limit)

    blind = plan.candidates and evidence.triaged is None and not evidence.notes
    return PolicyChoice(
        rule=rule,
        tail=None,
        reached=context.reached,
        notes=(NOBODY_CHOSE,) if blind else (),
    )


TRIAGE = Policy(
    name="relevant",
    selector="triage",
    title=later("What a fast model picks"),
    about=later("Before each answer a small model chooses the turns that matter."),
    label="relevant, triage",
    words=lambda terms: say("what a fast model picks"),
    scope=lambda terms: say("the last {count:,} turns", count=terms.lookback_count),
    reach=lambda terms: Users(terms.lookback_count + 1),
    choose=choose_by_model,
    beyond_reach="over_length",
    evidence="triage",
    report_title=later("Matches, by a fast model"),
    own_settings=frozenset(field.name for field in fields(TriageTerms))
    | {"selector", "selection_model", "selection_timeout"},
    needs_naming=True,
    asks_model=True,
    depends_on_words=True,
)
