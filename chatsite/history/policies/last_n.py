"""`lastN`: the last turns that the user began."""

from __future__ import annotations

from chatsite.history.policies.base import Policy, Terms, Users
from chatsite.history.policies.cuts import acting_length, choose_by_cut
from chatsite.wording import later, say, say_count


def _last_exchanges(terms: Terms) -> str:
    """The newest is the one of the current message."""
    count = acting_length(terms.length)
    return say_count("this exchange", "your last {count} exchanges", count)


def _words(terms: Terms) -> str:
    most = acting_length(terms.length)
    if most == 1:
        return say("only this exchange")
    step = min(terms.step, most)
    if step == 1:
        return _last_exchanges(terms)
    return say("{exchanges}, moving {step} at a time", exchanges=_last_exchanges(terms), step=step)


LAST_N = Policy(
    name="lastN",
    title=later("Your last exchanges"),
    about=later("Each a message and its answer, the new one included."),
    label="lastN",
    words=_words,
    scope=_last_exchanges,
    reach=lambda terms: Users(acting_length(terms.length)),
    choose=choose_by_cut("lastN", sent="within_length", left_out="over_length"),
    beyond_reach="over_length",
    own_settings=frozenset({"step"}),
    uses_length=True,
)
