"""What a policy is: one record that holds everything the rest of the program asks of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from chatsite.history.evidence import Evidence
from chatsite.history.path.marks import PathContext, PathTerms
from chatsite.history.path.overflow import FittedPath, Overflow, clean_or_cut
from chatsite.history.path.transcript import PathTurn
from chatsite.history.path.turn_verdicts import PolicyChoice
from chatsite.history.reasons import Reason


# ---- how far a policy reaches ----------------------------------------------------------------
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

    Turns with something excluded, unanswered or of a background task in them are loaded but not
    counted.
    0 means as many as the request may have.
    """

    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Everything:
    """The store must load the whole active path."""


Reach = Users | Tokens | Everything


# ---- what a policy depends on ----------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class TriageTerms:
    """The settings of triage as plain values; the table of settings explains each."""

    lookback_count: int = 25
    context_recency_hours: float = 0.0
    context_min_messages: int = 10
    skip_selection_threshold: int = 3
    always_include_recent: int = 5
    use_selection: bool = True
    context_truncation: int = 0


@dataclass(frozen=True, kw_only=True)
class Terms(PathTerms, TriageTerms):
    """The settings that a policy's choice, reach and words depend on, as plain values."""

    length: int = 20
    step: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionContext(PathContext):
    """What a policy chooses from.

    `counted` are the turns that a length counts, the current one last;
    `users_not_loaded` is how many more of them were not read from storage, and `reached` says that
    as many were loaded as the policy may send. A strategy's choice
    may take `available_tokens`; what it has no room for has the `overflow_reason`.
    """

    terms: Terms
    evidence: Evidence
    counted: Sequence[PathTurn]
    users_not_loaded: int
    reached: bool
    available_tokens: int
    overflow_reason: Reason


# ---- a policy --------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One policy; for a policy with selectors, one selector of it.

    To add a policy, write a module with its `Policy` and give it a line in `POLICIES`. Nothing
    else that runs knows which policies there are; CONTRIBUTING.md lists its tests and documents.
    """

    # Its name in HISTORY_POLICY, addresses and templates, and that of its selector, if it has one.
    name: str
    selector: str = ""

    # What people read: the title and a sentence about it where it is offered, its name in
    # comparisons, `words` for the chip, and `scope` to complete "older than ..." (a policy that
    # doesn't cut at one place gives each `TurnRule` a `why` of its own instead).
    title: str
    about: str
    label: str
    # It is among the few that are offered first; the rest is one press further.
    offered_first: bool = False
    words: Callable[[Terms], str]
    scope: Callable[[Terms], str]

    # What it sends. `reach`: how far back storage is read. `choose`: what it would send of that,
    # whatever the budget. `beyond_reach`: the reason for what was not read. `make_room`: what is
    # left out where not everything fits; the default also lets the cleanup of the engine's cache
    # unload turns for good, which suits no policy that chooses by the words of each message.
    reach: Callable[[Terms], Reach]
    choose: Callable[[DecisionContext], PolicyChoice]
    beyond_reach: Reason
    make_room: Callable[[Overflow], FittedPath] = clean_or_cut

    # The evidence it needs: the key under which its gatherer is registered and its report is
    # stored, "" for none; `gathers_on_overflow`: only where not everything fits.
    evidence: str = ""
    gathers_on_overflow: bool = False
    # The title of that report in the debug panel.
    report_title: str = ""
    # Percent of the room for history that the turns below a cut may take before results give way.
    tail_share: int = 100
    # What it quoted for a message stays before that message while the turn is sent.
    quotes_stay: bool = False
    # A running summary is part of what it sends.
    uses_summary: bool = False

    # The settings that have an effect only under it, by name.
    own_settings: frozenset[str] = frozenset()
    # The setting `length` counts for it.
    uses_length: bool = False
    # It sends the current turn alone: no notes of background tasks go along, and there is
    # nothing to cut down.
    only_current: bool = False
    # A link may choose it only where the agent's template names it.
    needs_naming: bool = False
    # A model is asked on sending: before, nobody knows what it sends.
    asks_model: bool = False
    # What it sends is up to the agent's own code as it is now, also for an earlier turn.
    runs_agent_code: bool = False
    # What it sends depends on the words of the message.
    depends_on_words: bool = False

    @property
    def key(self) -> str:
        """Its name, and its selector where it has one: unique in the table."""
        return f"{self.name} {self.selector}".rstrip()


class PolicyTable:
    """Policies by name; where a policy has selectors, one row for each of them."""

    def __init__(self, *rows: Policy) -> None:
        self.by_name: dict[str, tuple[Policy, ...]] = {}
        for row in rows:
            self.by_name[row.name] = (*self.by_name.get(row.name, ()), row)

    @property
    def rows(self) -> tuple[Policy, ...]:
        """All of them, in the order in which they are offered."""
        return tuple(row for rows in self.by_name.values() for row in rows)

    @property
    def names(self) -> Mapping[str, object]:
        """The names, in order; later additions are among them."""
        return self.by_name

    @property
    def own_settings(self) -> frozenset[str]:
        """All settings that have an effect only under one of them."""
        return frozenset().union(*(row.own_settings for row in self.rows))

    @property
    def selectors(self) -> tuple[str, ...]:
        return tuple(row.selector for row in self.rows if row.selector)

    def get(self, name: str, selector: str = "") -> Policy | None:
        """The policy of this name and, where it has selectors, with this one, or its first.

        None for a name that isn't known, as an old receipt may hold one.
        """
        rows = self.by_name.get(name, ())
        return next((row for row in rows if row.selector == selector), rows[0] if rows else None)
