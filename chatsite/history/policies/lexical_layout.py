"""Where `relevant` cuts: which turns and which quotes are sent beside the current message.

The request grows at its end until it is full. Then the cut moves, and quotes go, in one step down
to the low-water mark, so that the requests after it keep their beginning again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chatsite.history.evidence import AddedMessage
from chatsite.history.lexical.index import WEIGHT
from chatsite.history.lexical.words import asks_only, is_question
from chatsite.history.path.added_messages import Quotes
from chatsite.history.path.guard import FLOOR
from chatsite.history.path.overflow import Overflow
from chatsite.history.path.turn_verdicts import TurnVerdict
from chatsite.history.policies.lexical_quotes import QuotableMessages, quote_hits
from chatsite.history.room import known_tokens

# Percent of the room for older turns and quotes of which a cut leaves the newest turns the
# low-water mark. Afterwards these grow into whatever is free: a cut at a fixed share of the room
# would only make room that nobody asks for, and cost BEAM's requests 8 % more.
TAIL = 50
# New quotes for a message that is nothing but a question: where no share is set, SHARE percent of
# the room, but not more tokens than ENOUGH where these are LEAST percent of it. Recall grows with
# the tokens of quotes and hardly with their share: at 4,000 tokens 60 % finds 7 points more than
# 25 %, from 16,000 on a fifth is enough (docs/benchmarks.md). These may push out older turns and
# quotes. Of the room that is free anyway such a question takes FREE tokens.
SHARE, ENOUGH, LEAST, FREE = 65, 2_400, 20, 6_500
# A question of up to SHORT tokens has all of that, and a longer one less by the square: nine of ten
# of BEAM's questions about what was said before are no longer.
SHORT = 32
# A message that says something before it asks, or goes on with what was talked about, has one part
# in so many, and one that asks nothing fewer still: what they need is mostly in the newest turns,
# and each new quote pushes older turns out sooner. Where no share is set they have these tokens at
# least: under a small budget a part holds no message.
ALSO_ASKS, ASKS_NOTHING = (6, 400), (24, 200)
# The same of a message of up to REMARK tokens, and of a longer one in proportion, TIMES as many at
# most: LoCoMo's have 35 tokens and need little, RealMem's have 50 to 110 and need more.
REMARK, TIMES = 45, 2
# The weight of a quote's price for a plain question. It asks for facts, which are short; who goes
# on with long work needs the long answers too, and has the index's own weight. At 4,000 tokens
# BEAM's facts gain two to three points by this, and LoCoMo nothing.
FACTS = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalLayout:
    """The newest turns from `cut` on, the quotes that stand before turns, and those for the current
    message. `spared` are the marked turns for which there is room."""

    cut: int
    tail: Sequence[TurnVerdict]
    spared: Sequence[TurnVerdict]
    earlier: tuple[Quotes, ...]
    new: Quotes


def lay_out(overflow: Overflow) -> LexicalLayout:
    """Keep the previous layout with more at its end where that fits; else make one with less."""
    plan = _Plan(overflow)
    cut = overflow.previous_cut
    if cut is not None and (kept := plan.keep(cut)) is not None:
        return kept
    return plan.cut_down()


def keep_all(overflow: Overflow) -> LexicalLayout | None:
    """Every turn, and what was quoted for them where it has room; None where not all turns have."""
    plan, verdict = _Plan(overflow), overflow.verdict
    free = overflow.limit - overflow.fixed - _tokens(verdict.sent)
    if overflow.last_not_loaded is not None or free < 0:
        return None
    _, earlier = plan._keep_quotes(plan.loose)
    return LexicalLayout(
        cut=overflow.previous_cut or 0,
        tail=plan.loose,
        spared=plan.spared,
        earlier=earlier if _taken(earlier) <= free else (),
        new=Quotes(before=verdict.current.first),
    )


class _Plan:
    """The room and the candidates of a layout, all from one overflow."""

    def __init__(self, overflow: Overflow) -> None:
        self.overflow = overflow
        sent, last = overflow.verdict.sent, overflow.last_not_loaded or 0
        marked = [turn for turn in sent if turn.kept_for]
        # All marked turns, but for the oldest ones where not all fit.
        self.spared = list(marked)
        while _tokens(self.spared) > overflow.limit - overflow.fixed:
            self.spared.pop(0)
        # Tokens for all other turns and for quotes.
        self.room = overflow.limit - overflow.fixed - _tokens(self.spared)
        # The turns that may be the tail: nothing is missing below them. None while a marked turn
        # has no room: that one has the stronger claim.
        fits = len(self.spared) == len(marked)
        loose = [turn for turn in sent if not turn.kept_for and turn.first > last]
        self.loose = loose if fits else []
        # Tokens that a cut leaves of the newest turns: of all the room where nothing was searched.
        most_tail = self.room * TAIL // 100 if overflow.evidence.recall else self.room
        self.low_tail = most_tail * overflow.low_water // 100
        self.asked = overflow.verdict.current.turn.entries[0].message
        # Quotes for a question may push out older turns and quotes.
        self.forces = is_question(self.asked.content or "")
        # Nothing but a question: these get most, and may take what is free anyway.
        self.plain = asks_only(self.asked.content or "")
        self.most_new, self.most_free = self._most_new()

    # ---- turns ---------------------------------------------------------------------------------
    def newest(self, most: int) -> list[TurnVerdict]:
        """Take the newest turns within `most` tokens, but two where the room is enough."""
        found: list[TurnVerdict] = []
        used = 0
        for turn in reversed(self.loose):
            used += turn.tokens
            if used > (self.room if len(found) < FLOOR else most):
                break
            found.insert(0, turn)
        return found

    # ---- layouts -------------------------------------------------------------------------------
    def keep(self, cut: int) -> LexicalLayout | None:
        """Keep the previous cut and all earlier quotes; None where these have no room, or too
        little for what is asked for now."""
        tail = [turn for turn in self.loose if turn.first >= cut]
        floor = self.newest(0)
        if (self.overflow.last_not_loaded or 0) >= cut or len(tail) < len(floor):
            return None
        below = sum(turn.first >= cut for turn in self.overflow.verdict.sent)
        if below > len(tail) + sum(turn.first >= cut for turn in self.spared):
            return None  # A marked turn has no room, so there is no tail.
        one_more = self.loose[len(self.loose) - len(tail) - 1 : len(self.loose) - len(tail)]
        if one_more and _tokens((*one_more, *tail)) <= self.low_tail:
            return None  # The room has grown since: a new cut leaves more.
        free = self.room - _tokens(tail)
        if free < 0:
            return None
        quotable, earlier = self._keep_quotes(tail)
        free -= _taken(earlier)
        if free < 0:
            return None
        # With all the room where the message may push older things out: then it has to fit.
        new = self._quote_hits(quotable, earlier, self.room if self.forces else free)
        if new.tokens > free:
            return None
        if (most := self._most_of(free)) > self.most_new:
            new = self._quote_hits(quotable, earlier, free, most=most)
        return LexicalLayout(cut=cut, tail=tail, spared=self.spared, earlier=earlier, new=new)

    def cut_down(self) -> LexicalLayout:
        """Cut the tail to its low-water mark. The oldest quotes go until the rest is at its own
        mark, too, and until there is room for what is asked for now."""
        low = self.overflow.low_water
        tail = self.newest(self.low_tail)
        quotable, earlier = self._keep_quotes(tail)
        free = self.room - _tokens(tail)
        down_to = max(0, self.room * low // 100 - _tokens(tail))
        while earlier and _taken(earlier) > down_to:
            earlier = earlier[1:]
        while earlier and self.forces:
            wanted = self._quote_hits(quotable, earlier, self.room)
            if wanted.tokens <= free - _taken(earlier):
                break
            earlier = earlier[1:]
        free -= _taken(earlier)
        new = self._quote_hits(quotable, earlier, free, most=self._most_of(free))
        cut = tail[0].first if tail else self.overflow.verdict.current.first
        return LexicalLayout(cut=cut, tail=tail, spared=self.spared, earlier=earlier, new=new)

    # ---- quotes --------------------------------------------------------------------------------
    def _most_new(self) -> tuple[int, int]:
        """Tokens that new quotes may take, and those with what is free anyway."""
        share = self.overflow.recall_share
        tokens = known_tokens(self.asked).count
        part, least = ALSO_ASKS if self.forces else ASKS_NOTHING
        if share is None:
            most = max(self.room * LEAST // 100, min(self.room * SHARE // 100, ENOUGH))
            longer = min(max(tokens / REMARK, 1), TIMES)
            few = max(most // part, min(most, int(least * longer)))
        else:
            most = self.room * share // 100
            few = most // part
        if not self.plain:
            return few, few
        shorter = (SHORT / max(tokens, SHORT)) ** 2
        new = max(few, int(most * shorter))
        return new, new if share is not None else max(new, int(FREE * shorter))

    def _most_of(self, free: int) -> int:
        """Tokens of new quotes where so many are free. A sixteenth of the room is left for the next
        message, which would have to cut at once, and this one's quotes would go."""
        return max(self.most_new, min(self.most_free, free - self.room // 16))

    def _keep_quotes(
        self, tail: Sequence[TurnVerdict]
    ) -> tuple[QuotableMessages, tuple[Quotes, ...]]:
        """What may be quoted beside these turns, and what stands before them, the oldest first."""
        sent = sorted((*self.spared, *tail), key=lambda turn: turn.first)
        recall = self.overflow.evidence.recall
        hits = recall.hits if recall else ()
        quotable = QuotableMessages(self.overflow.verdict, sent, hits)
        quoted = {entry.seq for entry in self.overflow.quotes.entries}
        found: list[Quotes] = []
        for turn in reversed(sent):
            if turn.turn.quoted and self._was_quoted(turn.first):
                quotes = quotable.earlier(turn, without=quoted)
                quoted |= {entry.seq for entry in quotes.entries}
                found += [quotes] if quotes.entries else []
        return quotable, tuple(reversed(found))

    def _was_quoted(self, first: int) -> bool:
        """Whether a turn's quotes were in the previous request, as far as that is known: what went
        for want of room doesn't come back and change the beginning again."""
        previous = self.overflow.evidence.previous
        if previous is None or self.overflow.previous_cut is None:
            return True
        items = (item for item in previous.layout if isinstance(item, AddedMessage))
        return any(item.kind == "recalled" and item.id == f"{first}" for item in items)

    def _quote_hits(
        self,
        quotable: QuotableMessages,
        earlier: Sequence[Quotes],
        room: int,
        *,
        most: int | None = None,
    ) -> Quotes:
        """Quote for the current message; the same messages as in an earlier round of its turn."""
        quoted = {entry.seq for quotes in earlier for entry in quotes.entries}
        quoted |= {entry.seq for entry in self.overflow.quotes.entries}
        current = self.overflow.verdict.current
        if current.turn.quoted:
            again = quotable.earlier(current, without=quoted)
            # What a tool brought meanwhile takes the room of the oldest of them.
            while again.entries and again.tokens > room:
                quoted.add(again.entries[0].seq)
                again = quotable.earlier(current, without=quoted)
            return again
        return quote_hits(
            quotable,
            before=current.first,
            quoted=quoted,
            room=room,
            most=self.most_new if most is None else most,
            weight=FACTS if self.plain else WEIGHT,
            reason=self.overflow.reason,
        )


def _taken(quotes: Sequence[Quotes]) -> int:
    return sum(each.tokens for each in quotes)


def _tokens(turns: Sequence[TurnVerdict]) -> int:
    return sum(turn.tokens for turn in turns)
