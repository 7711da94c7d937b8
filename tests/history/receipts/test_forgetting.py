"""Explaining from receipts why a message isn't sent any more."""

from __future__ import annotations

from typing import Any

import pytest

from chatsite.history.receipts.forgetting import (
    MessageTrail,
    TrailMessage,
    explain_forgetting,
    was_sent,
)
from tests.pseudo_language import is_said, pseudo_language

SEQ = 5
OLDER = "older than your last 5 exchanges"
WITHIN = "within your last 5 exchanges"


def receipt(
    reason: str, sentence: str, *, sent: bool = False, source: str = "URL", **more: Any
) -> dict[str, Any]:
    """The receipt of a decision on the messages 4 to 6, under lastN with length 5."""
    setting = {"value": 5, "source": source}
    return {
        "settings": {"policy": setting, "length": setting, "tokens": setting},
        "facts": {"length": "5"},
        "verdicts": [
            {"first": 0, "last": 0, "sent": True, "reason": "system", "sentence": "always"},
            {"first": 4, "last": 6, "sent": sent, "reason": reason, "sentence": sentence},
        ],
    } | more


SENT = receipt("within_length", WITHIN, sent=True)
LEFT_OUT = receipt("over_length", OLDER)
PINNED = receipt("pinned", "its turn is pinned", sent=True)
NOTHING: dict[str, Any] = {"verdicts": [], "settings": {}, "facts": {}}


def trail(*receipts: dict[str, Any] | None, whole: bool = True, first: int = 3) -> MessageTrail:
    """The questions after the message, whose turn was the one before number `first`."""
    questions = [
        TrailMessage(
            number=n, since=n - first + 1, text=f"Question {n}", turn=f"t{n}", receipt=receipt
        )
        for n, receipt in enumerate(receipts, first)
    ]
    return MessageTrail(asked=tuple(questions), whole=whole)


STORIES: dict[str, tuple[MessageTrail, dict[str, Any] | None, tuple[str, ...], str | None]] = {
    "it left long ago": (
        trail(SENT, SENT, SENT, SENT, LEFT_OUT, LEFT_OUT, LEFT_OUT),
        LEFT_OUT,
        (
            "It dropped out of the context at turn 7, 5 exchanges later, when you sent "
            f"“Question 7”: {OLDER} (set in the page's address).",
            "It won't be sent with your next message either.",
        ),
        "t7",
    ),
    "it left under another rule than the one that holds": (
        trail(
            SENT, receipt("over_budget", "left out to stay within 900 tokens", source="template")
        ),
        receipt("above_marker", "above the line where you asked to forget"),
        (
            "It dropped out of the context at turn 4, 2 exchanges later, when you sent "
            "“Question 4”: left out to stay within 900 tokens (set by the agent).",
            "It won't be sent with your next message either: above the line where you asked to "
            "forget.",
        ),
        "t4",
    ),
    "it leaves now": (
        trail(SENT, SENT),
        LEFT_OUT,
        (
            "It was sent with your last message.",
            f"It won't be sent with your next one: {OLDER} (set in the page's address).",
        ),
        None,
    ),
    "it was left out from the first": (
        trail(LEFT_OUT, LEFT_OUT),
        LEFT_OUT,
        (
            f"It won't be sent with your next message: {OLDER} (set in the page's address).",
            "It has never been in the context: no message of yours was sent with it.",
        ),
        None,
    ),
    "nothing was asked since": (
        trail(),
        receipt("over_window", "left out because the model's window of 2,048 tokens is full"),
        (
            "It won't be sent with your next message: left out because the model's window of "
            "2,048 tokens is full.",
        ),
        None,
    ),
    "it has always been there": (
        trail(SENT, SENT),
        SENT,
        (
            f"It will be sent with your next message: {WITHIN} (set in the page's address).",
            "It has been in the context ever since it was written.",
        ),
        None,
    ),
    "it came back": (
        trail(SENT, LEFT_OUT, PINNED, PINNED),
        PINNED,
        (
            "It came back at turn 5, 3 exchanges later, when you sent “Question 5”: its turn is "
            "pinned.",
            "It will be sent with your next message too.",
        ),
        "t5",
    ),
    "it comes back now": (
        trail(SENT, LEFT_OUT),
        PINNED,
        (
            "It wasn't sent with your last message.",
            "It will be sent with your next one: its turn is pinned.",
        ),
        None,
    ),
    "it left twice, and the last time counts": (
        trail(LEFT_OUT, SENT, LEFT_OUT),
        LEFT_OUT,
        (
            "It dropped out of the context at turn 5, 3 exchanges later, when you sent "
            f"“Question 5”: {OLDER} (set in the page's address).",
            "It won't be sent with your next message either.",
        ),
        "t5",
    ),
    "too long ago to be looked up": (
        trail(LEFT_OUT, LEFT_OUT, LEFT_OUT, whole=False, first=900),
        LEFT_OUT,
        (
            f"It won't be sent with your next message: {OLDER} (set in the page's address).",
            "Your last 3 messages were all sent without it.",
        ),
        None,
    ),
    "turns that failed before a decision say nothing": (
        trail(SENT, None, LEFT_OUT, NOTHING),
        LEFT_OUT,
        (
            "It dropped out of the context at turn 5, 3 exchanges later, when you sent "
            f"“Question 5”: {OLDER} (set in the page's address).",
            "It won't be sent with your next message either.",
        ),
        "t5",
    ),
    "a greeting": (
        trail(LEFT_OUT),
        receipt("greeting", "the agent's greeting: shown to you, never sent"),
        ("It is the agent's greeting: shown to you, never sent.",),
        None,
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_the_explanation_has_these_sentences(name: str) -> None:
    asked_since, coming, sentences, turn = STORIES[name]
    story = explain_forgetting(SEQ, trail=asked_since, coming=coming)
    assert story.sentences == sentences
    assert story.turn == turn
    assert story.sent is bool(was_sent(coming or {}, SEQ))


def test_if_the_next_message_cannot_be_sent_the_story_tells_the_past_and_the_problem() -> None:
    story = explain_forgetting(
        SEQ, trail=trail(SENT, LEFT_OUT, LEFT_OUT), coming=None, problem="No model answers."
    )
    assert story.sentences == (
        "It dropped out of the context at turn 4, 2 exchanges later, when you sent "
        f"“Question 4”: {OLDER} (set in the page's address).",
        "That was so for your last message too.",
        "What holds for your next message can't be said now. No model answers.",
    )
    assert not story.sent
    nothing = explain_forgetting(SEQ, trail=trail(), coming=None, problem="No model answers.")
    assert nothing.sentences == (
        "What holds for your next message can't be said now. No model answers.",
    )
    assert nothing.fixes == ()


def test_notes_of_the_preview_are_passed_on() -> None:
    coming = LEFT_OUT | {"notes": ["Which older turns matter is chosen on sending."]}
    story = explain_forgetting(SEQ, trail=trail(LEFT_OUT), coming=coming)
    assert story.sentences[-1] == "Which older turns matter is chosen on sending."


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("environment", " (set by the administrator)"),
        ("URL", " (set in the page's address)"),
        ("template", " (set by the agent)"),
        ("built in", " (the usual setting)"),
        ("elsewhere", ""),
    ],
)
def test_it_names_the_source_of_the_rule(source: str, words: str) -> None:
    story = explain_forgetting(
        SEQ, trail=trail(), coming=receipt("over_length", OLDER, source=source)
    )
    assert story.sentences[0].endswith(f"{OLDER}{words}.")


