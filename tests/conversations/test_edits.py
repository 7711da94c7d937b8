"""After a message is edited or deleted, its words and comparisons with the old path are gone."""

from __future__ import annotations

from typing import Any

import pytest

from chatsite.conversations.models import Turn
from chatsite.conversations.path import loading
from chatsite.conversations.turn.end import end_turn
from chatsite.conversations.versions import deletions, edits
from chatsite.conversations.versions.deletions import WORDS_DELETED
from chatsite.errors import Refused
from chatsite.history import Everything, Users
from chatsite.history.lexical.index import Index, Line
from chatsite.history.lexical.ranking import SearchQuestion, recall_messages
from tests.conversations import builders
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
TEXTS = [FACT, "Noted.", "The train leaves at nine.", "Fine."]
QUESTION = "Which allergy was it?"


def sentences() -> dict[int, str]:
    """The selector's reason for each recalled message, by sequence number."""
    index = Index()
    index.extend([Line(seq=1 + n, author="ua"[n % 2], text=text) for n, text in enumerate(TEXTS)])
    hits = recall_messages(index, SearchQuestion(text=QUESTION), before=100)
    return {hit.seq: hit.why for hit in hits}


def verdict(seq: int, sentence: str) -> dict[str, Any]:
    return {"first": seq, "last": seq, "reason": "relevant", "sentence": sentence}


def turn(chat: str, text: str, answer: str, **receipt: Any) -> str:
    begun = begin(chat, text)
    end_turn.here(turn=begun.turn, state="complete", text=answer, receipt=receipt)
    return begun.turn


@pytest.fixture
def question_turn(chat: str) -> str:
    """The turn in which the question was question_turn."""
    runs = [verdict(seq, why) for seq, why in sorted(sentences().items())]
    other = verdict(3, 'it shares "nine" with your message')
    return turn(chat, QUESTION, "Peanuts.", verdicts=[*runs, other], layout=[])


@pytest.fixture
def chat() -> str:
    conversation = new_id()
    turn(conversation, *TEXTS[:2], verdicts=[], layout=[])
    turn(conversation, *TEXTS[2:], verdicts=[], layout=[])
    return conversation


def verdict_sentences(id: str) -> list[str]:
    receipt: Any = Turn.objects.get(id=id).receipt
    return [run["sentence"] for run in receipt["verdicts"]]


def stored_quotes(chat: str) -> list[list[int]]:
    """What was quoted for each version of the third answer."""
    answers = messages(chat).filter(role="assistant", seq__gt=5).order_by("seq")
    return [one.quoted for one in answers]


def delete(chat: str, seq: int) -> None:
    builders.delete(str(messages(chat).get(seq=seq).id))


def test_receipts_stop_quoting_a_deleted_message_and_still_quote_others(
    chat: str, question_turn: str
) -> None:
    before = verdict_sentences(question_turn)
    assert sum("allergy" in sentence for sentence in before) > 1, "itself, and what stood near"
    delete(chat, 1)
    after = verdict_sentences(question_turn)
    assert not any("allergy" in sentence for sentence in after)
    assert after[0] == WORDS_DELETED and after[-1] == before[-1]


def test_deleting_a_question_removes_its_words_from_its_own_receipt(
    chat: str, question_turn: str
) -> None:
    delete(chat, 5)
    assert set(verdict_sentences(question_turn)) == {WORDS_DELETED}


def test_what_the_model_searched_for_goes_with_a_message_above_it(
    chat: str, question_turn: str
) -> None:
    looks = [{"query": "allergy", "found": [1]}, {"opened": 1}]
    asked = Turn.objects.filter(id=question_turn)
    asked.update(receipt={**(asked.get().receipt or {}), "looked_back": looks})
    delete(chat, 1)
    left = (asked.get().receipt or {})["looked_back"]
    assert "allergy" not in str(left)
    assert [look.get("opened") for look in left] == [None, 1]


def test_words_are_removed_from_every_one_of_many_receipts(
    chat: str, question_turn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletions, "CHUNK", 2)
    quoting = [verdict(1, 'it shares "allergy" with your message')]
    later = [turn(chat, "And again?", "Peanuts.", verdicts=quoting) for _ in range(4)]
    delete(chat, 1)
    assert [verdict_sentences(id) for id in later] == [[WORDS_DELETED]] * 4


@pytest.mark.parametrize("change", ["edit", "delete"])
def test_the_next_request_is_not_compared_with_one_before_the_edit(
    chat: str, question_turn: str, change: str
) -> None:
    def previous() -> Any:
        return loading.load_path.here(owner=ADA, conversation=chat, reach=Users(2), ahead=1).receipt

    assert previous() is not None
    if change == "delete":
        delete(chat, 1)
    else:
        message = str(messages(chat).get(seq=1).id)
        edits.edit_message.here(owner=ADA, message=message, text="Other words")
    assert previous() is None
    assert Turn.objects.filter(conversation=row(chat), receipt__isnull=False).count() == 3
    turn(chat, "And now?", "Well.", verdicts=[], layout=[1])
    assert previous()["layout"] == [1]


@pytest.mark.parametrize("change", ["edit", "delete"])
def test_no_later_request_quotes_a_message_that_was_edited_or_deleted(
    chat: str, change: str
) -> None:
    turn(chat, QUESTION, "Peanuts.", verdicts=[], layout=[], quoted=[1, 3])
    asked = str(messages(chat).latest("seq").id)
    retried = retry(chat, asked)
    end_turn.here(turn=retried.turn, state="complete", text="Nuts.", receipt={"quoted": [1]})
    assert stored_quotes(chat) == [[1, 3], [1]]
    if change == "delete":
        delete(chat, 1)
    else:
        message = str(messages(chat).get(seq=1).id)
        edits.edit_message.here(owner=ADA, message=message, text="Other words")
    assert stored_quotes(chat) == [[3], []], "of both versions of the answer"
    shown = loading.load_path.here(owner=ADA, conversation=chat, reach=Everything())
    assert not any(entry.quoted for entry in shown.transcript.entries)


def test_deleting_a_retried_question_removes_its_words_from_both_receipts(
    chat: str, question_turn: str
) -> None:
    other = Turn.objects.get(id=question_turn)
    retried = retry(chat, str(messages(chat).latest("seq").id))
    end_turn.here(turn=retried.turn, state="complete", text="Nuts.", receipt=other.receipt)
    delete(chat, 5)
    assert (
        set(verdict_sentences(question_turn))
        == set(verdict_sentences(retried.turn))
        == {WORDS_DELETED}
    )
    assert stored_totals(chat) == counted_totals(chat)


def test_an_answer_is_deleted_with_its_calls_and_no_result_alone() -> None:
    chat = new_id()
    begun = begin(chat, "When?")
    results, _ = begin_round(
        begun.turn, tool_call_message("tides", "clock"), id=begun.answer, answer=new_id()
    )
    end_turn.here(turn=begun.turn, state="complete", text="At noon.")
    with pytest.raises(Refused, match="result"):
        deletions.delete_message.here(owner=ADA, message=results[0].id)
    delete(chat, 2)
    assert shown_messages(chat) == [("user", "When?")]
    assert stored_totals(chat) == counted_totals(chat)
    assert messages(chat).count() == 1
