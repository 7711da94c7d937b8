"""Checks of the record of a choice: verdicts, parts, reasons and evidence."""

from __future__ import annotations

import json
from dataclasses import replace

from chatsite.history import AddedMessage, Evidence
from chatsite.history.evidence import message_digest
from chatsite.messages import Message
from conformance_kit.cases import total_tokens
from conformance_kit.strategies.adapter import PolicyTrial
from tests.conformance.built_in.variants import ALL, LAST_N, LEFT_BY_CUT, LEXICAL, STRATEGY, SUMMARY

SPARED = ("pinned", "replied_to")
LEFT = (
    *("over_length", "over_budget", "over_window", "above_cut", "not_relevant", "not_chosen"),
    *("low_priority", "summarised"),
)
NEED_EVIDENCE = (LEXICAL, SUMMARY, STRATEGY)


def p7_pins_are_kept(trial: PolicyTrial) -> None:
    """A pinned turn goes only when everything else is gone."""
    for turn in trial.older:
        left_out = any(entry.excluded for entry in turn) or turn[0].seq < trial.marker
        if any(entry.pinned for entry in turn) and not left_out and turn[0].seq not in trial.sent:
            assert trial.reasons[turn[0].seq] in LEFT_BY_CUT or turn[0].seq in trial.quoted
            rest = [other for other in trial.older if not trial.is_spared(other)]
            assert not any(other[0].seq in trial.sent for other in rest)


def p8_the_limit_is_the_smaller_one(trial: PolicyTrial) -> None:
    window = trial.case.window
    assert trial.decision.limit == min(window.size - window.reply, trial.case.budget or 10**9)


