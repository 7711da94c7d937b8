"""What a policy chooses of a path, before marks and before the limit is looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from chatsite.history.reasons import Reason
from chatsite.history.path.transcript import PathTurn
from chatsite.messages import Message

TextPlace = Literal["system", "before", "after"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRule:
    """What a policy says of one turn.

    `apart` holds the messages of the turn that have a reason of their own, by seq; `why` is a
    sentence of its own for the verdict, "" for the reason's sentence. `limit` cuts answers to so
    many characters, 0 cuts none.
    """

    reason: Reason
    why: str = ""
    apart: dict[int, Reason] = field(default_factory=dict)
    limit: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyText:
    """A text of a strategy's own that is sent; `slot` is the name of the slot that holds it.

    `place` says where: "system" after the head's system messages, "before" the history, or
    "after" it, directly before the current message.
    """

    slot: str
    message: Message
    place: TextPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChoice:
    """A policy applied to one path.

    `tail` is the seq from which every turn may be sent, None where the policy chooses turn by
    turn. `reached`: as many turns were loaded as the policy may send. `texts` are added to the
    request; `notes` tell the reader what the reasons don't, a sentence each.
    """

    rule: Callable[[PathTurn], TurnRule]
    tail: int | None
    reached: bool = False
    texts: tuple[StrategyText, ...] = ()
    notes: tuple[str, ...] = ()
