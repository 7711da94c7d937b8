"""From what a policy and the marks would send to what fits: summary, guard and quotes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chatsite.history.path.cleanup import Cleaned, Cleaner, clean
from chatsite.history.path.guard import Away, Load, Overflow, guard
from chatsite.history.path.quotes import RECALL_SHARE, Quotes, recalled
from chatsite.history.path.room import Room
from chatsite.history.path.turn_verdicts import Choice, Fate
from chatsite.history.policies.table import POLICIES, Tokens
from chatsite.history.settings.resolve import Settings
from chatsite.history.values.added_messages import summary_message
from chatsite.history.values.evidence import Evidence, RunningSummary
from chatsite.history.values.marks import BACKGROUND
from chatsite.history.values.reasons import Reason
from chatsite.history.values.transcript import Unloaded
from chatsite.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The choice as it is sent. `cut` is where the tail begins, None when nothing was cut.

    `unread` is the reason for what was not read from storage; `cleaned` what a cleanup unloaded.
    """

    choice: Choice
    unread: Reason
    cut: int | None = None
    summary: Message | None = None
    source: RunningSummary | None = None
    quotes: Quotes = Quotes()
    cleaned: Cleaned | None = None
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
    cleanup: Cleaner | None,
) -> Fitted:
    """Make it fit. `quotes` are sent whatever else goes; so are `texts` tokens of a strategy."""
    wanted = _wanted(choice, settings, away)
    fixed = room.fixed + quotes.tokens + texts
    unread = _unread(choice, settings, away)
    if fixed + sum(fate.tokens for fate in choice.loads) <= room.limit and wanted is None:
        return Fitted(choice=choice, unread=unread, quotes=quotes)
    much = _TooMuch(
        choice=choice,
        settings=settings,
        evidence=evidence,
        quotes=quotes,
        unread=unread,
        away=wanted,
        fixed=fixed,
        limit=room.limit,
        over=room.over,
    )
    if settings.policy.value == "summary":
        return _with_summary(much)
    if settings.policy.value == "relevant" and not settings.triages:
        return _with_recall(much)
    if cleanup is not None and room.over == "over_window" and _left_to_guard(settings):
        return much.clean(cleanup)
    return much.cut()


