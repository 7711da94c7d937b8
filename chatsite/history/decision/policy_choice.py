"""How each policy sees a path: by a cut, by what triage chose, or by a strategy's choice."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from chatsite.history.path.turn_verdicts import Path, Ruled, Scheme, choose
from chatsite.history.policies.strategy_slots import Laid, Text, lay_out
from chatsite.history.policies.table import POLICIES, Users, cut_none
from chatsite.history.policies.triage import plan_of, selected
from chatsite.history.settings.resolve import Settings
from chatsite.history.values.evidence import Chosen, Evidence
from chatsite.history.values.normaliser import broken
from chatsite.history.values.reasons import Reason
from chatsite.history.values.tokens import known_tokens
from chatsite.history.values.transcript import Turn, Unloaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A scheme, the texts that a strategy adds, and what is to be said of it: sentences of their
    own by sequence number, and notes."""

    scheme: Scheme
    texts: tuple[Text, ...] = ()
    whys: Mapping[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def scheme_of(
    path: Path,
    settings: Settings,
    evidence: Evidence,
    *,
    away: Unloaded,
    marker: int,
    reply_to: AbstractSet[str],
    room: int,
    over: Reason,
) -> Planned:
    """The policy's view of the path. `room` is what a strategy's choice may take, in tokens;
    `over` the reason for what it has no room for."""
    policy = settings.policy.value
    if settings.triages and settings.conversation.enabled.value:
        return by_triage(path, settings, evidence, marker=marker)
    if policy != "strategy":
        return Planned(scheme=by_cut(path, settings, away))
    if evidence.chosen is None:
        notes = () if evidence.notes else ("The strategy didn't answer: the newest are sent.",)
        return Planned(scheme=by_cut(path, settings, away), notes=notes)
    everything = Scheme(rule=lambda turn: Ruled(reason="strategy"), tail=0)
    allowed = choose(path, marker=marker, scheme=everything, reply_to=reply_to)
    spared = sum(fate.tokens for fate in allowed.loads if fate.kept_for)
    tokens = {
        entry.seq: known_tokens(entry.message).count
        for fate in allowed.loads
        if fate.reason == "strategy" and not fate.kept_for
        for entry in fate.entries
    }
    return by_strategy(path, evidence.chosen, tokens, room=max(0, room - spared), over=over)


def by_cut(path: Path, settings: Settings, away: Unloaded) -> Scheme:
    """The newest turns, from where the policy cuts."""
    policy, terms = POLICIES[settings.policy.value], settings.terms
    off = settings.triages and not settings.conversation.enabled.value
    counted = path.counted
    start = (cut_none if off else policy.cut)(counted, away.users - away.background, terms)
    tail = (counted[start] if start < len(counted) else path.current).entries[0].seq
    sent = Ruled(reason="within_length" if off else policy.sent)
    left_out = Ruled(reason="over_length" if off else policy.left_out)
    reach = policy.reach(terms)
    return Scheme(
        rule=lambda turn: sent if turn.entries[0].seq >= tail else left_out,
        tail=tail,
        reached=isinstance(reach, Users) and len(counted) >= reach.users,
    )


def by_triage(path: Path, settings: Settings, evidence: Evidence, *, marker: int) -> Planned:
    """The turns that a fast model chose, in their places; all of the lookback without it."""
    plan = plan_of(path.older, settings.conversation, marker=marker)
    ruled = selected(plan, evidence.triaged.turns if evidence.triaged else None)
    limit = settings.conversation.context_truncation.value

    def rule(turn: Turn) -> Ruled:
        reason, why = ruled[turn.entries[0].seq]
        return Ruled(reason=reason, why=why, limit=limit)

    reach = POLICIES[settings.policy.value].reach(settings.terms)
    reached = isinstance(reach, Users) and len(path.counted) >= reach.users
    blind = plan.candidates and evidence.triaged is None and not evidence.notes
    return Planned(
        scheme=Scheme(rule=rule, tail=None, reached=reached),
        notes=("Nobody chose among the older turns: all that fit are sent.",) if blind else (),
    )


def by_strategy(
    path: Path, chosen: Chosen, tokens: Mapping[int, int], *, room: int, over: Reason
) -> Planned:
    """The messages that the agent's strategy chose, and of these what its slots have room for.

    What would stand before the first user message is left out: no provider takes an answer
    without a question.
    """
    whole = lay_out(chosen.slots, room=sys.maxsize, tokens_of_seq=tokens)
    usable = _usable(path, whole)
    laid = lay_out(
        chosen.slots,
        room=room,
        tokens_of_seq={seq: count for seq, count in tokens.items() if seq in usable},
    )
    texts, first, notes = _leading(laid, path)
    gone = {item.item: item.slot for item in laid.gone if isinstance(item.item, int)}

    def rule(turn: Turn) -> Ruled:
        sent = {e.seq for e in turn.entries if e.seq in laid.kept and e.seq >= first}
        apart: dict[int, Reason] = {
            entry.seq: over if entry.seq in gone else "not_chosen"
            for entry in turn.entries
            if entry.seq not in sent
        }
        if sent:
            return Ruled(reason="strategy", apart=apart)
        lost = any(entry.seq in gone for entry in turn.entries)
        return Ruled(reason=over if lost else "not_chosen")

    return Planned(scheme=Scheme(rule=rule, tail=None), texts=texts, notes=notes)


def _usable(path: Path, laid: Laid) -> set[int]:
    """What of the choice can be sent at all: the rest must not take its room."""
    _, first, _ = _leading(laid, path)
    usable: set[int] = set()
    for turn in path.older:
        rest = [entry for entry in turn.entries if entry.seq in laid.kept and entry.seq >= first]
        usable |= {entry.seq for entry in rest} - set(broken(rest))
    return usable


def _leading(laid: Laid, path: Path) -> tuple[tuple[Text, ...], int, tuple[str, ...]]:
    """The texts and the first stored message that may stand where the strategy put them."""
    users = [
        entry.seq
        for turn in path.older
        for entry in turn.entries
        if entry.seq in laid.kept and entry.message.role == "user"
    ]
    texts: list[Text] = []
    first = min(users, default=path.current.entries[0].seq)
    begun, lost = False, 0
    for text in laid.texts:
        if text.place != "system":
            begun = begun or (text.place == "after" and bool(users)) or text.message.role == "user"
            if not begun:
                lost += 1
                continue
            if text.place == "before":
                first = 0
        texts.append(text)
    note = "A text of the strategy was left out: a conversation can't begin with the assistant."
    return tuple(texts), first, (note,) if lost else ()
