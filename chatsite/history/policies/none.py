"""`none`: the current turn alone."""

from __future__ import annotations

from collections.abc import Sequence

from chatsite.history.policies.base import Policy, Terms, Users
from chatsite.history.policies.cuts import choose_from_cut, cut_messages
from chatsite.history.values.transcript import Turn


def cut_answered(path: Sequence[Turn], not_loaded: int, terms: Terms) -> int:
    """Nothing is sent but a user message that nobody has answered yet."""
    unanswered = bool(path) and path[-1].user is not None and len(path[-1].entries) == 1
    return len(path) - unanswered


choose_current = choose_from_cut(cut_answered, sent="within_length", left_out="over_length")

NONE = Policy(
    name="none",
    title="Only the message you send",
    about="Nothing said before is sent.",
    label="none",
    words=lambda terms: "only this message",
    scope=lambda terms: "this message",
    reach=lambda terms: Users(1),
    choose=choose_current,
    beyond_reach="over_length",
    only_current=True,
    cut_list=cut_messages(cut_answered),
)
