"""`manage.py cache` prints the books and cleans up beside a running server."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from chatsite.conversations.path.cache_places import bring_back_turns, mark_turns, place_books
from chatsite.errors import ChatsiteError
from chatsite.kv_cache.books import Book, Session, Span
from chatsite.kv_cache.saved_sessions import save_session
from tests.conversations.builders import ADA, begin, end, messages, new_id, talk

pytestmark = pytest.mark.django_db(transaction=True)


def at(chat: str, seq: int) -> str:
    return str(messages(chat).get(seq=seq).id)


@pytest.fixture
def chat(settings: Any) -> str:
    """Four turns of 8 tokens each, with the model of this machine, which isn't started."""
    settings.CHAT_ENGINE = ""
    made = new_id()
    talk(made, 4)
    return made


def statuses(chat: str) -> list[int]:
    return list(messages(chat).order_by("seq").values_list("kv_status", flat=True))


def test_the_command_prints_the_place_of_each_message_and_the_saved_session(
    chat: str, capsys: pytest.CaptureFixture[str]
) -> None:
    mark_turns.here(conversation=chat, turns=[1])
    place_books.here(conversation=chat, places={at(chat, 3): (10, 7), at(chat, 4): (17, 5)})
    mark_turns.here(conversation=chat, turns=[3])
    book = Book((1,) * 12, (Span("head", 10), Span(at(chat, 7), 2)))
    saved = Session(key=chat, fingerprint="x", book=book, file="a", size=5_000, digest="d")
    save_session.here(conversation=chat, session=saved)
    call_command("cache", chat)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[:6]] == [
        "message turn who from cells state".split(),
        "1 1 user - - unloaded".split(),
        "2 1 assistant - - unloaded".split(),
        "3 3 user 10 7 marked for cleanup".split(),
        "4 3 assistant 17 5 marked for cleanup".split(),
        "7 7 user - - in the file only".split(),
    ]
    assert lines[7] == "Unloaded or marked: 2 turns, 4 messages, 16 tokens."
    assert lines[8].startswith("Saved: 12 cells, 5,000 bytes, 20")
    assert lines[10:12] == [
        "--cleanup would free:",
        "  keepSystemPromptOnly: 2 turns, 16 tokens",
    ]


@pytest.mark.parametrize(
    ("strategy", "expected", "stay"),
    [
        (
            "keepSystemPromptOnly",
            "4 turns unloaded, 8 messages. The next message's prompt is 32",
            [],
        ),
        (
            "keepSystemPromptAndHalf",
            "2 turns unloaded, 4 messages. The next",
            [5, 6, 7, 8],
        ),
        ("keepSystemPromptAndFirstUserMessage", "3 turns unloaded, 6 messages", [1, 2]),
        ("removeOldestMessages", "nothing to unload.", list(range(1, 9))),
    ],
)
def test_a_cleanup_unloads_by_the_counts_that_are_stored(
    chat: str, capsys: pytest.CaptureFixture[str], strategy: str, expected: str, stay: list[int]
) -> None:
    call_command("cache", chat, "--cleanup", strategy)
    assert f"{strategy}: {expected}" in capsys.readouterr().out
    assert statuses(chat) == [1 if seq in stay else -1 for seq in range(1, 9)]
    bring_back_turns.here(owner=ADA, conversation=chat)
    assert statuses(chat) == [1] * 8


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("{chat}", "--cleanup", "removeOldest"), "removeOldestMessages was probably meant"),
        (("{other}",), "no such conversation"),
        (("no id",), "no such conversation"),
    ],
)
def test_the_command_says_what_it_can_not_do(chat: str, words: tuple[str, ...], says: str) -> None:
    asked = [word.format(chat=chat, other=new_id()) for word in words]
    with pytest.raises((CommandError, ChatsiteError), match=says):
        call_command("cache", *asked)
    assert statuses(chat) == [1] * 8


def test_nothing_is_unloaded_while_an_answer_is_written_or_without_a_cache(
    chat: str, settings: Any
) -> None:
    begun = begin(chat, "question 5")
    with pytest.raises(CommandError, match="still being written here.* Nothing was changed"):
        call_command("cache", chat, "--cleanup", "keepSystemPromptOnly")
    end(begun)
    settings.CHAT_ENGINE = "off"
    with pytest.raises(CommandError, match="Not available for this model"):
        call_command("cache", chat, "--cleanup", "keepSystemPromptOnly")
    assert statuses(chat) == [1] * 10
