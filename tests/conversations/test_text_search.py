from __future__ import annotations

import functools
import random
import uuid
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.core.management.color import no_style
from django.db import connection
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from chatsite.conversations import lifecycle as maintenance
from chatsite.conversations.database.columns import execute_many, fetch
from chatsite.conversations.imports.imports import add_imported, begin_import
from chatsite.conversations.lifecycle import (
    clear_conversation,
    delete_conversation,
    move_to_account,
    remove_imports,
    rename_conversation,
    undelete_conversation,
)
from chatsite.conversations.models import Conversation, Message
from chatsite.conversations.owners import Owner
from chatsite.conversations.search.text_search import FEW, search_text
from chatsite.conversations.search.word_index import (
    Kind,
    index_words,
    numbers_of,
    words_waiting,
)
from chatsite.conversations.versions import edits
from chatsite.views import SearchHit, SearchPage
from tests.conversations.builders import (
    ADA,
    BOB,
    begin,
    delete,
    end,
    messages,
    new_id,
    run_in_threads,
    user_message,
)
from tests.examples import some
from tests.imported import import_conversation

pytestmark = pytest.mark.django_db
OURS = Message._meta.app_label


def index() -> None:
    while index_words.here():
        pass
    assert not words_waiting.here()


def search(text: str, owner: Owner = ADA, before: int | None = None) -> SearchPage:
    index()
    return search_text.here(owner=owner, text=text, before=before)


def texts(text: str, owner: Owner = ADA) -> list[str]:
    """The messages that a search finds, as they are stored."""
    places = [(one.conversation, one.seq) for one in search(text, owner).hits if one.seq]
    return [
        Message.objects.get(conversation=uuid.UUID(chat), seq=seq).content or ""
        for chat, seq in places
    ]


def indexed(word: str) -> int:
    """In how many texts the index itself has the word, whoever wrote them."""
    if connection.vendor == "postgresql":
        [(count,)] = fetch(
            "SELECT COUNT(*) FROM conversations_words "
            "WHERE words @@ %s::tsquery AND %s = ANY(string_to_array(text, ' '))",
            *(word, word),
        )
        return int(count)
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary "
            "USING fts5vocab(main, 'conversations_words', 'row')"
        )
    return sum(count for (count,) in fetch("SELECT doc FROM vocabulary WHERE term = %s", word))


def said(*contents: str, owner: Owner = ADA) -> str:
    """A conversation titled "Chat" with one user message and its answer for each text."""
    chat = new_id()
    for text in contents:
        end(begin(chat, text, owner=owner), "Noted.")
    Conversation.objects.filter(id=chat).update(title="Chat")
    return chat


