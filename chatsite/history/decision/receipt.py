"""The receipt: the record of one choice, as it is stored with the answer and as a reader gets it.

What is stored is codes and values, without what a default says. Storage, log, page and replay read
that; `show_receipt` makes the sentences, in the language of whoever looks at it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from chatsite.history.decision.shown_verdicts import Bounds, show_verdicts
from chatsite.history.decision.verdicts import Exchanges, Verdict
from chatsite.history.evidence import LayoutItem, Report, read_layout
from chatsite.history.path.cleaner import CleanupResult
from chatsite.history.room import PART_NAMES, RequestPart, Window, rest_of
from chatsite.history.settings.rules import LOCK_REASON
from chatsite.history.settings.stored_settings import (
    read_settings,
    show_settings,
    store_settings,
)
from chatsite.history.settings.turn_settings import SOURCES, Settings
from chatsite.messages import Basis, Message
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
    "gave_way": [0, 0],
    "quoted": [],
    "notes": [],
    "reports": {},
}
_AS_STORED = (
    *("horizon", "leading", "head", "cut", "under", "cleanup", "gave_way", "layout", "quoted"),
    *("notes", "reports"),
)
# These are parts of every request.
_ALWAYS = ("system", "prefilled", "history", "current")
DraftState = Literal["", "empty", "written"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What is sent and why. `request` is exactly what the provider gets, head first.

    `limit` is what the prompt may take, `tokens` what it takes. `stored` counts the messages that
    are stored on the path, greetings and those not loaded included; `sent` those of them that are
    in the request, quoted ones too. Neither counts the head, nor the `draft`, which is the message
    that a person is still writing ("" where the current message is stored). `exchanges` counts as
    people do. The model sees nothing above the sequence number `horizon`; None draws no line.
    `leading` tokens at the beginning are those of the previous request. `cut` is where the guard
    began the tail, None when it cut nothing; `under` names the settings of that cut, so that the
    next decision knows whether it still applies.
    `cleanup` is what was unloaded instead, None for nothing. `gave_way` is how many results and
    messages with files are one line, and the tokens that this freed. `layout` lists the request's
    items after its head; `quoted` are the messages that are quoted before the current one, by
    sequence number, which are stored with its answer and stay in their place; `notes` tell a reader
    what the verdicts don't, a sentence each; `reports` say what gathering the evidence cost, by the
    key of the evidence.
    """

    agent: str
    settings: Settings
    request: tuple[Message, ...]
    verdicts: tuple[Verdict, ...]
    parts: tuple[RequestPart, ...]
    window: Window
    limit: int
    tokens: int
    stored: int
    sent: int
    draft: DraftState
    exchanges: Exchanges
    horizon: int | None
    leading: int
    head_hash: str
    head_messages: int
    cut: int | None
    under: str
    cleanup: CleanupResult | None
    gave_way: tuple[int, int]
    layout: tuple[LayoutItem, ...]
    quoted: tuple[int, ...]
    notes: tuple[str, ...]
    reports: Mapping[str, Report]

    @property
    def unloads(self) -> tuple[int, ...]:
        """The turns that this decision unloads, by the sequence numbers of their first messages."""
        return self.cleanup.turns if self.cleanup else ()

    def to_stored(self) -> dict[str, Any]:
        """The receipt as it is stored, as JSON. `show_receipt` puts in what is left out here."""
        settings = self.settings
        basis = self.parts[-1].basis
        found: dict[str, Any] = {
            "version": VERSION,
            "agent": self.agent,
            "settings": store_settings(settings),
            "locked": settings.locked,
            "lock_reason": "" if settings.lock_reason == LOCK_REASON else settings.lock_reason,
            "stored": self.stored,
            "sent": self.sent,
            "draft": self.draft,
            "exchanges": self.exchanges.to_stored(),
            "verdicts": [verdict.to_stored(basis) for verdict in self.verdicts],
            "parts": _store_parts(self.parts, basis),
            "basis": basis,
            "window": self.window.size,
            "reply": self.window.reply,
            "limit": self.limit if self.limit != self.window.room else None,
            "prompt_tokens": self.tokens,
            "horizon": self.horizon,
            "leading": self.leading,
            "head": {"hash": self.head_hash, "messages": self.head_messages},
            "cut": self.cut,
            "under": self.under if self.cut is not None else "",
            "cleanup": self.cleanup.to_dict() if self.cleanup else None,
            "gave_way": list(self.gave_way),
            "layout": [item.to_stored() for item in self.layout],
            "quoted": list(self.quoted),
            "notes": list(self.notes),
            "reports": {name: dict(report) for name, report in self.reports.items()},
        }
        return {n: v for n, v in found.items() if n not in _DEFAULTS or v != _DEFAULTS[n]}

    def to_dict(self) -> dict[str, Any]:
        """All of it, with sentences, for a reader."""
        return show_receipt(self.to_stored())


def show_receipt(stored: Stored) -> dict[str, Any]:
    """The whole receipt, of any version, for a reader: with defaults and sentences. Pure."""
    if stored.get("version", 0) < VERSION:
        return dict(stored)
    whole = {**_DEFAULTS, **stored}
    settings = read_settings(whole["settings"])
    window = Window(whole["window"], whole["reply"])
    basis: Basis = whole["basis"]
    bounds = Bounds(
        scope=settings.active_policy.scope(settings.terms),
        budget=settings.tokens.value,
        window=window,
        low_water=settings.low_water.value,
    )
    shown = {
        "version": SHOWN_VERSION,
        "agent": whole["agent"],
        "settings": show_settings(settings),
        "locked": whole["locked"],
        "lock_reason": whole["lock_reason"] or (say(LOCK_REASON) if whole["locked"] else ""),
        "in_words": settings.words,
        "facts": {
            "policy": settings.policy.value,
            "length": _length_fact(settings),
            "source": settings.name_sources(say(SOURCES)),
            "stored": whole["stored"],
            "sent": whole["sent"],
            **({"draft": whole["draft"]} if whole["draft"] else {}),
        },
        **_exchanges(whole["exchanges"]),
        "verdicts": show_verdicts(whole["verdicts"], bounds, basis),
        "parts": _show_parts(whole["parts"], window, basis),
        "window": window.size,
        "reply": window.reply,
        "budget": settings.tokens.value,
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


def _length_fact(settings: Settings) -> str:
    if not settings.active_policy.uses_length:
        return ""
    length = settings.length.value
    return str(length) if length else say("0, acts as 1")


# ---- parts -----------------------------------------------------------------------------------
def _store_parts(parts: Sequence[RequestPart], basis: Basis) -> dict[str, Any]:
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
