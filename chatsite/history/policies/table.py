"""What each policy sends: its cut, its reach into storage and its words.

To add a policy, write its cut and give it a line in `POLICIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from types import MappingProxyType

from chatsite.history.values.reasons import Reason
from chatsite.history.values.transcript import Entry, Turn, turns
from chatsite.messages import Message

LEXICAL, TRIAGE = "lexical", "triage"
SELECTORS = (LEXICAL, TRIAGE)
# What a strategy gets to see: its worker is given all of it as JSON, within its 2 seconds.
STRATEGY_TURNS = 500


@dataclass(frozen=True, slots=True)
class Users:
    """The store must load the last `users` user messages and all that answers them.

    Messages of background tasks are not counted; system messages, marked turns and the turn that
    is replied to come on top.
    """

    users: int


@dataclass(frozen=True, slots=True)
class Tokens:
    """The store must load whole turns from the newest back until they exceed `tokens`.

    Turns with something excluded or of a background task in them are loaded but not counted.
    0 stands for as many as the request may have.
    """

    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Everything:
    """The store must load the whole active path."""


Reach = Users | Tokens | Everything


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The settings that a policy's cut, reach and words depend on.

    `lookback` is how many older turns triage looks at, 0 where it is switched off.
    """

    length: int = 20
    step: int = 1
    selector: str = LEXICAL
    lookback: int = 25


# Turns, oldest first, how many more lie above them unread, and the terms -> the position of the
# first turn that is sent.
Cut = Callable[[Sequence[Turn], int, Terms], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One policy. `words` is for the chip, `scope` completes "older than ...".

    `sent` and `left_out` are the codes of what lies on either side of the cut. `needs_naming`: a
    link may choose it only where the agent's template names it.
    """

    cut: Cut
    reach: Callable[[Terms], Reach]
    words: Callable[[Terms], str]
    scope: Callable[[Terms], str]
    sent: Reason
    left_out: Reason
    uses_length: bool = False
    needs_naming: bool = False


def acting_length(length: int) -> int:
    """The number of user messages that `length` means: 0 and below act as 1."""
    return max(1, length)


def cut_none(path: Sequence[Turn], away: int, terms: Terms) -> int:
    """Nothing but a user message that nobody has answered yet."""
    unanswered = bool(path) and path[-1].user is not None and len(path[-1].entries) == 1
    return len(path) - unanswered


def cut_last_n(path: Sequence[Turn], away: int, terms: Terms) -> int:
    """The last turns that a user began. Nothing is cut when there are no more than that.

    With a step the cut moves that many turns at a time, counted from the path's beginning, so
    that it needs to know nothing of earlier requests.
    """
    loaded = len(path) - (1 if path and path[0].user is None else 0)
    opened = away + loaded
    most = acting_length(terms.length)
    if opened <= most:
        return 0
    step = min(max(1, terms.step), most)
    dropped = -(-(opened - most) // step) * step
    return len(path) - min(opened - dropped, loaded)


def cut_all(path: Sequence[Turn], away: int, terms: Terms) -> int:
    return 0


def _last_messages(terms: Terms) -> str:
    count = acting_length(terms.length)
    return "last user message" if count == 1 else f"last {count:,} user messages"


def _last_n_words(terms: Terms) -> str:
    step = min(terms.step, acting_length(terms.length))
    return _last_messages(terms) + (f", moving {step} at a time" if step > 1 else "")


def _relevant_words(terms: Terms) -> str:
    if terms.selector == TRIAGE:
        return "what a fast model finds relevant" if terms.lookback else "only this message"
    return "the newest and what is relevant"


def _relevant_reach(terms: Terms) -> Reach:
    return Users(terms.lookback + 1) if terms.selector == TRIAGE else Tokens()


def _relevant_scope(terms: Terms) -> str:
    if terms.selector != TRIAGE:
        return "the newest turns"
    return f"the last {terms.lookback:,} turns" if terms.lookback else "this message"


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        "none": Policy(
            cut=cut_none,
            reach=lambda terms: Users(1),
            words=lambda terms: "only this message",
            scope=lambda terms: "this message",
            sent="within_length",
            left_out="over_length",
        ),
        "lastN": Policy(
            cut=cut_last_n,
            reach=lambda terms: Users(acting_length(terms.length)),
            words=_last_n_words,
            scope=lambda terms: f"the {_last_messages(terms)}",
            sent="within_length",
            left_out="over_length",
            uses_length=True,
        ),
        "all": Policy(
            cut=cut_all,
            reach=lambda terms: Everything(),
            words=lambda terms: "everything",
            scope=lambda terms: "the whole conversation",
            sent="within_budget",
            left_out="not_read",
        ),
        "tokens": Policy(
            cut=cut_all,
            reach=lambda terms: Tokens(),
            words=lambda terms: "the newest that fit",
            scope=lambda terms: "the newest turns",
            sent="within_budget",
            left_out="over_budget",
        ),
        "relevant": Policy(
            cut=cut_all,
            reach=_relevant_reach,
            words=_relevant_words,
            scope=_relevant_scope,
            sent="within_budget",
            left_out="over_length",
        ),
        "summary": Policy(
            cut=cut_all,
            reach=lambda terms: Tokens(),
            words=lambda terms: "a summary and the newest",
            scope=lambda terms: "the newest turns",
            sent="within_budget",
            left_out="summarised",
            needs_naming=True,
        ),
        "strategy": Policy(
            cut=cut_all,
            reach=lambda terms: Users(STRATEGY_TURNS),
            words=lambda terms: "what the agent's strategy chooses",
            scope=lambda terms: f"the last {STRATEGY_TURNS:,} turns",
            sent="within_budget",
            left_out="over_length",
            needs_naming=True,
        ),
    }
)


# Those that only cut, and need no budget and no evidence for it.
PLAIN = ("none", "lastN", "all")


def apply_history_policy(
    messages: Sequence[Message],
    *,
    policy: str = "lastN",
    length: int = 20,
    preserve_system: bool = True,
) -> list[Message]:
    """Cut a list of messages as a policy says, without marks, budget or repair.

    `all` returns its input as it is. The others put system messages first, or leave them out
    without `preserve_system`. Raises ValueError for any other policy: it never means "all".
    """
    if policy not in PLAIN:
        raise ValueError(f"policy {policy!r} is not one of {', '.join(PLAIN)}")
    if policy == "all":
        return list(messages)
    system = [message for message in messages if message.role == "system"]
    said = [message for message in messages if message.role != "system"]
    path = turns([Entry(message=message, seq=seq) for seq, message in enumerate(said, 1)])
    start = POLICIES[policy].cut(path, 0, Terms(length=index(length)))
    kept = [entry.message for turn in path[start:] for entry in turn.entries]
    return system + kept if preserve_system else kept
