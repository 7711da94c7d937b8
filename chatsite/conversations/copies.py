"""Copies the path of a conversation up to a message into a new one, which goes its own way.

What was said, its marks, files and token counts are copied, and it lies in the same folder;
receipts, bookmarks, other versions and the sidebar's pin stay where they are.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.utils import timezone

from chatsite.conversations.database.columns import in_batches
from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.rows import conversation_view, message_of
from chatsite.conversations.database.statements import CONVERSATION_TOTALS, MESSAGES
from chatsite.conversations.files import uploads
from chatsite.conversations.files.uploads import characters_of
from chatsite.conversations.imports.imports import begin_import, unfinished_conversation
from chatsite.conversations.models import Conversation, Message
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import (
    find_conversation,
    messages_on_path,
    owned_conversation,
    owned_message,
    owns,
)
from chatsite.conversations.path.active_path import add_to_totals
from chatsite.errors import NotFound, Refused
from chatsite.kv_cache.books import LOADED, UNLOADED
from chatsite.storage import ROWS, Pieces, in_pieces, reading
from chatsite.views import ConversationView
from chatsite.wording import later, say

GIVEN_UP = later("This copy was given up.")
_COLUMNS = tuple(field.attname for field in Message._meta.concrete_fields)
# These values belong to one row, or to what isn't copied.
_RESET: dict[str, Any] = {
    "turn_id": None,
    "kv_size": -1,
    "kv_start_position": -1,
    "deleted": None,
    "forgot_above": None,
    "bookmarked": False,
    "words_row": None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PathCopy:
    """Holds a path to be copied: its conversation, its messages from the first one on, and the
    second ids of their files' bytes."""

    source: Conversation
    messages: Sequence[Message]
    shared: Mapping[str, str]


@reading
def read_for_copy(*, owner: Owner, message: str) -> PathCopy:
    """Read the path up to this message, with the results of its tool calls: no call is without one.
    Share the bytes of its files: where no copy is made then, they are purged.

    Raises NotFound unless the message is on the path of a conversation of this owner, Refused while
    it is being written, and where no chat is kept.
    """
    last = owned_message(owner, message, on_path=True, deleted=None)
    uploads.require_kept_chats()
    source = owned_conversation(owner, str(last.conversation_id))
    if source.temporary:
        raise Refused(say("This chat is temporary. Keep it before you continue it in a new chat."))
    path = messages_on_path(source)
    after = path.filter(~Q(role="tool"), seq__gt=last.seq).order_by("seq")
    next_seq = after.values_list("seq", flat=True).first() or source.next_seq
    end = next_seq if last.calls or last.role == "tool" else last.seq + 1
    rows = list(path.filter(seq__lt=end).order_by("seq").iterator(chunk_size=500))
    if any(row.state == "running" and row.role != "user" for row in rows):
        raise Refused(say("This answer is still being written. Copy it when it is finished."))
    shared = uploads.share_bytes(
        owner, [str(item["id"]) for row in rows for item in row.attachments]
    )
    return PathCopy(source=source, messages=rows, shared=shared)


@in_pieces
def copy_path(*, owner: Owner, copy: PathCopy, id: str) -> Pieces[ConversationView]:
    """Store the new conversation under an id of the caller's choice: the same id gives the same
    copy.

    Nobody finds it before its last message is stored. Raises Refused where a quota is exceeded, or
    while the same copy is being made; NotFound where the id is taken.
    """
    hold(owner, conversation=id)
    existing = find_conversation(id)
    if existing is not None:
        if owns(owner, existing) and existing.importing:
            raise Refused(say("This copy is still being made."))
        if not owns(owner, existing) or existing.deleted is not None:
            raise NotFound(say("There is no such conversation."))
        return conversation_view(existing)
    source, files = copy.source, [item for row in copy.messages for item in row.attachments]
    uploads.require_quota.here(owner, size=sum(int(item["size"]) for item in files))
    begin_import.here(
        id=id,
        owner=owner,
        agent=source.agent,
        title=source.title,
        characters=sum(characters_of(message_of(row)) for row in copy.messages),
        history=source.history,
    )
    ids: dict[uuid.UUID, uuid.UUID] = {}
    for some in in_batches(copy.messages, ROWS):
        hold(owner, conversation=id)
        _add(id, copy, some, ids)
        yield
    hold(conversation=id)
    row = unfinished_conversation(id, gone=GIVEN_UP)
    row.deleted, row.importing, row.updated = None, False, timezone.now()
    row.model, row.tuning, row.summary_on = source.model, source.tuning, source.summary_on
    row.folder = source.folder
    last = copy.messages[-1].seq
    row.forget_above = source.forget_above if source.forget_above <= last else 0
    row.save()
    return conversation_view(row)


def _add(
    id: str, copy: PathCopy, messages: Sequence[Message], ids: dict[uuid.UUID, uuid.UUID]
) -> None:
    """Copy some messages; `ids` are the new ids of those above, by their old ones, and get
    theirs."""
    row = unfinished_conversation(id, gone=GIVEN_UP)
    above = next(reversed(ids.values()), None)
    sent = {str(item["id"]) for one in messages for item in one.attachments}
    uploads.copy_uploads({old: copy.shared[old] for old in sent & copy.shared.keys()}, row)
    added = []
    for one in messages:
        ids[one.id] = uuid.uuid4()
        same = {name: getattr(one, name) for name in _COLUMNS} | _RESET
        new = Message(
            **same
            | {
                "id": ids[one.id],
                "conversation_id": row.id,
                "parent_id": above,
                "reply_to": ids.get(one.reply_to) if one.reply_to else None,
                "kv_status": LOADED if one.kv_status == LOADED else UNLOADED,
                # A file that is gone stays gone, as after an import.
                "attachments": [
                    item | {"id": copy.shared.get(item["id"], item["id"])}
                    for item in one.attachments
                ],
            }
        )
        above = new.id
        added.append(new)
        add_to_totals(row, new)
    # They keep their numbers, which marks and quotes refer to.
    row.next_seq = added[-1].seq + 1
    row.marked += sum(one.is_marked for one in added)
    row.characters += sum(characters_of(message_of(one)) for one in added)
    MESSAGES.insert(added)
    CONVERSATION_TOTALS.update(row)
