"""`tokens`: the newest whole turns that fit the budget, or the model's window."""

from __future__ import annotations

from chatsite.history.path.overflow import cut_oldest
from chatsite.history.policies.base import Policy, Tokens
from chatsite.history.policies.cuts import choose_every_turn
from chatsite.wording import later, say

TOKENS = Policy(
    name="tokens",
    title=later("As much recent history as fits"),
    about=later("The newest exchanges, up to the limit below; the oldest drop out."),
    label="tokens",
    words=lambda terms: say("as much recent history as fits"),
    scope=lambda terms: say("the newest turns"),
    reach=lambda terms: Tokens(),
    choose=choose_every_turn(sent="within_budget"),
    beyond_reach="over_budget",
    make_room=cut_oldest,
)
