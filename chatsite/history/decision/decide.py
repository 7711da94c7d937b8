"""`decide`: policy, marks, guard and normaliser in one pure pass, with a verdict for everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from chatsite.history.decision.compose import ComposedRequest, compose, leading_tokens
from chatsite.history.decision.fit import DecisionInput, cut_key, fit, values_in_lines
from chatsite.history.decision.receipt import Decision, DraftState
from chatsite.history.decision.verdicts import (
    Exchanges,
    find_reasons,
    horizon_of,
    judge_system,
    sum_gave_way,
    verdicts,
)
from chatsite.history.evidence import NO_EVIDENCE, Evidence, RunningSummary
from chatsite.history.path.added_messages import Quotes, quote_notes, summary_message
from chatsite.history.path.cleaner import Cleaner
from chatsite.history.path.giving_way import smallest_current
from chatsite.history.path.in_force import instructions_message
from chatsite.history.path.marks import Path, PathContext, kept_in_force, remembered_from
from chatsite.history.path.overflow import FittedPath
from chatsite.history.path.own_lines import Lines, date_lines, reserve_room, told_line, within_room
from chatsite.history.path.transcript import (
    Entry,
    Transcript,
    within_talk_limit,
)
from chatsite.history.path.turn_verdicts import judge_current, judge_path
from chatsite.history.policies.base import DecisionContext, Policy, Users
from chatsite.history.policies.cuts import ALL
from chatsite.history.policies.summary import FORGOTTEN, NO_SUMMARY_ROOM, SUMMARY
from chatsite.history.reasons import SENT, Reason
from chatsite.history.room import Head, RequestRoom, Window, sum_tokens
from chatsite.history.settings.turn_settings import Settings
from chatsite.history.token_estimate import tokens_of


def decide(
    transcript: Transcript,
    settings: Settings,
    *,
    head: Head,
    window: Window,
    evidence: Evidence = NO_EVIDENCE,
    agent: str,
    cleanup: Cleaner | None = None,
    over_limit: bool = False,
) -> Decision:
    """Choose what the model gets to see of the path, whose last turn is the current one.

    With `cleanup`, what doesn't fit the model's window is unloaded in its way where the guard
    would leave it out; what `Decision.unloads` names must be marked so in storage.

    Every message must carry its tokens (else ValueError). Raises PromptTooLarge, naming the
    largest part, when head and current turn alone don't fit. With `over_limit` such a turn is
    measured instead: nothing older is sent, and the decision's tokens exceed its limit.
    """
    if evidence.summary and values_in_lines(settings):
        evidence = replace(evidence, summary=evidence.summary.with_values())
    given = DecisionInput(
        transcript=within_talk_limit(transcript, settings.talk_limit),
        settings=settings,
        head=head,
        window=window,
        evidence=evidence,
        agent=agent,
        cleanup=cleanup,
    )
    given.require_valid()
    prepared = _prepare(given)
    if not prepared.room.exceeded:
        return _run_policy(given, prepared, policy=settings.active_policy)
    if not over_limit:
        raise prepared.room.refusal()
    # Which turns a policy would choose says nothing where there is room for none of them.
    return _run_policy(replace(given, cleanup=None), prepared, policy=ALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """What holds under every policy. `instructions` are the system messages inside the path that
    are sent, `system_reasons` the reasons for all of them by sequence number; `in_force` have the
    sentences that a person keeps in force. `note` says why a compaction isn't sent."""

    context: PathContext
    system_reasons: Mapping[int, Reason]
    instructions: tuple[Entry, ...]
    in_force: tuple[Entry, ...]
    room: RequestRoom
    note: str


def _prepare(given: DecisionInput) -> _Prepared:
    path, terms = Path.of(given.transcript), given.settings.terms
    marker = remembered_from(given.transcript.entries)
    reasons = judge_system(path.system, marker)
    instructions = tuple(entry for entry in path.system if reasons[entry.seq] in SENT)
    enabled = given.settings.enabled.value
    in_force = kept_in_force(given.transcript.entries, marker) if enabled else ()
    current = judge_current(path.current)
    room = RequestRoom.of(
        given.window,
        budget=given.settings.tokens.value,
        head=given.head,
        system=[entry.message for entry in instructions],
        current=current.messages,
        in_force=[instructions_message(in_force)] if in_force else (),
    )
    summary, note = _compaction(given, marker)
    size = summary.tokens.count if summary else 0
    if room.fixed + size > room.limit:
        values = values_in_lines(given.settings)
        smallest = room.with_current(smallest_current(current, terms, values=values).messages)
        if room.exceeded or smallest.fixed + size <= room.limit:
            room = smallest
    if summary and (beside := room.with_summary(size)):
        room = beside
    elif summary:
        summary, note = None, NO_SUMMARY_ROOM
    answered = path.current.entries[0].message.reply_to
    reply_to = given.evidence.reply_to
    return _Prepared(
        context=PathContext(
            path=path,
            terms=terms,
            marker=marker,
            reply_to=reply_to | {answered} if answered else reply_to,
            last_not_loaded=given.transcript.not_loaded.last,
            compaction=summary,
        ),
        system_reasons=reasons,
        instructions=instructions,
        in_force=in_force,
        room=room,
        # Under its own policy the summary may still be sent, and what is said of it is said there.
        note="" if given.settings.active_policy.uses_summary else note,
    )


def _compaction(given: DecisionInput, marker: int) -> tuple[RunningSummary | None, str]:
    """The compaction that is to be sent; where it isn't, a sentence why, "" where none is meant to
    be."""
    summary = given.transcript.compaction
    if summary is None or given.settings.active_policy.only_current:
        return None, ""
    return (None, FORGOTTEN) if summary.first < marker else (summary, "")


