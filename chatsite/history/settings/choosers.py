"""The two sources that a person chooses by, and what is said of them.

A link and the choice kept with a conversation set the same settings and have the same bounds:
only the sentences about them differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from chatsite.history.settings.claim_words import Origin
from chatsite.wording import later

# What a person chose in the page, by the names of a link's parameters.
Choice = Mapping[str, str]
NO_CHOICE: Choice = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Chooser:
    """What is said of one of them: why it decides nothing where the environment locks, where
    HISTORY_URL is off and where it is staff; and why a value of it is refused.

    `needs_budget` says how a budget is added; `only_named`: only an agent's template may allow it.
    """

    when_locked: str
    when_off: str
    when_staff: str
    too_long: str = ""
    too_many: str = ""
    needs_budget: str = ""
    only_named: str = ""


LINK = Chooser(
    when_locked=later("the environment sets {name}, so no link can choose"),
    when_off=later("links can't choose on this server ({name} is off)"),
    when_staff=later("only staff may choose in the address ({name} is staff)"),
    too_long=later("a link may ask for at most {most:,} user messages here ({name})"),
    too_many=later("a link may ask for at most {most:,} tokens here ({name})"),
    needs_budget=later(
        "a link may ask for at most {most:,} tokens here ({name}): add historyTokens={most} to it"
    ),
    only_named=later("a link may choose {value} only where the agent's template names it ({name})"),
)
KEPT = Chooser(
    when_locked=later(
        "the environment sets {name}, so the choice kept with this conversation doesn't apply"
    ),
    when_off=later(
        "the choice kept with this conversation doesn't apply on this server ({name} is off)"
    ),
    when_staff=later(
        "the choice kept with this conversation applies for staff only ({name} is staff)"
    ),
    too_long=later(
        "the choice kept with this conversation may ask for at most {most:,} user messages here "
        "({name})"
    ),
    too_many=later(
        "the choice kept with this conversation may ask for at most {most:,} tokens here ({name})"
    ),
    needs_budget=later(
        "the choice kept with this conversation may ask for at most {most:,} tokens here ({name}): "
        "choose a budget of at most {most:,} tokens, too"
    ),
    only_named=later(
        "the choice kept with this conversation may choose {value} only where the agent's template "
        "names it ({name})"
    ),
)
# By the source that a person chooses with, the weaker one first.
CHOOSERS: Mapping[Origin, Chooser] = {"conversation": KEPT, "URL": LINK}
# The page as a whole, where nothing needs to be kept or linked yet: no value of it is refused.
PAGE = Chooser(
    when_locked=later("the environment sets {name}, so nothing can be chosen here"),
    when_off=later("nothing can be chosen in the page on this server ({name} is off)"),
    when_staff=later("only staff may choose here ({name} is staff)"),
)
