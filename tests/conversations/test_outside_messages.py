"""Messages from outside the page are stored at the end of the path and change nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from chatsite.conversations.lifecycle import (
    clear_conversation,
    delete_conversation,
    save_counts,
)
from chatsite.conversations.path import loading, queries
from chatsite.conversations.path.added_messages import add_message
from chatsite.errors import BadCommand, NotFound, TurnRunning
from chatsite.history import Users, estimate_message
from chatsite.messages import TokenCount
from tests.conversations.builders import (
    ADA,
    begin,
    counted_totals,
    end,
    messages,
    new_id,
    row,
    run_in_threads,
    stored_totals,
    talk,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def conversation() -> str:
    conversation_id = new_id()
    talk(conversation_id, 2)
    return conversation_id


def places(conversation: str) -> list[tuple[int, int, str, str]]:
    path = messages(conversation).filter(on_path=True).order_by("seq")
    return list(path.values_list("seq", "turn_seq", "role", "source"))


def test_a_report_is_stored_at_the_end_as_part_of_the_turn_before_it(conversation: str) -> None:
    view = add_message.here(conversation=conversation, source="briefing", text=" It will rain.\n")
    assert (view.message.content, view.message.role) == ("It will rain.", "assistant")
    assert (view.message.source, view.seq, view.state) == ("briefing", 5, "complete")
    assert view.turn is None, "it is nobody's answer and has no receipt"
    assert places(conversation)[-2:] == [
        (4, 3, "assistant", "web"),
        (5, 3, "assistant", "briefing"),
    ]
    stored = messages(conversation).get(seq=5)
    assert stored.parent == messages(conversation).get(seq=4)


def test_a_tasks_user_message_begins_a_turn_of_its_own(conversation: str) -> None:
    add_message.here(conversation=conversation, source="scheduled", text="Check it", role="user")
    add_message.here(conversation=conversation, source="scheduled", text="It is fine.")
    assert places(conversation)[-2:] == [
        (5, 5, "user", "scheduled"),
        (6, 5, "assistant", "scheduled"),
    ]
    assert row(conversation).path_background == 1


def test_the_totals_stay_true_and_the_tokens_can_be_counted_later(conversation: str) -> None:
    view = add_message.here(conversation=conversation, source="briefing", text="It will rain.")
    tokens = view.message.tokens
    assert tokens is not None and tokens.basis == "estimated"
    assert tokens.count == estimate_message(view.message)
    add_message.here(conversation=conversation, source="scheduled", text="Check it", role="user")
    assert stored_totals(conversation) == counted_totals(conversation)
    counted = TokenCount(count=4, tokenizer="words", basis="counted")
    save_counts.here(conversation=conversation, counts={view.message.id: counted})
    assert stored_totals(conversation) == counted_totals(conversation)


def test_the_page_shows_the_report_and_the_next_turn_follows_it(conversation: str) -> None:
    before = row(conversation)
    add_message.here(conversation=conversation, source="briefing", text="It will rain.")
    opened = queries.open_conversation.here(owner=ADA, conversation=conversation)
    assert opened.messages[-1].to_dict()["source"] == "briefing"
    assert opened.running is None and opened.receipt == before.last_turn.whole_receipt  # type: ignore[union-attr]
    assert row(conversation).updated > before.updated
    assert (row(conversation).title, row(conversation).turns) == (before.title, before.turns)
    end(begin(conversation, "Really?"), "Yes.")
    assert [place[:2] for place in places(conversation)[-3:]] == [(5, 3), (6, 6), (7, 6)]
    assert stored_totals(conversation) == counted_totals(conversation)


def test_background_messages_are_marked_apart_from_those_of_people_and_answers(
    conversation: str,
) -> None:
    """The newest background messages right before a user message are on the loaded path."""
    add_message.here(conversation=conversation, source="briefing", text="one")
    end(begin(conversation, "And?"), "Well.")
    add_message.here(conversation=conversation, source="scheduled", text="two", role="user")
    add_message.here(conversation=conversation, source="scheduled", text="three")
    begin(conversation, "Which?")
    loaded = loading.load_path.here(owner=ADA, conversation=conversation, reach=Users(2))
    entries = [(e.message.content, e.message.source) for e in loaded.transcript.entries]
    assert entries[-4:] == [
        ("Well.", "web"),
        ("two", "scheduled"),
        ("three", "scheduled"),
        ("Which?", "web"),
    ]


def test_a_background_message_can_be_stored_on_an_empty_path(conversation: str) -> None:
    clear_conversation.here(owner=ADA, conversation=conversation)
    view = add_message.here(conversation=conversation, source="briefing", text="It will rain.")
    assert places(conversation) == [(view.seq, 0, "assistant", "briefing")]
    assert stored_totals(conversation) == counted_totals(conversation)


def test_characters_that_can_not_be_stored_are_replaced(conversation: str) -> None:
    view = add_message.here(conversation=conversation, source="briefing", text="a\x00b\ud800c")
    assert view.message.content == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c"


class TestRefused:
    def refused(self, conversation: str, error: type[Exception], match: str, **more: Any) -> None:
        count_before = messages(conversation).count() if len(conversation) == 36 else 0
        fields: dict[str, Any] = {"source": "briefing", "text": "It will rain.", **more}
        with pytest.raises(error, match=match):
            add_message.here(conversation=conversation, **fields)
        if count_before:
            assert messages(conversation).count() == count_before

    def test_while_an_answer_is_written(self, conversation: str) -> None:
        begun = begin(conversation)
        self.refused(conversation, TurnRunning, "An answer is being written there")
        end(begun)
        add_message.here(conversation=conversation, source="briefing", text="Now.")
        assert stored_totals(conversation) == counted_totals(conversation)

    @pytest.mark.parametrize("text", ["", " \n\t"])
    def test_an_empty_text(self, conversation: str, text: str) -> None:
        self.refused(conversation, BadCommand, "is empty; nothing was stored", text=text)

    def test_another_source_or_role(self, conversation: str) -> None:
        self.refused(
            conversation,
            BadCommand,
            "'web' isn't one of talk, email, scheduled, briefing",
            source="web",
        )
        self.refused(conversation, BadCommand, "'tool' isn't one of assistant, user", role="tool")

    def test_a_conversation_that_is_not_there(self, conversation: str) -> None:
        unknown = new_id()
        with pytest.raises(NotFound, match=f"There is no conversation {unknown}"):
            add_message.here(conversation=unknown, source="briefing", text="x")
        with pytest.raises(NotFound, match="'today'.*its id is a UUID"):
            add_message.here(conversation="today", source="briefing", text="x")
        delete_conversation.here(owner=ADA, conversation=conversation)
        self.refused(conversation, NotFound, "There is no conversation")


@pytest.mark.django_db(transaction=True)
def test_messages_added_at_the_same_time_are_all_stored() -> None:
    chat = new_id()
    talk(chat, 1)
    outcomes = run_in_threads(
        6, lambda: add_message.here(conversation=chat, source="scheduled", text="Done.")
    )
    assert not [error for error in outcomes if isinstance(error, Exception)]
    assert [place[0] for place in places(chat)] == list(range(1, 9))
    assert stored_totals(chat) == counted_totals(chat)
