"""What becomes of every turn of a path before the limit is looked at: what the policy chose, then
marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from chatsite.history.evidence import BECAUSE_OF_ROOM, LEFT_OUT
from chatsite.history.path.marks import (
    PathContext,
    background_answers,
    holds_any,
    is_background,
    is_excluded,
    is_pinned,
    is_plain,
    results_left_out,
    unless_asked_for,
    unsendable,
    with_results_left_out,
)
from chatsite.history.path.shortened import shorten_answer
from chatsite.history.path.transcript import Entry, PathTurn, is_covered
from chatsite.history.reasons import SENT, Reason
from chatsite.history.room import sum_tokens
from chatsite.messages import Message
from chatsite.wording import later

TextPlace = Literal["system", "before", "after"]
# One for nearly every turn: a dictionary for each made a decision a tenth slower.
_NO_LINES: dict[int, int] = {}
_LINE_REASONS: Mapping[int, Reason] = {
    **dict.fromkeys(BECAUSE_OF_ROOM, "gave_way"),
    LEFT_OUT: "excluded",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRule:
    """What a policy says of one turn.

    `apart` holds the messages of the turn that have a reason of their own, by seq; `why` is a
    sentence of its own for the verdict, "" for the reason's sentence. `limit` cuts answers to so
    many characters, 0 cuts none.
    """

    reason: Reason
    why: str = ""
    apart: dict[int, Reason] = field(default_factory=dict)
    limit: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyText:
    """A text of a strategy's own that is sent; `slot` is the name of the slot that holds it.

    `place` says where: "system" after the head's system messages, "before" the history, or
    "after" it, directly before the current message.
    """

    slot: str
    message: Message
    place: TextPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChoice:
    """A policy applied to one path.

    `tail` is the seq from which every turn may be sent, None where the policy chooses turn by
    turn. `reached`: as many turns were loaded as the policy may send. `texts` are added to the
    request; `notes` tell the reader what the reasons don't, a sentence each.
    """

    rule: Callable[[PathTurn], TurnRule]
    tail: int | None
    reached: bool = False
    texts: tuple[StrategyText, ...] = ()
    notes: tuple[str, ...] = ()


_SUMMARISED = TurnRule(reason="summarised")
MARKS_FILL_IT = later("left out because turns that are pinned or replied to fill the room")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnVerdict:
    """What becomes of a turn. `apart` holds its messages with a reason of their own, by seq.

    `kept_for` is the mark that spares the turn, if one does. `entries` are the messages that can
    be sent, `tokens` what these take. `limit`: longer answers among them are cut to so many
    characters; 0 leaves them whole. `lines` says of each result or message with files that is one
    line, by seq, why (`GAVE_WAY` and the like, see `StoredRun`).
    """

    turn: PathTurn
    reason: Reason
    kept_for: Reason | None
    apart: dict[int, Reason]
    entries: tuple[Entry, ...]
    tokens: int
    why: str = ""
    limit: int = 0
    lines: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        turn: PathTurn,
        *,
        reason: Reason,
        kept_for: Reason | None,
        apart: dict[int, Reason],
        why: str = "",
        limit: int = 0,
    ) -> TurnVerdict:
        """The verdict on a turn without the messages `apart`, and without what these break."""
        rest = (
            tuple(entry for entry in turn.entries if entry.seq not in apart)
            if apart
            else turn.entries
        )
        lost = unsendable(rest)
        entries = tuple(entry for entry in rest if entry.seq not in lost) if lost else rest
        if limit:
            entries = tuple(shorten_answer(entry, limit) for entry in entries)
        lines = dict.fromkeys(results_left_out(entries), LEFT_OUT)
        if lines:
            entries = with_results_left_out(entries)
        return cls(
            turn=turn,
            reason=reason,
            kept_for=kept_for,
            apart=apart | lost,
            entries=entries,
            tokens=sum_tokens([entry.message for entry in entries]),
            why=why,
            limit=limit,
            lines=lines,
        )

    @property
    def first(self) -> int:
        return self.turn.entries[0].seq

    @property
    def is_sent(self) -> bool:
        return self.reason in SENT

    @property
    def is_in_request(self) -> bool:
        """Whether a message of the turn is in the request. A strategy may choose messages that
        can't be sent without the rest of their tool group: then the turn is sent but empty."""
        return self.is_sent and bool(self.entries)

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(entry.message for entry in self.entries)

    def add_reasons(self, reasons: dict[int, Reason]) -> None:
        """Add the reason for every message, by sequence number."""
        for entry in self.turn.entries:
            reasons[entry.seq] = self.reason
        if self.apart and self.is_sent:
            reasons |= self.apart
        if self.lines and self.is_sent:
            reasons |= {seq: _LINE_REASONS[why] for seq, why in self.lines.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class PathVerdict:
    """The verdicts on all turns, oldest first. `marker` is the seq from which things are
    remembered, `tail` the one from which policy and marker let turns be sent."""

    older: tuple[TurnVerdict, ...]
    current: TurnVerdict
    marker: int
    tail: int
    reached: bool

    @property
    def sent(self) -> list[TurnVerdict]:
        """The older turns that would be sent."""
        return [verdict for verdict in self.older if verdict.is_sent]


def judge_path(context: PathContext, choice: PolicyChoice) -> PathVerdict:
    """Apply the policy's choice, then the compaction, then the marks.

    Background turns don't count towards the length. Marks on the current turn have no effect,
    but the marker may be above it. A marker inside a turn takes the whole turn, since cuts
    fall between turns. A pin or a reply brings a background turn in, or an unloaded one: somebody
    asked for it. An unloaded turn keeps its place in the length, as an excluded one does, and so
    does a message whose answer failed: nothing older comes in its place when the answer is tried
    again and succeeds.
    """
    current, marker = judge_current(context.path.current), context.marker
    summary = context.compaction

    def rule(turn: PathTurn) -> TurnRule:
        return _SUMMARISED if is_covered(turn, summary) else choice.rule(turn)

    of_turn = rule if summary else choice.rule
    older = tuple(_judge(turn, of_turn(turn), context) for turn in context.path.older)
    tail = choice.tail
    if tail is None:
        tail = _unbroken_tail(older, current.first, context.last_not_loaded)
    begins = [min(marker, current.first), below_unloaded(older, current.first)]
    if summary:
        below = (turn.first for turn in older if turn.first > summary.last)
        begins.append(next(below, current.first))
    return PathVerdict(
        older=older,
        current=current,
        marker=marker,
        tail=max(tail, *begins),
        reached=choice.reached,
    )


def without_room(turn: TurnVerdict, no_room: Reason, *, free: int) -> TurnVerdict:
    """The verdict on a marked turn that is left out, with `free` tokens beside what is sent."""
    if turn.tokens > free:
        return replace(turn, reason=no_room, why="")
    return replace(turn, reason="above_cut", why=MARKS_FILL_IT)


def judge_current(turn: PathTurn) -> TurnVerdict:
    """The current turn is always sent, but for what a provider would refuse."""
    apart = {} if is_background(turn) else background_answers(turn)
    return TurnVerdict.of(turn, reason="current", kept_for=None, apart=apart)


def below_unloaded(older: tuple[TurnVerdict, ...], current: int) -> int:
    """The seq of the first turn below all unloaded ones, 0 where none is unloaded.

    A cleanup unloads many neighbours, so that the horizon belongs below them. `current` is the
    first seq of the current turn.
    """
    below = current
    for verdict in reversed(older):
        if verdict.reason == "unloaded":
            return below
        below = verdict.first
    return 0


def _judge(turn: PathTurn, rule: TurnRule, context: PathContext) -> TurnVerdict:
    kept_for: Reason | None = None
    if is_pinned(turn):
        kept_for = "pinned"
    elif holds_any(turn, context.reply_to):
        kept_for = "replied_to"
    elif (
        is_plain(turn)
        and turn.entries[0].seq >= context.marker
        and not (rule.apart or rule.limit)
        and context.terms.longest_answer is None
    ):
        return TurnVerdict(
            turn=turn,
            reason=rule.reason,
            kept_for=None,
            apart={},
            entries=turn.entries,
            tokens=sum_tokens([entry.message for entry in turn.entries]),
            why=rule.why,
            lines=_NO_LINES,
        )
    reason, why, of_policy = rule.reason, "", False
    if turn.entries[0].seq < context.marker:
        reason = "above_marker"
    elif is_excluded(turn):
        reason = "excluded"
    elif unasked := unless_asked_for(turn):
        reason = kept_for or unasked
    elif kept_for and (rule.reason not in SENT or rule.apart):
        reason = kept_for
    else:
        why, of_policy = rule.why, True
    apart = context.left_out(turn, spared=kept_for is not None)
    if of_policy:
        apart = rule.apart | apart
    limit = rule.limit if of_policy and reason in SENT else 0
    return TurnVerdict.of(turn, reason=reason, kept_for=kept_for, apart=apart, why=why, limit=limit)


def _unbroken_tail(older: tuple[TurnVerdict, ...], current: int, last_not_loaded: int) -> int:
    """The first seq of the unbroken tail. Turns that are left out one by one don't end it."""
    tail = current
    for verdict in reversed(older):
        if verdict.first <= last_not_loaded:
            break
        if verdict.is_in_request:
            tail = verdict.first
        elif verdict.reason not in ("excluded", "background", "unanswered"):
            break
    return tail
