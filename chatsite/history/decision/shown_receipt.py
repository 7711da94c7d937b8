"""A stored receipt with all that it leaves out: defaults, and the sentences for its codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chatsite.history.decision.runs import disjoint_runs
from chatsite.history.decision.verdicts import Bounds, show_verdict
from chatsite.history.path.room import PART_NAMES, RequestPart, rest_of
from chatsite.history.settings.rules import LOCK_REASON
from chatsite.history.settings.stored_settings import ShownSettings, show_settings
from chatsite.history.values.layout import read_layout
from chatsite.history.values.window import Window
from chatsite.messages import Basis
from chatsite.wording import say

# Raised when a key of the stored form changes its meaning; a new key doesn't raise it. Up to
# version 2 receipts were stored as they are shown: those are shown as they are.
VERSION = 3
SHOWN_VERSION = 2

Stored = Mapping[str, Any]
# What is meant where a key is missing. A verdict's `basis` has another meaning there, see below.
_DEFAULTS: Stored = {
    "settings": {},
    "locked": False,
    "lock_reason": "",
    "draft": "",
    "exchanges": [],
    "basis": "counted",
    "limit": None,
    "horizon": None,
    "leading": 0,
    "cut": None,
    "under": "",
    "cleanup": None,
    "quoted": [],
    "notes": [],
    "reports": {},
}
_AS_STORED = (
    *("horizon", "leading", "head", "cut", "under", "cleanup", "layout", "quoted", "notes"),
    "reports",
)
# These are parts of every request.
_ALWAYS = ("system", "prefilled", "history", "current")


def says_nothing(name: str, value: object) -> bool:
    """Whether a stored receipt goes without this value."""
    return name in _DEFAULTS and value == _DEFAULTS[name]


def show_receipt(stored: Stored) -> dict[str, Any]:
    """The whole receipt, of any version, as the page and the log read it. Pure."""
    if stored.get("version", 0) < VERSION:
        return dict(stored)
    whole = {**_DEFAULTS, **stored}
    settings = show_settings(whole["settings"])
    window = Window(whole["window"], whole["reply"])
    basis: Basis = whole["basis"]
    bounds = Bounds(
        scope=settings.scope,
        budget=settings.value("tokens"),
        window=window,
        low_water=settings.value("low_water"),
    )
    shown = {
        "version": SHOWN_VERSION,
        "agent": whole["agent"],
        "settings": settings.all,
        "locked": whole["locked"],
        "lock_reason": whole["lock_reason"] or (say(LOCK_REASON) if whole["locked"] else ""),
        "in_words": settings.words,
        "facts": {
            "policy": settings.value("policy"),
            "length": _length_fact(settings),
            "source": settings.sources_in_words,
            "stored": whole["stored"],
            "sent": whole["sent"],
            **({"draft": whole["draft"]} if whole["draft"] else {}),
        },
        **_exchanges(whole["exchanges"]),
        "verdicts": disjoint_runs([show_verdict(one, bounds, basis) for one in whole["verdicts"]]),
        "parts": _show_parts(whole["parts"], window, basis),
        "window": window.size,
        "reply": window.reply,
        "budget": settings.value("tokens"),
        "limit": window.room if whole["limit"] is None else whole["limit"],
        "prompt_tokens": whole["prompt_tokens"],
        **{name: whole[name] for name in _AS_STORED},
        "notes": [say(note) for note in whole["notes"] if note],
        "layout": [item.to_dict() for item in read_layout(whole["layout"])],
    }
    told = {"stored", "sent", "draft", "exchanges", "basis", *shown}
    return shown | {name: value for name, value in stored.items() if name not in told}


def _exchanges(counted: Sequence[int]) -> dict[str, Any]:
    """Receipts of before lack them."""
    names = ("stored", "sent", "pinned", "older")
    return {"exchanges": dict(zip(names, counted, strict=True))} if counted else {}


def _length_fact(settings: ShownSettings) -> str:
    if settings.active is None or not settings.active.uses_length:
        return ""
    length = settings.value("length")
    return str(length) if length else say("0, acts as 1")


# ---- parts -----------------------------------------------------------------------------------
def store_parts(parts: Sequence[RequestPart], basis: Basis) -> dict[str, Any]:
    """The parts that are sent, in order: their tokens, and with another basis than usual
    [tokens, basis]. What is kept for the reply and what is free follow from the window."""
    found: dict[str, Any] = {}
    for part in parts[:-2]:
        if part.basis != _usual(part.tokens, basis):
            found[part.name] = [part.tokens, part.basis]
        elif part.tokens or part.name not in _ALWAYS:
            found[part.name] = part.tokens
    return found


def _usual(tokens: int, basis: Basis) -> Basis:
    return basis if tokens else "counted"


def _show_parts(stored: Stored, window: Window, basis: Basis) -> list[dict[str, Any]]:
    """All parts of the window."""
    parts = []
    for name in PART_NAMES:
        if name not in stored and name not in _ALWAYS:
            continue
        found = stored.get(name, 0)
        tokens, own = found if isinstance(found, list) else (found, _usual(found, basis))
        parts.append(RequestPart(name, tokens, own))
    return [part.to_dict() for part in (*parts, *rest_of(window, parts))]
