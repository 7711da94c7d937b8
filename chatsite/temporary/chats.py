"""What is stored of temporary chats: which there are, what keeps one, and what erases it."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.rows import conversation_view
from chatsite.conversations.lifecycle import remove_conversations
from chatsite.conversations.models import Conversation, Upload
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import free_or_owned, owned_conversation
from chatsite.conversations.path import loading
from chatsite.errors import NotFound, Refused
from chatsite.storage import Pieces, in_pieces, reading, writing
from chatsite.temporary.models import TemporaryFile
from chatsite.views import ConversationView
from chatsite.wording import later, say

ALWAYS = later("The administrator has all chats here be temporary.")


def is_temporary(*, asked: bool) -> bool:
    """Return whether a new chat is temporary. Raises Refused where it was asked for in vain."""
    if asked and settings.TEMPORARY_CHATS == "off":
        raise Refused(say("Temporary chats aren't allowed here. Your text is kept, not sent."))
    return asked or settings.TEMPORARY_CHATS == "always"


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporaryChat:
    """`mark` changes as long as some server has a page that shows it."""

    id: str
    owner: Owner
    mark: str


@reading
def temporary_chats() -> list[TemporaryChat]:
    """Return all there are, also those of which nothing but a file is stored yet."""
    found: dict[tuple[uuid.UUID, Owner], TemporaryChat] = {}
    files = TemporaryFile.objects.order_by("touched")
    for id, user, guest, touched in files.values_list(
        "conversation", "upload__user_id", "upload__guest", "touched"
    ):
        owner = Owner(user=user, guest=guest)
        found[id, owner] = TemporaryChat(id=str(id), owner=owner, mark=touched.isoformat())
    rows = Conversation.objects.filter(temporary=True)
    for id, user, guest, updated in rows.values_list("id", "user_id", "guest", "updated"):
        owner = Owner(user=user, guest=guest)
        found[id, owner] = TemporaryChat(id=str(id), owner=owner, mark=updated.isoformat())
    return list(found.values())


@reading
def require_own_temporary(*, owner: Owner, conversation: str) -> None:
    """Raise NotFound for another owner's and where nothing is stored, Refused for one that isn't
    temporary."""
    row = free_or_owned(owner, conversation)
    files = TemporaryFile.objects.filter(owner.filter("upload__"), conversation=conversation)
    if row is None and not files.exists():
        raise NotFound(say("There is no such conversation."))
    if row is not None and not row.temporary:
        raise Refused(say("This chat isn't temporary any more. Delete it where it is listed."))


@writing
def touch_chats(*, ids: Collection[str]) -> None:
    """Note that pages of this server show these chats, for the server that leads."""
    now = timezone.now()
    Conversation.objects.filter(temporary=True, deleted=None, id__in=ids).update(updated=now)
    TemporaryFile.objects.filter(conversation__in=ids).update(touched=now)


@writing
def keep_chat(*, owner: Owner, conversation: str) -> ConversationView:
    """Make a temporary chat an ordinary one. Raises NotFound, Refused where all are temporary."""
    hold(conversation=conversation)
    row = owned_conversation(owner, conversation)
    if row.temporary and settings.TEMPORARY_CHATS == "always":
        raise Refused(say(ALWAYS))
    row.temporary = None
    row.save(update_fields=["temporary"])
    TemporaryFile.objects.filter(conversation=row.id).delete()
    return conversation_view(row)


@writing
def note_file(*, owner: Owner, id: str, conversation: str) -> None:
    """Note that an upload belongs to a temporary chat. It may be gone already."""
    hold(owner)
    if Upload.objects.filter(owner.filter(), id=uuid.UUID(id), conversation=None).exists():
        TemporaryFile.objects.create(
            upload_id=uuid.UUID(id),
            conversation=uuid.UUID(conversation),
            touched=timezone.now(),
        )


@reading
def is_temporary_file(*, id: str) -> bool:
    return TemporaryFile.objects.filter(upload=uuid.UUID(id)).exists()


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """Whether there was such a chat, and the ids of its files: their bytes are gone, too, unless
    they are in a bucket."""

    begun: bool
    files: tuple[str, ...]


@in_pieces
def erase_chat(*, owner: Owner, conversation: str) -> Pieces[Erased]:
    """Erase an owner's temporary chat with all that was stored with it; another one stays. The
    first piece hides it, so that nothing is added meanwhile."""
    hold(owner, conversation=conversation)
    id = uuid.UUID(conversation)
    rows = Conversation.objects.filter(owner.filter(), id=id, temporary=True)
    begun = rows.update(deleted=timezone.now()) > 0
    noted = TemporaryFile.objects.filter(owner.filter("upload__"), conversation=id)
    which = Q(conversation=None, id__in=noted.values("upload"))
    if begun:
        which |= Q(conversation=id)
    theirs = Upload.objects.filter(which)
    files = tuple(str(file) for file in theirs.values_list("id", flat=True))
    theirs.delete()
    noted.delete()
    yield
    if begun:
        yield from remove_conversations(Q(id=id, temporary=True))
        loading.forget_entries(id)
    return Erased(begun=begun, files=files)
