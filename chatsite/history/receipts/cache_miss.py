"""Why a request wasn't read from the cache: what it could have reused, what it did, and the cause.

A provider keeps a prompt's beginning. The decision knows where that changed and why; what became of
the cache meanwhile shows in what the provider reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from chatsite.encoding import Record
from chatsite.history.policies.cuts import acting_length
from chatsite.history.receipts.difference import (
    Difference,
    SentRequest,
    Stored,
    compare_requests,
    part_of,
    segments_of,
)
from chatsite.history.receipts.forgetting import verdict_on
from chatsite.history.settings.stored_settings import read_settings

# The causes, by what the decision says of a message that came or went, and by what was added.
_BY_REASON = {
    **dict.fromkeys(("excluded", "above_marker", "pinned", "replied_to"), "mark"),
    **dict.fromkeys(("relevant", "not_relevant", "followed", "unanswered"), "chosen"),
    **dict.fromkeys(("strategy", "not_chosen", "low_priority"), "own_code"),
    "summarised": "summary",
    "unloaded": "cleanup",
    "too_long": "gave_way",
}
_BY_KIND = {"system": "instructions", "instructions": "mark", "text": "own_code"}
_BY_KIND |= {"date": "lines", "told": "lines"}
# Less of a prompt than a twentieth isn't told: counts of two tokenizers differ by as much.
_TOLD = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRules:
    """What is known of a provider's cache. It keeps beginnings of at least `least` tokens, in steps
    of `step`, for `kept` seconds: surely, and at the longest; None where nobody says. `local`: in
    the memory of one server. `premium`: dollars for a token that isn't read from it beyond one that
    is, None where no price is known."""

    least: int = 0
    step: int = 1
    kept: tuple[int, int] | None = None
    local: bool = False
    premium: float | None = None

    def reusable(self, tokens: float) -> int:
        return int(tokens) // self.step * self.step if tokens >= self.least else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheReport(Record):
    """What changed since the request before, and what that cost, in the provider's tokens.

    `predicted` tokens of an answer's prompts were the beginning of the request before, or what an
    engine on this machine wrote behind it; `reported` came from the cache, None where nobody said.
    Of the `available` that both requests had, `missed` didn't: `cause` says why, "" where nothing
    was missed, and `values` complete its sentence. Each cost `premium` dollars. For `next_cut` and
    `exact` see the function of that name.
    """

    cause: str
    values: Mapping[str, Any]
    segments: tuple[Mapping[str, Any], ...] = ()
    available: int = 0
    predicted: int = 0
    reported: int | None = None
    premium: float | None = None
    next_cut: int = 0
    exact: bool = False

    @property
    def missed(self) -> int:
        return max(0, self.available - (self.predicted if self.reported is None else self.reported))


def report_cache(before: SentRequest | None, now: SentRequest, rules: CacheRules) -> CacheReport:
    """`before` is None where the request before isn't stored any more."""
    try:
        difference = compare_requests(before, now) if before else ()
    except (KeyError, TypeError, ValueError):
        difference = ()
    if before is None or not difference:
        return CacheReport(cause="unreadable", values={})
    report = _count(difference, now.receipt, rules)
    if rules.local:
        written = _written_before(difference, before)
        report = replace(report, predicted=report.predicted + written)
    cause, values = _cause(before, now, difference, report, rules)
    after = max((piece.seq for change, piece in difference if change == "stayed"), default=0)
    return replace(report, cause=cause, values={"after": after, **values})


def _count(difference: Difference, receipt: Stored, rules: CacheRules) -> CacheReport:
    """The report without a cause. After tools were called, a request begins with the one before:
    its round says how far."""
    leading = sum(piece.tokens for change, piece in difference if change == "stayed")
    both = sum(piece.tokens for change, piece in difference if change in ("stayed", "moved"))
    available = predicted = 0
    cached: list[int | None] = []
    once = {"sent_tokens": receipt["prompt_tokens"], "reported": receipt.get("reported")}
    for one in receipt.get("rounds") or [once]:
        sent, told = one["sent_tokens"], one.get("reported") or {}
        if cached:
            leading = one.get("leading", both) + part_of(receipt, "tools")
        scale = (told.get("prompt") or sent) / max(1, sent)
        available += rules.reusable(both * scale)
        predicted += rules.reusable(min(leading, sent) * scale)
        cached.append(told.get("cached"))
        both = sent
    ahead, exact = next_cut(receipt)
    return CacheReport(
        cause="",
        values={},
        segments=tuple(segments_of(difference)),
        available=available,
        predicted=predicted,
        reported=None if None in cached else sum(one or 0 for one in cached),
        premium=rules.premium,
        next_cut=ahead,
        exact=exact,
    )


