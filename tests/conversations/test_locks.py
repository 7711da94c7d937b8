"""Units that write hold what they change before they read it, in one order everywhere.

Where tests run on PostgreSQL, each of them checks it for the units that it runs
(`tests/held_locks.py`); here is what a look at the source says, and what many at once do.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import pkgutil
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from django.db import connection

import chatsite
from chatsite.conversations.database.locks import hold
from chatsite.conversations.lifecycle import move_to_account
from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.owners import Owner
from chatsite.conversations.records import Checkpoint
from chatsite.conversations.turn.rounds import save_checkpoints
from chatsite.errors import NotFound, Refused, TurnRunning
from chatsite.storage import Unit, writing
from tests.conversations.builders import ADA, begin, end, new_id, run_in_threads, talk
from tests.held_locks import HOLDS_NOTHING

# Units in pieces whose first piece only lists what each of the others holds.
LISTS_FIRST = {
    "chatsite.accounts.guests.expire_guests",
    "chatsite.conversations.lifecycle.purge_conversations",
    "chatsite.conversations.lifecycle.remove_imports",
    "chatsite.conversations.lifecycle.save_counts",
    "chatsite.conversations.turn.end.end_interrupted",
    "chatsite.conversations.versions.deletions.purge_messages",
    "chatsite.conversations.versions.versions.finish_branches",
}


def writing_units() -> Iterator[tuple[str, Unit[..., Any]]]:
    """Every unit of the program that writes or opens a transaction, by its name."""
    for module in pkgutil.walk_packages(chatsite.__path__, "chatsite."):
        if ".migrations" in module.name:
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            own = isinstance(value, Unit) and value.__module__ == module.name
            if own and (value.writes or "atomic(" in source_of(value)):
                yield f"{module.name}.{name}", value


def source_of(unit: Unit[..., Any]) -> str:
    return textwrap.dedent(inspect.getsource(inspect.unwrap(unit)))


def holds_first(unit: Unit[..., Any]) -> bool:
    """Whether `hold(...)` is its first statement after the docstring, also in a transaction that it
    opens itself."""
    tree = ast.parse(source_of(unit))
    blocks = [node.body for node in ast.walk(tree) if isinstance(node, ast.With)]
    if unit.writes:
        (function,) = tree.body
        assert isinstance(function, ast.FunctionDef)
        documented = ast.get_docstring(function) is not None
        blocks = [function.body[documented:]]
    return bool(blocks) and all(ast.unparse(block[0]).startswith("hold(") for block in blocks)


class TestUnits:
    def test_a_unit_that_writes_holds_first_what_it_changes(self) -> None:
        others = {name for name, unit in writing_units() if not holds_first(unit)}
        assert others == {*HOLDS_NOTHING, *LISTS_FIRST}

    def test_a_unit_that_forgets_it_is_found(self) -> None:
        @writing
        def forgets(conversation: str) -> None:
            """Changes a title."""
            Conversation.objects.filter(id=conversation).update(title="Another")
            hold(conversation=conversation)

        @writing
        def remembers(conversation: str) -> None:
            hold(conversation=conversation)

        assert not holds_first(forgets) and holds_first(remembers)


@pytest.mark.django_db(transaction=True)
class TestManyAtOnce:
    def test_first_messages_of_one_conversation_begin_one_turn(self) -> None:
        for _ in range(5):
            chat, owners = new_id(), itertools.cycle([ADA, Owner(guest="bob")])
            found = run_in_threads(10, lambda: begin(chat, owner=next(owners)))  # noqa: B023
            refused = [one for one in found if isinstance(one, Exception)]
            assert len(refused) == 9
            assert {type(one) for one in refused} == {NotFound, TurnRunning}
            assert Turn.objects.filter(conversation__id=chat).count() == 1

    def test_messages_of_one_owner_fill_the_quota_exactly(self, settings: Any) -> None:
        settings.WORDS_QUOTA_MILLION = 4 * 100 / 1_000_000  # a guest has a quarter
        found = run_in_threads(10, lambda: begin(new_id(), "x" * 30))
        refused = [one for one in found if isinstance(one, Exception)]
        assert {type(one) for one in refused} == {Refused}
        assert len(refused) == 7

    def test_checkpoints_of_many_turns_wait_for_no_end_of_one(self) -> None:
        for _ in range(5):
            begun = [begin(new_id(), owner=Owner(guest=f"guest {n}")) for n in range(8)]
            saved = [
                Checkpoint(turn=one.turn, answer=one.answer, text="So far", receipt={"turn": 1})
                for one in begun
            ]
            work: list[Callable[[], object]] = [partial(end, one) for one in begun]
            work.append(partial(save_checkpoints.here, saved))
            found = run_in_threads(9, lambda: work.pop()())  # noqa: B023
            assert not [one for one in found if isinstance(one, Exception)]
            texts = Message.objects.filter(id__in=[one.answer for one in begun])
            assert {*texts.values_list("content", "state")} == {("An answer.", "complete")}

    def test_turns_of_a_guest_who_signs_in_meanwhile_are_the_accounts(
        self, django_user_model: Any
    ) -> None:
        user = django_user_model.objects.create_user("ada").pk
        chats = [new_id() for _ in range(6)]
        for chat in chats:
            talk(chat, 1)
        begun = [begin(chat) for chat in chats]
        work: list[Callable[[], object]] = [partial(end, one) for one in begun]
        work[3:3] = [partial(move_to_account.here, guest=ADA.guest, user=user)] * 2
        found = run_in_threads(8, lambda: work.pop()())
        assert not [one for one in found if isinstance(one, Exception)]
        rows = Conversation.objects.filter(user=user, guest="", turns=2)
        assert rows.count() == 6
        assert not Turn.objects.filter(state="running").exists()


def test_nothing_is_asked_of_sqlite(django_assert_num_queries: Any, db: None) -> None:
    with django_assert_num_queries(3 if connection.vendor == "postgresql" else 0):
        hold(ADA, shared="mail", room=1, conversation=new_id(), turn=new_id(), numbers=True)
