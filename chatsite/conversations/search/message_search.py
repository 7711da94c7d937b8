"""Searches an owner's older conversations through the index of words, for `search_history`."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Count, Exists, OuterRef, Sum
from django.db.models.functions import Substr

from chatsite.conversations.database.columns import fetch, key
from chatsite.conversations.database.statements import FOUND_FOR_MODELS
from chatsite.conversations.models import ON_PATH, Conversation, Message
from chatsite.conversations.owners import Owner
from chatsite.conversations.search.text_query import match_any
from chatsite.conversations.search.word_index import numbers_of
from chatsite.conversations.search.word_indexing import index_words, words_waiting
from chatsite.storage import reading
from chatsite.tools.search_history import FoundMessage, SearchResult

CANDIDATES = 300
CHARACTERS = 20_000  # Of one message.


async def search_messages(*, owner: Owner, without: str, words: Sequence[str]) -> SearchResult:
    """`older_messages`, once the index of words has what was said in the last seconds."""
    if await words_waiting():
        await index_words()
    return await older_messages(owner=owner, without=without, words=words)


@reading
def older_messages(*, owner: Owner, without: str, words: Sequence[str]) -> SearchResult:
    """The newest messages with a word that begins as one of these, in three queries.

    Only this owner's, on active paths, without the conversation `without` and deleted ones. Not
    found are messages above a marker, excluded ones and greetings.
    """
    others = Conversation.objects.filter(owner.filter(), deleted=None).exclude(id=without)
    searched = others.aggregate(messages=Sum("path_messages", default=0), all=Count("id"))
    numbers, mine = numbers_of(owner, "message"), (owner.user, owner.guest, key(without))
    match = match_any(words)
    rows = fetch(FOUND_FOR_MODELS, match, numbers.start, numbers.stop - 1, *mine, CANDIDATES)
    return SearchResult(
        hits=_found_messages([number for (number,) in rows]),
        messages=searched["messages"],
        conversations=searched["all"],
        whole=len(rows) < CANDIDATES,
    )


def _found_messages(numbers: Sequence[int]) -> tuple[FoundMessage, ...]:
    # A title is the beginning of the first message, which may be a hidden one.
    excluded = Message.objects.filter(ON_PATH, conversation=OuterRef("conversation"), excluded=True)
    rows = (
        Message.objects.filter(words_row__in=numbers)
        .order_by("-created", "-seq")
        .values_list(
            "conversation_id",
            "conversation__title",
            "conversation__agent",
            "created",
            "role",
            Substr("content", 1, CHARACTERS),
            "conversation__forget_above",
            Exists(excluded),
        )
    )
    return tuple(
        FoundMessage(
            conversation=str(chat),
            title="" if forget_above or hidden else title,
            agent=agent,
            at=created,
            role=role,
            text=text or "",
        )
        for chat, title, agent, created, role, text, forget_above, hidden in rows
    )
