"""The two sources that a person chooses by, and what is said of them.

A link and the choice kept with a conversation set the same settings and have the same bounds:
only the sentences about them differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

# What a person chose in the page, by the names of a link's parameters.
Choice = Mapping[str, str]
NO_CHOICE: Choice = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Chooser:
    """Words for one of them: its name, and why it decides nothing where the environment locks,
    where HISTORY_URL is off and where it is staff. `more` says how a budget is added, whose
    largest number of tokens goes into its place."""

    name: str
    when_locked: str
    when_off: str
    when_staff: str
    more: str

    def locked_by(self, name: str) -> str:
        """Why nothing counts here while the environment sets this variable."""
        return f"the environment sets {name}, {self.when_locked}"


LINK = Chooser(
    name="a link",
    when_locked="so no link can choose",
    when_off="links can't choose on this server",
    when_staff="only staff may choose in the address",
    more="add historyTokens={0} to it",
)
_KEPT = "the choice kept with this conversation"
KEPT = Chooser(
    name=_KEPT,
    when_locked=f"so {_KEPT} doesn't apply",
    when_off=f"{_KEPT} doesn't apply on this server",
    when_staff=f"{_KEPT} applies for staff only",
    more="choose a budget of at most {0:,} tokens, too",
)
# The page as a whole, where nothing needs to be kept or linked yet.
PAGE = Chooser(
    name="a choice in the page",
    when_locked="so nothing can be chosen here",
    when_off="nothing can be chosen in the page on this server",
    when_staff="only staff may choose here",
    more=KEPT.more,
)
