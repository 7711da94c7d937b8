"""Writes a conversation that comes from a file: hidden until its last message is stored."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from django.utils import timezone

from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.rows import conversation_view
from chatsite.conversations.database.statements import CONVERSATION_TOTALS, MESSAGES
from chatsite.conversations.files.export import Imported
from chatsite.conversations.files.export_format import not_imported
from chatsite.conversations.files.uploads import characters_of, require_words
from chatsite.conversations.models import Conversation, Import, Server
from chatsite.conversations.owners import Owner
from chatsite.conversations.path.active_path import place_at_end, with_token_count
from chatsite.conversations.titles import free_title
from chatsite.errors import ChatsiteError, NotFound
from chatsite.storage import reading, writing
from chatsite.views import ConversationView
from chatsite.wording import later, say

# How long the outcome can be asked for.
REMEMBERED = timedelta(minutes=10)
GIVEN_UP = later("This import was given up.")


@writing
def note_import(owner: Owner, *, server: str) -> uuid.UUID:
    """Store that this server checks a file, in place of the owner's former import."""
    hold(owner)
    Import.objects.filter(owner.filter()).delete()
    row = Import(user_id=owner.user, guest=owner.guest, server=server, began=timezone.now())
    row.save()
    return row.id


@writing
def follow_import(id: uuid.UUID, *, conversation: str, count: int, note: str) -> None:
    """Store what its file says. Raises NotFound where the import was given up."""
    hold(conversation=conversation)
    told = {"count": count, "note": note}
    if not Import.objects.filter(id=id).update(conversation=conversation, told=told):
        raise NotFound(say(GIVEN_UP))


@reading
def import_state(owner: Owner) -> dict[str, Any] | None:
    """Return what the page is told of the import under way or the last one; None for none."""
    row = Import.objects.filter(owner.filter()).first()
    if row is None or (
        row.ended and "report" not in row.told and row.ended < timezone.now() - REMEMBERED
    ):
        return None
    found = row.conversation and Conversation.objects.filter(id=row.conversation).first()
    told: dict[str, Any] = {"count": 0, "note": "", "conversation": None, "problem": None}
    told |= {"title": found.title if found else "", "done": found.next_seq - 1 if found else 0}
    if row.ended is None and not Server.objects.filter(id=row.server).exists():
        told |= {"problem": _said(not_imported(say("The server was stopped.")))}
    elif row.ended and found and found.deleted is None:
        told |= {"conversation": conversation_view(found).to_dict()}
    elif row.ended and not row.told.keys() & {"problem", "report"}:
        return None  # deleted since
    return {**told, **row.told}


@writing
def fail_import(id: uuid.UUID, *, problem: ChatsiteError) -> None:
    told = {"problem": _said(problem)}
    Import.objects.filter(id=id).update(told=told, ended=timezone.now())


@writing
def close_report(owner: Owner) -> None:
    """Forget the owner's last import, whose report was read."""
    hold(owner)
    Import.objects.filter(owner.filter(), ended__isnull=False).delete()


@writing
def give_up_import(owner: Owner) -> Import | None:
    """Forget the owner's import if one is under way, and return it."""
    hold(owner)
    under_way = Import.objects.filter(owner.filter(), ended=None)
    row = under_way.first()
    under_way.delete()
    return row


def _said(problem: ChatsiteError) -> dict[str, str]:
    return {"code": problem.code, "message": problem.message}


@writing
def begin_import(
    *,
    owner: Owner,
    agent: str,
    title: str,
    characters: int = 0,
    history: Mapping[str, str] = MappingProxyType({}),
    id: str = "",
) -> str:
    """Store a new conversation that nobody finds yet, and return its id: `id` where one is given.
    Its title gets a number where the owner has one like it. `history` is the choice to keep with
    it. Raises Refused where as many `characters` exceed the owner's quota."""
    hold(owner)
    require_words(owner, characters)
    now = timezone.now()
    row = Conversation(
        id=uuid.UUID(id) if id else uuid.uuid4(),
        user_id=owner.user,
        guest=owner.guest,
        agent=agent,
        history=dict(history),
        title=free_title(owner, title),
        created=now,
        updated=now,
        deleted=now,
        importing=True,
    )
    row.save(force_insert=True)
    return str(row.id)


@writing
def add_imported(*, conversation: str, part: Sequence[Imported]) -> None:
    """Store the next messages of the file, some `ROWS` at most. Raises NotFound where the import
    was given up."""
    hold(conversation=conversation)
    row = unfinished_conversation(conversation, gone=GIVEN_UP)
    rows = place_at_end(row, [with_token_count(one) for one, _ in part], now=row.created)
    for one, (message, marks) in zip(rows, part, strict=True):
        for name, value in marks.items():
            setattr(one, name, value)
        row.characters += characters_of(message)
    row.marked += sum(one.is_marked for one in rows)
    MESSAGES.insert(rows)
    CONVERSATION_TOTALS.update(row)


@writing
def finish_import(
    *,
    conversation: str,
    forget_above: int = 0,
    pinned: bool = False,
    archived: bool = False,
    folder: str = "",
) -> ConversationView:
    """Show the conversation where it stood in the sidebar. Raises NotFound where the import was
    given up."""
    hold(conversation=conversation)
    row = unfinished_conversation(conversation, gone=GIVEN_UP)
    row.deleted, row.importing = None, False
    row.updated = timezone.now()
    row.forget_above = forget_above + 1 if forget_above else 0
    row.pinned = row.updated if pinned else None
    row.archived = row.updated if archived else None
    row.folder = " ".join(folder.split()) or None
    changed = ["deleted", "importing", "updated", "forget_above", "pinned", "archived", "folder"]
    row.save(update_fields=changed)
    Import.objects.filter(conversation=row.id).update(ended=row.updated)
    return conversation_view(row)


def unfinished_conversation(id: str, *, gone: str) -> Conversation:
    """Return a conversation that is being stored in pieces. Raises NotFound, in the words `gone`,
    where it was given up."""
    row = Conversation.objects.filter(id=id, importing=True).first()
    if row is None:
        raise NotFound(say(gone))
    return row
