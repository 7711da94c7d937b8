"""What the model gets to remember: settings, policies and the decision of every turn."""

from chatsite.history.cleaning import Cleaned, Cleaner
from chatsite.history.decision import decide
from chatsite.history.evidence import (
    NO_EVIDENCE,
    Chosen,
    Evidence,
    Hit,
    Previous,
    Recall,
    RunningSummary,
    Slot,
    Triaged,
)
from chatsite.history.layout import Run, Written
from chatsite.history.live import History
from chatsite.history.marks import BACKGROUND
from chatsite.history.policies import (
    POLICIES,
    Everything,
    Policy,
    Reach,
    Terms,
    Tokens,
    Users,
    apply_history_policy,
)
from chatsite.history.reasons import SENT, Reason
from chatsite.history.receipt import Decision
from chatsite.history.room import Part, Room
from chatsite.history.selection import Selection
from chatsite.history.settings import (
    ENVIRONMENT_NAMES,
    Settings,
    first_values,
    may_use_url,
    reach,
    resolve,
)
from chatsite.history.sources import URL_NAMES, Said, Setting
from chatsite.history.tokens import TOKENS_PER_MESSAGE, estimate, estimate_message, tokens_of
from chatsite.history.transcript import Entry, Transcript, Turn, Unloaded, turns
from chatsite.history.verdicts import Verdict
from chatsite.history.window import Head, Window

__all__ = [
    "BACKGROUND",
    "ENVIRONMENT_NAMES",
    "NO_EVIDENCE",
    "POLICIES",
    "SENT",
    "TOKENS_PER_MESSAGE",
    "Terms",
    "Tokens",
    "URL_NAMES",
    "Chosen",
    "Cleaned",
    "Cleaner",
    "Decision",
    "Entry",
    "Everything",
    "Evidence",
    "Head",
    "History",
    "Hit",
    "Part",
    "Policy",
    "Previous",
    "Reach",
    "Recall",
    "Run",
    "Room",
    "RunningSummary",
    "Reason",
    "Said",
    "Selection",
    "Setting",
    "Settings",
    "Slot",
    "Transcript",
    "Triaged",
    "Turn",
    "Unloaded",
    "Users",
    "Verdict",
    "Window",
    "Written",
    "apply_history_policy",
    "decide",
    "estimate",
    "estimate_message",
    "first_values",
    "may_use_url",
    "reach",
    "resolve",
    "tokens_of",
    "turns",
]
