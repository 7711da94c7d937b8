"""From what a policy and the marks would send to what fits: summary, guard and quotes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from chatsite.history.choice import Choice, Fate
from chatsite.history.evidence import Evidence, Previous, RunningSummary
from chatsite.history.guard import Away, Load, Overflow, guard
from chatsite.history.marks import BACKGROUND
from chatsite.history.policies import POLICIES, Tokens
from chatsite.history.quoting import RECALL_SHARE, Quotes, recalled
from chatsite.history.reasons import Reason
from chatsite.history.recalled import summary_message
from chatsite.history.room import Room
from chatsite.history.settings import Settings
from chatsite.history.transcript import Unloaded
from chatsite.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The choice as it is sent. `cut` is where the tail begins, None when nothing was cut.

    `unloaded` is the reason for what was not read from storage.
    """

    choice: Choice
    unloaded: Reason
    cut: int | None = None
    summary: Message | None = None
    source: RunningSummary | None = None
    quotes: Quotes = Quotes()
    notes: tuple[str, ...] = ()


def fit(
    choice: Choice,
    room: Room,
    settings: Settings,
    evidence: Evidence,
    *,
    away: Unloaded,
    quotes: Quotes,
    texts: int,
) -> Fitted:
    """Make it fit. `quotes` are sent whatever else goes; so are `texts` tokens of a strategy."""
    wanted = _wanted(choice, settings, away)
    fixed = room.fixed + quotes.tokens + texts
    fits = fixed + sum(fate.tokens for fate in choice.loads) <= room.limit
    if fits and wanted is None:
        unloaded = _unloaded(choice, settings, away)
        return Fitted(choice=choice, unloaded=unloaded, quotes=quotes)
    fixed_room = replace_fixed(room, fixed)
    if settings.policy.value == "summary":
        return _with_summary(choice, fixed_room, settings, evidence, away, wanted, quotes)
    if settings.policy.value == "relevant" and not settings.triages:
        return _with_recall(choice, fixed_room, settings, evidence, away, wanted, quotes)
    overflow = _guard(choice, fixed_room, settings, evidence.previous, wanted)
    return Fitted(
        choice=_after(overflow, choice, room.over),
        unloaded=room.over if wanted else _unloaded(choice, settings, away),
        cut=overflow.cut,
        quotes=quotes,
        notes=_notes(choice, settings, evidence),
    )


@dataclass(frozen=True, slots=True)
class _Space:
    """The tokens that the guard shares out: `fixed` is taken already."""

    fixed: int
    limit: int
    over: Reason


def replace_fixed(room: Room, fixed: int) -> _Space:
    return _Space(fixed, room.limit, room.over)


def _with_summary(
    choice: Choice,
    space: _Space,
    settings: Settings,
    evidence: Evidence,
    away: Unloaded,
    wanted: Away | None,
    quotes: Quotes,
) -> Fitted:
    """The summary takes the place of all that it covers; the tail begins right after it."""
    source = evidence.summary
    notes = () if evidence.notes else ("There is no summary yet: what doesn't fit is left out.",)
    message = None
    if source is not None:
        message, notes = summary_message(source.text, source.tokens), ()
        if source.first < choice.marker:
            source, notes = None, ("The summary holds what is to be forgotten: it isn't sent.",)
        elif space.fixed + source.tokens.count > space.limit:
            source, notes = None, ("There is no room for the summary: it isn't sent.",)
    if source is None:
        overflow = _guard(choice, space, settings, evidence.previous, wanted)
        return Fitted(
            choice=_after(overflow, choice, space.over),
            unloaded=space.over if wanted else _unloaded(choice, settings, away),
            cut=overflow.cut,
            quotes=quotes,
            notes=notes,
        )
    covered, begins = _covered(choice, source, space.over)
    if wanted is not None and away.last <= source.last:
        wanted = None
    space = replace(space, fixed=space.fixed + source.tokens.count)
    overflow = _guard(covered, space, settings, evidence.previous, wanted)
    return Fitted(
        choice=_after(overflow, covered, space.over),
        unloaded=space.over if wanted else _unloaded(covered, settings, away),
        cut=begins if overflow.cut is None else overflow.cut,
        summary=message,
        source=source,
        quotes=quotes,
    )