class TestWhatIsFound:
    def test_titles_and_messages_of_the_owner_alone(self) -> None:
        mine, other = said("Otters swim."), said("Stones sink.")
        said("Otters swim too.", owner=BOB)
        Conversation.objects.filter(id=other).update(title="Otters and stones")
        found = search("otters").hits
        assert [(one.conversation, one.seq) for one in found] == [(other, None), (mine, 1)]
        assert texts("otters", BOB) == ["Otters swim too."]

    def test_each_hit_names_its_place(self) -> None:
        chat = said("Where do otters live?")
        [hit] = search("otters live").hits
        assert hit == SearchHit(
            conversation=chat,
            title="Chat",
            agent="demo",
            at=hit.at,
            parts=(
                ("Where do ", False),
                ("otters", True),
                (" ", False),
                ("live", True),
                ("?", False),
            ),
            seq=1,
            role="user",
        )

    def test_a_pasted_sentence_is_shown_where_its_words_stand_together(self) -> None:
        stray = "The weather of the day lies behind us. " * 60
        said(f"{stray}There the boat's berth lies behind the quay. {stray}")
        [hit] = search("the boat\N{RIGHT SINGLE QUOTATION MARK}s berth lies behind the quay").hits
        shown = "".join(part for part, _ in hit.parts)
        assert "There the boat's berth lies behind the quay." in shown

    def test_a_long_text_is_shown_around_the_word(self) -> None:
        said("word " * 500 + "Otters " + "swim " * 500)
        [hit] = search("otters").hits
        shown = "".join(text for text, _ in hit.parts)
        assert shown.startswith("…word word") and "word Otters swim" in shown
        assert shown.endswith("…") and len(shown) < 200
        assert [text for text, found in hit.parts if found] == ["Otters"]

    @pytest.mark.parametrize(
        ("text", "looked_for", "is_found"),
        [
            ("The lights of a lighthouse", "light", True),
            ("The lights of a lighthouse", "LIGHTS house", False),
            ("In the twilight", "light", False),
            ("A cat and a catalogue", "ca", False),
            ("I like it", "it", True),
            ("Ein Müller in Köln", "muller koln", True),
            ("Ein Mu\u0308ller", "müller", True),
            ("Say hello to my world", '"hello to"', True),
            ("Say hello to my world", '"hello world"', False),
            ("Say hello to my world", "world hello", True),
            ("Don't panic", "don't", True),
            ("It costs 100%.", "100%", True),
            ("It costs 100%.", "%", False),
            ("Read snake_case.py", "case", True),
            ("Read snake_case.py", "snake_case.py", True),
            ("東京タワーに行きたい", "東京", True),
            ("東京タワーに行きたい", "京都", False),
            ("東京タワーに行きたい", "行き", True),
            ("ไปกรุงเทพฯ พรุ่งนี้", "กรุงเทพ", True),
            ("हिन्दी में लिखो", "हिन्दी", True),
            ("Ｆｕｌｌ ｗｉｄｔｈ", "full", True),
            ("서울에 갔다", "서울에", True),
            ("Straße nach Wien", "STRASSE", False),
        ],
    )
    def test_words_are_found_by_the_stated_rules(
        self, text: str, looked_for: str, is_found: bool
    ) -> None:
        said(text)
        assert texts(looked_for) == [text] * is_found
        if is_found:
            assert any(marked for _, marked in search(looked_for).hits[0].parts)

    def test_korean_syllables_are_marked_whole(self) -> None:
        said("사과 서울")
        assert [text for text, found in search("서울").hits[0].parts if found] == ["서울"]

    @pytest.mark.parametrize(
        "text",
        ['"', '""', "*", "NEAR(a b)", "text:otters", "a OR b", "-otters", "^", "(", "\u200b"],
    )
    def test_whatever_is_looked_for_is_words_and_never_the_language_of_the_index(
        self, text: str
    ) -> None:
        said("Otters swim.")
        assert all("swim" not in one for one in texts(text) if "otters" not in text)

    def test_a_message_of_this_moment_is_found_once_it_is_indexed(self) -> None:
        chat = said("Otters swim.")
        turn = begin(chat, "And beavers?")
        assert texts("beavers") == ["And beavers?"]
        end(turn, "They build dams.")
        assert texts("dams") == ["They build dams."]

    def test_not_what_is_off_the_path_or_in_a_deleted_conversation(self) -> None:
        chat, other = said("Otters swim."), said("Otters play.")
        clear_conversation.here(owner=ADA, conversation=chat)
        delete_conversation.here(owner=ADA, conversation=other)
        assert search("otters").hits == ()
        undelete_conversation.here(owner=ADA, conversation=other)
        assert texts("otters") == ["Otters play."]


class TestOrder:
    def test_of_few_the_one_that_says_most_about_the_words_comes_first(self) -> None:
        long = "Once I saw otters, and then " + "nothing " * 100
        said("Otters, otters, otters.", long, "Do otters swim?")
        assert texts("otters") == ["Otters, otters, otters.", "Do otters swim?", long]
        assert not search("otters").newest_first

    def test_of_many_the_newest_come_first_page_by_page(self) -> None:
        chat = many("otters {n}", FEW + 20)
        first = search("otters")
        assert first.newest_first and first.more is not None
        assert [one.seq for one in first.hits] == list(range(FEW + 20, 20, -1))
        rest = search("otters", before=first.more)
        assert [one.seq for one in rest.hits] == list(range(20, 0, -1)) and rest.more is None
        assert {one.conversation for one in rest.hits} == {chat}


def many(pattern: str, count: int) -> str:
    """One conversation with so many messages, stored at once."""
    said = [user_message(pattern.format(n=n)) for n in range(1, count + 1)]
    return import_conversation.here(owner=ADA, agent="demo", title="Many", messages=said).id


