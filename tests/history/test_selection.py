"""The helpers that select messages of a conversation, with their edge cases."""

from __future__ import annotations

import math

import pytest

from chatsite.history import Selection, estimate_message
from chatsite.messages import Attachment, Message, TokenCount, ToolCall
from conformance_kit.cases import with_tokens

FILE = Attachment(id="f1", name="report.pdf", size=10, modality="document")
QUESTION = Message.user("Check this report", FILE, id="0")
CALL = Message.assistant(None, id="1", calls=(ToolCall(id="c", name="read"),))
RESULT = Message.tool("42", id="2", call_id="c")
ANSWER = Message.assistant("The report looks correct.", id="3")
THANKS = Message.user("Thanks", id="4")
MESSAGES = (QUESTION, CALL, RESULT, ANSWER, THANKS)


def test_the_newest_of_a_role() -> None:
    assert Selection(MESSAGES).last_user() is THANKS
    assert Selection(MESSAGES).last_assistant() is ANSWER
    assert Selection(MESSAGES[:3]).last_assistant() is CALL
    assert Selection([RESULT]).last_user() is None
    assert Selection([RESULT]).last_assistant() is None


def test_it_selects_from_the_messages_before_the_current_one() -> None:
    assert Selection.before_current(MESSAGES).recent(9) == list(MESSAGES[:4])
    assert Selection.before_current((*MESSAGES, CALL, RESULT)).last_user() is QUESTION
    assert Selection.before_current([THANKS]).recent(5) == []


@pytest.mark.parametrize(
    ("from_end", "to_end", "places"),
    [
        (2, 0, [3, 4]),
        (3, 1, [2, 3]),
        (99, 0, [0, 1, 2, 3, 4]),
        (99, 4, [0]),
        (99, 5, []),
        (10**400, 0, [0, 1, 2, 3, 4]),
        (2.5, 0, [2, 3, 4]),
        (2, 2, []),
        (1, 3, []),
        (2, -1, []),
        (0, 0, []),
        (-1, 0, []),
        (math.inf, 0, []),
        (math.nan, 0, []),
        (3, math.nan, []),
    ],
)
def test_a_range_counts_from_the_end_and_a_bad_one_is_empty(
    from_end: float, to_end: float, places: list[int]
) -> None:
    selected = Selection(MESSAGES).range(from_end=from_end, to_end=to_end)
    assert selected == [MESSAGES[place] for place in places]


def test_recent_counts_every_message_and_keeps_roles_as_they_are() -> None:
    assert [message.role for message in Selection(MESSAGES).recent(3)] == [
        "tool",
        "assistant",
        "user",
    ]
    found = Selection(MESSAGES)
    assert found.recent(3) == found.range(from_end=3, to_end=0)
    assert Selection(MESSAGES).recent(0) == []
    assert Selection(MESSAGES).recent(math.inf) == []


def test_results_are_new_lists() -> None:
    selection = Selection(MESSAGES)
    selection.recent(5).clear()
    assert selection.recent(5) == list(MESSAGES)
    assert selection.recent(5) is not selection.recent(5)


@pytest.mark.parametrize(
    ("budget", "count"),
    [(0, 0), (-1, 0), (9, 0), (10, 1), (19, 1), (20, 2), (1e9, 3), (math.inf, 0), (math.nan, 0)],
)
def test_by_tokens_stops_at_the_first_that_would_exceed_the_budget(
    budget: float, count: int
) -> None:
    messages = [with_tokens(Message.user(str(id), id=str(id)), 10) for id in range(3)]
    assert Selection(messages).by_tokens(budget) == messages[3 - count :]


def test_by_tokens_skips_nothing() -> None:
    small, large = (
        with_tokens(Message.user("a", id="a"), 1),
        with_tokens(Message.user("b", id="b"), 50),
    )
    assert Selection([small, large, small]).by_tokens(20) == [small]


def test_by_tokens_estimates_messages_without_a_count() -> None:
    assert Selection([THANKS]).by_tokens(estimate_message(THANKS)) == [THANKS]
    assert Selection([THANKS]).by_tokens(estimate_message(THANKS) - 1) == []


def test_recent_text_names_files_and_puts_a_blank_line_between_messages() -> None:
    assert Selection(MESSAGES).recent_text(9) == (
        "User: Check this report\nFile: report.pdf\n\n"
        "Assistant:\n\n"
        "Tool: 42\n\n"
        "Assistant: The report looks correct.\n\n"
        "User: Thanks"
    )
    assert Selection(MESSAGES).recent_text(0) == ""


def test_recent_text_of_a_file_without_a_name_shows_its_id() -> None:
    unnamed = Attachment(id="f9", name="", size=1, modality="image")
    nothing = Attachment(id="", name="", size=1, modality="image")
    text = Selection([Message.user(None, unnamed, nothing, id="1")]).recent_text(1)
    assert text == "User:\nFile: f9\nFile: attachment"


def test_a_known_count_overrides_the_estimate() -> None:
    known = TokenCount(count=1, tokenizer="t", basis="counted")
    message = Message(id="1", role="user", content="x" * 4_000, tokens=known)
    assert Selection([message]).by_tokens(1) == [message]
