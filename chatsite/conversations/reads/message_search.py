"""Searches an owner's older conversations, for the tool `search_history`."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import F, Q
from django.db.models.functions import Substr

from chatsite.conversations.models import ON_PATH, Conversation, Message
from chatsite.conversations.values.owners import Owner
from chatsite.tools.search_history import FoundMessage, SearchResult

# How much one search reads, newest first. It scans the texts: a model asks for messages with any of
# several words, for which the index of words would read every message with a common one.
CONVERSATIONS = 200
MESSAGES = 20_000
OF_ONE = 2_000
CANDIDATES = 300
CHARACTERS = 20_000  # Of one message.


def older_messages(*, owner: Owner, without: str, words: Sequence[str]) -> SearchResult:
    """The newest messages that contain one of these parts of words, in three queries.

    Only this owner's, on active paths, without the conversation `without` and deleted ones. Not
    found are messages above a marker, excluded ones and greetings.
    """
    rows, whole = _newest(owner, without)
    # A title is the beginning of the first message, which may be a hidden one.
    marked = [row.id for row in rows if row.marked]
    turns, answers, touched = _left_out(marked)
    titles = {row.id: "" if row.forget_above or row.id in touched else row.title for row in rows}
    agents = {row.id: row.agent for row in rows}
    found = _messages_with([row.id for row in rows], words)
    lines = tuple(
        FoundMessage(
            conversation=str(chat),
            title=titles[chat],
            agent=agents[chat],
            at=created,
            role=role,
            text=text or "",
        )
        for id, chat, turn, role, created, text in found
        if (chat, turn) not in turns and id not in answers
    )
    return SearchResult(
        hits=lines,
        messages=sum(min(row.path_messages, OF_ONE) for row in rows),
        conversations=len(rows),
        whole=whole,
    )


def _newest(owner: Owner, without: str) -> tuple[list[Conversation], bool]:
    """The conversations to read, and whether these are all, and each one whole."""
    others = Conversation.objects.filter(owner.filter(), deleted=None).exclude(id=without)
    columns = ("id", "title", "agent", "marked", "forget_above", "path_messages")
    rows = list(others.order_by("-updated").only(*columns)[: CONVERSATIONS + 1])
    chosen: list[Conversation] = []
    messages = 0
    for row in rows[:CONVERSATIONS]:
        messages += min(row.path_messages, OF_ONE)
        if chosen and messages > MESSAGES:
            break
        chosen.append(row)
    whole = len(chosen) == len(rows) and all(row.path_messages <= OF_ONE for row in chosen)
    return chosen, whole


def _left_out(
    chats: Sequence[uuid.UUID],
) -> tuple[set[tuple[uuid.UUID, int]], set[uuid.UUID], set[uuid.UUID]]:
    """Excluded turns and single answers, and their conversations.

    As everywhere, an excluded user message or tool call excludes its whole turn.
    """
    if not chats:
        return set(), set(), set()
    rows = Message.objects.filter(ON_PATH, conversation__in=chats, excluded=True)
    turns, answers, touched = set(), set(), set()
    for id, chat, turn, role, calls in rows.values_list(
        "id", "conversation_id", "turn_seq", "role", "calls"
    ):
        touched.add(chat)
        if role == "assistant" and not calls:
            answers.add(id)
        else:
            turns.add((chat, turn))
    return turns, answers, touched


def _messages_with(chats: Sequence[uuid.UUID], words: Sequence[str]) -> list[Any]:
    """Id, conversation, turn, role, time and text."""
    if not (chats and words):
        return []
    any_word = reduce(or_, (Q(content__icontains=word) for word in words))
    said = Message.objects.filter(
        any_word,
        ON_PATH,
        conversation__in=chats,
        turn_seq__gt=0,
        role__in=("user", "assistant"),
        seq__gte=F("conversation__forget_above"),
        seq__gt=F("conversation__next_seq") - OF_ONE - 1,
    )
    newest = said.exclude(state="running").order_by("-created", "-seq")
    beginning = Substr("content", 1, CHARACTERS)
    columns = ("id", "conversation_id", "turn_seq", "role", "created", beginning)
    return list(newest.values_list(*columns)[:CANDIDATES])
