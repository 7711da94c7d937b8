"""Why a message is sent or left out: the codes of a verdict, and what they say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from chatsite.wording import later

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
    "gave_way",
    "unloaded",
    "unanswered",
    "not_read",
    "over_talk_limit",
    "too_long",
    "incomplete_tool_group",
    "empty",
]

# With these a message is part of the request; with every other reason it is not. `relevant` and
# `followed` may be part of it as quoted text, with `gave_way` a line stands for its result or the
# texts of its files; with `summarised` only the summary is in it.
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
        "gave_way",
    }
)

# A message that is left out with one of these isn't quoted either.
NEVER_QUOTED: frozenset[Reason] = frozenset(
    {"above_marker", "excluded", "background", "unloaded", "unanswered", "too_long"}
)

# What completes "sent:" or "not sent:"; the sentences of the other reasons hold numbers.
SENTENCES: Mapping[str, str] = {
    "system": later("instructions, always sent first"),
    "prefilled": later("an example turn of the agent, always sent"),
    "greeting": later("the agent's greeting: shown to you, never sent"),
    "current": later("the message being asked"),
    "within_budget": later("there is room for it"),
    "pinned": later("its turn is pinned"),
    "excluded": later("you left it out"),
    "above_marker": later("above the line where you asked to forget"),
    "replied_to": later("this message replies to its turn"),
    "relevant": later("it is relevant to this message"),
    "not_relevant": later("nothing relevant was found in it"),
    "summarised": later("a summary stands for it"),
    "strategy": later("the agent's strategy chose it"),
    "not_chosen": later("the agent's strategy didn't choose it"),
    "low_priority": later("the agent's strategy gives it a lower priority than what is sent"),
    "background": later("written by a background task"),
    "followed": later("a background task wrote it directly before this message"),
    "gave_way": later("made room: results of tools and texts of files give way before talk"),
    "unloaded": later("unloaded by a cleanup, until you bring it back"),
    "unanswered": later("its answer failed"),
    "not_read": later("not read from storage"),
    "over_talk_limit": later("further back than the room's messages are read"),
    "too_long": later("an answer with more characters than may be sent again"),
    "incomplete_tool_group": later(
        "a tool call without all its results, or a result without its call"
    ),
    "empty": later("an answer without text"),
}
