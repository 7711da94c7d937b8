"""`strategy`: what the agent's own `strategy.py` chooses, message by message."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from chatsite.history.evidence import StrategySlot
from chatsite.history.path.marks import Path, unsendable
from chatsite.history.path.overflow import cut_oldest
from chatsite.history.path.transcript import PathTurn
from chatsite.history.path.turn_verdicts import (
    PolicyChoice,
    StrategyText,
    TextPlace,
    TurnRule,
    judge_path,
)
from chatsite.history.policies.base import DecisionContext, Policy, Users
from chatsite.history.policies.cuts import choose_every_turn
from chatsite.history.reasons import Reason
from chatsite.history.room import known_tokens
from chatsite.messages import Message
from chatsite.wording import later, say


@dataclass(frozen=True, slots=True)
class SlotItem:
    """One item of a slot: a stored message by its sequence number, or a text with its `place`.

    `rank` sorts items in the order in which they are dropped.
    """

    rank: tuple[bool, float, int, int]
    slot: str
    item: int | Message
    place: TextPlace | None
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotLayout:
    """What is sent and what was dropped.

    `kept` holds the stored messages, in ascending order, each with the name of its slot; `texts`
    are in slot order, system texts first; `dropped` is in the order in which it was dropped.
    """

    kept: Mapping[int, str] = field(hash=False)
    texts: tuple[StrategyText, ...]
    dropped: tuple[SlotItem, ...]
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
    items = _items(slots, tokens_of_seq)
    left = sum(item.tokens for item in items)
    dropped: list[SlotItem] = []
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
        dropped=tuple(dropped),
        tokens=left,
    )


def _items(slots: Sequence[StrategySlot], tokens_of_seq: Mapping[int, int]) -> list[SlotItem]:
    """List the items that count, in slot order."""
    items: list[SlotItem] = []
    # By stored message: the rank in the slot that is dropped last, where it counts.
    last_rank: dict[int, tuple[bool, float, int, int]] = {}
    place: TextPlace = "before"
    for number, slot in enumerate(slots):
        for age, item in enumerate(_by_age(slot)):
            if isinstance(item, Message):
                is_system = item.role == "system"
                rank = (is_system, slot.priority, -number, age)
                tokens = known_tokens(item).count
                where: TextPlace = "system" if is_system else place
                items.append(SlotItem(rank, slot.name, item, where, tokens))
                continue
            place = "after"
            if item in tokens_of_seq:
                rank = (False, slot.priority, -number, age)
                last_rank[item] = max(rank, last_rank.get(item, rank))
                items.append(SlotItem(rank, slot.name, item, None, tokens_of_seq[item]))
    return [
        item
        for item in items
        if isinstance(item.item, Message) or item.rank == last_rank[item.item]
    ]


def _by_age(slot: StrategySlot) -> list[int | Message]:
    """The slot's items with its stored messages in their order, wherever a strategy put them."""
    stored = iter(sorted(item for item in slot.items if isinstance(item, int)))
    return [next(stored) if isinstance(item, int) else item for item in slot.items]


# What a strategy gets to see: its worker is given all of it as JSON, within its 2 seconds.
STRATEGY_TURNS = 500
BEGINS_WITH_ASSISTANT = later(
    "A text of the strategy was left out: a conversation can't begin with the assistant."
)

NO_ANSWER = later("The strategy didn't answer: the newest are sent.")

_choose_newest = choose_every_turn(sent="within_budget")


