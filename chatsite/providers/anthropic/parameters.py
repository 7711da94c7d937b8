"""Which settings of an agent go along to Anthropic, and how the model is asked to think.

Sources, November 2026: https://platform.claude.com/docs/en/build-with-claude/thinking, .../effort,
.../preserved-thinking/prefix-checks, and the "what's new" page of each model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from chatsite.providers.base.provider import Request, SentParameters, not_sent, wanted_parameters
from chatsite.providers.known.models import ModelFacts, claude_name
from chatsite.wording import say

EFFORTS = ("low", "medium", "high", "xhigh", "max")
# Thinking counts as part of the reply. This many tokens are added to the reply's limit; without
# them an answer of a thousand tokens would end before its first word.
_ROOM = {"low": 4_096, "medium": 8_192, "high": 16_384, "xhigh": 32_768, "max": 32_768}
LEAST_BUDGET = 1_024
# OpenAI's names for less than "low", which a template may have too.
_LESS = {"none": "", "off": "", "minimal": "low"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeFamily:
    """`thinks`: "adaptive" models decide themselves and take an effort, "budget" models take a
    number of tokens, and the first ones "never" think.

    `unasked`: the model thinks by default. `off` switches thinking off: a type, "omitted" (no
    parameter), or "" where that isn't possible. `bound`: the API refuses thinking when anything
    before it has changed, so it is sent back only after the very same beginning. `finer`: the model
    has the tokenizer that was introduced with Opus 4.7.
    """

    thinks: Literal["adaptive", "budget", "never"] = "adaptive"
    unasked: bool = False
    off: Literal["disabled", "between_tools", "omitted", ""] = "omitted"
    efforts: tuple[str, ...] = EFFORTS
    bound: bool = False
    finer: bool = True


_ALWAYS = ClaudeFamily(unasked=True, off="", bound=True)
_BUDGET = ClaudeFamily(thinks="budget", efforts=(), finer=False)
_NEVER = replace(_BUDGET, thinks="never")
_4_6 = ClaudeFamily(efforts=("low", "medium", "high", "max"), finer=False)
_FAMILIES: Mapping[str, ClaudeFamily] = {
    # For a model that is newer than this table: what the newest ones have in common.
    "claude": _ALWAYS,
    "claude-3": _NEVER,
    "claude-3-7-sonnet": _BUDGET,
    "claude-fable-5": replace(_ALWAYS, bound=False),
    "claude-fable-5-1": _ALWAYS,
    "claude-fable-5-2": _ALWAYS,
    "claude-mythos-5": replace(_ALWAYS, bound=False),
    "claude-mythos-5-1": _ALWAYS,
    "claude-mythos-5-2": _ALWAYS,
    "claude-haiku-4": _BUDGET,
    "claude-haiku-5-5": ClaudeFamily(unasked=True, off="disabled", bound=True),
    "claude-opus-4": _BUDGET,
    "claude-opus-4-6": _4_6,
    "claude-opus-4-7": ClaudeFamily(),
    "claude-opus-4-8": ClaudeFamily(),
    "claude-opus-5": ClaudeFamily(unasked=True, off="disabled"),
    "claude-opus-5-5": _ALWAYS,
    "claude-sonnet-4": _BUDGET,
    "claude-sonnet-4-6": _4_6,
    "claude-sonnet-5": ClaudeFamily(unasked=True, off="disabled"),
    "claude-sonnet-5-5": ClaudeFamily(unasked=True, off="between_tools", bound=True),
}


def find_family(model: str) -> ClaudeFamily:
    """Return the family with the longest fitting name; other makers' models get a budget."""
    own = claude_name(model)
    fitting = [name for name in _FAMILIES if f"{own}-".startswith(f"{name}-")]
    return _FAMILIES[max(fitting, key=len)] if fitting else _BUDGET


@dataclass(frozen=True, slots=True)
class ThinkingParams:
    """`params` are added to a request's body, `room` to the limit of its reply, in tokens.
    `dropped` says in a sentence where the effort that is wished can't be had."""

    params: Mapping[str, Any]
    room: int = 0
    on: bool = False
    dropped: str = ""


NO_THINKING = ThinkingParams({})


def choose_thinking(
    family: ClaudeFamily, wish: object, *, reply: int, longest: int | None
) -> ThinkingParams:
    """`wish` is a template's `reasoning_effort`: an effort, "none", or None by default.

    Thinking is always requested in a readable form: otherwise a thinking model would seem silent
    to people, and exceed our timeouts.
    """
    wanted = _LESS.get(str(wish), str(wish)) if wish is not None else None
    if wanted == "" and family.off == "omitted":
        return NO_THINKING
    if wanted == "" and family.off:
        # With "between_tools" the model still thinks between calls, which has to be sent back.
        off = {"thinking": {"type": family.off}}
        return ThinkingParams(off, on=family.off == "between_tools")
    if wanted is None and not family.unasked:
        return NO_THINKING
    if family.thinks == "never":
        return replace(
            NO_THINKING, dropped=say("reasoningEffort is not sent: the model can't think.")
        )
    if family.thinks == "budget":
        return _budget(wanted or "low", reply=reply, longest=longest)
    effort = _nearest("low" if wanted == "" else wanted, family.efforts)
    params: dict[str, Any] = {"thinking": {"type": "adaptive", "display": "summarized"}}
    if effort is not None:
        params["output_config"] = {"effort": effort}
    dropped = ""
    if effort is not None and str(wish) != effort:
        dropped = say(
            "reasoningEffort {wish} is sent as {effort}, the nearest that the model has.",
            wish=wish,
            effort=effort,
        )
    return ThinkingParams(params, room=_ROOM[effort or "high"], on=True, dropped=dropped)


