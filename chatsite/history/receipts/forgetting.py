"""Why did the model forget? When a message left the context, under which rule, and what holds now.

All of it is read from receipts: nothing that was decided is decided again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from chatsite.encoding import Record
from chatsite.wording import later, say, say_count

StoredReceipt = Mapping[str, Any]
# What a person can do about it: pin it, reply to it, take the line away, take it back in, undo
# what a cleanup did, send a message along whose answer failed.
Fix = Literal["pin", "summary", "ask", "remember", "take_back", "bring_back", "include"]

_SOURCES = {
    "environment": later("set by the administrator"),
    "URL": later("set in the page's address"),
    "conversation": later("chosen for this conversation"),
    "room": later("set for this room"),
    "template": later("set by the agent"),
    "built in": later("the usual setting"),
}
_FIXES: Mapping[str, tuple[Fix, ...]] = {
    "above_marker": ("remember",),
    "summarised": ("pin", "summary", "ask"),
    "excluded": ("take_back",),
    "unloaded": ("bring_back", "pin", "ask"),
    "unanswered": ("include", "pin", "ask"),
    "greeting": (),
    "empty": (),
    "incomplete_tool_group": (),
}
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
    found = verdict_on(receipt, seq)
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
        greeting = say("It is {reason}.", reason=now.sentence)
        return Explanation(sent=False, sentences=(greeting,), turn=None, fixes=())
    changed = next((i for i in range(len(past), 0, -1) if past[i - 1].sent != now.sent), 0)
    story = _changed(past, changed, now) if changed else _unchanged(past, now, trail)
    notes = tuple(str(note) for note in (coming or {}).get("notes", ()))
    turn = past[changed].asked if 0 < changed < len(past) else None
    fixes = () if now.sent else _FIXES.get(now.reason, ("pin", "ask"))
    if pinned:
        fixes = tuple(fix for fix in fixes if fix != "pin")
    return Explanation(
        sent=now.sent,
        sentences=(*story, *(() if ahead else _unknown(problem)), *notes),
        turn=turn.turn if turn else None,
        fixes=fixes,
    )


def _changed(past: Sequence[_PastVerdict], changed: int, now: _PastVerdict) -> tuple[str, ...]:
    """It left or came back: `past[changed]` is the first verdict that the next message shares."""
    if changed < len(past):
        then = past[changed]
        return (_with_reason(_turning_point(then), then), _still(then, now))
    if now.sent:
        first = say("It wasn't sent with your last message.")
        return (first, _with_reason(say("It will be sent with your next one"), now))
    first = say("It was sent with your last message.")
    return (first, _with_reason(say("It won't be sent with your next one"), now))


def _turning_point(then: _PastVerdict) -> str:
    """With which of the user's messages it left or came back, and how many came since."""
    asked = then.asked
    assert asked is not None
    values = {"number": f"{asked.number:,}", "text": asked.text}
    if then.sent and asked.since:
        return say_count(
            "It came back at turn {number}, {count} exchange later, when you sent “{text}”",
            "It came back at turn {number}, {count} exchanges later, when you sent “{text}”",
            asked.since,
            **values,
        )
    if then.sent:
        return say("It came back at turn {number}, when you sent “{text}”", **values)
    if asked.since:
        return say_count(
            "It dropped out of the context at turn {number}, {count} exchange later, when you "
            "sent “{text}”",
            "It dropped out of the context at turn {number}, {count} exchanges later, when you "
            "sent “{text}”",
            asked.since,
            **values,
        )
    return say("It dropped out of the context at turn {number}, when you sent “{text}”", **values)


def _unchanged(
    past: Sequence[_PastVerdict], now: _PastVerdict, trail: MessageTrail
) -> tuple[str, ...]:
    """The next message's verdict is that of all before, as far as is known."""
    if now.asked is None and now.sent:
        words = say("It will be sent with your next message")
    elif now.asked is None:
        words = say("It won't be sent with your next message")
    elif now.sent:
        words = say("It was sent with your last message")
    else:
        words = say("It wasn't sent with your last message")
    first = _with_reason(words, now)
    if not past:
        return (first,)
    return (first, _ever_since(len(trail.asked), sent=now.sent, whole=trail.whole))


def _ever_since(asked: int, *, sent: bool, whole: bool) -> str:
    """How it fared with all messages before, or with the newest that were looked at."""
    if whole and sent:
        return say("It has been in the context ever since it was written.")
    if whole:
        return say("It has never been in the context: no message of yours was sent with it.")
    if sent:
        return say_count(
            "Your last message was sent with it.",
            "Your last {count} messages were all sent with it.",
            asked,
        )
    return say_count(
        "Your last message was sent without it.",
        "Your last {count} messages were all sent without it.",
        asked,
    )


def _still(then: _PastVerdict, now: _PastVerdict) -> str:
    """The verdict on the next message, with the rule where it differs from the earlier one."""
    if now.asked is not None:
        if now.asked != then.asked:
            return say("That was so for your last message too.")
        return say("That was so for your last message.")
    if now.sent:
        words = say("It will be sent with your next message too")
    else:
        words = say("It won't be sent with your next message either")
    if (then.reason, then.sentence) == (now.reason, now.sentence):
        return say("{sentence}.", sentence=words)
    return _with_reason(words, now)


def _with_reason(sentence: str, verdict: _PastVerdict) -> str:
    """The sentence with the rule behind it, and with who set the rule. A verdict's own sentence
    is a phrase in any language, so nothing is joined to it but a colon."""
    if verdict.reason == "current":
        return say("{sentence}.", sentence=sentence)
    values = {"sentence": sentence, "reason": verdict.sentence, "source": verdict.source}
    if verdict.source:
        return say("{sentence}: {reason} ({source}).", **values)
    return say("{sentence}: {reason}.", **values)


def _unknown(problem: str) -> tuple[str, ...]:
    sentence = say("What holds for your next message can't be said now.")
    return (f"{sentence} {problem}".strip(),)


def _past_verdict(
    receipt: StoredReceipt | None, seq: int, asked: TrailMessage | None
) -> _PastVerdict | None:
    if receipt is None or (verdict := verdict_on(receipt, seq)) is None:
        return None
    reason = str(verdict["reason"])
    return _PastVerdict(
        sent=bool(verdict["sent"]),
        reason=reason,
        sentence=str(verdict["sentence"]),
        source=_source(receipt, reason),
        asked=asked,
    )


def verdict_on(receipt: StoredReceipt, seq: int) -> Mapping[str, Any] | None:
    """The narrowest run that holds it: marked turns are inside the run of what wasn't loaded. As
    stored, a run of one message has no last one."""
    ranges = [(one.get("first", 0), one) for one in receipt.get("verdicts", ())]
    found = [(first, one) for first, one in ranges if 0 < first <= seq <= one.get("last", first)]
    return min(found, key=lambda pair: pair[1].get("last", pair[0]) - pair[0], default=(0, None))[1]


def _source(receipt: StoredReceipt, reason: str) -> str:
    """Who set the rule. Where a policy takes no length, the policy itself is the rule."""
    name = _SETTING.get(reason, "")
    if name == "length" and not receipt.get("facts", {}).get("length"):
        name = "policy"
    setting = receipt.get("settings", {}).get(name, {})
    source = _SOURCES.get(setting.get("source", ""), "")
    return say(source) if source and setting.get("value") is not None else ""