class TestWhatLeaves:
    """Words leave the index itself, not only what a search shows."""

    def test_edited_words(self) -> None:
        chat = said("Otters swim.")
        index()
        [first, *_] = messages(chat)
        edits.edit_message.here(owner=ADA, message=str(first.id), text="Beavers swim.")
        assert indexed("otters") == 0
        assert texts("beavers") == ["Beavers swim."]
        assert indexed("beavers") == 1

    def test_deleted_messages(self) -> None:
        chat = said("Otters swim.", "Beavers swim.")
        index()
        delete(str(messages(chat)[0].id))
        assert (indexed("otters"), indexed("beavers"), indexed("swim")) == (0, 1, 1)

    def test_purged_conversations(self) -> None:
        chat = said("Otters swim.")
        Conversation.objects.filter(id=chat).update(title="About stones")
        index()
        assert (indexed("otters"), indexed("stones")) == (1, 1)
        delete_conversation.here(owner=ADA, conversation=chat)
        maintenance.purge(now=timezone.now() + timedelta(days=1))
        assert (indexed("otters"), indexed("stones")) == (0, 0)

    def test_renamed_titles(self) -> None:
        chat = said("Hello.")
        rename_conversation.here(owner=ADA, conversation=chat, title="Otters")
        index()
        rename_conversation.here(owner=ADA, conversation=chat, title="Beavers")
        assert indexed("otters") == 0
        index()
        assert indexed("beavers") == 1

    def test_an_account_that_is_removed_by_a_cascade(self) -> None:
        user = get_user_model().objects.create_user("ada")
        said("Otters swim.", owner=Owner(user=user.pk))
        index()
        user.delete()
        assert indexed("otters") == 0

    def test_an_import_that_is_given_up(self) -> None:
        id = begin_import.here(owner=ADA, agent="demo", title="Otters")
        add_imported.here(conversation=id, part=[(user_message("Otters swim."), {})])
        assert search("otters").hits == () and indexed("otters") == 2
        remove_imports.here(conversation=id)
        assert indexed("otters") == 0

    def test_what_moves_to_an_account_is_found_there_and_nowhere_else(self) -> None:
        said("Otters swim.")
        index()
        user = get_user_model().objects.create_user("ada")
        move_to_account.here(guest="ada", user=user.pk)
        assert texts("otters", Owner(user=user.pk)) == ["Otters swim."]
        assert search("otters", ADA).hits == () and indexed("otters") == 1


class TestTheIndex:
    def test_an_older_database_is_indexed_some_at_a_time_and_the_oldest_first(self) -> None:
        many("otters {n}", 600)
        assert index_words.here()
        found = search_text.here(owner=ADA, text="otters")
        assert found.hits[0].seq == 250
        index()
        assert search_text.here(owner=ADA, text="otters").hits[0].seq == 600

    def test_a_piece_ends_early_where_texts_are_long(self) -> None:
        many("otters " * 20_000 + "{n}", 8)
        assert index_words.here()
        assert 0 < Message.objects.exclude(words_row=None).count() < 8

    @pytest.mark.django_db(transaction=True)
    def test_words_leave_with_tables_that_are_emptied(self) -> None:
        """As `manage.py flush` empties them: PostgreSQL deletes no rows then."""
        Conversation.objects.filter(id=said("Otters swim.")).update(title="Otters")
        index()
        names = connection.introspection.django_table_names()
        tables = [name for name in names if name.startswith(OURS)]
        flush = connection.ops.sql_flush(no_style(), tables, allow_cascade=True)
        connection.ops.execute_sql_flush(flush)
        assert indexed("otters") == 0

    @pytest.mark.django_db(transaction=True)
    def test_several_index_while_texts_are_changed(self) -> None:
        chat = many("otters {n}", 600)
        changed = list(messages(chat).order_by("seq").values_list("id", flat=True)[:30])

        def add() -> None:
            while index_words.here():
                pass

        def change() -> None:
            for id in changed:
                Message.objects.filter(id=id).update(content="beavers")

        at_once(add, change, add)
        index()
        assert (indexed("otters"), indexed("beavers")) == (570, 30)
        assert Message.objects.values("words_row").distinct().count() == 600

    @pytest.mark.django_db(transaction=True)
    def test_what_moves_while_it_is_indexed_is_found_at_its_new_owner(self) -> None:
        many("otters {n}", 600)
        user = get_user_model().objects.create_user("ada").pk
        move = functools.partial(move_to_account.here, guest="ada", user=user)
        at_once(index_words.here, move, index_words.here)
        assert len(search("otters", Owner(user=user)).hits) == FEW
        numbers = numbers_of(Owner(user=user), "message")
        assert all(row in numbers for row in Message.objects.values_list("words_row", flat=True))

    @pytest.mark.sqlite
    @pytest.mark.parametrize("seed", (1, 5))
    def test_the_newest_hits_of_an_owner_among_many_are_all_found(self, seed: int) -> None:
        """The index alone: how far owners' numbers are apart decides, and many texts must be in
        it. FTS5 before SQLite 3.42 leaves some out where a step is larger than 56 bits."""
        chance, written = random.Random(seed), {}
        owners = [Owner(guest=f"owner {number}") for number in range(20)]
        for numbers in sorted(
            (numbers_of(one, "message") for one in owners), key=lambda one: one.start
        ):
            written[numbers] = [one for one in numbers[:60_000] if chance.random() < 0.03]
            rows = [(row, "said") for row in written[numbers]]
            execute_many("INSERT INTO conversations_words(rowid, text) VALUES (%s, %s)", rows)
        fetch("INSERT INTO conversations_words(conversations_words) VALUES ('optimize')")
        newest = (
            "SELECT rowid FROM conversations_words WHERE conversations_words MATCH 'said' "
            "AND rowid BETWEEN %s AND %s ORDER BY rowid DESC"
        )
        for numbers, expected in written.items():
            found = [row for (row,) in fetch(newest, numbers.start, numbers.stop - 1)]
            assert found == expected[::-1]

    def test_titles_and_messages_never_share_a_number(self) -> None:
        """A title's words would leave the index with a message's."""
        kinds: tuple[Kind, ...] = ("title", "message")
        owners = [Owner(user=number) for number in range(20_000)]
        titles, messages = ({numbers_of(one, kind) for one in owners} for kind in kinds)
        assert not titles & messages
        assert all(0 <= one.start < one.stop <= 2**56 for one in titles | messages)

    @pytest.mark.sqlite
    def test_the_triggers_are_there_after_all_migrations(self) -> None:
        found = {name for (name,) in fetch("SELECT name FROM sqlite_master WHERE type = 'trigger'")}
        assert {name for name in found if "_words_" in name} == {
            f"conversations_{table}_words_{when}"
            for table in ("conversation", "message")
            for when in ("changed", "removed")
        }