@dataclass(frozen=True, slots=True, kw_only=True)
class _TooMuch:
    """A choice that doesn't fit, and the tokens that the guard shares out: `fixed` of `limit` are
    taken already. `over` is the reason of what goes for room, `away` what would have been sent
    had it been read, `unread` the reason for it otherwise."""

    choice: Choice
    settings: Settings
    evidence: Evidence
    quotes: Quotes
    unread: Reason
    away: Away | None
    fixed: int
    limit: int
    over: Reason

    def cut(self, *, over: Reason | None = None, most: int | None = None) -> Fitted:
        """What the guard leaves of it; what went has the reason `over`."""
        previous = self.evidence.previous
        same = previous is not None and previous.under == under(self.settings)
        loads = self.choice.loads
        overflow = guard(
            [Load(fate.first, fate.tokens, bool(fate.kept_for)) for fate in loads],
            fixed=self.fixed,
            current=self.choice.current.first,
            limit=self.limit,
            low_water=self.settings.low_water.value,
            previous=previous.cut if previous and same else None,
            away=self.away,
            most=most,
        )
        reason = over or self.over
        return Fitted(
            choice=_after(overflow, self.choice, reason, spared=self.over),
            unread=reason if self.away else self.unread,
            cut=overflow.cut,
            quotes=self.quotes,
        )

    def clean(self, cleanup: Cleaner) -> Fitted:
        """What the cleanup leaves of it. Its cut needn't be remembered: what it unloads has a
        status of its own, and is left out by that from then on."""
        choice, cleaned = clean(
            self.choice,
            cleanup,
            room=self.limit - self.fixed,
            down_to=max(0, self.limit * self.settings.low_water.value // 100 - self.fixed),
            over=self.over,
        )
        return Fitted(
            choice=choice,
            unread=self.unread,
            quotes=self.quotes,
            cleaned=cleaned,
            notes=(cleaned.sentence,) if cleaned else (),
        )


def _with_summary(much: _TooMuch) -> Fitted:
    """The summary takes the place of all that it covers; the tail begins right after it."""
    source, note = much.evidence.summary, ""
    if source is None:
        missing = "There is no summary yet: what doesn't fit is left out."
        note = "" if much.evidence.notes else missing
    elif source.first < much.choice.marker:
        note = "The summary holds what is to be forgotten: it isn't sent."
    elif much.fixed + source.tokens.count > much.limit:
        note = "There is no room for the summary: it isn't sent."
    if source is None or note:
        return replace(much.cut(), notes=(note,) if note else ())
    covered, begins = _covered(much.choice, source, much.over)
    away = much.away if much.away and much.away.last > source.last else None
    fitted = replace(much, choice=covered, away=away, fixed=much.fixed + source.tokens.count).cut()
    return replace(
        fitted,
        cut=begins if fitted.cut is None else fitted.cut,
        summary=summary_message(source.text, source.tokens),
        source=source,
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


def _with_recall(much: _TooMuch) -> Fitted:
    """A tail that leaves room for quotes, also where there are none: then it can stay longer."""
    recall = much.evidence.recall
    share = much.limit * RECALL_SHARE // 100
    tail = replace(much, limit=much.limit - share)
    fitted = tail.cut(over=None if recall is None else "not_relevant", most=much.limit)
    if recall is None:
        missing = "Older messages were not searched: the newest turns are sent."
        return fitted if much.evidence.notes else replace(fitted, notes=(missing,))
    noted = much.quotes.tokens
    used = much.fixed - noted + sum(fate.tokens for fate in fitted.choice.loads)
    room = min(noted + share, much.limit - used)
    return replace(fitted, quotes=recalled(fitted.choice, recall, much.quotes, room=room))


def _after(overflow: Overflow, choice: Choice, over: Reason, *, spared: Reason) -> Choice:
    """The choice as the guard left it: `over` is the reason of what went, `spared` that of what a
    mark couldn't save. What a mark did save now says so."""
    cut = overflow.cut
    if cut is None:
        return choice

    def fate(before: Fate) -> Fate:
        if before.first in overflow.dropped:
            return replace(before, reason=spared if before.kept_for else over, why="")
        if before.is_sent and before.kept_for and before.first < cut:
            return replace(before, reason=before.kept_for, why="")
        return before

    older = tuple(fate(before) for before in choice.older)
    return replace(choice, older=older, tail=max(choice.tail, cut))


def _left_to_guard(settings: Settings) -> bool:
    """Whether the policy says nothing of what fits, so that a cleanup may.

    The others are themselves a rule for it: `tokens`, `summary` and `relevant` (lexical) keep the
    newest and make up for the rest in their own way, a strategy fills its slots. They choose anew
    for every message, and a cleanup would take for good what they only pass over this time. They
    are also those that read by tokens: so all that a cleanup chooses from was read.
    """
    by_tokens = isinstance(POLICIES[settings.policy.value].reach(settings.terms), Tokens)
    return not by_tokens and settings.policy.value != "strategy"


def _wanted(choice: Choice, settings: Settings, away: Unloaded) -> Away | None:
    """What the policy would send of what was not read, if there were room."""
    reach = POLICIES[settings.policy.value].reach(settings.terms)
    if not isinstance(reach, Tokens) or away.users == 0 or away.last < choice.marker:
        return None
    return Away(away.last, away.tokens)


def _unread(choice: Choice, settings: Settings, away: Unloaded) -> Reason:
    if away.users == 0:
        return "greeting"
    if away.last < choice.marker:
        return "above_marker"
    policy = POLICIES[settings.policy.value]
    if isinstance(policy.reach(settings.terms), Tokens):
        return policy.left_out
    return policy.left_out if choice.reached else "not_read"


def under(settings: Settings) -> str:
    """The settings that decide a cut, as one text."""
    policy = settings.policy.value
    length = settings.length.value if POLICIES[policy].uses_length else ""
    selector = settings.selector.value if policy == "relevant" else ""
    return (
        f"{policy} {length} {settings.tokens.value or ''} {settings.low_water.value} {selector}"
    ).rstrip()
