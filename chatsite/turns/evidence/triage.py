"""Asks a fast model which older turns matter. One that can't be asked leaves nothing out."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import Literal

from chatsite.errors import ProviderError
from chatsite.history import Evidence
from chatsite.history.evidence import TriageChoice
from chatsite.history.path.marks import remembered_from
from chatsite.history.path.transcript import split_turns
from chatsite.history.policies.triage import TRIAGE, TriagePlan, plan_triage
from chatsite.history.policies.triage_question import read_reply, triage_prompt
from chatsite.history.token_estimate import estimate_message
from chatsite.providers.base.provider import Model, Usage
from chatsite.turns.context.decider import DecisionInputs
from chatsite.turns.evidence.completion import FAST, Unfinished, complete, side_model
from chatsite.wording import later, say

logger = logging.getLogger("chatsite.turns")

_UNKNOWN = Usage()
# Positions take a few tokens each; a model that thinks first takes more.
REPLY_TOKENS = 4_096

CANT_JUDGE = later(
    "{model} can't judge which older turns matter, so nothing of {scope} is left out while there "
    "is room."
)
UNREADABLE = later(
    "{model} didn't say readably which older turns matter, so nothing of {scope} is left out while "
    "there is room."
)
TOO_SLOW = later(
    "{model} hadn't said which older turns matter after {seconds:g} seconds, so nothing of {scope} "
    "is left out while there is room."
)
BROKE_OFF = later(
    "{model} broke off while it said which older turns matter, so nothing of {scope} is left out "
    "while there is room."
)
REFUSED = later(
    "{model} couldn't be asked which older turns matter ({problem}), so nothing of {scope} is left "
    "out while there is room."
)
FAILED = later(
    "{model} couldn't be asked which older turns matter, so nothing of {scope} is left out while "
    "there is room."
)
ON_SENDING = later(
    "Which older turns go along is chosen on sending: {model} is asked about {count} of them."
)
OTHER_MODEL = later("{wanted} was to choose among older turns; {model} is asked here.")

TriageResult = Literal[
    "nothing to choose", "on sending", "chosen", "no model", "timeout", "error", "unreadable"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageOutcome:
    """How asking ended. `chosen` are turns by their first message, None where nothing was chosen.

    `why` is a sentence for the reader where it wasn't. `estimated` are the prompt's tokens
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
        """Return the turns that the model chose; without a choice, notes that say why all are
        kept."""
        settings = inputs.context.settings
        entries = inputs.transcript.entries
        turns = split_turns([entry for entry in entries if entry.message.role != "system"])
        plan = plan_triage(
            [turn for turn in turns if turn.user is not None][:-1],
            settings.terms,
            marker=remembered_from(entries),
            compaction=inputs.transcript.compaction,
        )
        count = len(plan.candidates)
        if not count:
            outcome = TriageOutcome(result="nothing to choose", chosen=frozenset())
            return _evidence(outcome, candidates=0, notes=())
        name = settings.selection_model.value
        model = side_model(inputs.context.agent, name)
        if model is None:
            why = say(CANT_JUDGE, model=inputs.context.agent.model.label, scope=plan.scope)
            outcome = TriageOutcome(result="no model", why=why)
        elif inputs.preview:
            outcome = TriageOutcome(result="on sending", model=model)
            note = say(ON_SENDING, model=model.label, count=count)
            return _evidence(outcome, candidates=count, notes=(note,))
        else:
            outcome = await _ask(inputs, plan, model)
        notes = []
        if model is not None and name not in (FAST, model.name):
            notes.append(say(OTHER_MODEL, wanted=name, model=model.name))
        if outcome.chosen is None:
            notes.append(outcome.why)
        return _evidence(outcome, candidates=count, notes=tuple(notes))


async def _ask(inputs: DecisionInputs, plan: TriagePlan, model: Model) -> TriageOutcome:
    seconds = inputs.context.settings.selection_timeout.value
    reply = min(REPLY_TOKENS, model.window // 4)
    question = triage_prompt(inputs.current, plan, room=model.window - reply)
    started = time.monotonic()
    asked = TriageOutcome(
        result="unreadable",
        why=say(UNREADABLE, model=model.label, scope=plan.scope),
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
        result, text = _failure(error)
        problem = ""
        if isinstance(error, ProviderError):
            # Its first sentence, to stand in another one: the rest is about an answer to a person.
            problem = error.message.partition(". ")[0].rstrip(".")
            problem = problem[:1].lower() + problem[1:]
        why = say(text, model=model.label, scope=plan.scope, seconds=seconds, problem=problem)
        usage = error.usage if isinstance(error, Unfinished) else _UNKNOWN
        took = round((time.monotonic() - started) * 1000)
        return replace(asked, result=result, why=why, usage=usage, milliseconds=took)
    asked = replace(asked, usage=completed.usage, milliseconds=completed.milliseconds)
    positions = read_reply(completed.text, len(plan.candidates))
    if positions is None:
        return asked
    chosen = frozenset(plan.candidates[place].entries[0].seq for place in positions)
    return replace(asked, result="chosen", why="", chosen=chosen)


def _failure(error: Exception) -> tuple[TriageResult, str]:
    """How asking failed, and the text that says so."""
    match error:
        case TimeoutError():
            return "timeout", TOO_SLOW
        case Unfinished():
            return "unreadable", BROKE_OFF
        case ProviderError():
            logger.warning("triage: %s (%s)", error.code, error.detail)
            return "error", REFUSED
    logger.error("triage failed", exc_info=error)
    return "error", FAILED


def _evidence(outcome: TriageOutcome, *, candidates: int, notes: tuple[str, ...]) -> Evidence:
    chosen = outcome.chosen
    report = {
        "result": outcome.result,
        "model": outcome.model.name if outcome.model else None,
        "asked": outcome.milliseconds is not None,
        "candidates": candidates,
        "chosen": None if chosen is None else len(chosen),
        **outcome.usage.to_dict(),
        "estimated_prompt": outcome.estimated,
        "milliseconds": outcome.milliseconds,
    }
    return Evidence(
        triaged=None if chosen is None else TriageChoice(turns=chosen),
        notes=notes,
        reports={TRIAGE.evidence: report},
    )
