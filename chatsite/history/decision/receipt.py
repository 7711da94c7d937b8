"""The record of one choice, and the form in which it is stored with the answer: codes and values.

What a default says is left out, and sentences are made where the receipt is shown: `show_receipt`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from chatsite.history.decision.exchanges import Exchanges
from chatsite.history.decision.shown_receipt import (
    VERSION,
    says_nothing,
    show_receipt,
    store_parts,
)
from chatsite.history.decision.verdicts import Verdict
from chatsite.history.path.cleaner import CleanupResult
from chatsite.history.path.room import RequestPart
from chatsite.history.settings.rules import LOCK_REASON
from chatsite.history.settings.stored_settings import store_settings
from chatsite.history.settings.turn_settings import Settings
from chatsite.history.values.evidence import Report
from chatsite.history.values.layout import LayoutItem
from chatsite.history.values.window import Window
from chatsite.messages import Message

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
    `cleanup` is what was unloaded instead, None for nothing. `layout` lists the request's items
    after its head; `quoted` are the messages that are quoted before the current one, by sequence
    number, which are stored with its answer and stay in their place; `notes` tell a reader what
    the verdicts don't, a sentence each; `reports` say what gathering the evidence cost, by the key
    of the evidence.
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
            "parts": store_parts(self.parts, basis),
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
            "layout": [item.to_stored() for item in self.layout],
            "quoted": list(self.quoted),
            "notes": list(self.notes),
            "reports": {name: dict(report) for name, report in self.reports.items()},
        }
        return {name: value for name, value in found.items() if not says_nothing(name, value)}

    def to_dict(self) -> dict[str, Any]:
        """All of it, with sentences, for a reader."""
        return show_receipt(self.to_stored())
