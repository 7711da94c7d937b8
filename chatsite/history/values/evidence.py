"""What is gathered before a decision, because `decide` never waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from chatsite.history.values.layout import LayoutItem, read_layout
from chatsite.messages import Message, Role, TokenCount

Report = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Previous:
    """The last request on this path, from its receipt.

    `layout` lists what followed the head, in order. `cut` is where the tail began, None when
    nothing was cut; `under` names the settings of that cut, which is kept only while they stay
    the same.
    """

    head_hash: str
    layout: tuple[LayoutItem, ...]
    cut: int | None = None
    under: str = ""

    @classmethod
    def from_dict(cls, receipt: Mapping[str, object]) -> Previous | None:
        """None for a receipt that can't be read: then nothing is known of the previous request."""
        try:
            return cls._read(receipt)
        except (KeyError, TypeError, ValueError):
            return None

    @classmethod
    def _read(cls, receipt: Mapping[str, object]) -> Previous:
        match receipt:
            case {"head": {"hash": str(head_hash)}, "layout": list(layout)}:
                items = read_layout(layout)
            case _:
                raise ValueError("not a receipt")
        cut, under = receipt.get("cut"), receipt.get("under")
        return cls(
            head_hash=head_hash,
            layout=items,
            cut=cut if isinstance(cut, int) else None,
            under=under if isinstance(under, str) else "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """An older message that matters for the current one.

    `score` only orders hits. `why` completes "chosen because ...", for a reader.
    """

    seq: int
    score: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """The lexical selector's hits, the best first."""

    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageChoice:
    """What the fast model chose: `turns` by the sequence numbers of their first messages."""

    turns: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningSummary:
    """A summary of the path from the message `first` to the message `last`; `messages` of them.

    `tokens` is what the summary takes as a message of its own, labels included. `by` is the model
    that wrote it, or "you" where a person did.
    """

    id: str
    version: int
    text: str
    first: int
    last: int
    messages: int
    by: str
    tokens: TokenCount


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategySlot:
    """What a strategy put together under one name, in order.

    An item is the sequence number of a stored message, or a text of the strategy's own: a
    message with its tokens. Over budget, items are dropped from the slot of the lowest priority
    first.
    """

    name: str
    priority: float
    items: tuple[int | Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyChoice:
    """A strategy's context, slot by slot. `role` of its texts is system, user or assistant."""

    slots: tuple[StrategySlot, ...]


TEXT_ROLES: tuple[Role, ...] = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """`reply_to` holds ids of messages replied to, besides the one that the current message names.

    Evidence that a policy needs and that is None could not be gathered: then the newest turns are
    sent. `notes` say why, a sentence each; `reports` say for the receipt what gathering cost, by
    the key of the evidence.
    """

    previous: Previous | None = None
    reply_to: frozenset[str] = frozenset()
    recall: Recall | None = None
    triaged: TriageChoice | None = None
    summary: RunningSummary | None = None
    chosen: StrategyChoice | None = None
    notes: tuple[str, ...] = ()
    reports: Mapping[str, Report] = field(default_factory=lambda: MappingProxyType({}), hash=False)


NO_EVIDENCE = Evidence()
