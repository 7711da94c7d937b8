"""Why a message is sent or left out: the codes of a verdict."""

from __future__ import annotations

from typing import Literal

Reason = Literal[
    "system",
    "prefilled",
    "greeting",
    "current",
    "within_length",
    "over_length",
    "within_budget",
    "over_budget",
    "over_window",
    "above_cut",
    "pinned",
    "excluded",
    "above_marker",
    "replied_to",
    "relevant",
    "not_relevant",
    "summarised",
    "strategy",
    "not_chosen",
    "low_priority",
    "background",
    "followed",
    "unloaded",
    "unanswered",
    "not_read",
    "over_talk_limit",
    "incomplete_tool_group",
    "empty",
]

# With these a message is part of the request; with every other reason it is not. `relevant` and
# `followed` may be part of it as quoted text; with `summarised` only the summary is in it.
SENT: frozenset[Reason] = frozenset(
    {
        "system",
        "prefilled",
        "current",
        "within_length",
        "within_budget",
        "pinned",
        "replied_to",
        "relevant",
        "strategy",
        "followed",
    }
)
