"""`lastN`: the last turns that the user began."""

from __future__ import annotations

from collections.abc import Sequence

from chatsite.history.policies.base import Policy, Terms, Users
from chatsite.history.policies.cuts import acting_length, choose_from_cut, cut_messages
from chatsite.history.values.transcript import Turn
from chatsite.wording import later, say, say_count


def cut_last_n(path: Sequence[Turn], not_loaded: int, terms: Terms) -> int:
    """Everything but the last turns is cut; nothing when there are no more than that.

    With a step the cut moves that many turns at a time, counted from the path's beginning, so
    that it needs to know nothing of earlier requests.
    """
    loaded = len(path) - (1 if path and path[0].user is None else 0)
    opened = not_loaded + loaded
    most = acting_length(terms.length)
    if opened <= most:
        return 0
    step = min(max(1, terms.step), most)
    dropped = -(-(opened - most) // step) * step
    return len(path) - min(opened - dropped, loaded)


def _last_messages(terms: Terms) -> str:
    count = acting_length(terms.length)
    return say_count("your last message", "your last {count} messages", count)


def _words(terms: Terms) -> str:
    step = min(terms.step, acting_length(terms.length))
    if step == 1:
        return _last_messages(terms)
    return say("{messages}, moving {step} at a time", messages=_last_messages(terms), step=step)


LAST_N = Policy(
    name="lastN",
    title=later("Your last messages"),
    about=later("With the replies to them."),
    label="lastN",
    words=_words,
    scope=_last_messages,
    reach=lambda terms: Users(acting_length(terms.length)),
    choose=choose_from_cut(cut_last_n, sent="within_length", left_out="over_length"),
    beyond_reach="over_length",
    own_settings=frozenset({"step"}),
    uses_length=True,
    cut_list=cut_messages(cut_last_n),
)
