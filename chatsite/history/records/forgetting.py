"""Why did the model forget? When a message left the context, under which rule, and what holds now.

All of it is read from receipts: nothing that was decided is decided again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from chatsite.encoding import Record

StoredReceipt = Mapping[str, Any]
# What a person can do about it: pin it, reply to it, take the line away, take it back in, undo
# what a cleanup did, send a message along whose answer failed.
Fix = Literal["pin", "ask", "remember", "take_back", "bring_back", "include"]

_SOURCES = {
    "environment": "set by the administrator",
    "URL": "set in the page's address",
    "conversation": "chosen for this conversation",
    "template": "set by the agent",
    "built in": "the usual setting",
}
_FIXES: Mapping[str, tuple[Fix, ...]] = {
    "above_marker": ("remember",),
    "excluded": ("take_back",),
    "unloaded": ("bring_back", "pin", "ask"),
    "unanswered": ("include", "pin", "ask"),
    "greeting": (),
    "empty": (),
    "incomplete_tool_group": (),
}
# How verdicts' sentences begin that can follow "because".
_STATES = ("within ", "older ", "more than ", "above ", "chosen ", "written ")
_CLAUSES = (
    *("it ", "its ", "you ", "there ", "nothing ", "the running summary ", "the agent's strategy "),
    *("a fast model ", "a background task "),
)
_SETTING = {
    "within_length": "length",
    "over_length": "length",
    "within_budget": "tokens",
    "over_budget": "tokens",
    "above_cut": "tokens",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailMessage:
    """One of the user's messages, with the decision it was sent with.

    It is the `number`th of the path and the `since`th after the message in question, 0 where it
    is that one. `text` is its beginning; `turn` and `receipt` are None where none was kept.
    """

    number: int
    since: int
    text: str
    turn: str | None
    receipt: StoredReceipt | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageTrail:
    """What the user asked from the message in question on, oldest first.

    Of too many only the newest are here, and `whole` is False.
    """

    asked: tuple[TrailMessage, ...]
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Record):
    """`sent`: whether the next message will see it; `turn` is the one with which that changed."""

    sent: bool
    sentences: tuple[str, ...]
    turn: str | None
    fixes: tuple[Fix, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _PastVerdict:
    """The verdict of one decision on the message; `asked` is None for the coming decision."""

    sent: bool
    reason: str
    sentence: str
    source: str
    asked: TrailMessage | None


def was_sent(receipt: StoredReceipt, seq: int) -> bool | None:
    """Whether the message was sent by a decision; None where the decision has no verdict on it."""
    found = _verdict(receipt, seq)
    return None if found is None else bool(found["sent"])


def explain_forgetting(
    seq: int,
    *,
    trail: MessageTrail,
    coming: StoredReceipt | None,
    problem: str = "",
    pinned: bool = False,
) -> Explanation:
    """When and why a message left the context, or why it is in it.

    `coming` is the next message's decision; without one `problem` is a sentence that says why
    there is none. `pinned`: the message's turn is pinned already.
    """
    past = [
        verdict for asked in trail.asked if (verdict := _past_verdict(asked.receipt, seq, asked))
    ]
    ahead = _past_verdict(coming, seq, None)
    now = ahead or (past[-1] if past else None)
    if now is None:
        return Explanation(sent=False, sentences=_unknown(problem), turn=None, fixes=())
    if now.reason == "greeting":
        return Explanation(sent=False, sentences=(f"It is {now.sentence}.",), turn=None, fixes=())
    changed = next((i for i in range(len(past), 0, -1) if past[i - 1].sent != now.sent), 0)
    story = _changed(past, changed, now) if changed else _unchanged(past, now, trail)
    notes = tuple(str(note) for note in (coming or {}).get("notes", ()))
    turn = past[changed].asked if 0 < changed < len(past) else None
    return Explanation(
        sent=now.sent,
        sentences=(*story, *(() if ahead else _unknown(problem)), *notes),
        turn=turn.turn if turn else None,
        fixes=() if now.sent else _fixes(now.reason, pinned=pinned),
    )


def _changed(past: Sequence[_PastVerdict], changed: int, now: _PastVerdict) -> tuple[str, ...]:
    """It left or came back: `past[changed]` is the first verdict that the next message shares."""
    if changed == len(past):
        if now.sent:
            return (f"Your last message went without it. Your next one will see it{_clause(now)}.",)
        return (f"It was sent with your last message. It leaves with your next one{_clause(now)}.",)
    then = past[changed]
    place = _place(then)
    if now.sent:
        return (f"It came back with {place}{_clause(then)}.", _still(then, now))
    return (f"It left the context with {place}{_clause(then)}.", _still(then, now))


def _unchanged(
    past: Sequence[_PastVerdict], now: _PastVerdict, trail: MessageTrail
) -> tuple[str, ...]:
    """The next message's verdict is that of all before, as far as is known."""
    first = f"Your next message {'will' if now.sent else 'will not'} see it{_clause(now)}."
    if now.asked is not None:
        first = f"Your last message {'saw it' if now.sent else 'went without it'}{_clause(now)}."
    if not past:
        return (first,)
    if not trail.whole:
        each = "were all sent with it" if now.sent else "all went without it"
        return (first, f"Your last {len(trail.asked):,} messages {each}.")
    if now.sent:
        return (first, "It has been in the context ever since it was written.")
    return (first, "It has never been in the context: no message of yours was sent with it.")


