"""What is made for PostgreSQL are the words that FTS5 has, and a search finds what FTS5 finds."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from chatsite.conversations.search.spelling import (
    MOST_CHARACTERS,
    TOKENIZER,
    searched_words,
    spelled_words,
)
from chatsite.conversations.search.text_query import Phrase, parse_query
from chatsite.conversations.search.text_search import older_messages, search_text
from chatsite.conversations.search.word_index import index_words
from tests.conversations.builders import ADA, new_id, user_message
from tests.examples import some
from tests.imported import import_conversation

PIECES = (
    *("otter", "Otters", "é", "E\u0301", "\u0301", "q\u0345", "서울", "서울에", "กรุงเทพ", "हिन्दी"),
    *("Ｆｕｌｌ", "ß", "ẞ", "SS", "İ", "ı", "I", "_", "snake_case", "x²", "٣", "Ⅷ", "7", "東京"),
    *("京都", "の", "ﬁ", "x\u200dy", "👍", "\ue000", "\U00010400", "don't", "a＂b", "ﷺ", "Σς", "%"),
    *(" ", " ", " ", " ", "\n", "*", "'", "\\", "̈ "),
)
_piece = st.sampled_from(PIECES)
_text = st.lists(_piece, min_size=1, max_size=12).map("".join)
_quoted = st.lists(_piece, min_size=1, max_size=3).map("".join).map('"{}"'.format)
_asked = st.lists(_text | _quoted, min_size=1, max_size=2).map(" ".join)


def in_fts5(texts: Sequence[str]) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE VIRTUAL TABLE words USING fts5(text, {TOKENIZER})")
    database.execute("CREATE VIRTUAL TABLE found USING fts5vocab(words, 'instance')")
    rows = [(place, searched_words(text)) for place, text in enumerate(texts, 1)]
    database.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", rows)
    return database


@settings(max_examples=some(1_000), deadline=None)
@given(_text | st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_a_text_has_the_words_that_fts5_has_in_their_order(text: str) -> None:
    with closing(in_fts5([text])) as database:
        rows = database.execute("SELECT term FROM found ORDER BY offset")
        # A word of accents alone has no letters there.
        assert spelled_words(text) == [term or "\u0300" for (term,) in rows]


_texts = st.lists(_text, min_size=1, max_size=8)
MORE = settings(max_examples=some(300), suppress_health_check=list(HealthCheck), deadline=None)


class TestBothDatabases(TestCase):
    @MORE
    @given(_texts, st.lists(_asked, min_size=1, max_size=6))
    def test_a_search_finds_what_fts5_finds(self, texts: list[str], searches: list[str]) -> None:
        store(*texts)
        for text in searches:
            query = parse_query(text)
            expected = in_fts5_found(texts, " ", query.phrases if query else ())
            hits = search_text.here(owner=ADA, text=text).hits
            assert {texts[hit.seq - 1] for hit in hits if hit.seq} == expected, text

    @MORE
    @given(_texts, st.lists(_text, min_size=1, max_size=4))
    def test_a_model_finds_what_fts5_finds(self, texts: list[str], words: list[str]) -> None:
        store(*texts)
        queries = filter(None, map(parse_query, words))
        phrases = [phrase for query in queries for phrase in query.phrases]
        result = older_messages.here(owner=ADA, without=new_id(), words=words)
        assert {one.text for one in result.hits} == in_fts5_found(texts, " OR ", phrases)


def in_fts5_found(texts: Sequence[str], sign: str, phrases: Sequence[Phrase]) -> set[str]:
    with closing(in_fts5(texts)) as database:
        match = sign.join(phrase.match for phrase in phrases) or '""'
        rows = database.execute("SELECT rowid FROM words WHERE text MATCH ?", (match,))
        return {texts[place - 1] for (place,) in rows}


def store(*texts: str) -> None:
    messages = [user_message(text) for text in texts]
    import_conversation.here(owner=ADA, agent="demo", title="", messages=messages)
    while index_words.here():
        pass


def found(text: str) -> bool:
    return bool(search_text.here(owner=ADA, text=text).hits)


@pytest.mark.django_db
class TestLongTexts:
    def test_a_phrase_is_found_wherever_it_is(self) -> None:
        store("otter " * 30_000 + "beavers build dams " + "の" * 500 + "東京")
        assert found('"beavers build dams"') and found("の東京") and found('"otter otter beavers"')
        assert not found('"beavers dams"') and not found("東の") and not found('"dams build"')

    def test_a_long_word_is_found_and_by_its_beginning(self) -> None:
        store("otter" * 1_000)
        assert found("otter" * 1_000) and found("otterotter")
        assert not found("ottero" * 100)

    def test_no_text_is_too_long_for_the_index(self) -> None:
        different = " ".join(f"{chr(0x1F00 + n % 8)}ﷺ{n}" for n in range(30_000))
        store("ﷺ" * MOST_CHARACTERS, different, "Otters swim.")
        assert found("otters")
