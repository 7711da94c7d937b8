"""`none`: the current turn alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chatsite.history.path.policy_choice import PolicyChoice
from chatsite.history.policies.base import DecisionContext, Policy, Terms, Users
from chatsite.history.policies.cuts import choose_from_cut, cut_messages
from chatsite.history.values.transcript import Turn
from chatsite.wording import later, say

WHY_SWITCHED_OFF = later(
    "The memory of this agent's conversations is switched off (conversation.enabled is false): "
    "whatever the policy, only this message is sent."
)


def cut_answered(path: Sequence[Turn], not_loaded: int, terms: Terms) -> int:
    """Nothing is sent but a user message that nobody has answered yet."""
    unanswered = bool(path) and path[-1].user is not None and len(path[-1].entries) == 1
    return len(path) - unanswered


choose_current = choose_from_cut(cut_answered, sent="within_length", left_out="over_length")

NONE = Policy(
    name="none",
    title=later("Only your new message"),
    about=later("Nothing earlier is sent."),
    label="none",
    words=lambda terms: say("only your new message"),
    scope=lambda terms: say("your new message"),
    reach=lambda terms: Users(1),
    choose=choose_current,
    beyond_reach="over_length",
    only_current=True,
    cut_list=cut_messages(cut_answered),
)


def _choose_switched_off(context: DecisionContext) -> PolicyChoice:
    return replace(choose_current(context), notes=(WHY_SWITCHED_OFF,))


# Acts in place of the chosen policy where `enabled` of the conversation's settings is false.
SWITCHED_OFF = replace(NONE, choose=_choose_switched_off)
