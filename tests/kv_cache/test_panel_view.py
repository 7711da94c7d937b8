"""What the panel gets to show about a conversation in the cache."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from pytest_django import DjangoAssertNumQueries

from chatsite.conversations.path.cache_places import mark_turns, place_books
from chatsite.conversations.turn.end import end_turn
from chatsite.errors import NotFound
from chatsite.kv_cache.books import Book, Place, Session, Span
from chatsite.kv_cache.panel_view import cache_books, totals_of
from chatsite.kv_cache.records import CacheBooks
from chatsite.kv_cache.saved_sessions import save_session
from tests.conversations.builders import ADA, BOB, begin, end, messages, new_id, retry, talk

pytestmark = pytest.mark.django_db
HEAD = 10


@dataclass(frozen=True)
class Piece:
    """A piece of the strip: `what` is a message's sequence number or the kind of the piece."""

    what: int | str
    start: int
    size: int
    status: int = 1


def at(chat: str, seq: int) -> str:
    return str(messages(chat).get(seq=seq).id)


def strip(books: CacheBooks, place: str, *, used: int) -> list[Piece]:
    places = {"slot": stored_places(books), "saved": books.saved.places if books.saved else {}}
    return [
        Piece(piece.seq or piece.kind, piece.start, piece.size, piece.status)
        for piece in books.strip(places=places.get(place, {}), used=used)
    ]


def stored_places(books: CacheBooks) -> dict[str, Place]:
    return {row.id: Place(row.start, row.size) for row in books.rows if row.start >= 0}


def load_books(chat: str) -> CacheBooks:
    return cache_books.here(owner=ADA, conversation=chat)


@pytest.fixture
def chat() -> str:
    """Three turns: the first is unloaded, the second is in the cache, the third has no answer there
    yet; tokens of the site's own are before the last question."""
    conversation = new_id()
    talk(conversation, 3)
    mark_turns.here(conversation=conversation, turns=[1])
    places = {
        at(conversation, 3): (10, 5),
        at(conversation, 4): (15, 5),
        at(conversation, 5): (26, 4),
    }
    place_books.here(conversation=conversation, places=places)
    return conversation


class TestTheStrip:
    def test_the_strip_has_all_cells_in_order_with_unloaded_messages_in_place(
        self, chat: str
    ) -> None:
        assert strip(load_books(chat), "slot", used=33) == [
            Piece("head", 0, 10),
            Piece(1, -1, -1, -1),
            Piece(2, -1, -1, -1),
            Piece(3, 10, 5),
            Piece(4, 15, 5),
            Piece("other", 20, 6),
            Piece(5, 26, 4),
            Piece("other", 30, 3),
        ]
        books = load_books(chat)
        pieces = books.strip(places=stored_places(books), used=33)
        assert [piece.label for piece in pieces[:2]] == ["instructions", "question 1"]
        assert (pieces[0].role, pieces[3].key) == ("system", at(chat, 3))
        assert sum(piece.size for piece in pieces if piece.start >= 0) == 33

    def test_the_strip_of_an_uncached_conversation_has_only_unloaded_messages(
        self, chat: str
    ) -> None:
        mark_turns.here(conversation=chat, turns=[3])
        found = strip(load_books(chat), "none", used=0)
        assert [(one.what, one.start, one.status) for one in found] == [
            (seq, -1, -1) for seq in (1, 2, 3, 4)
        ]

    def test_a_saved_session_is_shown_in_the_order_of_its_file(self, chat: str) -> None:
        spans = (Span("head", 8), Span(at(chat, 1), 6), Span(at(chat, 2), 4), Span(at(chat, 6), 5))
        book = Book(tuple(range(23)), spans)
        saved = Session(key=chat, fingerprint="x", book=book, file="a", size=500, digest="d")
        save_session.here(conversation=chat, session=saved)
        books = load_books(chat)
        assert books.saved is not None and (books.saved.cells, books.saved.bytes) == (23, 500)
        assert strip(books, "saved", used=23) == [
            Piece("head", 0, 8),
            Piece(1, 8, 6, 0),
            Piece(2, 14, 4, 0),
            Piece(6, 18, 5),
        ]

    def test_a_slot_is_shown_as_it_is_where_another_machine_answered_since(self, chat: str) -> None:
        found = load_books(chat).strip(places={at(chat, 3): Place(8, 5)}, used=20)
        shown = [(one.seq or one.kind, one.start, one.size) for one in found if one.start >= 0]
        assert shown == [("head", 0, 8), (3, 8, 5), ("other", 13, 7)]

    def test_an_answer_version_that_is_not_shown_is_not_in_the_strip(self, chat: str) -> None:
        place_books.here(conversation=chat, places={at(chat, 5): (10, 4), at(chat, 6): (14, 6)})
        end(retry(chat, at(chat, 6)))
        assert strip(load_books(chat), "slot", used=20)[-2:] == [
            Piece(5, 10, 4),
            Piece("other", 14, 6),
        ]

    def test_without_books_the_strip_holds_at_most_the_head(self) -> None:
        empty = new_id()
        talk(empty, 1)
        assert strip(load_books(empty), "slot", used=0) == []
        assert strip(load_books(empty), "slot", used=12) == [Piece("head", 0, 12)]

    def test_example_turns_have_a_label(self, chat: str) -> None:
        begun = begin(chat, "question 4")
        receipt = {"head": {"hash": "x", "messages": 3}}
        end_turn.here(turn=begun.turn, state="complete", text="x", receipt=receipt)
        pieces = load_books(chat).strip(places={}, used=30)
        assert pieces[0].label == "instructions and example turns"


class TestTheRest:
    def test_the_tokens_of_unloaded_messages_are_added_up(self, chat: str) -> None:
        assert load_books(chat).unloaded == {"turns": 1, "messages": 2, "tokens": 8}
        told = totals_of.here(
            owner=ADA, conversation=chat, ids=[at(chat, 1), at(chat, 5), new_id()]
        )
        assert told == {"turns": [1, 5], "messages": 2, "tokens": 6}
        nothing = {"turns": [], "messages": 0, "tokens": 0}
        assert totals_of.here(owner=ADA, conversation=chat, ids=[]) == nothing

    def test_the_tokens_that_recent_turns_reused_are_read_from_their_receipts(
        self, chat: str
    ) -> None:
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
            end_turn.here(turn=begun.turn, state="complete", text="x", receipt=receipt)
        found = load_books(chat).turns
        assert [one["number"] for one in found] == list(range(9, 29))
        assert found[-1] == {
            "number": 28,
            "expected": 9,
            "reused": 24,
            "evaluated": 3,
            "origin": "slot",
            "first_token_ms": 7,
        }

    def test_the_books_are_shown_to_the_owner_alone(self, chat: str) -> None:
        for owner, id in ((BOB, chat), (ADA, new_id())):
            with pytest.raises(NotFound):
                cache_books.here(owner=owner, conversation=id)
            with pytest.raises(NotFound):
                totals_of.here(owner=owner, conversation=id, ids=[])

    def test_a_long_conversation_is_not_loaded_for_the_panel(
        self, chat: str, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        talk(chat, 40)
        with django_assert_num_queries(5):
            assert len(load_books(chat).rows) == 5
