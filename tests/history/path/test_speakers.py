"""Where several people speak, whoever reads their messages is told who said what."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from chatsite.history import Selection, estimate_message
from chatsite.history.evidence import message_digest
from chatsite.history.path.added_messages import quoted_message
from chatsite.history.path.transcript import Entry, PathTurn
from chatsite.history.policies.triage import plan_triage
from chatsite.history.policies.triage_question import triage_prompt
from chatsite.history.summary_plan import _line
from chatsite.messages import Message, TokenCount
from tests.history.older_turns import triage_terms

GRACE = Message.user("The quay is shut.", id="1", source="talk", speaker="Grace")
ENTRY = Entry(message=GRACE, seq=1, at=datetime(2026, 5, 4, tzinfo=UTC))


def test_the_model_reads_the_name_before_the_text() -> None:
    assert GRACE.as_read().content == "Grace: The quay is shut."
    assert GRACE.as_read().as_read() == GRACE.as_read()
    assert GRACE.content == "The quay is shut."


def test_a_message_of_the_owner_is_read_as_it_is() -> None:
    mine = Message.user("Mine.", id="1")
    assert mine.as_read() is mine


def test_the_name_is_counted_and_belongs_to_what_is_compared() -> None:
    nobody = Message.user(GRACE.content, id="1", source="talk")
    assert estimate_message(GRACE) > estimate_message(nobody)
    assert message_digest(GRACE) != message_digest(nobody)
    assert message_digest(GRACE) == message_digest(GRACE.as_read())


def test_a_quote_names_its_speaker() -> None:
    counted = replace(GRACE, tokens=TokenCount(count=9, tokenizer="t", basis="counted"))
    entry = replace(ENTRY, message=counted)
    assert "Grace (2026-05-04): The quay is shut." in (
        quoted_message([entry], before=9).content or ""
    )


def test_the_fast_model_is_told_who_spoke_and_who_asks() -> None:
    plan = plan_triage(
        [PathTurn((ENTRY,))], triage_terms(skip_selection_threshold=0, always_include_recent=0)
    )
    current = Message.user("When?", id="2", source="talk", speaker="Ada")
    asked = triage_prompt(current, plan, room=10_000)[-1].content or ""
    assert "Grace (by talk):" in asked
    assert "The current message (by Ada):" in asked


def test_a_summary_is_made_of_lines_with_names() -> None:
    assert _line(ENTRY) == "Grace: The quay is shut."


def test_a_strategy_reads_names_in_the_text_form() -> None:
    assert Selection([GRACE]).recent_text(1) == "Grace: The quay is shut."