def at_once(*works: Callable[[], object]) -> None:
    """Run each on a thread of its own."""
    left = list(works)
    for result in run_in_threads(len(works), lambda: left.pop()()):
        if isinstance(result, Exception):
            raise result


WORDS = ("otter", "otters", "swim", "müde", "東京", "a")
_text = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


class TestAgainstTheTexts(TestCase):
    """Whatever was done before, a search finds what reading every text finds."""

    @settings(max_examples=some(60), suppress_health_check=list(HealthCheck), deadline=None)
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(("say", "edit", "delete", "index", "clear", "drop", "rename")),
                st.integers(0, 3),
                _text,
            ),
            max_size=12,
        )
    )
    def test_a_search_finds_what_reading_every_text_finds(
        self, steps: list[tuple[str, int, str]]
    ) -> None:
        chats = [new_id(), new_id()]
        for step, place, text in steps:
            chat = chats[place % 2]
            if step == "say":
                end(begin(chat, text), text)
            elif step == "index":
                index_words.here()
            elif Conversation.objects.filter(id=chat, deleted=None).exists():
                DONE[step](chat, place, text)
                if step == "drop":
                    chats[place % 2] = new_id()
        for word in WORDS:
            assert sorted(texts(word)) == sorted(_read(word)), word


def _edit(chat: str, place: int, text: str) -> None:
    if found := messages(chat).filter(on_path=True)[place : place + 1]:
        edits.edit_message.here(owner=ADA, message=str(found[0].id), text=text)


def _delete(chat: str, place: int, text: str) -> None:
    if found := messages(chat).filter(on_path=True)[place : place + 1]:
        delete(str(found[0].id))


DONE: dict[str, Callable[[str, int, str], object]] = {
    "edit": _edit,
    "delete": _delete,
    "clear": lambda chat, place, text: clear_conversation.here(owner=ADA, conversation=chat),
    "drop": lambda chat, place, text: delete_conversation.here(owner=ADA, conversation=chat),
    "rename": lambda chat, place, text: rename_conversation.here(
        owner=ADA, conversation=chat, title=text
    ),
}


def _read(word: str) -> list[str]:
    rows = Message.objects.filter(conversation__deleted=None, on_path=True)
    return [
        text for text in rows.values_list("content", flat=True) if text and _has(text.split(), word)
    ]


def _has(words: list[str], word: str) -> bool:
    return any(one == word or len(word) > 2 and one.startswith(word) for one in words)
