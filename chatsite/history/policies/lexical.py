"""`relevant` with the selector `lexical`: the newest turns, and quotes of older messages whose
words matter for the current one. No model is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from chatsite.history.lexical.price import worth
from chatsite.history.path.overflow import FittedPath, Overflow, cut_oldest
from chatsite.history.path.quotes import Quotes
from chatsite.history.path.turn_verdicts import PathVerdict, TurnVerdict
from chatsite.history.policies.base import Policy, Tokens
from chatsite.history.policies.cuts import choose_from_cut, cut_nothing
from chatsite.history.values.added_messages import BLOCK_TOKENS, can_be_quoted, quote_tokens
from chatsite.history.values.evidence import Hit, Recall
from chatsite.history.values.reasons import Reason
from chatsite.history.values.transcript import Entry

# How much of the limit quotes may take. They are placed where no cache holds them, so each token
# costs ten times one of the unchanged beginning; measured with the others in docs/benchmarks.md.
RECALL_SHARE = 25
NEVER_QUOTED: frozenset[Reason] = frozenset({"above_marker", "excluded", "background", "unloaded"})


def cut_and_recall(overflow: Overflow) -> FittedPath:
    """A tail that leaves room for quotes; it can stay longer where there are none."""
    recall = overflow.evidence.recall
    share = overflow.limit * RECALL_SHARE // 100
    fitted = cut_oldest(
        replace(overflow, limit=overflow.limit - share),
        reason=None if recall is None else "not_relevant",
        most=overflow.limit,
    )
    if recall is None:
        missing = "Older messages were not searched: the newest turns are sent."
        return fitted if overflow.evidence.notes else replace(fitted, notes=(missing,))
    noted = overflow.quotes.tokens
    used = overflow.fixed - noted + sum(turn.tokens for turn in fitted.verdict.sent)
    room = min(noted + share, overflow.limit - used)
    return replace(fitted, quotes=recall_quotes(fitted.verdict, recall, overflow.quotes, room=room))


def recall_quotes(verdict: PathVerdict, recall: Recall, quotes: Quotes, *, room: int) -> Quotes:
    """Add the hits that are worth their room, each with the message it answers, within `room`.

    A message that is sent in its place is not quoted; one that a person left out is never quoted.
    A hit that doesn't fit is skipped, and the next is tried.
    """
    places = {entry.seq: turn for turn in verdict.older for entry in turn.turn.entries}
    entries = {entry.seq: entry for entry in quotes.entries}
    reasons, whys = dict(quotes.reasons), dict(quotes.whys)
    left_out: set[int] = set()
    used = quotes.tokens or BLOCK_TOKENS
    for hit, unit in _by_worth(recall.hits, places):
        new = [entry for entry in unit if entry.seq not in entries]
        if not unit or hit.seq in reasons:
            if hit.seq in reasons:
                whys[hit.seq] = hit.why
            continue
        cost = sum(map(quote_tokens, new))
        if used + cost > room:
            left_out.add(hit.seq)
            continue
        used += cost
        for entry in new:
            entries[entry.seq] = entry
            reasons[entry.seq] = "relevant"
            whys[entry.seq] = hit.why if entry.seq == hit.seq else "the message that was answered"
    return Quotes(
        entries=tuple(sorted(entries.values(), key=lambda entry: entry.seq)),
        reasons=reasons,
        whys=whys,
        left_out=frozenset(left_out - set(reasons)),
    )


def _by_worth(
    hits: Iterable[Hit], places: Mapping[int, TurnVerdict]
) -> list[tuple[Hit, list[Entry]]]:
    """Each hit with what would be quoted for it, the one worth most for its price first."""
    units = [(hit, _unit(hit, places.get(hit.seq))) for hit in hits]
    return sorted(
        units, key=lambda one: worth(one[0].score, sum(map(quote_tokens, one[1]))), reverse=True
    )


def _unit(hit: Hit, turn: TurnVerdict | None) -> list[Entry]:
    """The message of the hit, after the one it answers; nothing where it can't be quoted."""
    if turn is None or turn.is_sent or turn.reason in NEVER_QUOTED:
        return []
    allowed = {entry.seq for entry in turn.entries}
    entries = [entry for entry in turn.turn.entries if entry.seq in allowed]
    return list(_quotable(e for e in entries if e.seq in (hit.seq, turn.first)))


def _quotable(entries: Iterable[Entry]) -> Iterable[Entry]:
    return (entry for entry in entries if can_be_quoted(entry.message))


LEXICAL = Policy(
    name="relevant",
    selector="lexical",
    title="The newest and what matters now",
    about="Older messages that your message is about come along. No model is asked.",
    label="relevant",
    words=lambda terms: "the newest and what is relevant",
    scope=lambda terms: "the newest turns",
    reach=lambda terms: Tokens(),
    choose=choose_from_cut(cut_nothing, sent="within_budget", left_out="over_length"),
    beyond_reach="over_length",
    make_room=cut_and_recall,
    evidence="lexical",
    report_title="Relevance, by words",
    gathers_on_overflow=True,
    own_settings=frozenset({"selector"}),
    depends_on_words=True,
)
