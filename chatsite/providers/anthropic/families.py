"""How Claude models are asked to think, which differs with every generation.

Sources, November 2026: https://platform.claude.com/docs/en/build-with-claude/thinking, .../effort,
.../preserved-thinking/prefix-checks, and the "what's new" page of each model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from chatsite.providers.known.models import claude_name
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
    """The family with the longest fitting name; other makers' models get a budget."""
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
    if wanted == "" and family.off:
        return _off(family)
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


def _off(family: ClaudeFamily) -> ThinkingParams:
    """With "between_tools" the model still thinks between calls, which has to be sent back."""
    if family.off == "omitted":
        return NO_THINKING
    return ThinkingParams({"thinking": {"type": family.off}}, on=family.off == "between_tools")


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