def _nearest(wish: str | None, efforts: tuple[str, ...]) -> str | None:
    """The effort itself or, where the family doesn't have it, the next lower one."""
    if wish is None or wish not in EFFORTS:
        return None
    return [one for one in EFFORTS[: EFFORTS.index(wish) + 1] if one in efforts][-1]


def _budget(wish: str, *, reply: int, longest: int | None) -> ThinkingParams:
    """At least 1,024 tokens, and less than the whole limit; no thinking where that doesn't fit."""
    room = _ROOM.get(wish, _ROOM["high"])
    if longest is not None:
        room = min(room, max(longest - reply, longest // 2))
    if room < LEAST_BUDGET:
        why = say("reasoningEffort is not sent: the reply has no room for thinking.")
        return replace(NO_THINKING, dropped=why)
    return ThinkingParams(
        {"thinking": {"type": "enabled", "budget_tokens": room}}, room=room, on=True
    )


SAMPLING = ("temperature", "top_p")
_UNKNOWN = ("seed", "frequency_penalty", "presence_penalty")
_EFFORT = "reasoning_effort"
_HOTTEST = 1.0


def decide_thinking(request: Request, facts: ModelFacts | None) -> ThinkingParams:
    """Return how the model is asked to think; a turn that began without thinking goes on
    without."""
    longest = facts.longest if facts else None
    wish = request.options.get(_EFFORT)
    return choose_thinking(
        find_family(request.model), wish, reply=request.max_tokens, longest=longest
    )


def choose_parameters(request: Request, facts: ModelFacts | None) -> SentParameters:
    wanted, thinking = wanted_parameters(request), decide_thinking(request, facts)
    unknown = [name for name in _UNKNOWN if name in wanted]
    parts = (
        SentParameters(
            {},
            not_sent(
                unknown,
                "{names} is not sent: Anthropic's interface has no such setting.",
                "{names} are not sent: Anthropic's interface has no such setting.",
            ),
        ),
        _sampling(request, facts, thinks=thinking.on),
        _stops(wanted.get("stop")),
        _effort(wanted.get(_EFFORT), thinking),
    )
    return SentParameters(
        {name: value for part in parts for name, value in part.sent.items()},
        tuple(sentence for part in parts for sentence in part.dropped),
    )


def _sampling(request: Request, facts: ModelFacts | None, *, thinks: bool) -> SentParameters:
    """Temperature (0 to 1) or top_p, never both; none with thinking, or where the model refuses."""
    wanted = wanted_parameters(request)
    names = [name for name in SAMPLING if name in wanted]
    if facts is not None and facts.reasoning:
        return SentParameters(
            {},
            not_sent(
                names,
                "{names} is not sent: {model} takes no such setting.",
                "{names} are not sent: {model} takes no such setting.",
                model=request.model,
            ),
        )
    if thinks:
        return SentParameters(
            {},
            not_sent(
                names,
                "{names} is not sent: {model} takes no such setting while it thinks.",
                "{names} are not sent: {model} takes no such setting while it thinks.",
                model=request.model,
            ),
        )
    sent = {name: wanted[name] for name in names[:1]}
    dropped = not_sent(
        names[1:],
        "{names} is not sent: the model takes one of the two, and temperature is set.",
        "{names} are not sent: the model takes one of the two, and temperature is set.",
    )
    if request.temperature is not None and request.temperature > _HOTTEST:
        sent["temperature"] = _HOTTEST
        dropped += (
            say(
                "temperature {temperature} is sent as 1, the highest that it takes.",
                temperature=request.temperature,
            ),
        )
    return SentParameters(sent, dropped)


def _stops(wanted: object) -> SentParameters:
    """Without blank ones, which the API refuses."""
    stops = [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, list) else []
    sent = [text for text in stops if text.strip()]
    dropped = (say("Blank stopSequences are not sent: Anthropic's interface refuses them."),)
    return SentParameters({"stop": sent} if sent else {}, dropped if sent != stops else ())


def _effort(wanted: object, thinking: ThinkingParams) -> SentParameters:
    """The effort that acts, which may be the nearest that the model has."""
    acting = thinking.params.get("output_config", {}).get("effort")
    if acting is None and not thinking.dropped:
        acting = wanted
    sent = {_EFFORT: acting} if acting is not None and wanted is not None else {}
    return SentParameters(sent, (thinking.dropped,) if thinking.dropped else ())