def choose_by_strategy(context: DecisionContext) -> PolicyChoice:
    """Send the messages that the strategy chose; the newest turns where it didn't answer."""
    chosen = context.evidence.chosen
    if chosen is None:
        newest = _choose_newest(context)
        return newest if context.evidence.notes else replace(newest, notes=(NO_ANSWER,))
    everything = PolicyChoice(rule=lambda turn: TurnRule(reason="strategy"), tail=0)
    allowed = judge_path(context, everything)
    spared = sum(turn.tokens for turn in allowed.sent if turn.kept_for)
    tokens = {
        entry.seq: known_tokens(entry.message).count
        for turn in allowed.sent
        if turn.reason == "strategy" and not turn.kept_for
        for entry in turn.entries
    }
    available = max(0, context.available_tokens - spared)
    whole = fit_slots(chosen.slots, room=sys.maxsize, tokens_of_seq=tokens)
    usable = _usable(context.path, whole)
    layout = fit_slots(
        chosen.slots,
        room=available,
        tokens_of_seq={seq: count for seq, count in tokens.items() if seq in usable},
    )
    return _send(layout, context, free=available - layout.tokens)


def _send(layout: SlotLayout, context: DecisionContext, *, free: int) -> PolicyChoice:
    """Send what a layout keeps, with `free` tokens to spare. Messages before the first user message
    are left out: no provider takes an answer without a question."""
    texts, first, notes = _leading(layout, context.path)
    dropped: dict[int, Reason] = {
        item.item: context.overflow_reason if item.tokens > free else "low_priority"
        for item in layout.dropped
        if isinstance(item.item, int)
    }

    def rule(turn: PathTurn) -> TurnRule:
        sent = {e.seq for e in turn.entries if e.seq in layout.kept and e.seq >= first}
        apart: dict[int, Reason] = {
            entry.seq: dropped.get(entry.seq, "not_chosen")
            for entry in turn.entries
            if entry.seq not in sent
        }
        if sent:
            return TurnRule(reason="strategy", apart=apart)
        lost = [dropped[entry.seq] for entry in turn.entries if entry.seq in dropped]
        if not lost:
            return TurnRule(reason="not_chosen")
        # There was no room for the turn only where there was none for any message of it.
        return TurnRule(reason="low_priority" if "low_priority" in lost else lost[0])

    return PolicyChoice(rule=rule, tail=None, texts=texts, notes=notes)


def _usable(path: Path, layout: SlotLayout) -> set[int]:
    """Find the chosen messages that can be sent at all: the others must not take their room."""
    _, first, _ = _leading(layout, path)
    usable: set[int] = set()
    for turn in path.older:
        rest = [entry for entry in turn.entries if entry.seq in layout.kept and entry.seq >= first]
        usable |= {entry.seq for entry in rest} - set(unsendable(rest))
    return usable


def _leading(
    layout: SlotLayout, path: Path
) -> tuple[tuple[StrategyText, ...], int, tuple[str, ...]]:
    """The texts that may be sent where the strategy put them, the sequence number of the first
    stored message that may, and a note where a text may not."""
    users = [
        entry.seq
        for turn in path.older
        for entry in turn.entries
        if entry.seq in layout.kept and entry.message.role == "user"
    ]
    texts: list[StrategyText] = []
    first = min(users, default=path.current.entries[0].seq)
    begun, lost = False, 0
    for text in layout.texts:
        if text.place != "system":
            begun = begun or (text.place == "after" and bool(users)) or text.message.role == "user"
            if not begun:
                lost += 1
                continue
            if text.place == "before":
                first = 0
        texts.append(text)
    return tuple(texts), first, (BEGINS_WITH_ASSISTANT,) if lost else ()


STRATEGY = Policy(
    name="strategy",
    title=later("Custom (the agent decides)"),
    about=later("Its strategy puts together what is sent."),
    label="strategy",
    words=lambda terms: say("custom (the agent decides)"),
    scope=lambda terms: say("the last {count:,} turns", count=STRATEGY_TURNS),
    reach=lambda terms: Users(STRATEGY_TURNS),
    choose=choose_by_strategy,
    beyond_reach="over_length",
    make_room=cut_oldest,
    evidence="strategy",
    report_title=later("The agent's strategy"),
    needs_naming=True,
    runs_agent_code=True,
    depends_on_words=True,
)
