"""Searches an owner's titles and messages through the index of words, and lists bookmarks.

Where few messages are found, those that say most about the words come first. Where many are, the
newest do: nobody reads a thousand, and weighing them would read them all.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Count, Exists, OuterRef, QuerySet, Sum
from django.db.models.functions import Substr

from chatsite.conversations.database.columns import fetch, key
from chatsite.conversations.database.statements import (
    FOUND_FOR_MODELS,
    FOUND_MESSAGES,
    FOUND_TITLES,
)
from chatsite.conversations.models import ON_PATH, Conversation, Message
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import owned_messages
from chatsite.conversations.search.text_query import TextQuery, match_any, parse_query
from chatsite.conversations.search.word_index import Kind, index_words, numbers_of, words_waiting
from chatsite.storage import reading
from chatsite.tools.search_history import FoundMessage, SearchResult
from chatsite.views import SearchHit, SearchPage

# Up to so many messages are weighed; of more there are pages of so many.
FEW = 100
TITLES = 20
# Of a message, for its weight and for the place: long ones would be read whole.
READ_CHARACTERS = 20_000
NO_WORDS = TextQuery(())


@reading
def search_text(*, owner: Owner, text: str, before: int | None = None) -> SearchPage:
    """Return the first page: at most `TITLES` titles, the newest first, then at most `FEW`
    messages. With `before`, a page's `more`, return the next messages."""
    query = parse_query(text)
    if query is None:
        return SearchPage(hits=(), newest_first=False, more=None)
    first = numbers_of(owner, "message").start
    # A beginning that is a common word, too, would have nearly every message read.
    if len(_numbers(FOUND_MESSAGES, owner, "message", query.whole, None, FEW + 1)) > FEW:
        query = query.whole
    numbers = _numbers(FOUND_MESSAGES, owner, "message", query, before, FEW + 1)
    many = before is not None or len(numbers) > FEW
    rows = Message.objects.filter(words_row__in=numbers[:FEW])
    messages = list(_to_show(rows).order_by("-words_row"))
    if not many:
        messages = _sort_by_weight(query, messages)
    titles = _titles(owner, query) if before is None else []
    return SearchPage(
        hits=tuple(
            [_title_hit(query, one) for one in titles] + [_hit(query, one) for one in messages]
        ),
        newest_first=many,
        more=numbers[FEW - 1] - first if len(numbers) > FEW else None,
    )


@reading
def bookmarked_messages(*, owner: Owner, after: int = 0) -> SearchPage:
    """List bookmarks in what is shown now, the newest messages first, without the first `after`."""
    rows = owned_messages(owner).filter(bookmarked=True, on_path=True, conversation__temporary=None)
    messages = list(_to_show(rows).order_by("-created", "-seq")[after : after + FEW + 1])
    return SearchPage(
        hits=tuple(_hit(NO_WORDS, one) for one in messages[:FEW]),
        newest_first=True,
        more=after + FEW if len(messages) > FEW else None,
    )


def _numbers(
    statement: str, owner: Owner, kind: Kind, query: TextQuery, before: int | None, most: int
) -> list[int]:
    """Return the numbers that were found, the highest, which were indexed last, first."""
    numbers = numbers_of(owner, kind)
    stop = numbers.stop if before is None else min(numbers.start + before, numbers.stop)
    rows = fetch(statement, *query.match, numbers.start, stop - 1, owner.user, owner.guest, most)
    return [number for (number,) in rows]


def _to_show(rows: QuerySet[Message]) -> QuerySet[Message]:
    """Read what a hit shows of messages, with the beginning of their text as `beginning`."""
    columns = ("seq", "role", "created", "words_row")
    theirs = tuple(f"conversation__{name}" for name in ("id", "title", "agent"))
    beginning = Substr("content", 1, READ_CHARACTERS)
    return rows.select_related("conversation").annotate(beginning=beginning).only(*columns, *theirs)


def _sort_by_weight(query: TextQuery, messages: Sequence[Message]) -> list[Message]:
    """Sort the heaviest first; of those alike the newest, as they are given."""
    lengths = [len(_beginning(one)) for one in messages]
    average = sum(lengths) / len(lengths) if lengths else 0.0
    return sorted(messages, key=lambda one: -query.weight(_beginning(one), average))


def _titles(owner: Owner, query: TextQuery) -> list[Conversation]:
    numbers = _numbers(FOUND_TITLES, owner, "title", query, None, TITLES)
    rows = Conversation.objects.filter(words_row__in=numbers).order_by("-updated")
    return list(rows.only("id", "title", "agent", "updated"))


def _beginning(message: Message) -> str:
    return getattr(message, "beginning", None) or ""


def _title_hit(query: TextQuery, row: Conversation) -> SearchHit:
    return SearchHit(
        conversation=str(row.id),
        title=row.title,
        agent=row.agent,
        at=row.updated.isoformat(),
        parts=query.snippet(row.title),
    )


def _hit(query: TextQuery, row: Message) -> SearchHit:
    return SearchHit(
        conversation=str(row.conversation_id),
        title=row.conversation.title,
        agent=row.conversation.agent,
        at=row.created.isoformat(),
        parts=query.snippet(_beginning(row)),
        seq=row.seq,
        role=row.role,
    )


CANDIDATES = 300
CHARACTERS = 20_000  # Of one message.


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
