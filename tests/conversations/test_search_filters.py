"""Searches narrowed by filters, and the plain text in which hits are shown."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsite.conversations.lifecycle import delete_conversation, rename_conversation
from chatsite.conversations.models import Conversation
from chatsite.conversations.owners import Owner
from chatsite.conversations.search import text_search
from chatsite.conversations.search.filters import split_filters, zone_named
from chatsite.conversations.search.plain_text import plain_text
from chatsite.conversations.search.text_query import parse_query
from chatsite.conversations.search.text_search import bookmarked_messages, search_text
from chatsite.conversations.search.word_index import index_words
from chatsite.views import SearchPage
from tests.conversations.builders import ADA, BOB, begin, end, messages, new_id
from tests.examples import some


def search(text: str, *, owner: Owner = ADA, **more: Any) -> SearchPage:
    while index_words.here():
        pass
    return search_text.here(owner=owner, text=text, **more)


def said(text: str, **more: Any) -> list[str]:
    """Where something was found: the title, with the author's role for a message."""
    hits = search(text, **more).hits
    return [f"{one.title} {one.role}".strip() for one in hits]


def chat(title: str, *, owner: Owner = ADA, day: str = "2026-11-10", **values: Any) -> str:
    """A chat of one exchange about the harbour on a day."""
    id = new_id()
    end(begin(id, "Where is the harbour?", owner=owner), text="The harbour is at the quay.")
    rename_conversation.here(owner=owner, conversation=id, title=title)
    at = datetime.fromisoformat(f"{day}T12:00:00+00:00")
    Conversation.objects.filter(id=id).update(created=at, updated=at, **values)
    messages(id).update(created=at)
    return id


@pytest.fixture
def chats(db: None) -> dict[str, str]:
    now = datetime(2026, 11, 28, tzinfo=UTC)
    made = {
        "plain": chat("Plain"),
        "pirate": chat("Pirate", day="2026-11-20", agent="pirate"),
        "pinned": chat("Pinned", day="2026-11-21", pinned=now, folder="Taxes"),
        "archived": chat("Archived", day="2026-11-22", archived=now, folder="Tax returns"),
        "theirs": chat("Theirs", owner=BOB, agent="pirate", pinned=now, archived=now),
        "deleted": chat("Deleted", agent="pirate", pinned=now),
        "temporary": chat("Temporary", agent="pirate", pinned=now, temporary=True),
    }
    for name in ("pirate", "theirs", "temporary", "deleted"):
        messages(made[name]).filter(role="assistant").update(bookmarked=True)
    delete_conversation.here(owner=ADA, conversation=made["deleted"])
    return made


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("agent:pirate quay", ["Pirate assistant"]),
        ("quay AGENT:Pirate", ["Pirate assistant"]),
        ("after:2026-11-21 quay", ["Archived assistant", "Pinned assistant"]),
        ("before:2026-11-20 quay", ["Plain assistant"]),
        ("after:2026-11-20 before:2026-11-21 quay", ["Pirate assistant"]),
        ("is:bookmarked harbour", ["Pirate assistant"]),
        ("is:pinned quay", ["Pinned assistant"]),
        ("is:archived quay", ["Archived assistant"]),
        ("folder:taxes quay", ["Pinned assistant"]),
        ('folder:"tax returns" quay', ["Archived assistant"]),
        ("is:pinned is:archived quay", []),
        ("is:pinned pinned", ["Pinned"]),
        ("is:archived pinned", []),
        ("is:bookmarked pirate", []),
        # Without words: chats, or bookmarks, the newest first.
        ("after:2026-11-20", ["Archived", "Pinned", "Pirate"]),
        ("agent:pirate", ["Pirate"]),
        ("is:archived", ["Archived"]),
        ("folder:taxes", ["Pinned"]),
        ("is:bookmarked", ["Pirate assistant"]),
        ("is:bookmarked agent:demo", []),
        # No filters.
        ('"is:pinned" quay', []),
        ("quay", ["Archived assistant", "Pinned assistant", "Pirate assistant", "Plain assistant"]),
    ],
)
def test_filters_narrow_a_search(chats: dict[str, str], typed: str, found: list[str]) -> None:
    assert sorted(said(typed)) == sorted(found)


