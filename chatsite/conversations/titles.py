"""The title of a conversation: its first words, until a model or a person writes one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import count

from django.db.models import Q

from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.rows import message_of
from chatsite.conversations.models import Conversation
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import messages_on_path, owned_conversation
from chatsite.messages import Message
from chatsite.storage import reading, writing

TITLE_LENGTH = 60
STORED_LENGTH = 200
_NUMBER = re.compile(r" \([2-9]\)$| \([1-9]\d{1,2}\)$")


def message_title(message: Message) -> str:
    """Return the first words of a message; the first file's name where it has no text."""
    text = message.content or ""
    if not text.strip() and message.attachments:
        text = message.attachments[0].name
    return title_from(text)


def title_from(text: str) -> str:
    """Return the first words of a text, cut at a word where that is possible."""
    line = " ".join(text.split())
    if len(line) <= TITLE_LENGTH:
        return line or "New chat"
    cut = line[:TITLE_LENGTH].rpartition(" ")[0] or line[:TITLE_LENGTH]
    return f"{cut}…"


def path_title(row: Conversation) -> str:
    """Return the title that the path's first user message gives."""
    first = messages_on_path(row).filter(role="user").order_by("seq")
    return title_from(first.values_list("content", flat=True).first() or "")


def free_title(owner: Owner, title: str) -> str:
    """Return a title that none of the owner's conversations has, for a copy or an import: the same
    with " (2)", " (3)" and so on. The caller holds the owner."""
    theirs = Conversation.objects.filter(owner.filter()).filter(Q(deleted=None) | Q(importing=True))
    title = title[:STORED_LENGTH]
    if not theirs.filter(title=title).exists():
        return title
    # Room for the number.
    stem = _NUMBER.sub("", title)[: STORED_LENGTH - 8]
    taken = set(theirs.filter(title__startswith=stem).values_list("title", flat=True))
    return next(one for number in count(2) if (one := f"{stem} ({number})") not in taken)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstExchange:
    """Holds the title of first words, and what was asked and answered first."""

    title: str
    question: str
    answer: str


@reading
def first_exchange(*, owner: Owner, conversation: str) -> FirstExchange | None:
    """Return what a title may be made of; None where the conversation has a title of its own, isn't
    kept, comes from outside the page, or has another number of complete answers than one. Raises
    NotFound."""
    row = owned_conversation(owner, conversation)
    if row.titled or row.temporary:
        return None
    path = messages_on_path(row).filter(turn_seq__gt=0, excluded=False).order_by("seq")
    asked = path.filter(role="user").first()
    answers = list(path.filter(role="assistant", state="complete", calls=[])[:2])
    if asked is None or asked.source != "web" or len(answers) != 1:
        return None
    # Titles of before `titled`, of copies and of imports are no first words.
    if row.title != message_title(message_of(asked)):
        return None
    return FirstExchange(
        title=row.title, question=asked.content or row.title, answer=answers[0].content or ""
    )


@writing
def store_title(*, owner: Owner, conversation: str, title: str, instead_of: str) -> bool:
    """Store a model's title in place of the first words `instead_of`; False where somebody wrote
    one or asked otherwise meanwhile. Raises NotFound."""
    hold(conversation=conversation)
    row = owned_conversation(owner, conversation)
    if row.titled or row.temporary or row.title != instead_of:
        return False
    row.title, row.titled = title, "model"
    row.save(update_fields=["title", "titled"])
    return True
