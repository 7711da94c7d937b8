"""A strategy's slots within a budget: what doesn't fit is dropped, one message at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from chatsite.history.path.policy_choice import StrategyText, TextPlace
from chatsite.history.values.counts import known_tokens
from chatsite.history.values.evidence import StrategySlot
from chatsite.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedItem:
    """What was dropped: a stored message by its sequence number, or a text; and its slot."""

    slot: str
    item: int | Message
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotLayout:
    """What is sent and what was dropped.

    `kept` holds the stored messages, in ascending order, each with the name of its slot; `texts`
    are in slot order, system texts first; `dropped` is in the order in which it was dropped.
    """

    kept: Mapping[int, str] = field(hash=False)
    texts: tuple[StrategyText, ...]
    dropped: tuple[DroppedItem, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class _SlotItem:
    """One item of a slot; `rank` sorts items in the order in which they are dropped."""

    rank: tuple[bool, float, int, int]
    slot: str
    item: int | Message
    place: TextPlace | None
    tokens: int


def fit_slots(
    slots: Sequence[StrategySlot], *, room: int, tokens_of_seq: Mapping[int, int]
) -> SlotLayout:
    """Fit the slots into `room` tokens.

    The lowest priority is dropped first (of equal ones the slot added last), within a slot the
    oldest stored message; system texts only when nothing else is left. Nothing is skipped to
    fit something else in, so that less room always keeps a part of what more room keeps. A stored
    message in several slots counts once, in the slot that is dropped last. `tokens_of_seq` holds
    the messages that may be chosen: others are passed over, neither kept nor dropped. Texts must
    carry their tokens (else ValueError).
    """
    items = list(_items(slots, tokens_of_seq))
    left = sum(item.tokens for item in items)
    dropped: list[_SlotItem] = []
    for item in sorted(items, key=lambda item: item.rank):
        if left <= room:
            break
        left -= item.tokens
        dropped.append(item)
    ranks = {item.rank for item in dropped}
    stays = [item for item in items if item.rank not in ranks]
    kept = {item.item: item.slot for item in stays if isinstance(item.item, int)}
    texts = [
        StrategyText(slot=item.slot, message=item.item, place=item.place)
        for item in stays
        if isinstance(item.item, Message) and item.place is not None
    ]
    return SlotLayout(
        kept=dict(sorted(kept.items())),
        texts=tuple(sorted(texts, key=lambda text: text.place != "system")),
        dropped=tuple(
            DroppedItem(slot=item.slot, item=item.item, tokens=item.tokens) for item in dropped
        ),
        tokens=left,
    )


def _items(slots: Sequence[StrategySlot], tokens_of_seq: Mapping[int, int]) -> Iterator[_SlotItem]:
    """Every item that counts, in slot order."""
    owners = _owners(slots)
    history = False
    for number, slot in enumerate(slots):
        for age, item in enumerate(_by_age(slot)):
            rank = (False, slot.priority, -number, age)
            if isinstance(item, Message):
                place = _place(item, after=history)
                tokens = known_tokens(item).count
                yield _SlotItem((place == "system", *rank[1:]), slot.name, item, place, tokens)
                continue
            history = True
            if item in tokens_of_seq and owners[item] == (number, age):
                yield _SlotItem(rank, slot.name, item, None, tokens_of_seq[item])


def _place(text: Message, *, after: bool) -> TextPlace:
    if text.role == "system":
        return "system"
    return "after" if after else "before"


def _by_age(slot: StrategySlot) -> list[int | Message]:
    """The slot's items with its stored messages in their order, wherever a strategy put them."""
    stored = iter(sorted(item for item in slot.items if isinstance(item, int)))
    return [next(stored) if isinstance(item, int) else item for item in slot.items]


def _owners(slots: Sequence[StrategySlot]) -> dict[int, tuple[int, int]]:
    """For every stored message the slot (its number) that is dropped last, and its place there."""
    owners: dict[int, tuple[int, int]] = {}
    for number in sorted(range(len(slots)), key=lambda n: (slots[n].priority, -n)):
        for age, item in enumerate(_by_age(slots[number])):
            if isinstance(item, int):
                owners[item] = (number, age)
    return owners
