"""What the panel is told of a conversation in the cache."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from pytest_django import DjangoAssertNumQueries

from chatsite.conversations import store
from chatsite.conversations.cache.panel_view import cache_books, totals_of
from chatsite.conversations.values.cache_records import CacheBooks
from chatsite.errors import NotFound
from chatsite.kv import Book, Session, Span
from tests.conversations.builders import ADA, BOB, begin, end, messages, new_id, retry, talk

pytestmark = pytest.mark.django_db
HEAD = 10


@dataclass(frozen=True)
class Shown:
    """A piece, told briefly: the message's number, or what else it is."""

    what: int | str
    start: int
    size: int
    status: int = 1


def at(chat: str, seq: int) -> str:
    return str(messages(chat).get(seq=seq).id)


def strip(books: CacheBooks, place: str, *, used: int) -> list[Shown]:
    return [
        Shown(piece.seq or piece.kind, piece.start, piece.size, piece.status)
        for piece in books.strip(place=place, used=used)
    ]


def look(chat: str) -> CacheBooks:
    return cache_books(owner=ADA, conversation=chat)


@pytest.fixture
def chat() -> str:
    """Three turns: the first is unloaded, the second lies there, of the third the answer's end is
    still to come; something of our own lies before the last question."""
    made = new_id()
    talk(made, 3)
    store.mark_turns(conversation=made, turns=[1])
    places = {at(made, 3): (10, 5), at(made, 4): (15, 5), at(made, 5): (26, 4)}
    store.place_books(conversation=made, places=places)
    return made


class TestTheStrip:
    def test_all_cells_in_order_and_what_is_unloaded_in_its_place(self, chat: str) -> None:
        assert strip(look(chat), "slot", used=33) == [
            Shown("head", 0, 10),
            Shown(1, -1, -1, -1),
            Shown(2, -1, -1, -1),
            Shown(3, 10, 5),
            Shown(4, 15, 5),
            Shown("other", 20, 6),
            Shown(5, 26, 4),
            Shown("other", 30, 3),
        ]
        pieces = look(chat).strip(place="slot", used=33)
        assert [piece.label for piece in pieces[:2]] == ["instructions", "question 1"]
        assert (pieces[0].role, pieces[3].key) == ("system", at(chat, 3))
        assert sum(piece.size for piece in pieces if piece.start >= 0) == 33

    def test_of_a_conversation_that_lies_nowhere_only_what_is_unloaded(self, chat: str) -> None:
        store.mark_turns(conversation=chat, turns=[3])
        found = strip(look(chat), "none", used=0)
        assert [(one.what, one.start, one.status) for one in found] == [
            (seq, -1, -1) for seq in (1, 2, 3, 4)
        ]

    def test_what_is_only_saved_is_shown_as_it_lies_in_the_file(self, chat: str) -> None:
        spans = (Span("head", 8), Span(at(chat, 1), 6), Span(at(chat, 2), 4), Span(at(chat, 6), 5))
        book = Book(tuple(range(23)), spans)
        saved = Session(key=chat, fingerprint="x", book=book, file="a", size=500, digest="d")
        store.save_session(conversation=chat, session=saved)
        books = look(chat)
        assert books.saved is not None and (books.saved.cells, books.saved.bytes) == (23, 500)
        assert strip(books, "saved", used=23) == [
            Shown("head", 0, 8),
            Shown(1, 8, 6, 0),
            Shown(2, 14, 4, 0),
            Shown(6, 18, 5),
        ]

    def test_a_version_that_is_not_shown_is_no_message_of_the_strip(self, chat: str) -> None:
        store.place_books(conversation=chat, places={at(chat, 5): (10, 4), at(chat, 6): (14, 6)})
        end(retry(chat, at(chat, 6)))
        assert strip(look(chat), "slot", used=20)[-2:] == [Shown(5, 10, 4), Shown("other", 14, 6)]

    def test_where_nothing_is_said_there_is_nothing(self) -> None:
        empty = new_id()
        talk(empty, 1)
        assert strip(look(empty), "slot", used=0) == []
        assert strip(look(empty), "slot", used=12) == [Shown("head", 0, 12)]

    def test_example_turns_are_named(self, chat: str) -> None:
        begun = begin(chat, "question 4")
        receipt = {"head": {"hash": "x", "messages": 3}}
        store.end_turn(turn=begun.turn, state="complete", text="x", receipt=receipt)
        pieces = look(chat).strip(place="slot", used=30)
        assert pieces[0].label == "instructions and example turns"


class TestTheRest:
    def test_what_is_unloaded_is_added_up(self, chat: str) -> None:
        assert look(chat).unloaded == {"turns": 1, "messages": 2, "tokens": 8}
        told = totals_of(owner=ADA, conversation=chat, ids=[at(chat, 1), at(chat, 5), new_id()])
        assert told == {"turns": [1, 5], "messages": 2, "tokens": 6}
        nothing = {"turns": [], "messages": 0, "tokens": 0}
        assert totals_of(owner=ADA, conversation=chat, ids=[]) == nothing

    def test_what_the_last_turns_reused_comes_from_their_receipts(self, chat: str) -> None:
        for number in range(25):
            account = {
                "expected": 9,
                "reused": number,
                "evaluated": 3,
                "origin": "slot",
                "cells": 5,
            }
            receipt = {"cache": account, "reported": {"first_token_ms": 7}}
            begun = begin(chat, "and?")
            store.end_turn(turn=begun.turn, state="complete", text="x", receipt=receipt)
        found = look(chat).turns
        assert [one["number"] for one in found] == list(range(9, 29))
        assert found[-1] == {
            "number": 28,
            "expected": 9,
            "reused": 24,
            "evaluated": 3,
            "origin": "slot",
            "first_token_ms": 7,
        }

    def test_it_is_its_owners(self, chat: str) -> None:
        for owner, id in ((BOB, chat), (ADA, new_id())):
            with pytest.raises(NotFound):
                cache_books(owner=owner, conversation=id)
            with pytest.raises(NotFound):
                totals_of(owner=owner, conversation=id, ids=[])

    def test_a_long_conversation_is_not_read(
        self, chat: str, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        talk(chat, 40)
        with django_assert_num_queries(5):
            assert len(look(chat).rows) == 5
