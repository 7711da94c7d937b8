"""What is left of a message that was changed or deleted: not its words, nor a wrong comparison."""

from __future__ import annotations

from typing import Any

import pytest

from chatsite.conversations import store
from chatsite.conversations.models import Turn
from chatsite.conversations.reads import loading
from chatsite.conversations.upkeep import edits
from chatsite.conversations.upkeep.edits import WORDS_DELETED
from chatsite.errors import Refused
from chatsite.history import Users
from chatsite.history.lexical.index import Index, Line
from chatsite.history.lexical.ranking import SearchQuestion, recall_messages
from tests.conversations.builders import (
    ADA,
    begin,
    begin_round,
    counted_totals,
    messages,
    new_id,
    retry,
    row,
    shown_messages,
    stored_totals,
    tool_call_message,
)

pytestmark = pytest.mark.django_db

FACT = "My daughter has an allergy to peanuts."
SAID = [FACT, "Noted.", "The train leaves at nine.", "Fine."]
QUESTION = "Which allergy was it?"


def sentences() -> dict[int, str]:
    """What the selector says of each of the messages, by seq."""
    index = Index()
    index.extend([Line(seq=1 + n, author="ua"[n % 2], text=text) for n, text in enumerate(SAID)])
    hits = recall_messages(index, SearchQuestion(text=QUESTION), before=100)
    return {hit.seq: hit.why for hit in hits}


def verdict(seq: int, sentence: str) -> dict[str, Any]:
    return {"first": seq, "last": seq, "reason": "relevant", "sentence": sentence}


def turn(chat: str, text: str, answer: str, **receipt: Any) -> str:
    begun = begin(chat, text)
    store.end_turn(turn=begun.turn, state="complete", text=answer, receipt=receipt)
    return begun.turn


@pytest.fixture
def asked(chat: str) -> str:
    """The turn in which the question was asked."""
    runs = [verdict(seq, why) for seq, why in sorted(sentences().items())]
    other = verdict(3, 'it shares "nine" with your message')
    return turn(chat, QUESTION, "Peanuts.", verdicts=[*runs, other], layout=[])


@pytest.fixture
def chat() -> str:
    made = new_id()
    turn(made, *SAID[:2], verdicts=[], layout=[])
    turn(made, *SAID[2:], verdicts=[], layout=[])
    return made


def told(id: str) -> list[str]:
    receipt: Any = Turn.objects.get(id=id).receipt
    return [run["sentence"] for run in receipt["verdicts"]]


def delete(chat: str, seq: int) -> None:
    edits.delete_message(owner=ADA, message=str(messages(chat).get(seq=seq).id))


def test_receipts_quote_no_word_of_a_deleted_message_and_still_those_of_others(
    chat: str, asked: str
) -> None:
    before = told(asked)
    assert sum("allergy" in sentence for sentence in before) > 1, "itself, and what stood near"
    delete(chat, 1)
    after = told(asked)
    assert not any("allergy" in sentence for sentence in after)
    assert after[0] == WORDS_DELETED and after[-1] == before[-1]


def test_a_deleted_question_takes_its_words_out_of_its_own_receipt(chat: str, asked: str) -> None:
    delete(chat, 5)
    assert set(told(asked)) == {WORDS_DELETED}


def test_of_many_receipts_none_is_passed_over(
    chat: str, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edits, "CHUNK", 2)
    quoting = [verdict(1, 'it shares "allergy" with your message')]
    later = [turn(chat, "And again?", "Peanuts.", verdicts=quoting) for _ in range(4)]
    delete(chat, 1)
    assert [told(id) for id in later] == [[WORDS_DELETED]] * 4


@pytest.mark.parametrize("change", ["edit", "delete"])
def test_the_next_request_is_compared_with_none_before_a_change(
    chat: str, asked: str, change: str
) -> None:
    def previous() -> Any:
        return loading.load_path(owner=ADA, conversation=chat, reach=Users(2), ahead=1).receipt

    assert previous() is not None
    if change == "delete":
        delete(chat, 1)
    else:
        message = str(messages(chat).get(seq=1).id)
        edits.edit_message(owner=ADA, message=message, text="Other words")
    assert previous() is None
    assert Turn.objects.filter(conversation=row(chat), receipt__isnull=False).count() == 3
    turn(chat, "And now?", "Well.", verdicts=[], layout=[1])
    assert previous()["layout"] == [1]


def test_a_question_that_was_tried_again_takes_its_words_out_of_both_receipts(
    chat: str, asked: str
) -> None:
    other = Turn.objects.get(id=asked)
    tried = retry(chat, str(messages(chat).latest("seq").id))
    store.end_turn(turn=tried.turn, state="complete", text="Nuts.", receipt=other.receipt)
    delete(chat, 5)
    assert set(told(asked)) == set(told(tried.turn)) == {WORDS_DELETED}
    assert stored_totals(chat) == counted_totals(chat)


def test_calls_go_with_their_results_and_no_result_alone() -> None:
    chat = new_id()
    begun = begin(chat, "When?")
    results, _ = begin_round(
        begun.turn, tool_call_message("tides", "clock"), id=begun.answer, answer=new_id()
    )
    store.end_turn(turn=begun.turn, state="complete", text="At noon.")
    with pytest.raises(Refused, match="result"):
        edits.delete_message(owner=ADA, message=results[0].id)
    delete(chat, 2)
    assert shown_messages(chat) == [("user", "When?"), ("assistant", "At noon.")]
    assert stored_totals(chat) == counted_totals(chat)
    first, last = messages(chat).order_by("seq")
    assert last.parent_id == first.id
