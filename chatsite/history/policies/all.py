"""`all`: everything, as far as the model has room."""

from __future__ import annotations

from chatsite.history.policies.base import Everything, Policy
from chatsite.history.policies.cuts import choose_from_cut, cut_nothing

ALL = Policy(
    name="all",
    title="Everything",
    about="As far as the model has room.",
    label="all",
    words=lambda terms: "everything",
    scope=lambda terms: "the whole conversation",
    reach=lambda terms: Everything(),
    choose=choose_from_cut(cut_nothing, sent="within_budget", left_out="not_read"),
    beyond_reach="not_read",
    cut_list=lambda messages, length, preserve_system: list(messages),
)