def _covered(choice: Choice, source: RunningSummary, over: Reason) -> tuple[Choice, int]:
    """The choice with `summarised` for each turn that lies whole within the summary, and where
    the first turn below it begins. Pinned turns stay, and what was left out stays left out; what
    stands above the summary has no place in a tail that begins below it."""
    older: list[Fate] = []
    begins: int | None = None
    for fate in choice.older:
        said = [e.seq for e in fate.turn.entries if e.message.source not in BACKGROUND]
        if begins is not None or (said and said[-1] > source.last):
            begins = begins or fate.first
        elif fate.kept_for and fate.is_sent:
            fate = replace(fate, reason=fate.kept_for)
        elif fate.is_sent:
            reason: Reason = "summarised" if fate.first >= source.first else over
            fate = replace(fate, reason=reason, why="")
        older.append(fate)
    begins = begins or choice.current.first
    return replace(choice, older=tuple(older), tail=max(choice.tail, begins)), begins


def _with_recall(
    choice: Choice,
    space: _Space,
    settings: Settings,
    evidence: Evidence,
    away: Unloaded,
    wanted: Away | None,
    quotes: Quotes,
) -> Fitted:
    """A tail that leaves room for quotes, also where there are none: then it can stay longer."""
    share = space.limit * RECALL_SHARE // 100
    tail = replace(space, limit=space.limit - share)
    overflow = _guard(choice, tail, settings, evidence.previous, wanted, most=space.limit)
    over: Reason = "not_relevant" if evidence.recall else space.over
    left = _after(overflow, choice, over, spared=space.over)
    if evidence.recall is not None:
        used = space.fixed - quotes.tokens + sum(fate.tokens for fate in left.loads)
        room = min(quotes.tokens + share, space.limit - used)
        quotes = recalled(left, evidence.recall, quotes, room=room)
    return Fitted(
        choice=left,
        unloaded=over if wanted else _unloaded(choice, settings, away),
        cut=overflow.cut,
        quotes=quotes,
        notes=_notes(choice, settings, evidence),
    )


def _notes(choice: Choice, settings: Settings, evidence: Evidence) -> tuple[str, ...]:
    """What a reader must know where evidence is missing and nobody has said why."""
    if evidence.notes:
        return ()
    if settings.policy.value == "relevant" and not settings.triages and evidence.recall is None:
        return ("Older messages were not searched: the newest turns are sent.",)
    return ()


def _guard(
    choice: Choice,
    space: _Space,
    settings: Settings,
    previous: Previous | None,
    away: Away | None,
    *,
    most: int | None = None,
) -> Overflow:
    same = previous is not None and previous.under == under(settings)
    return guard(
        [Load(fate.first, fate.tokens, bool(fate.kept_for)) for fate in choice.loads],
        fixed=space.fixed,
        current=choice.current.first,
        limit=space.limit,
        low_water=settings.low_water.value,
        previous=previous.cut if previous and same else None,
        away=away,
        most=most,
    )


def _after(
    overflow: Overflow, choice: Choice, over: Reason, *, spared: Reason | None = None
) -> Choice:
    """The choice as the guard left it: `over` is the reason of what went, `spared` that of what a
    mark couldn't save. What a mark did save now says so."""
    cut = overflow.cut
    if cut is None:
        return choice

    def fate(before: Fate) -> Fate:
        if before.first in overflow.dropped:
            return replace(before, reason=spared or over if before.kept_for else over, why="")
        if before.is_sent and before.kept_for and before.first < cut:
            return replace(before, reason=before.kept_for, why="")
        return before

    older = tuple(fate(before) for before in choice.older)
    return replace(choice, older=older, tail=max(choice.tail, cut))


def _wanted(choice: Choice, settings: Settings, away: Unloaded) -> Away | None:
    """What the policy would send of what was not read, if there were room."""
    reach = POLICIES[settings.policy.value].reach(settings.terms)
    if not isinstance(reach, Tokens) or away.users == 0 or away.last < choice.marker:
        return None
    return Away(away.last, away.tokens)


def _unloaded(choice: Choice, settings: Settings, away: Unloaded) -> Reason:
    if away.users == 0:
        return "greeting"
    if away.last < choice.marker:
        return "above_marker"
    policy = POLICIES[settings.policy.value]
    if isinstance(policy.reach(settings.terms), Tokens):
        return policy.left_out
    return policy.left_out if choice.reached else "unloaded"


def under(settings: Settings) -> str:
    """The settings that decide a cut, as one text."""
    policy = settings.policy.value
    length = settings.length.value if POLICIES[policy].uses_length else ""
    selector = settings.selector.value if policy == "relevant" else ""
    return (
        f"{policy} {length} {settings.tokens.value or ''} {settings.low_water.value} {selector}"
    ).rstrip()


def tokens_of(messages: Sequence[Message]) -> int:
    """Tokens of texts of our own."""
    return sum(message.tokens.count for message in messages if message.tokens)
