"""`decide`: policy, marks, guard and normaliser in one pure pass, with a verdict for everything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from chatsite.history.choice import Choice, Fate, Path, choose
from chatsite.history.evidence import NO_EVIDENCE, Evidence, Previous
from chatsite.history.guard import Load, Overflow, guard
from chatsite.history.marks import below_marker
from chatsite.history.policies import POLICIES
from chatsite.history.prefix import leading_tokens
from chatsite.history.reasons import SENT, Reason
from chatsite.history.receipt import Decision
from chatsite.history.room import Room
from chatsite.history.settings import Settings
from chatsite.history.tokens import known_tokens
from chatsite.history.transcript import Entry, Transcript, Unloaded
from chatsite.history.verdicts import verdicts
from chatsite.history.window import Head, Window


def decide(
    transcript: Transcript,
    settings: Settings,
    *,
    head: Head,
    window: Window,
    evidence: Evidence = NO_EVIDENCE,
    agent: str,
) -> Decision:
    """Choose what the model gets to see of the path, whose last turn is the current one.

    Every message must carry its tokens (else ValueError). Raises PromptTooLarge, naming the
    largest part, when head and current turn alone don't fit.
    """
    _check(transcript, head)
    path = Path.of(transcript)
    choice = _choose(transcript, path, settings, evidence)
    system = _system_reasons(path.system, choice.marker)
    instructions = [entry.message for entry in path.system if system[entry.seq] in SENT]
    room = Room.of(
        window,
        budget=settings.tokens.value,
        head=head,
        system=instructions,
        current=choice.current.messages,
    )
    room.require()
    overflow = _guard(choice, room, settings, evidence.previous)
    choice = _after(overflow, choice, room.over)
    reasons = system | _opening_reasons(path.opening)
    for fate in (*choice.older, choice.current):
        reasons |= fate.reasons()
    history = [message for fate in choice.older if fate.is_sent for message in fate.messages]
    current = choice.current.messages
    parts = room.parts(history)
    return Decision(
        agent=agent,
        settings=settings,
        request=(*head.system, *instructions, *head.examples, *history, *current),
        verdicts=verdicts(
            head=head,
            transcript=transcript,
            reasons=reasons,
            unloaded=_unloaded_reason(transcript, choice, settings),
            settings=settings,
            window=window,
        ),
        parts=parts,
        window=window,
        limit=room.limit,
        tokens=sum(part.tokens for part in parts if part.name not in ("reply", "free")),
        stored=len(transcript.entries) + transcript.unloaded.messages,
        sent=len(instructions) + len(history) + len(current),
        horizon=_horizon(choice, transcript.unloaded),
        leading=leading_tokens(
            evidence.previous, head=head, transcript=transcript, reasons=reasons
        ),
        head_hash=head.hash,
        head_messages=len(head.messages),
        cut=overflow.cut,
        under=_under(settings),
    )


def _choose(transcript: Transcript, path: Path, settings: Settings, evidence: Evidence) -> Choice:
    answered = path.current.entries[0].message.reply_to
    return choose(
        path,
        marker=below_marker(transcript.entries),
        policy=POLICIES[settings.policy.value],
        length=settings.length.value,
        reply_to=evidence.reply_to | {answered} if answered else evidence.reply_to,
    )


def _guard(choice: Choice, room: Room, settings: Settings, previous: Previous | None) -> Overflow:
    same = previous is not None and previous.under == _under(settings)
    return guard(
        [
            Load(fate.first, fate.tokens, bool(fate.kept_for))
            for fate in choice.older
            if fate.is_sent
        ],
        fixed=room.fixed,
        current=choice.current.first,
        limit=room.limit,
        low_water=settings.low_water.value,
        previous=previous.cut if previous and same else None,
    )


def _after(overflow: Overflow, choice: Choice, over: Reason) -> Choice:
    """The choice as the guard left it. What a mark saved from the guard now says so."""
    cut = overflow.cut
    if cut is None:
        return choice

    def fate(before: Fate) -> Fate:
        if before.first in overflow.dropped:
            return replace(before, reason=over)
        if before.is_sent and before.kept_for and before.first < cut:
            return replace(before, reason=before.kept_for)
        return before

    older = tuple(fate(before) for before in choice.older)
    return replace(choice, older=older, tail=max(choice.tail, cut))


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
        entry.seq: "greeting" if entry.message.role == "assistant" else "incomplete_tool_group"
        for entry in opening
    }


def _unloaded_reason(transcript: Transcript, choice: Choice, settings: Settings) -> Reason:
    away = transcript.unloaded
    if away.users == 0:
        return "greeting"
    if away.last < choice.marker:
        return "above_marker"
    return POLICIES[settings.policy.value].left_out if choice.reached else "unloaded"


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
        if fate.is_sent and (fate.first >= choice.tail or touches):
            position = index
        elif fate.first < choice.tail:
            break
    if position == 0 and away.users == 0:
        return None
    return (*choice.older, choice.current)[position].first


def _under(settings: Settings) -> str:
    """The settings that decide a cut, as one text."""
    policy = settings.policy.value
    length = settings.length.value if POLICIES[policy].uses_length else ""
    return f"{policy} {length} {settings.tokens.value or ''} {settings.low_water.value}"


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
