"""Where conversations stand in the sidebar, and the way back from every change of it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsite.conversations.arrangement import (
    MOST_PINNED,
    Mark,
    Place,
    mark_conversations,
    move_conversations,
    put_back,
    rename_folder,
    sidebar_groups,
)
from chatsite.conversations.models import Conversation
from chatsite.conversations.owners import Owner
from chatsite.conversations.path.queries import LISTED, Shelf, list_conversations
from chatsite.errors import ChatsiteError, NotFound, Refused
from tests.conversations.builders import ADA, BOB, row
from tests.examples import some

NOW = timezone.now()
Ids = list[uuid.UUID]


def chats(count: int, *, owner: Owner = ADA, **columns: Any) -> Ids:
    """So many conversations, the last one the oldest."""
    made = Conversation.objects.bulk_create(
        Conversation(
            guest=owner.guest,
            agent="demo",
            title=f"chat {number}",
            created=NOW,
            updated=NOW - timedelta(minutes=number),
            **columns,
        )
        for number in range(count)
    )
    return [one.id for one in made]


def listed(shelf: Shelf = "list", folder: str | None = None) -> Ids:
    found, _ = list_conversations.here(owner=ADA, shelf=shelf, folder=folder)
    return [uuid.UUID(one.id) for one in found]


def pin(*ids: uuid.UUID, on: bool = True) -> list[Place]:
    return mark_conversations.here(owner=ADA, ids=ids, mark="pinned", on=on)


def archive(*ids: uuid.UUID, on: bool = True) -> list[Place]:
    return mark_conversations.here(owner=ADA, ids=ids, mark="archived", on=on)


def move(*ids: uuid.UUID, to: str | None) -> list[Place]:
    return move_conversations.here(owner=ADA, ids=ids, folder=to)


@pytest.mark.django_db
class TestPlaces:
    def test_each_conversation_stands_in_one_place(self) -> None:
        first, second, third, fourth = chats(4)
        pin(second, third)
        move(fourth, to="Taxes")
        groups = sidebar_groups.here(owner=ADA)
        assert [uuid.UUID(one.id) for one in groups.pinned] == [second, third]
        assert (groups.folders, groups.archived) == ((("Taxes", 1),), 0)
        assert (listed(), listed("everything", "Taxes")) == ([first], [fourth])
        assert listed("everything") == [first, second, third, fourth]

    def test_a_pinned_one_keeps_its_pin_in_any_folder_and_stands_there_once_unpinned(self) -> None:
        (only,) = chats(1)
        pin(only)
        move(only, to="Taxes")
        assert (listed("pinned"), listed("everything", "Taxes")) == ([only], [])
        pin(only, on=False)
        assert (listed("pinned"), listed("everything", "Taxes")) == ([], [only])
        pin(only)
        move(only, to=None)
        assert (listed("pinned"), sidebar_groups.here(owner=ADA).folders) == ([only], ())
        pin(only, on=False)
        assert listed() == [only]

    def test_an_archived_one_returns_to_where_it_was(self) -> None:
        pinned, filed = chats(2)
        move(filed, to="Taxes")
        pin(pinned)
        archive(pinned, filed)
        assert (listed("pinned"), listed("archive")) == ([], [pinned, filed])
        assert sidebar_groups.here(owner=ADA).folders == ()
        archive(pinned, filed, on=False)
        assert (listed("pinned"), listed("everything", "Taxes")) == ([pinned], [filed])

    def test_a_folder_is_there_as_long_as_a_conversation_is_in_it(self) -> None:
        first, second = chats(2)
        move(first, second, to="Taxes")
        pin(first, second)
        assert sidebar_groups.here(owner=ADA).folders == (("Taxes", 0),)
        move(first, second, to=None)
        assert sidebar_groups.here(owner=ADA).folders == ()

    def test_what_is_pinned_again_keeps_its_time(self) -> None:
        (only,) = chats(1)
        pin(only)
        before = row(str(only)).pinned
        pin(only)
        assert row(str(only)).pinned == before

    def test_folders_stand_in_the_order_of_the_alphabet(self) -> None:
        for name, id in zip(("taxes", "Work", "Ideas"), chats(3), strict=True):
            move(id, to=name)
        assert [name for name, _ in sidebar_groups.here(owner=ADA).folders] == [
            *("Ideas", "taxes", "Work")
        ]

    def test_a_temporary_chat_is_nowhere(self) -> None:
        chats(1, temporary=True)
        chats(1, temporary=True, pinned=NOW)
        assert (listed(), listed("everything"), listed("pinned")) == ([], [], [])
        assert sidebar_groups.here(owner=ADA).pinned == ()


@pytest.mark.django_db
class TestRefusals:
    @pytest.mark.parametrize("others", ["Bob's", "unknown", "deleted"])
    def test_one_that_isnt_here_changes_nothing(self, others: str) -> None:
        mine = chats(2)
        other = [uuid.uuid4()]
        if others != "unknown":
            other = chats(1, owner=BOB) if others == "Bob's" else chats(1, deleted=NOW)
        with pytest.raises(NotFound):
            pin(*mine, *other)
        with pytest.raises(NotFound):
            move(*mine, *other, to="Taxes")
        assert listed() == mine
        assert Conversation.objects.filter(folder="Taxes").count() == 0
        if others != "deleted":
            back = [Place(id=str(id), pinned=None, archived=None, folder="x") for id in other]
            with pytest.raises(NotFound):
                put_back.here(owner=ADA, places=back)

    def test_no_more_are_pinned_than_one_page_shows(self) -> None:
        chats(MOST_PINNED - 1, pinned=NOW)
        first, second = chats(2)
        with pytest.raises(Refused, match="At most 200"):
            pin(first, second)
        assert listed() == [first, second]
        pin(first)

    def test_an_empty_folder_is_not_found(self) -> None:
        chats(1, owner=BOB, folder="Taxes")
        with pytest.raises(NotFound):
            rename_folder.here(owner=ADA, folder="Taxes", name="Mine")
        assert Conversation.objects.get().folder == "Taxes"


@pytest.mark.django_db
def test_a_folder_of_many_is_renamed_dissolved_and_put_back() -> None:
    ids = chats(600, folder="Taxes")
    move(*chats(1), to="Old")
    rename_folder.here(owner=ADA, folder="Taxes", name="Old")
    assert sidebar_groups.here(owner=ADA).folders == (("Old", 601),)
    former = rename_folder.here(owner=ADA, folder="Old", name=None)
    assert sidebar_groups.here(owner=ADA).folders == ()
    put_back.here(owner=ADA, places=former)
    assert Conversation.objects.filter(id__in=ids, folder="Old").count() == 600


FOLDERS = st.sampled_from([None, "Taxes", "Work"])
CHANGES = st.tuples(
    st.sampled_from(["pinned", "archived", "deleted", "move", "rename"]),
    st.sets(st.integers(0, 5), min_size=1),
    st.booleans(),
    FOLDERS,
)


def apply(kind: Any, ids: Sequence[uuid.UUID], on: bool, folder: str | None) -> list[Place]:
    """One change, and what takes it back; nothing where it is refused."""
    try:
        if kind == "move":
            return move(*ids, to=folder)
        if kind == "rename":
            return rename_folder.here(owner=ADA, folder="Taxes", name=folder)
        mark: Mark = kind
        on = on or mark == "deleted"
        return mark_conversations.here(owner=ADA, ids=ids, mark=mark, on=on)
    except ChatsiteError:
        return []


@pytest.mark.django_db
@settings(max_examples=some(60), deadline=None)
@given(changes=st.lists(CHANGES, min_size=1, max_size=8))
def test_any_changes_and_their_undos_leave_the_list_as_it_was(changes: Any) -> None:
    Conversation.objects.all().delete()
    ids = chats(6)
    states = [everything()]
    undos: list[list[Place]] = []
    for kind, which, on, folder in changes:
        undos.append(apply(kind, [ids[number] for number in sorted(which)], on, folder))
        states.append(everything())
        before, after = states[-2:]
        if kind not in ("pinned", "deleted"):
            assert column(after, 1) == column(before, 1), "a pin stays"
        if kind in ("pinned", "archived"):
            assert column(after, 3) == column(before, 3), "a folder stays"
        groups = sidebar_groups.here(owner=ADA)
        names = [name for name, _ in groups.folders]
        places = [*listed(), *listed("pinned"), *listed("archive")]
        places += [id for name in names for id in listed("everything", name)]
        assert sorted(places) == sorted(listed("everything")), "each in one place"
        assert groups.archived == len(listed("archive"))
    for former in reversed(undos):
        states.pop()
        if former:
            put_back.here(owner=ADA, places=former)
        assert everything() == states[-1]


def everything() -> list[tuple[Any, ...]]:
    names = ("id", "pinned", "archived", "folder", "updated")
    here = Conversation.objects.filter(deleted=None)
    return list(here.order_by("id").values_list(*names))


def column(state: list[tuple[Any, ...]], place: int) -> list[Any]:
    return [one[place] for one in state]


@pytest.mark.sqlite
@pytest.mark.django_db
def test_a_page_of_ten_thousand_reads_no_more_than_it_shows() -> None:
    listing = Conversation.objects.filter(ADA.filter(), archived=None, pinned=None, folder=None)
    plan = listing.order_by("-updated", "-id")[: LISTED + 1].explain()
    assert "guest" in plan and "SCAN" not in plan
    pinned = Conversation.objects.filter(ADA.filter(), archived=None, pinned__isnull=False)
    assert "conversation_pinned" in pinned.explain()