def p11_length_counts_user_messages(trial: PolicyTrial) -> None:
    """With a step S, between N-S+1 and N of them are sent; without one N, the current included."""
    asked = [turn[0] for turn in (*trial.older, trial.current)]
    counted = [e for e in asked if e.message.source == "web" or e is trial.current[0]]
    most, over = _most(trial), max(0, len(counted) - _most(trial))
    step = min(trial.decision.settings.step.value, most)
    inside = counted[-(-over // step) * step :]
    assert len(counted) <= most or most - step < len(inside) <= most
    for entry in counted:
        marked = {"above_marker", "excluded", "unloaded", "unanswered", *SPARED, *LEFT_BY_CUT}
        outside, near = marked | {"over_length"}, marked | {"within_length", "current"}
        assert trial.reasons[entry.seq] in (near if entry in inside else outside)
    unmarked = trial.unguarded.sent & {entry.seq for entry in counted}
    assert unmarked >= {e.seq for e in inside if trial.reasons[e.seq] == "within_length"}


def _most(trial: PolicyTrial) -> int:
    return max(1, trial.case.length)


def p10_a_wider_policy_sends_more(trial: PolicyTrial) -> None:
    wider = {"none": LAST_N, "lastN": ALL}.get(trial.subject.name)
    if wider:
        assert trial.unguarded.sent <= wider.run(trial.unguarded.case).sent


def p10_a_longer_length_sends_more(trial: PolicyTrial) -> None:
    """With a step only where it stays the same: a length below it shortens it."""
    longer = replace(trial.unguarded.case, length=_most(trial) + 1)
    if longer.length <= 1_000_000 and trial.decision.settings.step.value <= _most(trial):
        assert trial.unguarded.sent <= trial.subject.run(longer).sent


def p13_the_same_input_gives_the_same_record(trial: PolicyTrial) -> None:
    again = trial.subject.run(trial.case).decision
    assert again == trial.decision
    assert json.dumps(again.to_dict()) == json.dumps(trial.decision.to_dict())


def p17_the_summary_stands_for_what_it_covers(trial: PolicyTrial) -> None:
    """Every turn is in place, or covered, or left out for a reason of its own."""
    summarised = {seq for seq, reason in trial.reasons.items() if reason == "summarised"}
    source = trial.case.evidence.summary
    sent = [item for item in trial.decision.layout if isinstance(item, AddedMessage)]
    if source is None or not any(item.kind == "summary" for item in sent):
        assert not summarised, "nothing stands for what is said to be summarised"
        return
    for turn in trial.older:
        said = [entry for entry in turn if entry.message.source == "web"]
        covered = bool(said) and said[-1].seq <= source.last
        if said and said[0].seq in summarised:
            assert covered, f"the summary doesn't hold turn {said[0].seq}"
        in_place = any(entry.seq in trial.sent for entry in turn)
        assert not (in_place and covered) or trial.is_spared(turn), "summarised and sent again"


def p20_sums_are_those_of_the_messages(trial: PolicyTrial) -> None:
    decision = trial.decision
    assert decision.tokens == total_tokens(decision.request)
    assert sum(part.tokens for part in decision.parts) == trial.case.window.size
    said = sum(verdict.tokens for verdict in decision.verdicts)
    head = total_tokens(trial.case.head)
    assert said == head + total_tokens([entry.message for entry in trial.entries])
    in_place = sum(v.tokens for v in decision.verdicts if v.sent and not v.quoted)
    stored = [entry.message for entry in trial.entries if entry.seq in trial.sent]
    assert in_place == head + total_tokens(stored)


def p21_wrong_evidence_does_no_harm(trial: PolicyTrial) -> None:
    """Every other check runs with it; and where nothing is cut an old receipt changes nothing."""
    if trial.decision.cut is None:
        assert trial.sent == trial.subject.run(trial.case.afresh).sent


def p21_without_evidence_the_newest_are_sent(trial: PolicyTrial) -> None:
    """Missing evidence is replaced by the newest turns, with a note."""
    bare = trial.subject.run(replace(trial.case, evidence=Evidence(), quoted={}))
    reasons = [bare.reasons[turn[0].seq] for turn in bare.older]
    ours = [reason for reason in reasons if reason in {"within_budget", "within_length", *LEFT}]
    kept = [reason for reason in ours if reason not in LEFT]
    assert ours == [*ours[: len(ours) - len(kept)], *kept], "a gap among the newest turns"
    assert not bare.quoted or {bare.reasons[seq] for seq in bare.quoted} == {"followed"}
    if bare.decision.cut is not None and trial.subject in NEED_EVIDENCE:
        assert bare.decision.notes, "nobody is told what was missing"


def p22_what_is_written_has_its_sources(trial: PolicyTrial) -> None:
    """Quotes are of what may be sent, a summary is the one given, a text the strategy's own."""
    evidence = trial.case.evidence
    texts = (
        [item for slot in evidence.chosen.slots for item in slot.items] if evidence.chosen else []
    )
    digests = {message_digest(text) for text in texts if isinstance(text, Message)}
    seqs = {entry.seq: entry for entry in trial.entries}
    written = [item for item in trial.decision.layout if isinstance(item, AddedMessage)]
    assert len(written) == len(trial.written)
    for item in written:
        if item.kind == "text":
            assert trial.subject == STRATEGY and item.digest in digests
        elif item.kind == "summary":
            assert trial.subject == SUMMARY and evidence.summary and item.id == evidence.summary.id
            assert evidence.summary.first >= trial.marker, "it holds what is to be forgotten"
        else:
            assert set(item.sources) <= trial.quoted
            for entry in map(seqs.__getitem__, item.sources):
                assert not entry.excluded and entry.seq >= trial.marker
                text = (entry.message.content or "").strip()
                assert text and any(text in (said.content or "") for said in trial.written)


def p23_every_message_has_one_verdict(trial: PolicyTrial) -> None:
    decision = trial.decision
    runs = [verdict for verdict in decision.verdicts if verdict.first > 0]
    assert sum(run.messages for run in runs) == len(trial.entries) == decision.stored
    covered = [e.seq for run in runs for e in trial.entries if run.first <= e.seq <= run.last]
    assert covered == [entry.seq for entry in trial.entries]
    told = {
        e.seq for run in runs if run.sent for e in trial.entries if run.first <= e.seq <= run.last
    }
    assert told == trial.sent | trial.quoted
    assert not trial.sent & trial.quoted, "sent in place and quoted as well"
    assert decision.sent == len(told)
    for before, after in zip(runs, runs[1:], strict=False):
        same = (before.reason, before.why, before.before)
        assert same != (after.reason, after.why, after.before), (
            "neighbours with the same verdict are one run"
        )
    assert all(verdict["sentence"] for verdict in decision.to_dict()["verdicts"])


def p23_the_layout_is_the_request(trial: PolicyTrial) -> None:
    """Instructions, then what of it is in place and what was written, as the receipt keeps it."""
    found: list[str] = []
    for item in trial.decision.layout:
        if isinstance(item, AddedMessage):
            found.append(item.digest)
            continue
        run = [e.message for e in trial.entries if item.first <= e.seq <= item.last]
        system = run[0].role == "system"
        found += [message.id for message in run if (message.role == "system") == system]
    written = {id(message) for message in trial.written}
    said = [message_digest(m) if id(m) in written else m.id for m in trial.history]
    assert found == said, "the receipt's layout isn't what was sent"
