"""A compaction holds as summaries do, and undoing it, or applying it again, is exact."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsite.conversations.models import Summary
from chatsite.conversations.path import marks
from chatsite.conversations.path.loading import load_path
from chatsite.conversations.path.queries import open_conversation
from chatsite.conversations.summaries import queries as summary_queries
from chatsite.conversations.summaries import versions as summaries
from chatsite.conversations.summaries.queries import SummaryState
from chatsite.conversations.versions import edits
from chatsite.errors import NotFound, Refused
from chatsite.history import Users
from chatsite.history.compaction import fold_by_hand, lost_values, said_in
from tests.conversations.builders import ADA, BOB, EVERYTHING, delete, messages, new_id, row, talk
from tests.conversations.builders import token_count as tokens
from tests.examples import REPEATABLE, some

pytestmark = pytest.mark.django_db


def compact(
    chat: str, *, to: int | None = None, without: tuple[int, ...] = (), text: str = "They talked."
) -> SummaryState:
    start = summary_queries.unsummarised_path.here(owner=ADA, conversation=chat)
    hand = fold_by_hand(start.entries, to=to, without=without)
    lost = [[value.text, value.seq] for value in lost_values(said_in(hand.folded), text)]
    state = summaries.fold_summary.here(
        owner=ADA,
        conversation=chat,
        start=start,
        folded=hand.covered,
        messages=hand.messages,
        text=text,
        by="",
        tokens=tokens(9),
        report={"lost": lost},
        kept=hand.kept,
    )
    assert state is not None
    return state


def fold(chat: str, count: int, text: str = "By itself.") -> SummaryState:
    """As after an answer under the policy `summary`."""
    start = summary_queries.unsummarised_path.here(owner=ADA, conversation=chat)
    state = summaries.fold_summary.here(
        owner=ADA,
        conversation=chat,
        start=start,
        folded=start.entries[:count],
        messages=count,
        text=text,
        by="small",
        tokens=tokens(9),
        report={},
    )
    assert state is not None
    return state


def undo(chat: str, version: int, *, again: bool = False) -> SummaryState:
    return summaries.undo_compaction.here(
        owner=ADA, conversation=chat, version=version, again=again
    )


def held(chat: str) -> tuple[int, int, int]:
    """The version that holds, its compaction, and the one that can be applied again."""
    view = summary_queries.summary_state.here(owner=ADA, conversation=chat).view
    return view.version, view.compaction, view.undone


def listed(chat: str) -> Any:
    return summary_queries.summary_versions.here(owner=ADA, conversation=chat).versions


def path_of(chat: str) -> Any:
    return load_path.here(owner=ADA, conversation=chat, reach=EVERYTHING).transcript


@pytest.fixture
def chat() -> str:
    """Six turns: messages 1 to 12."""
    conversation = new_id()
    talk(conversation, 6)
    return conversation


def test_it_comes_with_the_path_and_so_do_the_turns_that_it_leaves_in_their_places(
    chat: str,
) -> None:
    compact(chat, without=(3,))
    loaded = load_path.here(owner=ADA, conversation=chat, reach=Users(2)).transcript
    assert loaded.compaction is not None
    assert (loaded.compaction.first, loaded.compaction.last) == (1, 8)
    assert (loaded.compaction.version, loaded.compaction.compaction) == (1, 1)
    assert loaded.compaction.kept == (3,) and loaded.compaction.messages == 6
    assert [entry.seq for entry in loaded.entries] == [3, 4, 9, 10, 11, 12]
    assert open_conversation.here(owner=ADA, conversation=chat).summary.compaction == 1
    (version,) = listed(chat)
    assert (version.exchanges, version.kept, version.by) == (3, (3,), "you")


def test_a_conversation_without_one_asks_no_query_more(
    chat: str, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(2):
        path_of(chat)


def test_undo_and_again_are_exact(chat: str) -> None:
    before = path_of(chat)
    compact(chat)
    after = path_of(chat)
    assert held(chat) == (1, 1, 0) and after.compaction is not None
    undo(chat, 1)
    assert held(chat) == (0, 0, 1) and path_of(chat) == before
    undo(chat, 1, again=True)
    assert held(chat) == (1, 1, 0) and path_of(chat) == after


def test_an_automatic_fold_and_an_edit_go_on_from_it_and_undo_takes_them_too(chat: str) -> None:
    fold(chat, 2)
    compact(chat)
    talk(chat, 2)
    assert fold(chat, 4).view.compaction == 2
    assert path_of(chat).compaction.last == 12
    edited = summaries.rewrite_summary.here(
        owner=ADA, conversation=chat, version=3, text="Mine.", tokens=tokens(4)
    )
    assert (edited.view.version, edited.view.compaction) == (4, 2)
    assert undo(chat, 2).view.version == 1 and path_of(chat).compaction is None
    assert [version.undone for version in listed(chat)] == [True, True, True, False]
    assert undo(chat, 2, again=True).view.version == 4


def test_one_compaction_on_another_is_undone_alone(chat: str) -> None:
    compact(chat, to=3)
    compact(chat, without=(5,), text="More.")
    assert (held(chat), path_of(chat).compaction.kept) == ((2, 2, 0), (5,))
    with pytest.raises(Refused):
        undo(chat, 1)
    undo(chat, 2)
    assert held(chat) == (1, 1, 2)
    undo(chat, 1)
    assert held(chat) == (0, 0, 1), "2 was made from 1"
    with pytest.raises(Refused):
        undo(chat, 2, again=True)
    undo(chat, 1, again=True)
    assert held(chat) == (1, 1, 2)


def test_it_is_not_applied_again_beside_a_summary_that_was_made_since(chat: str) -> None:
    compact(chat)
    undo(chat, 1)
    fold(chat, 2)
    assert held(chat) == (2, 0, 0)
    with pytest.raises(Refused, match="was changed since"):
        undo(chat, 1, again=True)


@pytest.mark.parametrize("change", ["edit", "exclude", "delete", "forget"])
def test_a_change_of_what_it_covers_ends_it_for_good_or_until_it_is_taken_back(
    chat: str, change: str
) -> None:
    compact(chat)
    id = str(messages(chat).get(seq=3).id)
    match change:
        case "edit":
            edits.edit_message.here(owner=ADA, message=id, text="Otherwise")
        case "exclude":
            marks.exclude_message.here(owner=ADA, message=id, on=True)
        case "delete":
            delete(id)
        case "forget":
            marks.forget_above_message.here(owner=ADA, message=id, on=True)
    assert held(chat) == (0, 0, 0) and path_of(chat).compaction is None


def test_a_pin_in_it_ends_nothing_and_nothing_is_sent_while_summaries_are_off(chat: str) -> None:
    compact(chat)
    marks.pin_message.here(owner=ADA, message=str(messages(chat).get(seq=3).id), on=True)
    assert held(chat) == (1, 1, 0)
    summaries.switch_summary.here(owner=ADA, conversation=chat, on=False)
    assert held(chat) == (1, 0, 0) and path_of(chat).compaction is None


def test_what_was_lost_is_kept_with_the_version_until_a_covered_message_is_deleted(
    chat: str,
) -> None:
    edits.edit_message.here(
        owner=ADA, message=str(messages(chat).get(seq=1).id), text="Berth B-107 for Larsen Quay."
    )
    compact(chat, text="They spoke of Larsen Quay.")
    assert [(one.text, one.seq) for one in listed(chat)[0].lost] == [("B-107", 1)]
    summaries.rewrite_summary.here(
        owner=ADA, conversation=chat, version=1, text="B-107 at the quay.", tokens=tokens(4)
    )
    assert listed(chat)[0].lost == ()
    delete(str(messages(chat).get(seq=1).id))
    assert not Summary.objects.filter(report__icontains="B-107").exists()
    assert all(version.lost == () and not version.text for version in listed(chat))


def test_nobody_undoes_in_another_persons_conversation(chat: str) -> None:
    compact(chat)
    with pytest.raises(NotFound):
        summaries.undo_compaction.here(owner=BOB, conversation=chat, version=1)
    assert held(chat) == (1, 1, 0)


@settings(REPEATABLE, max_examples=some(100))
@given(steps=st.lists(st.sampled_from(("compact", "fold", "undo", "again", "talk")), max_size=9))
def test_any_order_of_steps_leaves_one_truth_and_undoing_all_gives_the_first_path(
    steps: list[str],
) -> None:
    """Every state that was left by an undo or an apply again is the one before it."""
    chat = new_id()
    talk(chat, 4)
    seen: dict[int, object] = {}
    for step in steps:
        version, compaction, undone = held(chat)
        start = summary_queries.unsummarised_path.here(owner=ADA, conversation=chat)
        if step == "compact" and fold_by_hand(start.entries).folded:
            compact(chat, text=f"Words {len(seen)}.")
        elif step == "fold" and len(start.entries) > 4:
            fold(chat, 2)
        elif step == "talk":
            talk(chat, 1)
        elif step == "undo" and compaction:
            undo(chat, compaction)
            now = held(chat)
            assert now[1] != compaction and now[2] == compaction
            undo(chat, compaction, again=True)
            assert held(chat) == (version, compaction, undone)
            undo(chat, compaction)
        elif step == "again" and undone:
            undo(chat, undone, again=True)
            assert held(chat)[1] == undone
        version, compaction, _ = held(chat)
        sent = path_of(chat).compaction
        assert (sent.version if sent else 0) == (version if compaction else 0)
        seen[version] = sent
    while compaction := held(chat)[1]:
        undo(chat, compaction)
    assert path_of(chat).compaction is None
    assert row(chat).summary_on