def _written_before(difference: Difference, before: SentRequest) -> int:
    """The tokens of the answer to the request before, where this one only goes on behind it: the
    engine that wrote it has them in its cache. Not so the reasoning, which isn't sent again."""
    if any(change not in ("stayed", "came") for change, _ in difference):
        return 0
    came = [piece for change, piece in difference if change == "came"]
    written: int = (before.receipt.get("reported") or {}).get("completion") or 0
    # The last one is the new message.
    answer = came[0] if len(came) > 1 else None
    if not answer or not answer.seq or answer.cut or answer.seq in before.edited:
        return 0
    return written if written <= answer.tokens else 0


# ---- the cause -------------------------------------------------------------------------------
def _cause(
    before: SentRequest,
    now: SentRequest,
    difference: Difference,
    report: CacheReport,
    rules: CacheRules,
) -> tuple[str, dict[str, Any]]:
    """Where the cache lost more than the change explains, that has another cause."""
    told = max(rules.step, now.receipt["prompt_tokens"] // _TOLD)
    seconds = round(now.at - before.at)
    if rules.least and not report.available:
        return "too_small", {"least": rules.least}
    if report.missed <= told:
        return "", {}
    changed = _change(before, now, difference)
    if changed and (report.reported is None or report.predicted - report.reported <= told):
        return changed
    if rules.local and before.server and now.server and before.server != now.server:
        return "server", {}
    if rules.local and now.receipt.get("cache", {}).get("origin") != "slot":
        return "slot", {}
    if rules.kept and seconds > rules.kept[0]:
        return "expired", {"seconds": seconds, "least": rules.kept[0], "longest": rules.kept[1]}
    return changed or ("provider", {"seconds": seconds})


def _change(
    before: SentRequest, now: SentRequest, difference: Difference
) -> tuple[str, dict[str, Any]] | None:
    """What the decision changed at the place where the requests part."""
    if not any(change == "moved" for change, _ in difference):
        return None
    change, piece = next(one for one in difference if one[0] != "stayed")
    run = next(one for one in segments_of(difference) if one["change"] == change)
    values = {"seq": piece.seq, "last": run["last"], "came": change == "came"}
    if not piece.seq:
        return _BY_KIND.get(piece.kind, piece.kind), values
    was, reason = (verdict_on(sent.receipt, piece.seq) for sent in (before, now))
    here = piece.seq in before.sizes and piece.seq in now.sizes
    if change == "edited" or not (was and reason and here):
        return "edited", {**values, "how": change}
    if change == "cut" and "excluded" not in (was["reason"], reason["reason"]):
        return "gave_way", {**values, "came": not piece.cut}
    if cause := _BY_REASON.get(reason["reason"]):
        return cause, {**values, "mark": reason["reason"], "on": True}
    # What held before is a cause only where it was taken away.
    if (cause := _BY_REASON.get(was["reason"], "")) in ("mark", "cleanup"):
        return cause, {**values, "mark": was["reason"], "on": False}
    one, other = (read_settings(sent.receipt.get("settings", {})).all for sent in (before, now))
    names = [name for name in one if one[name].value != other[name].value]
    return ("settings", {**values, "names": names}) if names else ("cut", values)


def next_cut(receipt: Stored) -> tuple[int, bool]:
    """In how many messages the policy moves its cut, and whether that is exact; 0 where it chooses
    anew for each. A limit is reached after as many messages as there is room for exchanges like
    those that were sent."""
    settings = read_settings(receipt.get("settings", {}))
    policy, sent = settings.active_policy, (receipt.get("exchanges") or [0, 0])[1]
    if policy.evidence or policy.only_current or not sent:
        return 0, False
    limit = receipt.get("limit") or receipt["window"] - receipt["reply"]
    free, talk = limit - receipt["prompt_tokens"], part_of(receipt, "history", "current")
    by_room = max(0, free) * sent // max(1, talk) + 1
    by_length = max(1, acting_length(settings.length.value) - sent + 1)
    exact = policy.uses_length and by_length <= by_room
    return (by_length, True) if exact else (by_room, False)
