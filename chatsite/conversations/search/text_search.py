"""Searches an owner's titles and messages through the index of words, and lists bookmarks.

Where few messages are found, those that say most about the words come first. Where many are, the
newest do: nobody reads a thousand, and weighing them would read them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, tzinfo

from django.db.models import Count, Exists, OuterRef, QuerySet, Sum
from django.db.models.functions import Substr

from chatsite.conversations.database.columns import fetch, key
from chatsite.conversations.database.statements import (
    CHAT_FILTERS,
    FILTERED_BOOKMARKS,
    FILTERED_CHATS,
    FILTERED_MESSAGES,
    FILTERED_TITLES,
    FOUND_FOR_MODELS,
    FOUND_MESSAGES,
    MESSAGE_FILTERS,
    NEXT_MATCH,
)
from chatsite.conversations.models import ON_PATH, Conversation, Message
from chatsite.conversations.owners import Owner
from chatsite.conversations.search.filters import Filters, split_filters
from chatsite.conversations.search.text_query import TextQuery, match_any, parse_query
from chatsite.conversations.search.word_index import index_words, numbers_of, words_waiting
from chatsite.storage import reading
from chatsite.tools.search_history import FoundMessage, SearchResult
from chatsite.views import SearchHit, SearchPage

# Up to so many messages are weighed; of more there are pages of so many.
FEW = 100
TITLES = 20
# Of a message, for its weight and for the place: long ones would be read whole.
READ_CHARACTERS = 20_000
# With filters, so many messages with the words are looked at for a page.
LOOKED_AT = 1_000
NO_WORDS = TextQuery(())
# What a hit shows of its conversation.
CHAT_COLUMNS = ("id", "title", "agent", "updated", "archived")


@reading
def search_text(
    *, owner: Owner, text: str, before: int | None = None, zone: tzinfo = UTC
) -> SearchPage:
    """Return the first page: at most `TITLES` titles, the newest first, then at most `FEW`
    messages. With `before`, a page's `more`, return the next messages. Filters without words list
    conversations, or bookmarks. The days of filters are those of `zone`."""
    words, filters, note = split_filters(text, zone)
    query = parse_query(words)
    if query is not None:
        page = _search(owner, query, filters, before)
    elif filters.values:
        page = _listed(owner, filters, before or 0)
    else:
        page = SearchPage(hits=(), newest_first=False, more=None)
    return replace(page, filters=filters.typed, note=note)


def _search(owner: Owner, query: TextQuery, filters: Filters, before: int | None) -> SearchPage:
    # A beginning that is a common word, too, would have nearly every message read.
    if _messages(owner, query.whole, filters, None)[1] is not None:
        query = query.whole
    numbers, more = _messages(owner, query, filters, before)
    many = before is not None or more is not None
    rows = Message.objects.filter(words_row__in=numbers)
    messages = list(_to_show(rows).order_by("-words_row"))
    if not many:
        messages = _sort_by_weight(query, messages)
    titles = _titles(owner, query, filters) if before is None else []
    return SearchPage(
        hits=tuple(
            [_title_hit(query, one) for one in titles] + [_hit(query, one) for one in messages]
        ),
        newest_first=many,
        more=more,
    )


def _listed(owner: Owner, filters: Filters, after: int) -> SearchPage:
    """List what the filters leave over, the newest first, without the first `after`."""
    marked = "bookmarked" in filters.values
    statement = FILTERED_BOOKMARKS if marked else FILTERED_CHATS
    sql, values = filters.conditions(MESSAGE_FILTERS if marked else CHAT_FILTERS)
    page = (*values, FEW + 1, after)
    ids = [id for (id,) in fetch(statement.format(filters=sql), owner.user, owner.guest, *page)]
    if marked:
        messages = _to_show(Message.objects.filter(id__in=ids[:FEW])).order_by("-created", "-seq")
        hits = [_hit(NO_WORDS, one) for one in messages]
    else:
        chats = Conversation.objects.filter(id__in=ids[:FEW]).order_by("-updated", "id")
        hits = [_title_hit(NO_WORDS, one) for one in chats.only(*CHAT_COLUMNS)]
    more = after + FEW if len(ids) > FEW else None
    return SearchPage(hits=tuple(hits), newest_first=True, more=more)


@reading
def bookmarked_messages(*, owner: Owner, after: int = 0) -> SearchPage:
    """List bookmarks in what is shown now, the newest messages first, without the first `after`."""
    return _listed(owner, Filters(values={"bookmarked": ()}, typed=()), after)


def _messages(
    owner: Owner, query: TextQuery, filters: Filters, before: int | None
) -> tuple[list[int], int | None]:
    """Return the numbers of at most `FEW` messages, those indexed last first, and where the next
    page begins. With filters only `LOOKED_AT` messages with the words are looked at for a page."""
    numbers = numbers_of(owner, "message")
    stop = numbers.stop if before is None else min(numbers.start + before, numbers.stop)
    part, mine = (*query.match, numbers.start, stop - 1), (owner.user, owner.guest)
    if filters.values:
        sql, values = filters.conditions(MESSAGE_FILTERS)
        statement = FILTERED_MESSAGES.format(filters=sql)
        rows = fetch(statement, *part, LOOKED_AT, *mine, *values, FEW + 1)
    else:
        rows = fetch(FOUND_MESSAGES, *part, *mine, FEW + 1)
    found = [number for (number,) in rows]
    if len(found) > FEW:
        return found[:FEW], found[FEW - 1] - numbers.start
    # Further down may be more: after the last one that was looked at.
    next_one = fetch(NEXT_MATCH, *part, LOOKED_AT) if filters.values else []
    return found, next_one[0][0] + 1 - numbers.start if next_one else None


def _to_show(rows: QuerySet[Message]) -> QuerySet[Message]:
    """Read what a hit shows of messages, with the beginning of their text as `beginning`."""
    columns = ("seq", "role", "created", "words_row")
    theirs = tuple(f"conversation__{name}" for name in CHAT_COLUMNS)
    beginning = Substr("content", 1, READ_CHARACTERS)
    return rows.select_related("conversation").annotate(beginning=beginning).only(*columns, *theirs)


def _sort_by_weight(query: TextQuery, messages: Sequence[Message]) -> list[Message]:
    """Sort the heaviest first; of those alike the newest, as they are given."""
    lengths = [len(_beginning(one)) for one in messages]
    average = sum(lengths) / len(lengths) if lengths else 0.0
    return sorted(messages, key=lambda one: -query.weight(_beginning(one), average))


def _titles(owner: Owner, query: TextQuery, filters: Filters) -> list[Conversation]:
    numbers = numbers_of(owner, "title")
    sql, values = filters.conditions(CHAT_FILTERS)
    part = (*query.match, numbers.start, numbers.stop - 1, owner.user, owner.guest)
    found = fetch(FILTERED_TITLES.format(filters=sql), *part, *values, TITLES)
    rows = Conversation.objects.filter(words_row__in=[number for (number,) in found])
    return list(rows.order_by("-updated").only(*CHAT_COLUMNS))


def _beginning(message: Message) -> str:
    return getattr(message, "beginning", None) or ""


def _title_hit(query: TextQuery, row: Conversation) -> SearchHit:
    return SearchHit(
        conversation=str(row.id),
        title=row.title,
        agent=row.agent,
        at=row.updated.isoformat(),
        parts=query.snippet(row.title),
        archived=row.archived is not None,
    )


def _hit(query: TextQuery, row: Message) -> SearchHit:
    return SearchHit(
        conversation=str(row.conversation_id),
        title=row.conversation.title,
        agent=row.conversation.agent,
        at=row.created.isoformat(),
        parts=query.passage(_beginning(row)),
        seq=row.seq,
        role=row.role,
        archived=row.conversation.archived is not None,
    )


CANDIDATES = 300


async def search_messages(*, owner: Owner, without: str, words: Sequence[str]) -> SearchResult:
    """Find `older_messages`, once the index of words has what was said in the last seconds."""
    if await words_waiting():
        await index_words()
    return await older_messages(owner=owner, without=without, words=words)


@reading
def older_messages(*, owner: Owner, without: str, words: Sequence[str]) -> SearchResult:
    """Find the newest messages with a word that begins as one of these, in three queries: this
    owner's, on active paths, without the conversation `without`. Deleted and excluded messages,
    those above a marker and greetings aren't found."""
    others = Conversation.objects.filter(owner.filter(), deleted=None, temporary=None)
    others = others.exclude(id=without)
    searched = others.aggregate(messages=Sum("path_messages", default=0), all=Count("id"))
    numbers, mine = numbers_of(owner, "message"), (owner.user, owner.guest, key(without))
    match = match_any(words)
    rows = fetch(FOUND_FOR_MODELS, *match, numbers.start, numbers.stop - 1, *mine, CANDIDATES)
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
            Substr("content", 1, READ_CHARACTERS),
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
