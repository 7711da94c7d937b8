"""What a decision is made from; from what policy and marks would send to what fits the limit."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

from chatsite.history.evidence import AddedMessage, Evidence, RunningSummary
from chatsite.history.path.added_messages import Quotes
from chatsite.history.path.cleaner import Cleaner
from chatsite.history.path.giving_way import RoomForTurns, gave_way_before, give_way
from chatsite.history.path.overflow import FittedPath, Overflow
from chatsite.history.path.transcript import NotLoaded, Transcript
from chatsite.history.path.turn_verdicts import PathVerdict
from chatsite.history.policies.base import Policy, Reach, Tokens
from chatsite.history.reasons import Reason
from chatsite.history.room import Head, RequestRoom, Window, known_counts
from chatsite.history.settings.turn_settings import Settings

_MAY_GIVE_WAY = attrgetter("may_give_way")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionInput:
    """Everything that is given to `decide`, under the names that `decide` has for it."""

    transcript: Transcript
    settings: Settings
    head: Head
    window: Window
    evidence: Evidence
    agent: str
    cleanup: Cleaner | None

    def require_valid(self) -> None:
        """ValueError for a message without tokens, and for sequence numbers out of order."""
        known_counts([*self.head.messages, *(e.message for e in self.transcript.entries)])
        last = 0
        for entry in self.transcript.entries:
            if entry.seq <= last:
                raise ValueError(f"sequence number {entry.seq} does not come after {last}")
            last = entry.seq


def fit(
    verdict: PathVerdict,
    given: DecisionInput,
    *,
    policy: Policy,
    room: RequestRoom,
    quotes: Quotes,
    added_tokens: int,
    compaction: RunningSummary | None,
    if_cut: int = 0,
) -> FittedPath:
    """Make it fit. `quotes` are sent whatever is dropped; so are a strategy's texts, which take
    `added_tokens`, and a `compaction`, for which `room` allows. Once anything is dropped, `if_cut`
    tokens more are needed."""
    settings, not_loaded = given.settings, given.transcript.not_loaded
    reach = policy.reach(settings.terms)
    wanted = _last_wanted(verdict, reach, not_loaded)
    reason = _not_loaded_reason(verdict, policy, reach, not_loaded)
    if compaction and reason != "greeting" and verdict.marker <= not_loaded.last <= compaction.last:
        wanted, reason = None, "summarised"
    previous = given.evidence.previous
    same = previous is not None and previous.under == cut_key(settings)
    previous_cut = previous.cut if previous and same else None
    added_tokens += quotes.tokens
    if any(map(_MAY_GIVE_WAY, given.transcript.entries)):
        verdict = _give_way(
            *(verdict, given, policy, room, added_tokens, previous_cut),
            more=wanted is not None,
            compacted=compaction is not None,
        )
        room = room.with_current(verdict.current.messages)
    fixed = room.fixed + added_tokens
    fits = fixed + sum(turn.tokens for turn in verdict.sent) <= room.limit and wanted is None
    if fits and not (policy.quotes_stay and any(turn.lines for turn in verdict.sent)):
        return FittedPath(verdict=verdict, not_loaded_reason=reason, quotes=quotes)
    return policy.make_room(
        Overflow(
            verdict=verdict,
            evidence=given.evidence,
            quotes=quotes,
            fixed=fixed + min(if_cut, max(0, room.limit - fixed)),
            limit=room.limit,
            low_water=settings.low_water.value,
            reason=room.overflow_reason,
            last_not_loaded=wanted,
            not_loaded_reason=reason,
            previous_cut=previous_cut,
            recall_share=settings.recall_share.value,
            cleaner=given.cleanup,
            compacted=compaction is not None,
        )
    )


def _give_way(
    verdict: PathVerdict,
    given: DecisionInput,
    policy: Policy,
    room: RequestRoom,
    added_tokens: int,
    cut: int | None,
    *,
    more: bool,
    compacted: bool,
) -> PathVerdict:
    """Let results give way; a running summary, which comes in place of turns, has its room."""
    settings, evidence = given.settings, given.evidence
    summary = evidence.summary if policy.uses_summary and not compacted else None
    share = room.limit * settings.give_way_at.value // 100
    if policy.quotes_stay and evidence.previous:
        items = (item for item in evidence.previous.layout if isinstance(item, AddedMessage))
        added_tokens += sum(item.tokens for item in items if item.kind == "recalled")
    return give_way(
        verdict,
        RoomForTurns(
            fixed=room.always + added_tokens + (summary.tokens.count if summary else 0),
            limit=room.limit,
            low_water=settings.low_water.value,
            cut=cut,
            share=policy.tail_share,
        ),
        terms=settings.terms,
        before=gave_way_before(evidence.previous, room=share),
        more=more,
        values=values_in_lines(settings),
    )


def values_in_lines(settings: Settings) -> bool:
    """Whether exact values of results that gave way stand in their lines. Where lines of results
    are quoted when they are asked for, they would only take the room of talk."""
    wanted = settings.anchors.value
    return wanted == "on" or (wanted == "auto" and not settings.active_policy.quotes_stay)


def _last_wanted(verdict: PathVerdict, reach: Reach, not_loaded: NotLoaded) -> int | None:
    """The last of what would be sent of what was not loaded, if there were room; or None.

    Only policies that reach by tokens leave out what they would send: so all that a cleanup
    chooses from was loaded.
    """
    if not isinstance(reach, Tokens) or not_loaded.users == 0 or not_loaded.last < verdict.marker:
        return None
    if not_loaded.over_talk_limit:
        return None
    return not_loaded.last


def _not_loaded_reason(
    verdict: PathVerdict, policy: Policy, reach: Reach, not_loaded: NotLoaded
) -> Reason:
    if not_loaded.users == 0:
        return "greeting"
    if not_loaded.last < verdict.marker:
        return "above_marker"
    if not_loaded.over_talk_limit:
        return "over_talk_limit"
    return policy.beyond_reach if verdict.reached or isinstance(reach, Tokens) else "not_read"


def cut_key(settings: Settings) -> str:
    """The settings that a cut depends on, as one text: the receipt's `under`."""
    policy = settings.active_policy
    length = settings.length.value if policy.uses_length else ""
    tokens = settings.tokens.value or ""
    key = f"{policy.name} {length} {tokens} {settings.low_water.value} {policy.selector}"
    return key.rstrip()
