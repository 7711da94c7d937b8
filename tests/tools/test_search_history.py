"""Which older messages of a person the search tool finds, and which it must not."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from chatsite.conversations.lifecycle import delete_conversation
from chatsite.conversations.models import Conversation
from chatsite.conversations.owners import Owner
from chatsite.conversations.path import active_path, marks, queries
from chatsite.conversations.search import text_search
from chatsite.conversations.search.word_index import index_words
from chatsite.messages import Message
from chatsite.tools.search_history import SearchHistory
from chatsite.tools.tool import ToolContext, ToolError
from tests.conversations.builders import (
    ADA,
    BOB,
    begin,
    end,
    messages,
    new_id,
    token_count,
    user_message,
)

pytestmark = pytest.mark.django_db(transaction=True)
HERE = new_id()


TOOL = SearchHistory(text_search.search_messages)


async def found(query: str, *, owner: Owner = ADA, here: str = HERE, results: int = 5) -> list[Any]:
    using = ToolContext(owner=owner, conversation=here)
    answer: Any = await TOOL.run({"query": query, "results": results}, using)
    return list(answer["found"])


@sync_to_async
def store_chat(*pairs: tuple[str, str], owner: Owner = ADA, chat: str = "") -> str:
    chat = chat or new_id()
    for question, answer in pairs:
        end(begin(chat, question, owner=owner), answer)
    return chat


@sync_to_async
def first_id(chat: str, role: str) -> str:
    return str(messages(chat).filter(role=role).order_by("seq").values_list("id", flat=True)[0])


async def test_a_hit_says_where_when_and_who() -> None:
    chat = await store_chat(
        ("Our boat is the Kestrel.", "A fine name."), ("What else?", "Nothing.")
    )
    [hit] = await found("which boats do I have?")
    assert hit["text"] == "Our boat is the Kestrel."
    assert (hit["role"], hit["conversation"], hit["agent"]) == ("user", chat, "demo")
    assert hit["title"] == "Our boat is the Kestrel."
    assert hit["date"].startswith(timezone.now().date().isoformat())


async def test_other_forms_and_cases_of_a_word_are_found() -> None:
    await store_chat(("We STUDIED the maps.", "Good."), ("Die Größe zählt.", "Ja."))
    assert len(await found("studies of a map")) == 1
    assert len(await found("größe")) == 1


async def test_hits_with_more_and_rarer_words_come_first() -> None:
    await store_chat(("the red harbour light", "a light"), ("light", "light"), ("harbour", "light"))
    hits = [hit["text"] for hit in await found("harbour light", results=2)]
    assert hits[0] == "the red harbour light"
    assert len(hits) == 2


async def test_only_the_part_around_the_words_is_shown() -> None:
    await store_chat((f"{'lorem ' * 900} the kestrel sails {'ipsum ' * 900}", "Yes."))
    [hit] = await found("kestrel")
    assert "kestrel" in hit["text"] and len(hit["text"]) <= 402


class TestWhatStaysHidden:
    async def test_other_people_and_the_current_conversation(self) -> None:
        mine = await store_chat(("kestrel here", "yes"))
        await store_chat(("kestrel there", "yes"), owner=BOB)
        assert await found("kestrel", here=mine) == []
        assert [hit["text"] for hit in await found("kestrel", owner=BOB)] == ["kestrel there"]
        assert await found("kestrel", owner=Owner(guest="cy")) == []

    async def test_deleted_conversations(self) -> None:
        chat = await store_chat(("kestrel", "yes"))
        await delete_conversation(owner=ADA, conversation=chat)
        assert await found("kestrel") == []

    async def test_messages_above_the_forget_mark_and_a_title_made_of_them(self) -> None:
        chat = await store_chat(("kestrel secret", "kestrel"), ("kestrel now", "kestrel too"))
        second = await sync_to_async(lambda: str(messages(chat).get(content="kestrel now").id))()
        await marks.forget_above_message(owner=ADA, message=second, on=True)
        hits = await found("kestrel")
        assert {hit["text"] for hit in hits} == {"kestrel now", "kestrel too"}
        assert {hit["title"] for hit in hits} == {""}

    async def test_an_excluded_question_and_its_answer(self) -> None:
        chat = await store_chat(("kestrel asked", "kestrel answered"), ("kestrel later", "ok"))
        await marks.exclude_message(owner=ADA, message=await first_id(chat, "user"), on=True)
        hits = await found("kestrel")
        assert [(hit["text"], hit["title"]) for hit in hits] == [("kestrel later", "")]

    async def test_an_excluded_answer_but_not_its_question(self) -> None:
        chat = await store_chat(("kestrel asked", "kestrel answered"))
        await marks.exclude_message(owner=ADA, message=await first_id(chat, "assistant"), on=True)
        assert [hit["text"] for hit in await found("kestrel")] == ["kestrel asked"]

    async def test_other_versions_greetings_and_unfinished_answers(self) -> None:
        chat = new_id()
        greeting = Message(
            id=new_id(), role="assistant", content="kestrel greets", tokens=token_count(1)
        )
        begin_turn = sync_to_async(begin)
        await begin_turn(chat, "kestrel asked", greeting=[greeting])
        await sync_to_async(
            lambda: messages(chat).filter(state="running").update(content="kestrel")
        )()
        assert [hit["text"] for hit in await found("kestrel")] == ["kestrel asked"]
        await sync_to_async(lambda: messages(chat).update(on_path=False))()
        assert await found("kestrel") == []


async def test_a_query_of_common_words_only_is_refused() -> None:
    with pytest.raises(ToolError, match="common words"):
        await found("what was it again?")


async def test_only_whole_words_match_and_wildcards_are_plain_characters() -> None:
    await store_chat(("100% cotton_wool", "yes"))
    assert len(await found("cotton")) == 1
    assert await found("cot") == await found("c%n") == await found("c_tton") == []


def a_long_chat(count: int, *, text: str, guest: str = "ada") -> str:
    now = timezone.now()
    row = Conversation.objects.create(
        id=new_id(), guest=guest, agent="demo", title="Long", created=now, updated=now
    )
    active_path.append_to_path(
        row, [user_message(f"{text} {number}") for number in range(count)], now=now
    )
    row.save()
    return str(row.id)


def test_a_search_finds_a_bounded_number_of_the_newest_in_three_queries(
    django_assert_max_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_search, "CANDIDATES", 100)
    for _ in range(3):
        a_long_chat(200, text="kestrel")
    while index_words.here():
        pass
    with django_assert_max_num_queries(3):
        result = text_search.older_messages.here(owner=ADA, without=HERE, words=["kestrel"])
    assert (result.conversations, result.messages, result.whole) == (3, 600, False)
    assert len(result.hits) == 100
    assert {line.text for line in result.hits} == {f"kestrel {n}" for n in range(100, 200)}
    assert queries.list_conversations.here(owner=ADA)
