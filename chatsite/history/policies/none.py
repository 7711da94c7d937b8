"""`none`: the current turn alone."""

from __future__ import annotations

from dataclasses import replace

from chatsite.history.path.policy_choice import PolicyChoice
from chatsite.history.policies.base import DecisionContext, Policy, Users
from chatsite.history.policies.cuts import choose_by_cut
from chatsite.wording import later, say

WHY_SWITCHED_OFF = later(
    "The memory of this agent's conversations is switched off (conversation.enabled is false): "
    "whatever the policy, only this message is sent."
)


choose_current = choose_by_cut("none", sent="within_length", left_out="over_length")

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
)


def _choose_switched_off(context: DecisionContext) -> PolicyChoice:
    return replace(choose_current(context), notes=(WHY_SWITCHED_OFF,))


# Acts in place of the chosen policy where `enabled` of the conversation's settings is false.
SWITCHED_OFF = replace(NONE, choose=_choose_switched_off)
