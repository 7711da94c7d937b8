"""Asks a fast model which older turns matter. One that can't be asked leaves nothing out."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import Literal

from chatsite.errors import ProviderError
from chatsite.history import Evidence
from chatsite.history.policies.triage import TRIAGE, TriagePlan, plan_triage
from chatsite.history.policies.triage_question import read_reply, triage_prompt
from chatsite.history.values.counts import estimate_message
from chatsite.history.values.evidence import TriageChoice
from chatsite.history.values.marks import remembered_from
from chatsite.history.values.transcript import Turn, split_turns
from chatsite.providers.base.model import Model
from chatsite.providers.base.provider import Usage
from chatsite.turns.context.decision_inputs import DecisionInputs
from chatsite.turns.evidence.completion import FAST, Unfinished, complete, side_model

logger = logging.getLogger("chatsite.turns")

_UNKNOWN = Usage()
WHAT = "which older turns matter"
# Positions take a few tokens each; a model that thinks first takes more.
REPLY_TOKENS = 4_096

TriageResult = Literal[
    "nothing to choose", "on sending", "chosen", "no model", "timeout", "error", "unreadable"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageOutcome:
    """How asking ended. `chosen` are turns by their first message, None where nothing was chosen.

    `why` begins a sentence for the reader where it wasn't. `estimated` are the prompt's tokens
    as we count them: some failures are charged, and not every provider reports.
    """

    result: TriageResult
    chosen: frozenset[int] | None = None
    why: str = ""
    model: Model | None = None
    usage: Usage = _UNKNOWN
    milliseconds: int | None = None
    estimated: int | None = None


class Triager:
    """The gatherer for the policy `relevant` with the selector `triage`."""

    async def gather(self, inputs: DecisionInputs) -> Evidence:
        """The turns that the model chose; without a choice, notes that say why all are kept."""
        settings = inputs.context.settings.conversation
        plan = _plan(inputs)
        count = len(plan.candidates)
        if not count:
            outcome = TriageOutcome(result="nothing to choose", chosen=frozenset())
            return _evidence(outcome, candidates=0, notes=())
        name = settings.selection_model.value
        model = side_model(inputs.context.agent, name)
        if model is None:
            why = f"{inputs.context.agent.model.label} can't judge which older turns matter"
            outcome = TriageOutcome(result="no model", why=why)
        elif inputs.preview:
            when = "Which older turns go along is chosen on sending"
            outcome = TriageOutcome(result="on sending", model=model)
            note = f"{when}: {model.label} is asked about {count} of them."
            return _evidence(outcome, candidates=count, notes=(note,))
        else:
            outcome = await _ask(inputs, plan, model)
        notes = []
        if model is not None and name not in (FAST, model.name):
            notes.append(f"{name} was to choose among older turns; {model.name} is asked here.")
        if outcome.chosen is None:
            kept = f"nothing of {plan.scope} is left out while there is room"
            notes.append(f"{outcome.why}, so {kept}.")
        return _evidence(outcome, candidates=count, notes=tuple(notes))


def _plan(inputs: DecisionInputs) -> TriagePlan:
    entries = inputs.transcript.entries
    path = [turn for turn in _turns(inputs) if turn.user is not None]
    return plan_triage(
        path[:-1], inputs.context.settings.terms.triage, marker=remembered_from(entries)
    )


def _turns(inputs: DecisionInputs) -> list[Turn]:
    entries = inputs.transcript.entries
    return split_turns([entry for entry in entries if entry.message.role != "system"])


async def _ask(inputs: DecisionInputs, plan: TriagePlan, model: Model) -> TriageOutcome:
    seconds = inputs.context.settings.conversation.selection_timeout.value
    reply = min(REPLY_TOKENS, model.window // 4)
    question = triage_prompt(inputs.current, plan, room=model.window - reply)
    started = time.monotonic()
    asked = TriageOutcome(
        result="unreadable",
        why=f"{model.label} didn't say readably {WHAT}",
        model=model,
        estimated=sum(estimate_message(message) for message in question),
    )
    try:
        completed = await complete(
            inputs.context.agent.provider,
            model,
            question,
            conversation=inputs.context.conversation,
            max_tokens=reply,
            seconds=seconds,
        )
    except Exception as error:
        result, why = _failure(error, model.label, seconds)
        usage = error.usage if isinstance(error, Unfinished) else _UNKNOWN
        took = round((time.monotonic() - started) * 1000)
        return replace(asked, result=result, why=why, usage=usage, milliseconds=took)
    asked = replace(asked, usage=completed.usage, milliseconds=completed.milliseconds)
    positions = read_reply(completed.text, len(plan.candidates))
    if positions is None:
        return asked
    chosen = frozenset(plan.candidates[place].entries[0].seq for place in positions)
    return replace(asked, result="chosen", why="", chosen=chosen)


def _failure(error: Exception, who: str, seconds: float) -> tuple[TriageResult, str]:
    """How asking failed, and the beginning of a sentence that says so."""
    match error:
        case TimeoutError():
            return "timeout", f"{who} hadn't said {WHAT} after {seconds:g} seconds"
        case Unfinished():
            return "unreadable", f"{who} broke off while it said {WHAT}"
        case ProviderError():
            logger.warning("triage: %s (%s)", error.code, error.detail)
            return "error", f"{who} couldn't be asked {WHAT} ({_problem(error)})"
    logger.error("triage failed", exc_info=error)
    return "error", f"{who} couldn't be asked {WHAT}"


def _problem(error: ProviderError) -> str:
    """Its first sentence, to stand in another one: the rest is about an answer to a person."""
    sentence = error.message.partition(". ")[0].rstrip(".")
    return sentence[:1].lower() + sentence[1:]


def _evidence(outcome: TriageOutcome, *, candidates: int, notes: tuple[str, ...]) -> Evidence:
    chosen = outcome.chosen
    report = {
        "result": outcome.result,
        "model": outcome.model.name if outcome.model else None,
        "asked": outcome.milliseconds is not None,
        "candidates": candidates,
        "chosen": None if chosen is None else len(chosen),
        "prompt": outcome.usage.prompt,
        "cached": outcome.usage.cached,
        "completion": outcome.usage.completion,
        "estimated_prompt": outcome.estimated,
        "milliseconds": outcome.milliseconds,
    }
    return Evidence(
        triaged=None if chosen is None else TriageChoice(turns=chosen),
        notes=notes,
        reports={TRIAGE.evidence: report},
    )
