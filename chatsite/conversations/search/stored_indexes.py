"""Search indexes on disk: parts of one are appended, and all go with a changed or deleted text."""

from __future__ import annotations

import uuid

from chatsite.conversations.models import Conversation, SearchIndexPart
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import free_or_owned
from chatsite.conversations.records import IndexPart
from chatsite.storage import reading, writing


@reading
def load_index(*, owner: Owner, conversation: str) -> tuple[IndexPart, ...]:
    """In their order; none where nothing is stored. Raises NotFound for another owner's."""
    row = free_or_owned(owner, conversation)
    parts = SearchIndexPart.objects.filter(conversation=row).order_by("first") if row else ()
    return tuple(
        IndexPart(
            first=one.first,
            end=one.end,
            messages=one.messages,
            data=bytes(one.data),
            tokens=bytes(one.tokens),
        )
        for one in parts
    )


@writing
def save_index_part(*, conversation: str, text_changes: int, part: IndexPart) -> bool:
    """Store a part in place of all that reach beyond its beginning.

    False, and nothing is stored, where the conversation was deleted or its text changed since the
    index was made: the part may hold that text.
    """
    rows = Conversation.objects.select_for_update()
    row = rows.filter(id=uuid.UUID(conversation), deleted=None, text_changes=text_changes).first()
    if row is None:
        return False
    SearchIndexPart.objects.filter(conversation=row, end__gt=part.first).delete()
    SearchIndexPart.objects.create(
        conversation=row,
        first=part.first,
        end=part.end,
        messages=part.messages,
        data=part.data,
        tokens=part.tokens,
    )
    return True


def delete_index(row: Conversation) -> None:
    """Call this in the transaction that changes or deletes text, and save the row then.

    An index that is being saved at this moment is refused afterwards, because of the count.
    """
    row.text_changes += 1
    SearchIndexPart.objects.filter(conversation=row).delete()
