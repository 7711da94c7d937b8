"""`all`: everything, as far as the model has room."""

from __future__ import annotations

from chatsite.history.policies.base import Everything, Policy
from chatsite.history.policies.cuts import choose_by_cut
from chatsite.wording import later, say

ALL = Policy(
    name="all",
    title=later("Everything"),
    about=later("The whole chat, as far as the model has room."),
    label="all",
    words=lambda terms: say("everything"),
    scope=lambda terms: say("everything"),
    reach=lambda terms: Everything(),
    choose=choose_by_cut("all", sent="within_budget", left_out="not_read"),
    beyond_reach="not_read",
)