def _run_policy(given: DecisionInput, prepared: _Prepared, *, policy: Policy) -> Decision:
    notes = given.settings.terms.previous_tasks_count
    quotes = quote_notes(
        prepared.context,
        most=0 if policy.only_current or prepared.room.exceeded else notes,
        available_tokens=prepared.room.available_tokens,
    )
    choice = policy.choose(_context(given, prepared, quotes))
    verdict, of_line, if_cut = judge_path(prepared.context, choice), 0, 0
    texts, terms = sum(tokens_of(text.message) for text in choice.texts), given.settings.terms
    speaks = (terms.dates or terms.tell) and not (policy.only_current or prepared.room.exceeded)
    if speaks and terms.dates and not policy.runs_agent_code:  # a strategy fills the room itself
        free = prepared.room.available_tokens - quotes.tokens - texts
        verdict, of_line, if_cut = reserve_room(verdict, free)
    summary = prepared.context.compaction
    fitted = fit(
        verdict,
        given,
        policy=policy,
        room=prepared.room,
        quotes=quotes,
        added_tokens=texts + of_line,
        if_cut=if_cut,
        compaction=summary,
    )
    if summary:
        message = summary_message(summary.text, summary.tokens)
        fitted = replace(fitted, summary=message, summary_source=summary)
    if fitted.verdict.current.lines:
        room = prepared.room.with_current(fitted.verdict.current.messages)
        prepared = replace(prepared, room=room)
    return _record(
        given,
        prepared,
        fitted=fitted,
        composed=compose(
            fitted,
            given.head,
            given.transcript,
            instructions=prepared.instructions,
            in_force=prepared.in_force,
            texts=choice.texts,
            lines=_own_lines(given, prepared.room, fitted, texts) if speaks else {},
        ),
        notes=(*choice.notes, *filter(None, (prepared.note,))),
    )


def _own_lines(given: DecisionInput, room: RequestRoom, fitted: FittedPath, texts: int) -> Lines:
    """As many as fit beside everything else."""
    quotes, verdict = (*fitted.earlier_quotes, fitted.quotes), fitted.verdict
    lines = date_lines(verdict) if given.settings.terms.dates else {}
    if given.settings.terms.tell:
        quoted = {seq for one in quotes for seq in one.reasons}
        told = told_line(verdict, given.transcript.not_loaded, quoted, recall=given.head.recall)
        lines[verdict.current.first] = [*lines.get(verdict.current.first, ()), *told]
    taken = sum(sum_tokens(turn.messages) for turn in verdict.sent)
    if fitted.summary and not (fitted.summary_source and fitted.summary_source.compaction):
        taken += tokens_of(fitted.summary)  # the room has a compaction's already
    taken += texts + sum(one.tokens for one in quotes)
    return within_room(lines, room.available_tokens - taken)


def _context(given: DecisionInput, prepared: _Prepared, quotes: Quotes) -> DecisionContext:
    """What the policy chooses from; notes of background tasks have their room already."""
    terms, not_loaded = given.settings.terms, given.transcript.not_loaded
    reach = given.settings.active_policy.reach(terms)
    path, counted = prepared.context.path, prepared.context.path.counted
    return DecisionContext(
        path=path,
        terms=terms,
        marker=prepared.context.marker,
        reply_to=prepared.context.reply_to,
        last_not_loaded=not_loaded.last,
        evidence=given.evidence,
        counted=counted,
        users_not_loaded=not_loaded.users - not_loaded.background,
        reached=isinstance(reach, Users) and len(counted) >= reach.users,
        available_tokens=max(0, prepared.room.available_tokens - quotes.tokens),
        compaction=prepared.context.compaction,
        overflow_reason=prepared.room.overflow_reason,
    )


def _record(
    given: DecisionInput,
    prepared: _Prepared,
    *,
    fitted: FittedPath,
    composed: ComposedRequest,
    notes: tuple[str, ...],
) -> Decision:
    room, evidence, not_loaded = prepared.room, given.evidence, given.transcript.not_loaded
    summary = prepared.context.compaction
    findings = find_reasons(
        fitted, system=prepared.system_reasons, opening=prepared.context.path.opening
    )
    horizon = horizon_of(fitted.verdict, not_loaded)
    stored = [entry for entry in given.transcript.entries if not entry.draft]
    parts = room.parts(
        composed.history,
        strategy=composed.texts,
        summary=fitted.summary,
        recalled=composed.quoted,
        notes=composed.notes,
    )
    return Decision(
        agent=given.agent,
        settings=given.settings,
        request=composed.request,
        verdicts=verdicts(findings, given.head, given.transcript),
        parts=parts,
        window=given.window,
        limit=room.limit,
        tokens=sum(part.tokens for part in parts if part.name not in ("reply", "free")),
        stored=len(stored) + not_loaded.messages,
        sent=sum(findings.reasons[entry.seq] in SENT for entry in stored),
        draft=_draft(prepared.context.path.current.entries[-1]),
        exchanges=Exchanges.of(given.transcript, fitted, horizon),
        horizon=horizon,
        leading=leading_tokens(
            evidence.previous, composed.layout, head=given.head, transcript=given.transcript
        ),
        head_hash=given.head.hash,
        head_messages=len(given.head.messages),
        cut=fitted.cut,
        under=cut_key(given.settings),
        cleanup=fitted.cleanup,
        gave_way=sum_gave_way(fitted.verdict),
        layout=composed.layout,
        quoted=tuple(entry.seq for entry in fitted.quotes.entries),
        notes=(*evidence.notes, *notes, *fitted.notes),
        reports={**evidence.reports, **({SUMMARY.evidence: summary.report} if summary else {})},
    )


def _draft(last: Entry) -> DraftState:
    if not last.draft:
        return ""
    return "written" if last.message.content or last.message.attachments else "empty"
