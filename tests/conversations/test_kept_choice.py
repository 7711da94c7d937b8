"""What was chosen in the page of the policy and its settings, kept with its conversation."""

from __future__ import annotations

import pytest

from chatsite.conversations.lifecycle import (
    choose_history,
    clear_conversation,
    delete_conversation,
)
from chatsite.conversations.path.queries import kept_choice
from chatsite.conversations.turn.begin import AnotherChoice
from chatsite.errors import NotFound
from tests.conversations.builders import ADA, BOB, begin, end, new_id, retry, row

pytestmark = pytest.mark.django_db
CHOICE = {"historyPolicy": "none", "historyTokens": "900"}


def test_a_new_conversation_keeps_the_choice_of_its_first_message_alone() -> None:
    chat = new_id()
    assert kept_choice.here(owner=ADA, conversation=chat) is None
    started = begin(chat, history=CHOICE)
    assert started.conversation.history == CHOICE
    assert kept_choice.here(owner=ADA, conversation=chat) == CHOICE
    end(started)
    with pytest.raises(AnotherChoice):
        begin(chat, history={"historyPolicy": "all"})
    end(begin(chat, history=CHOICE))
    assert kept_choice.here(owner=ADA, conversation=chat) == CHOICE


def test_a_later_choice_takes_the_place_of_the_one_before() -> None:
    chat = new_id()
    first = begin(chat, history=CHOICE)
    before = row(chat).updated
    choose_history.here(owner=ADA, conversation=chat, history={"historyLength": "3"})
    assert kept_choice.here(owner=ADA, conversation=chat) == {"historyLength": "3"}
    assert row(chat).updated == before  # nothing was said: it stays where it is in the list
    end(first)
    end(retry(chat, first.answer))
    assert kept_choice.here(owner=ADA, conversation=chat) == {"historyLength": "3"}
    choose_history.here(owner=ADA, conversation=chat, history={})
    assert kept_choice.here(owner=ADA, conversation=chat) == {}


def test_an_emptied_conversation_keeps_its_choice() -> None:
    chat = new_id()
    end(begin(chat, history=CHOICE))
    clear_conversation.here(owner=ADA, conversation=chat)
    assert kept_choice.here(owner=ADA, conversation=chat) == CHOICE


def test_nobody_else_reads_or_changes_a_choice() -> None:
    chat = new_id()
    end(begin(chat, history=CHOICE))
    with pytest.raises(NotFound):
        kept_choice.here(owner=BOB, conversation=chat)
    with pytest.raises(NotFound):
        choose_history.here(owner=BOB, conversation=chat, history={})
    delete_conversation.here(owner=ADA, conversation=chat)
    with pytest.raises(NotFound):
        kept_choice.here(owner=ADA, conversation=chat)
    with pytest.raises(NotFound):
        choose_history.here(owner=ADA, conversation=chat, history={})


@pytest.mark.parametrize("id", ["", "nonsense", "2c53dc1f-633f-4fe9-b637-9062c2ad9e53x"])
def test_what_is_no_id_is_not_found(id: str) -> None:
    with pytest.raises(NotFound):
        kept_choice.here(owner=ADA, conversation=id)
