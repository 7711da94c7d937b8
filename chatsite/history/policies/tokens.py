"""`tokens`: the newest whole turns that fit the budget, or the model's window."""

from __future__ import annotations

from chatsite.history.path.overflow import cut_oldest
from chatsite.history.policies.base import Policy, Tokens
from chatsite.history.policies.cuts import choose_from_cut, cut_nothing

TOKENS = Policy(
    name="tokens",
    title="The newest that fit",
    about="Whole turns, the oldest left out when it gets full.",
    label="tokens",
    words=lambda terms: "the newest that fit",
    scope=lambda terms: "the newest turns",
    reach=lambda terms: Tokens(),
    choose=choose_from_cut(cut_nothing, sent="within_budget", left_out="over_budget"),
    beyond_reach="over_budget",
    make_room=cut_oldest,
)