def _still(then: _PastVerdict, now: _PastVerdict) -> str:
    """The verdict on the next message, with the rule where it differs from the earlier one."""
    if now.asked is not None:
        return f"That was so for your last message{' too' if now.asked != then.asked else ''}."
    same = (then.reason, then.sentence) == (now.reason, now.sentence)
    words = (
        "It will be sent with your next message too"
        if now.sent
        else "It won't be sent with your next message either"
    )
    return f"{words}{'' if same else _clause(now)}."


def _place(verdict: _PastVerdict) -> str:
    """Which message of the user's it was, and how many came since."""
    asked = verdict.asked
    assert asked is not None
    since = f", the {_ordinal(asked.since)} after it" if asked.since else ""
    return f"your message “{asked.text}” (turn {asked.number:,}{since})"


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{'th' if number % 100 in (11, 12, 13) else ending}"


def _clause(verdict: _PastVerdict) -> str:
    """The rule as the end of a sentence, with its source. A verdict's sentence is a phrase."""
    source = f" ({verdict.source})" if verdict.source else ""
    sentence = verdict.sentence
    if verdict.reason == "current":
        return ""
    if verdict.reason == "replied_to":
        return ", because that message replies to it"
    if verdict.reason == "unloaded" and sentence.startswith("unloaded "):
        return f", because it was {sentence}"
    if sentence.startswith(_STATES):
        return f", because it is {sentence}{source}"
    if sentence.startswith(_CLAUSES):
        return f", because {sentence}"
    if sentence.startswith("left out because "):
        return f", {sentence.removeprefix('left out ')}"
    if sentence.startswith("left out to "):
        return f", {sentence.removeprefix('left out ')}{source}"
    return f": {sentence}"


def _unknown(problem: str) -> tuple[str, ...]:
    return (f"What holds for your next message can't be said now. {problem}".strip(),)


def _fixes(reason: str, *, pinned: bool) -> tuple[Fix, ...]:
    found: tuple[Fix, ...] = _FIXES.get(reason, ("pin", "ask"))
    return tuple(fix for fix in found if not (pinned and fix == "pin"))


def _past_verdict(
    receipt: StoredReceipt | None, seq: int, asked: TrailMessage | None
) -> _PastVerdict | None:
    verdict = _verdict(receipt, seq) if receipt else None
    if receipt is None or verdict is None:
        return None
    reason = str(verdict["reason"])
    return _PastVerdict(
        sent=bool(verdict["sent"]),
        reason=reason,
        sentence=str(verdict["sentence"]),
        source=_source(receipt, reason),
        asked=asked,
    )


def _verdict(receipt: StoredReceipt, seq: int) -> Mapping[str, Any] | None:
    """The narrowest run that holds it: marked turns are inside the run of what wasn't loaded."""
    found = [one for one in receipt.get("verdicts", ()) if 0 < one["first"] <= seq <= one["last"]]
    return min(found, key=lambda one: one["last"] - one["first"], default=None)


def _source(receipt: StoredReceipt, reason: str) -> str:
    """Who set the rule. Where a policy takes no length, the policy itself is the rule."""
    name = _SETTING.get(reason, "")
    if name == "length" and not receipt.get("facts", {}).get("length"):
        name = "policy"
    said = receipt.get("settings", {}).get(name, {})
    return _SOURCES.get(said.get("source", ""), "") if said.get("value") is not None else ""
