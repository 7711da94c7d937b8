"""The table of the history settings: a row is all that there is to say of a setting.

To add a setting, add a row and what it does. A policy, or what every policy does, reads its value
from a field of the same name: `Terms` in `history/policies/base.py`, `PathTerms` in
`history/path/marks.py`. Environment, links, templates, rooms, receipts, exported files,
panel and documents follow from the row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chatsite.history.policies.cuts import LAST_N
from chatsite.history.policies.lexical import LEXICAL
from chatsite.history.policies.table import POLICIES
from chatsite.history.settings.grammar import (
    Decimal,
    Flag,
    Name,
    Number,
    OneOf,
    ShareOrTokens,
    Text,
)
from chatsite.history.settings.row import FoundSettings, SettingRow
from chatsite.wording import later


class HistorySettings(FoundSettings):
    """Every history setting. From this class an attribute is the setting's row; from settings that
    were decided it is the setting: its value and where that comes from."""

    policy = SettingRow[str](
        built_in=LAST_N.name,
        grammar=OneOf(POLICIES.names),
        choosable=True,
        more_names=("DEFAULT_HISTORY_POLICY", "NEXT_PUBLIC_DEFAULT_HISTORY_POLICY"),
        always_shown=True,
        label=later("policy"),
        about=later(
            "The rule that chooses which messages are sent to the model. It never changes or "
            "deletes what is stored."
        ),
        manual="The rule that chooses what is sent.",
    )
    length = SettingRow[int](
        built_in=20,
        grammar=Number(0),
        choosable=True,
        more_names=("DEFAULT_HISTORY_LENGTH", "NEXT_PUBLIC_DEFAULT_HISTORY_LENGTH"),
        always_shown=True,
        label=later("length"),
        about=later(
            "How many exchanges are sent: messages of yours, the new one included, each with the "
            "answer to it."
        ),
        manual="How many user messages `lastN` keeps; 0 acts as 1.",
    )
    tokens = SettingRow[int | None](
        built_in=None,
        grammar=Number(1),
        choosable=True,
        always_shown=True,
        label=later("token budget"),
        about=later(
            "The most tokens that a request may have. Without one the model's window is the limit."
        ),
        manual="A token budget for everything that is sent; without one the model's window.",
    )
    low_water = SettingRow[int](
        built_in=50,
        grammar=Number(1, 100, or_auto=True),
        label=later("low-water mark"),
        about=later(
            "When the limit is exceeded, old exchanges are dropped until this share of it is left. "
            "The beginning then stays the same for a while, so that a provider's cache can serve "
            "it. auto: as deep as the model's prices suggest."
        ),
        manual="On overflow cut down to this many percent of the room that is left for history; "
        "`auto`: as many as the model's prices suggest.",
    )
    step = SettingRow[int](
        built_in=1,
        grammar=Number(1),
        label=later("step"),
        about=later(
            "The cut moves by this many messages at a time, so that the beginning of the request "
            "stays the same in between."
        ),
        manual="`lastN` moves its cut so many turns at a time: between, the prompt's beginning "
        "stays the same.",
    )
    selector = SettingRow[str](
        built_in=LEXICAL.selector,
        grammar=OneOf(POLICIES.selectors),
        choosable=True,
        label=later("selector"),
        about=later("How older messages are found: by keyword, or by asking a fast model."),
        manual="How `relevant` chooses: by words, without asking a model, or by asking a fast one.",
    )
    summary_model = SettingRow[str](
        built_in="fast",
        grammar=Name(),
        label=later("summary by"),
        about=later("The model that writes the running summary."),
        manual="The model that writes the running summaries, at the agent's provider: a name, or "
        "`fast` for its small one (FAST_MODEL).",
    )
    summary_prompt = SettingRow[str](
        built_in="",
        grammar=Text(4_000),
        label=later("task of the summary"),
        about=later(
            "What the model that writes the summary is asked to do. Empty: what is built in."
        ),
        manual="What the model that writes the summary is asked to do, up to 4,000 characters, in "
        "place of the built-in task; empty: that one.",
    )
    fold_at = SettingRow[int | str](
        built_in="75%",
        grammar=ShareOrTokens(),
        label=later("summary begins at"),
        about=later(
            "When older exchanges go into the summary by themselves: once this share of the limit "
            "is used, or fewer than so many tokens of it remain."
        ),
        manual="When older turns go into the summary by themselves: once a share of the limit is "
        "used, as `75%`, or fewer than so many tokens of it remain, as `4000`.",
    )
    recall_share = SettingRow[int | None](
        built_in=None,
        grammar=Number(0, 100),
        label=later("share for quotes"),
        about=later("How much of the limit older messages may take that are sent as quotes."),
        manual="Percent of the room for older messages that `relevant` may give to new quotes "
        "where a message is nothing but a question; a sixth of it where the message also says "
        "something. Without it, what the message asks decides.",
    )

    longest_answer = SettingRow[int | None](
        built_in=None,
        grammar=Number(1),
        label=later("longest answer"),
        about=later("Older answers with more characters than this aren't sent. None: all may be."),
        manual="Older answers with more characters than this aren't sent, under every policy, "
        "unless their turn is pinned or replied to; without it all may be.",
    )

    give_way_at = SettingRow[int](
        built_in=100,
        grammar=Number(1, 100),
        label=later("results give way at"),
        about=later(
            "From this share of the limit on, in percent, the oldest results of tools and texts of "
            "files are sent as one line each. 100: only where there is no room."
        ),
        manual="From so many percent of the limit on, the oldest results of tools and texts of "
        "files become one line each, down to the low-water mark; 100: only where there is no room.",
    )
    keep_results = SettingRow[int](
        built_in=2,
        grammar=Number(0),
        label=later("results kept"),
        about=later(
            "So many of the newest results of tools and texts of files don't give way, as far as "
            "they take half of the room."
        ),
        manual="So many of the newest results of tools and texts of files don't give way, as far "
        "as they take half of the room.",
    )
    least_freed = SettingRow[int](
        built_in=200,
        grammar=Number(1),
        label=later("least freed"),
        about=later(
            "How many tokens must be freed at once; for fewer, no result gives way, so that the "
            "beginning of the request seldom changes."
        ),
        manual="How many tokens results must free at once; for fewer, none gives way and old turns "
        "are left out instead.",
    )
    anchors = SettingRow[str](
        built_in="auto",
        grammar=OneOf(("auto", "on", "off")),
        label=later("exact values in lines"),
        about=later(
            "Whether the line for a result of a tool that gave way has a few exact values of it, "
            "such as numbers, dates and paths. auto: not where the policy quotes lines of results "
            "when they are asked for."
        ),
        manual="Whether a few exact values of a result (numbers, dates, paths) stand in its line "
        "once it gave way: `auto` under every policy but `relevant` (`lexical`), which quotes "
        "lines of results when they are asked for; `on` there, too; `off` nowhere.",
    )

    recall_tool = SettingRow[bool](
        built_in=False,
        grammar=Flag(),
        label=later("tool that looks back"),
        about=later(
            "Whether the model may search and open earlier messages of this conversation that "
            "aren't sent."
        ),
        manual="true: every agent has the tool `recall`, which searches and opens what isn't sent "
        "of the conversation.",
    )
    tell = SettingRow[bool](
        built_in=False,
        grammar=Flag(),
        label=later("told what isn't shown"),
        about=later("Whether a line tells the model how much of the conversation isn't sent."),
        manual="true: a line before the message says how many older exchanges aren't sent, and how "
        "many results gave way.",
    )
    dates = SettingRow[bool](
        built_in=False,
        grammar=Flag(),
        label=later("dates"),
        about=later("Whether a line tells the model on which day a message was written."),
        manual="true: where a new day (UTC) begins among the messages that are sent, a line says "
        "which.",
    )

    # ---- in the object `conversation` of a template; counts are turns ------------------------
    enabled = SettingRow[bool](
        group="conversation",
        built_in=True,
        grammar=Flag(),
        label=later("memory on"),
        about=later(
            "Whether earlier messages are sent at all. Where it is off, your message is sent alone."
        ),
        manual="false: nothing said before is sent, under every policy; the page says so.",
    )
    lookback_count = SettingRow[int](
        group="conversation",
        built_in=25,
        grammar=Number(0),
        label=later("triage: lookback count"),
        about=later(
            "How many of your earlier messages are looked at, each with the replies to it."
        ),
        manual="How many older turns are looked at; what is older is sent only if pinned or "
        "replied to.",
    )
    context_recency_hours = SettingRow[float](
        group="conversation",
        built_in=0.0,
        grammar=Decimal(),
        label=later("triage: context recency hours"),
        about=later(
            "Messages that are so many hours older than the newest aren't looked at. 0: age "
            "doesn't matter."
        ),
        manual="Leaves out what is older than the newest turn by more than so many hours; 0: "
        "nothing.",
    )
    context_min_messages = SettingRow[int](
        group="conversation",
        built_in=10,
        grammar=Number(0),
        label=later("triage: context min messages"),
        about=later("So many of the newest messages are looked at, however old they are."),
        manual="So many of the newest turns stay, however old they are; 0: no minimum.",
    )
    skip_selection_threshold = SettingRow[int](
        group="conversation",
        built_in=3,
        grammar=Number(0),
        label=later("triage: skip selection threshold"),
        about=later("Up to so many of your messages, all are sent and no model is asked."),
        manual="Up to so many turns all are sent, and no model is asked.",
    )
    always_include_recent = SettingRow[int](
        group="conversation",
        built_in=5,
        grammar=Number(0),
        label=later("triage: always include recent"),
        about=later(
            "So many of your newest messages are always sent; a model is asked about the others."
        ),
        manual="So many of the newest turns are always sent; the model is asked about the others.",
    )
    use_selection = SettingRow[bool](
        group="conversation",
        built_in=True,
        grammar=Flag(),
        label=later("triage: use selection"),
        about=later("Whether a model is asked which older messages are sent."),
        manual="false asks no model: all that is looked at is sent.",
    )
    selection_model = SettingRow[str](
        group="conversation",
        built_in="fast",
        grammar=Name(),
        label=later("triage: selection model"),
        about=later("The fast model that is asked which older messages are sent."),
        manual="The model that is asked, at the agent's provider: a name, or `fast` for its small "
        "one (FAST_MODEL).",
    )
    selection_timeout = SettingRow[float](
        group="conversation",
        built_in=30.0,
        grammar=Decimal(above_zero=True),
        label=later("triage: selection timeout"),
        about=later(
            "How many seconds that model may take. After that everything that was looked at is "
            "sent."
        ),
        manual="How many seconds the whole question may take; after that nothing is left out.",
    )
    context_truncation = SettingRow[int](
        group="conversation",
        built_in=0,
        grammar=Number(0),
        label=later("triage: context truncation"),
        about=later("Older answers are cut to so many characters. 0: they aren't cut."),
        manual="Cuts older answers to so many characters; 0: leaves them whole.",
    )
    previous_tasks_count = SettingRow[int](
        group="conversation",
        built_in=3,
        grammar=Number(0),
        label=later("background notes"),
        about=later("How many notes of background tasks are sent as quotes."),
        manual="How many messages of background tasks go along with the user message that follows "
        "them; counts under every policy but `none`.",
    )
    talk_context_limit = SettingRow[int](
        group="conversation",
        built_in=100,
        grammar=Number(1),
        only_in_rooms=True,
        label=later("messages read"),
        about=later("How many of the room's newest messages are read."),
        manual="In Talk rooms alone, under every policy: how many of a room's newest messages are "
        "read, in whole turns.",
    )


# By name, in the order in which they are stored and shown.
ROWS: Mapping[str, SettingRow[Any]] = {
    name: row for name, row in vars(HistorySettings).items() if isinstance(row, SettingRow)
}
HISTORY_ROWS, CONVERSATION_ROWS = (
    {name: row for name, row in ROWS.items() if row.group == group}
    for group in ("history", "conversation")
)
URL_NAMES: tuple[str, ...] = tuple(row.url for row in ROWS.values() if row.url)

# Read besides the table; none of these locks anything.
REASON = "HISTORY_REASON"
WHO_MAY_LINK = "HISTORY_URL"
MAX_LENGTH = "HISTORY_MAX_LENGTH"
MAX_TOKENS = "HISTORY_MAX_TOKENS"

ENVIRONMENT_NAMES: tuple[str, ...] = (
    *(name for row in ROWS.values() for name in row.environment),
    *(REASON, WHO_MAY_LINK, MAX_LENGTH, MAX_TOKENS),
)
