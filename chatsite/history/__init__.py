"""What the model gets to remember: settings, policies and the decision of every turn."""

from chatsite.history.decision import decide
from chatsite.history.evidence import Evidence, Previous
from chatsite.history.live import History
from chatsite.history.marks import BACKGROUND
from chatsite.history.policies import (
    POLICIES,
    Everything,
    Policy,
    Reach,
    Users,
    apply_history_policy,
)
from chatsite.history.reasons import SENT, Reason
from chatsite.history.receipt import Decision
from chatsite.history.room import Part
from chatsite.history.selection import Selection
from chatsite.history.settings import (
    Setting,
    Settings,
    first_values,
    may_use_url,
    reach,
    resolve,
)
from chatsite.history.sources import ENVIRONMENT_NAMES, URL_NAMES, Said
from chatsite.history.tokens import TOKENS_PER_MESSAGE, estimate, estimate_message, tokens_of
from chatsite.history.transcript import Entry, Transcript, Turn, Unloaded, turns
from chatsite.history.verdicts import Verdict
from chatsite.history.window import Head, Window

__all__ = [
    "BACKGROUND",
    "ENVIRONMENT_NAMES",
    "POLICIES",
    "SENT",
    "TOKENS_PER_MESSAGE",
    "URL_NAMES",
    "Decision",
    "Entry",
    "Everything",
    "Evidence",
    "Head",
    "History",
    "Part",
    "Policy",
    "Previous",
    "Reach",
    "Reason",
    "Said",
    "Selection",
    "Setting",
    "Settings",
    "Transcript",
    "Turn",
    "Unloaded",
    "Users",
    "Verdict",
    "Window",
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
