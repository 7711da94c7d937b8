"""`relevant` with the selector `lexical`: the newest turns, and quotes of older messages whose
words matter for the current one. No model is asked.

A quote stays before the message that it was made for, as long as that turn is sent, so that the
request keeps its beginning and a provider's cache serves it.
"""

from __future__ import annotations

from dataclasses import replace

from chatsite.history.lexical.words import is_question, terms
from chatsite.history.path.added_messages import BLOCK_TOKENS, Quotes, can_be_quoted
from chatsite.history.path.guard import GuardCut, TurnSize
from chatsite.history.path.overflow import FittedPath, Overflow, after_guard
from chatsite.history.path.turn_verdicts import PathVerdict
from chatsite.history.policies.base import Policy, Tokens
from chatsite.history.policies.cuts import choose_every_turn
from chatsite.history.policies.lexical_layout import TAIL, LexicalLayout, keep_all, lay_out
from chatsite.history.policies.lexical_passages import PASSAGE, find_passages
from chatsite.history.reasons import Reason
from chatsite.wording import later, say

NOT_SEARCHED = later("Older messages were not searched: the newest turns are sent.")


def cut_and_recall(overflow: Overflow) -> FittedPath:
    """Send the newest turns with what was quoted for them, and quotes for the current message."""
    layout = keep_all(overflow) or lay_out(overflow)
    recall = overflow.evidence.recall
    asked = overflow.verdict.current.turn.entries[0].message.content or ""
    # For a message without a word to search for, as "Thanks!", nobody knows what is relevant.
    was_searched = recall is not None and bool(recall.hits or terms(asked))
    reason: Reason = "not_relevant" if was_searched else "above_cut"
    cut_above = overflow.last_not_loaded is not None
    verdict = after_guard(
        _dropped(overflow, layout), overflow.verdict, no_room=overflow.reason, above=reason
    )
    gathered = recall is not None or overflow.evidence.notes
    return FittedPath(
        verdict=verdict,
        not_loaded_reason=reason if cut_above else overflow.not_loaded_reason,
        cut=layout.cut or None,
        quotes=_with_hits(overflow.quotes, _with_passages(overflow, layout), verdict),
        earlier_quotes=layout.earlier,
        notes=() if gathered else (NOT_SEARCHED,),
    )


def _dropped(overflow: Overflow, layout: LexicalLayout) -> GuardCut:
    stay = {turn.first for turn in (*layout.tail, *layout.spared)}
    sizes = [TurnSize(t.first, t.tokens, bool(t.kept_for)) for t in overflow.verdict.sent]
    taken = sum(size.tokens for size in sizes if size.first in stay)
    quoted = sum(quotes.tokens for quotes in layout.earlier) + layout.new.tokens
    return GuardCut.of(
        [size for size in sizes if size.first not in stay],
        cut=layout.cut,
        free=overflow.limit - overflow.fixed - taken - quoted,
    )


def _with_passages(overflow: Overflow, layout: LexicalLayout) -> Quotes:
    """The new quotes and, for a question, lines of results that aren't sent, as far as there is
    room; in later rounds of its turn the same ones are there already."""
    new, turn = layout.new, overflow.verdict.current.turn
    asked = turn.entries[0].message.content or ""
    if turn.quoted or not is_question(asked):
        return new
    sent = (*layout.tail, *layout.spared)
    taken = sum(t.tokens for t in sent) + sum(q.tokens for q in (*layout.earlier, new))
    found = find_passages(
        overflow.verdict,
        asked,
        sent={turn.first for turn in sent},
        quoted={entry.seq for quotes in layout.earlier for entry in quotes.entries},
        room=overflow.limit - overflow.fixed - taken - BLOCK_TOKENS,
    )
    whys = {**new.whys, **dict.fromkeys((entry.seq for entry in found), PASSAGE)}
    return replace(new, entries=(*new.entries, *found), whys=whys)


def _with_hits(notes: Quotes, new: Quotes, verdict: PathVerdict) -> Quotes:
    """Join the notes of background tasks and the new quotes to one message.

    Tool calls, their results and blank answers aren't searched: so nobody knows whether they
    matter.
    """
    relevant: dict[int, Reason] = dict.fromkeys((e.seq for e in new.entries), "relevant")
    left_out: dict[int, tuple[Reason, str]] = {
        entry.seq: ("above_cut", "")
        for turn in verdict.older
        if turn.reason == "not_relevant"
        for entry in turn.turn.entries
        if not can_be_quoted(entry.message)
    }
    return Quotes(
        before=notes.before,
        entries=tuple(sorted((*notes.entries, *new.entries), key=lambda entry: entry.seq)),
        reasons={**notes.reasons, **relevant},
        whys={**notes.whys, **new.whys},
        left_out=left_out | dict(new.left_out),
    )


LEXICAL = Policy(
    name="relevant",
    selector="lexical",
    title=later("Recent, plus older messages that match"),
    about=later("Found by keyword; no extra model call."),
    label="relevant",
    offered_first=True,
    words=lambda terms: say("recent, plus older messages that match"),
    scope=lambda terms: say("the newest turns"),
    reach=lambda terms: Tokens(),
    choose=choose_every_turn(sent="within_budget"),
    beyond_reach="over_length",
    make_room=cut_and_recall,
    evidence="lexical",
    report_title=later("Matches, by keyword"),
    gathers_on_overflow=True,
    quotes_stay=True,
    tail_share=TAIL,
    own_settings=frozenset({"selector", "recall_share"}),
    depends_on_words=True,
)