def test_archived_chats_are_marked_and_nobody_finds_another_owners(chats: dict[str, str]) -> None:
    assert {one.title for one in search("harbour").hits if one.archived} == {"Archived"}
    assert [one.archived for one in search("is:archived").hits] == [True]
    for typed in ("agent:pirate", "is:pinned", "is:archived", "is:bookmarked", "agent:pirate quay"):
        assert {one.conversation for one in search(typed, owner=BOB).hits} == {chats["theirs"]}
    (bookmark,) = bookmarked_messages.here(owner=ADA).hits
    assert bookmark.conversation == chats["pirate"]


def test_a_page_is_told_its_filters_and_what_is_none(chats: dict[str, str]) -> None:
    page = search('is:pinned quay folder:"Taxes" is:pinned')
    assert (page.filters, page.note) == (("is:pinned", 'folder:"Taxes"'), "")
    page = search("after:yesterday quay")
    assert page.filters == () and "after:2026-11-20" in page.note and page.hits == ()
    page = search("is:red quay")
    assert "is:pinned" in page.note and "agent:" in page.note
    for typed in ("https://a.example/quay", "10:30", "quay:", ":quay", "see: quay"):
        assert search(typed).note == "", typed


def test_a_day_begins_at_midnight_where_the_person_is(chats: dict[str, str]) -> None:
    at = datetime(2026, 11, 20, 23, 30, tzinfo=UTC)
    messages(chats["pirate"]).update(created=at)
    berlin = zone_named("Europe/Berlin")
    assert "Pirate assistant" in said("after:2026-11-21 before:2026-11-22 quay", zone=berlin)
    assert "Pirate assistant" not in said("after:2026-11-21 quay")
    assert {zone_named(name) for name in ("", "Not/AZone", "../x", "\0", "x" * 9_000)} == {UTC}
    assert berlin == ZoneInfo("Europe/Berlin")
    # Before the first day that UTC has.
    assert search("after:0001-01-01 quay", zone=berlin).filters == ()


def test_what_a_filter_leaves_over_of_a_common_word_is_found_page_by_page(
    chats: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_search, "LOOKED_AT", 2)
    for number in range(5):
        chat(f"More {number}")
    page = search("agent:pirate harbour")
    found = list(page.hits)
    while page.more is not None:
        page = search("agent:pirate harbour", before=page.more)
        found += page.hits
    assert {(one.title, one.role) for one in found} == {("Pirate", "user"), ("Pirate", "assistant")}


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("| 2 | Achensee | | Brenner |\n|---|:-:|\n| 3 | Inn |", "2 · Achensee · Brenner\n3 · Inn"),
        ("It *costs* **a lot**, __really__ ~~no~~.", "It costs a lot, really no."),
        ("See [the map](https://a.example/x) and ![sea](b.png).", "See the map and sea."),
        ("```python\nprint('x')\n```", "print('x')"),
        ("## Depth\n> quoted\n- [ ] one\n* two\n1. three", "Depth\nquoted\none\ntwo\n1. three"),
        ("$$x^2$$ and \\(y\\) for $5 and $6", "x^2 and y for $5 and $6"),
        ("`code` a_b_c 2*3*4 \\*no\\*", "code a_b_c 2*3*4 *no*"),
        ("one<br>two <https://a.example>[^1]", "one two https://a.example"),
        ("---\ntext\n***\n", "text"),
    ],
)
def test_marks_of_markdown_are_taken_away(text: str, plain: str) -> None:
    assert plain_text(text) == plain


PIECES = st.sampled_from(
    [
        *"*_`~|[]()<>#$\\!-+ \n\t:\"'",
        "harbour",
        "quay",
        "`" * 3,
        "|---|",
        "](",
        "https://quay.example",
    ]
)
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=60).map("".join))


@settings(max_examples=some(3_000), deadline=None)
@given(text=TEXTS, asked=st.sampled_from(["harbour", "quay", '"harbour quay"', "har", "quay harb"]))
def test_a_plain_text_is_never_longer_and_keeps_what_was_looked_for(text: str, asked: str) -> None:
    assert len(plain_text(text)) <= len(text)
    query = parse_query(asked)
    assert query is not None
    before = {word for part, found in query.snippet(text) if found for word in words(part)}
    after = {word for part, found in query.passage(text) if found for word in words(part)}
    assert not before or after


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


@settings(max_examples=some(500), deadline=None)
@given(st.text(max_size=300))
def test_any_text_can_be_typed(text: str) -> None:
    left, filters, note = split_filters(text)
    assert isinstance(note, str)
    if not filters.values:
        assert "".join(left.split()) == "".join(text.split())
    assert len(filters.values) == len(filters.typed)
