"""What the model gets to remember: settings, policies and the decision of every turn."""

from chatsite.history.decision.decide import decide
from chatsite.history.decision.receipt import Decision, show_receipt
from chatsite.history.evidence import (
    NO_EVIDENCE,
    AddedMessage,
    Evidence,
    Hit,
    Previous,
    Recall,
    RunningSummary,
    StoredRun,
    StrategyChoice,
    StrategySlot,
    TriageChoice,
)
from chatsite.history.live_list import History
from chatsite.history.path.cleaner import Cleaner
from chatsite.history.path.transcript import (
    BACKGROUND,
    Entry,
    NotLoaded,
    PathTurn,
    Transcript,
    split_turns,
)
from chatsite.history.policies.base import Everything, Reach, Tokens, Users
from chatsite.history.policies.cuts import apply_history_policy
from chatsite.history.policies.table import POLICIES
from chatsite.history.room import Head, RequestRoom, Window
from chatsite.history.selection import Selection
from chatsite.history.settings.resolve import first_values, may_use_url, resolve
from chatsite.history.settings.row import Setting, SourceValue
from chatsite.history.settings.table import ENVIRONMENT_NAMES, URL_NAMES
from chatsite.history.settings.turn_settings import Settings, reach
from chatsite.history.token_estimate import (
    TOKENS_PER_MESSAGE,
    estimate,
    estimate_message,
    tokens_of,
)

__all__ = [
    "BACKGROUND",
    "ENVIRONMENT_NAMES",
    "NO_EVIDENCE",
    "POLICIES",
    "TOKENS_PER_MESSAGE",
    "URL_NAMES",
    "AddedMessage",
    "Cleaner",
    "Decision",
    "Entry",
    "Everything",
    "Evidence",
    "Head",
    "History",
    "Hit",
    "NotLoaded",
    "PathTurn",
    "Previous",
    "Reach",
    "Recall",
    "RequestRoom",
    "RunningSummary",
    "Selection",
    "Setting",
    "Settings",
    "SourceValue",
    "StoredRun",
    "StrategyChoice",
    "StrategySlot",
    "Tokens",
    "Transcript",
    "TriageChoice",
    "Users",
    "Window",
    "apply_history_policy",
    "decide",
    "estimate",
    "estimate_message",
    "first_values",
    "may_use_url",
    "reach",
    "resolve",
    "show_receipt",
    "split_turns",
    "tokens_of",
]
