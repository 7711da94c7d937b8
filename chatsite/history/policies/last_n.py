"""`lastN`: the last turns that the user began."""

from __future__ import annotations

from collections.abc import Sequence

from chatsite.history.policies.base import Policy, Terms, Users
from chatsite.history.policies.cuts import acting_length, choose_from_cut, cut_messages
from chatsite.history.values.transcript import Turn


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
    return "last user message" if count == 1 else f"last {count:,} user messages"


def _words(terms: Terms) -> str:
    step = min(terms.step, acting_length(terms.length))
    return _last_messages(terms) + (f", moving {step} at a time" if step > 1 else "")


LAST_N = Policy(
    name="lastN",
    title="The last messages",
    about="Yours, and what answered them.",
    label="lastN",
    words=_words,
    scope=lambda terms: f"the {_last_messages(terms)}",
    reach=lambda terms: Users(acting_length(terms.length)),
    choose=choose_from_cut(cut_last_n, sent="within_length", left_out="over_length"),
    beyond_reach="over_length",
    own_settings=frozenset({"step"}),
    uses_length=True,
    cut_list=cut_messages(cut_last_n),
)
