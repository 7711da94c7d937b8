"""`relevant` with the selector `lexical`: the newest turns, and quotes of older messages whose
words matter for the current one. No model is asked.

A quote stays before the message that it was made for, as long as that turn is sent, so that the
request keeps its beginning and a provider's cache serves it.
"""

from __future__ import annotations

from chatsite.history.path.guard import GuardCut
from chatsite.history.path.overflow import FittedPath, Overflow, after_guard
from chatsite.history.path.quotes import Quotes
from chatsite.history.policies.base import Policy, Tokens
from chatsite.history.policies.cuts import choose_from_cut, cut_nothing
from chatsite.history.policies.lexical_layout import LexicalLayout, lay_out
from chatsite.history.policies.lexical_quotes import QuotedHits
from chatsite.history.values.reasons import Reason

NOT_SEARCHED = "Older messages were not searched: the newest turns are sent."


def cut_and_recall(overflow: Overflow) -> FittedPath:
    """The newest turns with what was quoted for them, and quotes for the current message."""
    layout = lay_out(overflow)
    searched = overflow.evidence.recall is not None
    reason: Reason = "not_relevant" if searched else overflow.reason
    cut_above = overflow.last_not_loaded is not None
    return FittedPath(
        verdict=after_guard(
            _dropped(overflow, layout), overflow.verdict, reason, spared=overflow.reason
        ),
        not_loaded_reason=reason if cut_above else overflow.not_loaded_reason,
        cut=layout.cut,
        quotes=_with_hits(overflow.quotes, layout.new),
        earlier_quotes=layout.earlier,
        notes=() if searched or overflow.evidence.notes else (NOT_SEARCHED,),
    )


def _dropped(overflow: Overflow, layout: LexicalLayout) -> GuardCut:
    stay = {turn.first for turn in (*layout.tail, *layout.spared)}
    dropped = frozenset(turn.first for turn in overflow.verdict.sent if turn.first not in stay)
    return GuardCut(dropped=dropped, cut=layout.cut)


def _with_hits(notes: Quotes, new: QuotedHits) -> Quotes:
    """The notes of background tasks and the new quotes, as one message."""
    relevant: dict[int, Reason] = dict.fromkeys((e.seq for e in new.entries), "relevant")
    return Quotes(
        before=notes.before,
        entries=tuple(sorted((*notes.entries, *new.entries), key=lambda entry: entry.seq)),
        reasons={**notes.reasons, **relevant},
        whys={**notes.whys, **new.whys},
        left_out=new.left_out,
    )


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
    quotes_stay=True,
    own_settings=frozenset({"selector", "recall_share"}),
    depends_on_words=True,
)
