"""`decide`: policy, marks, guard and normaliser in one pure pass, with a verdict for everything."""

from __future__ import annotations

from collections.abc import Iterable

from chatsite.history.decision.compose import Composed, compose
from chatsite.history.decision.fit import Fitted, fit, under
from chatsite.history.decision.policy_choice import Planned, scheme_of
from chatsite.history.decision.prefix import leading_tokens
from chatsite.history.decision.receipt import Decision
from chatsite.history.decision.verdicts import Findings, verdicts
from chatsite.history.path.cleanup import Cleaner
from chatsite.history.path.quotes import followed
from chatsite.history.path.room import Room
from chatsite.history.path.turn_verdicts import Choice, Path, choose, current_fate
from chatsite.history.settings.resolve import Settings
from chatsite.history.values.evidence import NO_EVIDENCE, Evidence
from chatsite.history.values.marks import BACKGROUND, below_marker
from chatsite.history.values.reasons import SENT, Reason
from chatsite.history.values.tokens import known_tokens, tokens_of
from chatsite.history.values.transcript import Entry, Transcript, Unloaded
from chatsite.history.values.window import Head, Window


def decide(
    transcript: Transcript,
    settings: Settings,
    *,
    head: Head,
    window: Window,
    evidence: Evidence = NO_EVIDENCE,
    agent: str,
    cleanup: Cleaner | None = None,
) -> Decision:
    """Choose what the model gets to see of the path, whose last turn is the current one.

    With `cleanup` what doesn't fit the model's window is unloaded in its way, where the guard would
    leave it out; what `Decision.unloads` names must be marked so in storage.

    Every message must carry its tokens (else ValueError). Raises PromptTooLarge, naming the
    largest part, when head and current turn alone don't fit.
    """
    _check(transcript, head)
    path, away = Path.of(transcript), transcript.unloaded
    marker = below_marker(transcript.entries)
    system = _system_reasons(path.system, marker)
    instructions = [entry for entry in path.system if system[entry.seq] in SENT]
    room = Room.of(
        window,
        budget=settings.tokens.value,
        head=head,
        system=[entry.message for entry in instructions],
        current=current_fate(path.current).messages,
    )
    room.require()
    reply_to = _reply_to(path, evidence)
    quotes = followed(
        path, settings, marker=marker, reply_to=reply_to, room=room.limit - room.fixed
    )
    planned = scheme_of(
        path,
        settings,
        evidence,
        away=away,
        marker=marker,
        reply_to=reply_to,
        room=room.limit - room.fixed - quotes.tokens,
        over=room.over,
    )
    choice = choose(path, marker=marker, scheme=planned.scheme, reply_to=reply_to, away=away.last)
    fitted = fit(
        choice,
        room,
        settings,
        evidence,
        away=away,
        quotes=quotes,
        texts=sum(tokens_of(text.message) for text in planned.texts),
        cleanup=cleanup,
    )
    composed = compose(
        fitted, transcript, head=head, instructions=instructions, texts=planned.texts
    )
    findings = _findings(path, fitted, planned, system)
    return _decision(
        agent, transcript, settings, window, head, evidence, room, fitted, composed, findings,
        planned.notes,
    )  # fmt: skip


def _decision(
    agent: str,
    transcript: Transcript,
    settings: Settings,
    window: Window,
    head: Head,
    evidence: Evidence,
    room: Room,
    fitted: Fitted,
    composed: Composed,
    findings: Findings,
    notes: tuple[str, ...],
) -> Decision:
    parts = room.parts(
        composed.history,
        strategy=composed.texts,
        summary=fitted.summary,
        recalled=fitted.quotes.message,
    )
    return Decision(
        agent=agent,
        settings=settings,
        request=composed.request,
        verdicts=verdicts(
            findings, head=head, transcript=transcript, settings=settings, window=window
        ),
        parts=parts,
        window=window,
        limit=room.limit,
        tokens=sum(part.tokens for part in parts if part.name not in ("reply", "free")),
        stored=len(transcript.entries) + transcript.unloaded.messages,
        sent=sum(reason in SENT for reason in findings.reasons.values()),
        horizon=_horizon(fitted.choice, transcript.unloaded),
        leading=leading_tokens(
            evidence.previous, composed.layout, head=head, transcript=transcript
        ),
        head_hash=head.hash,
        head_messages=len(head.messages),
        cut=fitted.cut,
        under=under(settings),
        cleanup=fitted.cleaned,
        layout=composed.layout,
        notes=(*evidence.notes, *notes, *fitted.notes),
        reports=evidence.reports,
    )


def _findings(path: Path, fitted: Fitted, planned: Planned, system: dict[int, Reason]) -> Findings:
    """The reason for every message that was loaded."""
    reasons = system | _opening_reasons(path.opening)
    whys: dict[int, str] = {}
    for fate in (*fitted.choice.older, fitted.choice.current):
        reasons |= fate.reasons()
        if fate.why:
            said = fate.entries if fate.is_sent else fate.turn.entries
            whys |= dict.fromkeys((entry.seq for entry in said), fate.why)
    whys |= {seq: why for seq, why in planned.whys.items() if reasons[seq] not in SENT}
    quotes = fitted.quotes
    for seq in quotes.left_out:
        whys[seq] = "it matters for this message, but there was no room to quote it"
    return Findings(
        reasons={**reasons, **quotes.reasons},
        unread=fitted.unread,
        whys={**whys, **quotes.whys},
        quoted=frozenset(quotes.reasons),
    )


def _reply_to(path: Path, evidence: Evidence) -> frozenset[str]:
    answered = path.current.entries[0].message.reply_to
    return evidence.reply_to | {answered} if answered else evidence.reply_to


def _system_reasons(system: Iterable[Entry], marker: int) -> dict[int, Reason]:
    """Instructions inside the path, from an import: kept under every policy, unless marked."""
    reasons: dict[int, Reason] = {}
    for entry in system:
        if entry.seq < marker:
            reasons[entry.seq] = "above_marker"
        else:
            reasons[entry.seq] = "excluded" if entry.excluded else "system"
    return reasons


def _opening_reasons(opening: Iterable[Entry]) -> dict[int, Reason]:
    """What stands before the first user message answers nobody."""
    return {
        entry.seq: (
            "background"
            if entry.message.source in BACKGROUND
            else "greeting"
            if entry.message.role == "assistant"
            else "incomplete_tool_group"
        )
        for entry in opening
    }


def _horizon(choice: Choice, away: Unloaded) -> int | None:
    """The oldest turn of the unbroken tail; None when only greetings lie above it.

    Turns that are left out one by one (excluded, background) don't end the tail: they carry a
    mark where they stand. Pinned turns directly above it belong to it.
    """
    position = len(choice.older)
    for index in range(len(choice.older) - 1, -1, -1):
        fate = choice.older[index]
        # Among what was not loaded a marked turn has no neighbours.
        touches = index == position - 1 and fate.first > away.last
        if fate.is_there and (fate.first >= choice.tail or touches):
            position = index
        elif fate.first < choice.tail:
            break
    if position == 0 and away.users == 0:
        return None
    return (*choice.older, choice.current)[position].first


def _check(transcript: Transcript, head: Head) -> None:
    """ValueError for what a caller must never pass."""
    for message in head.messages:
        known_tokens(message)
    last = 0
    for entry in transcript.entries:
        known_tokens(entry.message)
        if entry.seq <= last:
            raise ValueError(f"sequence number {entry.seq} does not come after {last}")
        last = entry.seq
