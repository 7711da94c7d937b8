"""`lastN`: the last turns that the user began."""

from __future__ import annotations

from chatsite.history.policies.base import Policy, Terms, Users
from chatsite.history.policies.cuts import acting_length, choose_by_cut
from chatsite.wording import later, say, say_count


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
    choose=choose_by_cut("lastN", sent="within_length", left_out="over_length"),
    beyond_reach="over_length",
    own_settings=frozenset({"step"}),
    uses_length=True,
)