def test_for_a_policy_without_a_length_it_names_the_policys_source() -> None:
    coming = receipt("over_length", "older than this message")
    coming["settings"]["length"] = {"value": 20, "source": "built in"}
    coming["facts"] = {"length": ""}
    story = explain_forgetting(SEQ, trail=trail(), coming=coming)
    assert "set in the page's address" in story.sentences[0]


@pytest.mark.parametrize(
    "sentence",
    [
        "nothing relevant was found in it",
        "written by a background task",
        "the message that was answered",
    ],
)
def test_any_reason_completes_the_sentence(sentence: str) -> None:
    story = explain_forgetting(SEQ, trail=trail(), coming=receipt("not_relevant", sentence))
    assert story.sentences == (f"It won't be sent with your next message: {sentence}.",)


@pytest.mark.parametrize(
    ("reason", "pinned", "fixes"),
    [
        ("over_length", False, ("pin", "ask")),
        ("over_window", True, ("ask",)),
        ("not_relevant", False, ("pin", "ask")),
        ("background", False, ("pin", "ask")),
        ("above_marker", True, ("remember",)),
        ("excluded", False, ("take_back",)),
        ("greeting", False, ()),
        ("incomplete_tool_group", False, ()),
    ],
)
def test_only_helpful_fixes_are_offered(reason: str, pinned: bool, fixes: tuple[str, ...]) -> None:
    story = explain_forgetting(SEQ, trail=trail(), coming=receipt(reason, "so"), pinned=pinned)
    assert story.fixes == fixes
    assert explain_forgetting(SEQ, trail=trail(), coming=SENT).fixes == ()


def test_a_pinned_turn_is_found_within_a_run_that_was_not_loaded() -> None:
    wide = {"first": 1, "last": 90, "sent": False, "reason": "over_length", "sentence": OLDER}
    coming = PINNED | {"verdicts": [wide, *PINNED["verdicts"]]}
    assert was_sent(coming, SEQ) is True
    assert was_sent(coming, 9) is False
    assert was_sent(coming, 91) is None


@pytest.mark.parametrize(
    ("since", "words"),
    [
        (0, "at turn 4, when you sent"),
        (1, "at turn 4, 1 exchange later, when you sent"),
        (1_200, "at turn 4, 1,200 exchanges later, when you sent"),
    ],
)
def test_it_counts_the_messages_that_came_since(since: int, words: str) -> None:
    newest = TrailMessage(number=4, since=since, text="x", turn="t", receipt=LEFT_OUT)
    before = TrailMessage(number=3, since=since - 1, text="w", turn="s", receipt=SENT)
    story = explain_forgetting(
        SEQ, trail=MessageTrail(asked=(before, newest), whole=False), coming=LEFT_OUT
    )
    assert words in story.sentences[0]


def test_every_sentence_comes_from_the_catalogue() -> None:
    """A language may order the words otherwise: nothing but whole sentences is looked up."""
    with pseudo_language():
        for name, (asked_since, coming, *_) in STORIES.items():
            for sentence in explain_forgetting(SEQ, trail=asked_since, coming=coming).sentences:
                assert is_said(sentence), name
