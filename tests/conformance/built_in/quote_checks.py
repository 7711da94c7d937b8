"""Checks of quotes: they stay in their places (P28), and receipts rebuild them (P29)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

from chatsite.history import AddedMessage
from chatsite.history.lexical.words import is_question
from chatsite.history.path.added_messages import BLOCK_TOKENS, quote_tokens
from chatsite.history.policies.lexical_quotes import NO_ROOM
from chatsite.history.receipts.replay import StoredRequest, rebuild_messages
from chatsite.messages import Message
from conformance_kit.strategies.adapter import PolicyTrial, stored_entries
from tests.conformance.built_in.growth_checks import grown
from tests.conformance.built_in.variants import LEXICAL


def p28_nothing_is_sent_twice(trial: PolicyTrial) -> None:
    """A message is in the request once: in its place, or in one quote."""
    sources = Counter(seq for item in _quotes(trial).values() for seq in item.sources)
    assert not [seq for seq, times in sources.items() if times > 1], "quoted twice"
    assert not trial.sent & set(sources), "sent in its place and quoted too"


def p28_a_quote_stays_while_the_beginning_stays(trial: PolicyTrial) -> None:
    """While the cut stays, an earlier turn keeps its quotes; only for want of room some go, the
    oldest first."""
    if trial.subject != LEXICAL:
        return
    before: PolicyTrial | None = None
    for now in grown(trial):
        if before is not None and before.decision.cut == now.decision.cut is not None:
            _compare_quotes(before, now)
        before = now


def _compare_quotes(before: PolicyTrial, now: PolicyTrial) -> None:
    current, stays = now.current[0].seq, _quotes(now)
    newer = {seq for place, item in stays.items() if place == current for seq in item.sources}
    gone = now.sent | newer
    was = {
        place: item
        for place, item in sorted(_quotes(before).items())
        if place in now.sent and not set(item.sources) & gone
    }
    kept = [place for place in was if place in stays]
    assert kept == list(was)[len(was) - len(kept) :], "a newer quote went before an older one"
    assert all(stays[place] == was[place] for place in kept), "a quote reads differently"
    lost = sum(item.tokens for place, item in was.items() if place not in stays)
    if not is_question(now.current[0].message.content or ""):
        room = now.decision.limit - now.decision.tokens
        assert not lost or lost > room, "a quote went though there is room for it"


def p28_room_is_used_for_what_matters(trial: PolicyTrial) -> None:
    """Nothing is said to have no room that would fit while a tenth of the limit is free."""
    decision = trial.decision
    free = decision.limit - decision.tokens
    units = {entry.seq: turn[0] for turn in trial.older for entry in turn}
    for verdict in decision.verdicts:
        if verdict.why != NO_ROOM or free <= decision.limit // 10:
            continue
        for entry in trial.entries:
            if verdict.first <= entry.seq <= verdict.last and entry.seq in units:
                unit = {entry.seq: entry, units[entry.seq].seq: units[entry.seq]}
                new = [e for seq, e in unit.items() if seq not in trial.quoted | trial.sent]
                cost = sum(map(quote_tokens, stored_entries(new)))
                assert cost + BLOCK_TOKENS > free, f"{entry.seq} would have fitted"


def p28_others_send_no_earlier_quotes(trial: PolicyTrial) -> None:
    if trial.subject != LEXICAL:
        assert set(_quotes(trial)) <= {trial.current[0].seq}


def p29_the_request_is_rebuilt(trial: PolicyTrial) -> None:
    """From the stored receipt and the messages that it names; a strategy's own text is the only
    one that a receipt doesn't hold."""
    layout = trial.decision.layout
    if any(isinstance(item, AddedMessage) and item.kind == "text" for item in layout):
        return
    receipt = json.loads(json.dumps(trial.decision.to_stored()))
    summary = trial.case.evidence.summary
    stored = StoredRequest(
        agent="demo",
        receipt=receipt,
        entries=stored_entries(trial.entries),
        summaries={summary.id: summary.text} if summary else {},
    )
    messages, differences = rebuild_messages(stored, trial.case.agent_head)
    assert differences == ()
    assert [_content(m) for m in messages] == [_content(m) for m in trial.request]


def _quotes(trial: PolicyTrial) -> Mapping[int, AddedMessage]:
    """The messages that quote, by the sequence number of the message they stand before."""
    added = (item for item in trial.decision.layout if isinstance(item, AddedMessage))
    return {int(item.id): item for item in added if item.kind == "recalled"}


def _content(message: Message) -> tuple[object, ...]:
    return message.role, message.content, message.calls, message.call_id
