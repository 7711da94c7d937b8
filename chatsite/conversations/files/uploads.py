"""Uploaded files: a row for each, its bytes in a folder or a bucket; every write and read of them.

A file is found through its owner, and no longer once its conversation is deleted.
"""

from __future__ import annotations

import asyncio
import shutil
import time
import uuid
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import IO, TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Length
from django.utils import timezone

from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.owner_totals import total_of
from chatsite.conversations.models import Conversation, FileReference, Upload
from chatsite.conversations.models import Message as MessageRow
from chatsite.conversations.owners import Owner
from chatsite.errors import NotFound, Refused
from chatsite.files.folder import Folder
from chatsite.files.intake import KEPT_FREE, ReceivedFile
from chatsite.messages import Attachment, Message
from chatsite.storage import reading, writing
from chatsite.wording import later, say

if TYPE_CHECKING:
    from chatsite.conversations.files.bucket import Bucket

MILLION = 1_000_000
# Anybody can make any number of guests.
GUESTS_SHARE = 4
DISK_SECONDS = 3
NOT_KEPT = later(
    "The administrator has all chats here be temporary, so none can be imported or copied. Attach "
    "the file to a message, or write on in the chat that there is. Nothing was stored."
)


def characters_of(message: Message) -> int:
    """Count the characters of a message: its texts, and the calls in it."""
    calls = sum(len(str(dict(call.arguments))) for call in message.calls)
    return characters_of_texts(message) + calls


def characters_of_texts(message: Message | MessageRow) -> int:
    """Count the characters of its text, its reasoning and what its provider keeps with it."""
    texts = (message.content, message.reasoning, message.metadata)
    return sum(len(text) for text in texts if text)


def require_kept_chats() -> None:
    """Raise Refused where no new chat may be kept."""
    if settings.TEMPORARY_CHATS == "always":
        raise Refused(say(NOT_KEPT))


def require_words(owner: Owner, characters: int) -> None:
    """Raise Refused where so many more characters exceed the owner's quota, or where the disk is
    nearly full."""
    if free_space(int(time.monotonic() / DISK_SECONDS)) < KEPT_FREE:
        raise Refused(
            say(
                "This server's disk is nearly full, so that it takes no messages now. Your text is "
                "kept here."
            ),
            code="disk_full",
        )
    quota = settings.WORDS_QUOTA_MILLION * MILLION // (GUESTS_SHARE if owner.guest else 1)
    used = total_of(owner)
    if used + characters > quota:
        raise Refused(
            say(
                "Your conversations may have {quota:g} million characters together; {max:,} "
                "are free. Your text is kept here. A conversation that you delete makes "
                "room within two hours.",
                quota=quota / MILLION,
                max=max(quota - used, 0),
            ),
            code="words_full",
        )


@lru_cache(maxsize=1)
def free_space(moment: int) -> int:
    """Bytes, looked up once in each `moment` of DISK_SECONDS: a turn writes a few kilobytes."""
    return shutil.disk_usage(settings.VAR_DIR).free


GONE = later("This file isn't stored any more.")
MEGABYTE = 1024 * 1024


def upload_folder() -> Folder:
    """Where uploads arrive."""
    return Folder(settings.FILES_DIR)


def upload_store() -> Folder | Bucket:
    """Where their bytes are kept."""
    if not settings.FILES_BUCKET:
        return upload_folder()
    from chatsite.conversations.files.bucket import bucket_at

    return bucket_at(**settings.FILES_BUCKET)


# ---- adding and removing ---------------------------------------------------------------------
@reading
def require_quota(owner: Owner, *, size: int) -> None:
    """Raise Refused where `size` more bytes exceed the owner's quota."""
    quota = settings.FILES_QUOTA_MB * MEGABYTE
    used = Upload.objects.filter(owner.filter()).aggregate(total=Sum("size"))["total"] or 0
    if used + size > quota:
        raise Refused(
            say(
                "Your files may take {files_quota_mb} MB together; {megabytes} MB are free. "
                "Nothing was kept. A conversation that you delete takes its files with it "
                "within two hours.",
                files_quota_mb=settings.FILES_QUOTA_MB,
                megabytes=f"{max(0, quota - used) / MEGABYTE:.1f}",
            ),
            code="quota_full",
        )


async def store_upload(owner: Owner, *, name: str, taken: ReceivedFile) -> Attachment:
    """Store a checked upload: its bytes, and a row under the same id.

    The bytes first, and outside the transaction, where a slow store would stop every writer: what
    a crash leaves is a file without a row, which is purged. Raises Refused where the quota is
    exceeded, or the store doesn't answer.
    """
    id = str(uuid.uuid4())
    await asyncio.to_thread(upload_store().keep, taken.path, id)
    try:
        return await add_upload(owner, id=id, name=name, taken=taken)
    except Refused:
        await asyncio.to_thread(upload_store().remove, id)
        raise


@writing
def add_upload(owner: Owner, *, id: str, name: str, taken: ReceivedFile) -> Attachment:
    """Store the row of a file whose bytes are kept. Raises Refused where the quota is
    exceeded: two files that come at once can't both use the last space."""
    hold(owner)
    require_quota.here(owner, size=taken.size)
    row = Upload.objects.create(
        id=id,
        user_id=owner.user,
        guest=owner.guest,
        name=name,
        size=taken.size,
        modality=taken.kind.modality,
        mime_type=taken.kind.mime_type,
        width=taken.width,
        height=taken.height,
        text=taken.text,
        created=timezone.now(),
    )
    return _attachment(row, characters=len(taken.text))


def share_bytes(owner: Owner, ids: Sequence[str]) -> dict[str, str]:
    """Give the bytes of this owner's files second ids, and return those by the first, without files
    that aren't stored any more. Outside a transaction, as in `store_upload`."""
    owned = _owned_uploads(owner).filter(id__in=[uuid.UUID(id) for id in ids])
    second = {str(id): str(uuid.uuid4()) for id in owned.values_list("id", flat=True)}
    return {id: new for id, new in second.items() if upload_store().share(id, new)}


def copy_uploads(ids: Mapping[str, str], row: Conversation) -> None:
    """Copy the rows of files for the conversation `row`, within the caller's transaction: `ids` are
    the second ids of their bytes, which stay until the last one goes."""
    for upload in Upload.objects.filter(id__in=[uuid.UUID(id) for id in ids]):
        upload.id, upload.conversation = uuid.UUID(ids[str(upload.id)]), row
        upload.created = timezone.now()
        upload.save(force_insert=True)


@writing
def discard_upload(owner: Owner, *, id: str) -> None:
    """Delete a file that wasn't sent. Raises NotFound, Refused for one that was sent."""
    hold(owner)
    row = _owned_upload(owner, id)
    if row.conversation_id is not None:
        raise Refused(
            say("This file was sent with a message, and stays with it."), code="file_sent"
        )
    row.delete()


def remove_bytes(instance: Upload, **signal: Any) -> None:
    """Delete the bytes of a deleted row, receiving the signal: the admin's cascade sends it too.

    In a bucket the purge does it: a network would hold up whoever else writes.
    """
    if not settings.FILES_BUCKET:
        transaction.on_commit(partial(upload_folder().remove, str(instance.id)))


# ---- sending with a message ------------------------------------------------------------------
@reading
def attachments_of(
    owner: Owner, ids: Sequence[str], *, conversation: str
) -> tuple[Attachment, ...]:
    """Return the files to send with a message of this conversation, in this order, each once.

    A file of this conversation may be sent there again, so that a repeated command passes. Raises
    NotFound for another owner's and for deleted files, Refused for one of another conversation.
    """
    wanted = [uuid.UUID(id) for id in dict.fromkeys(ids)]
    if not wanted:
        return ()
    rows = {row.id: row for row in _without_text(_owned_uploads(owner).filter(id__in=wanted))}
    if len(rows) < len(wanted):
        raise NotFound(
            say("One of the files isn't stored any more. Your text is kept; attach the file again.")
        )
    allowed = (None, uuid.UUID(conversation))
    if any(row.conversation_id not in allowed for row in rows.values()):
        raise Refused(
            say(
                "One of the files was sent in another conversation. Your text is kept; attach the "
                "file again."
            ),
            code="file_sent",
        )
    return tuple(_attachment(rows[id], characters=rows[id].characters) for id in wanted)


def claim_uploads(row: Conversation, ids: Sequence[str]) -> None:
    """Assign files to the conversation that they are sent in, within the caller's transaction.

    Raises Refused where one was deleted, or sent in another conversation, a moment ago.
    """
    if not ids:
        return
    theirs = Upload.objects.filter(
        Owner(user=row.user_id, guest=row.guest).filter(),
        Q(conversation=None) | Q(conversation=row),
        id__in=[uuid.UUID(id) for id in ids],
    )
    if theirs.update(conversation=row) < len(set(ids)):
        raise Refused(
            say(
                "One of the files isn't stored any more. Your text is kept; attach the file again."
            ),
            code="file_gone",
        )


def move_uploads(*, guest: str, user: int, most: int) -> int:
    """Move at most that many of a guest's files to the account, and return how many were moved."""
    theirs = Upload.objects.filter(user=None, guest=guest)
    some = list(theirs.values_list("id", flat=True)[:most])
    return theirs.filter(id__in=some).update(user_id=user, guest="")


# ---- reading ---------------------------------------------------------------------------------
@reading
def find_upload(owner: Owner, *, id: str) -> Attachment:
    """Return what is known of a file. Raises NotFound."""
    row = _owned_upload(owner, id)
    return _attachment(row, characters=row.characters)


async def require_bytes(attachment: Attachment) -> None:
    """Raise NotFound where the file's bytes aren't there, Refused where the store is away."""
    if not await asyncio.to_thread(upload_store().exists, attachment.id):
        raise NotFound(say(GONE))


async def open_upload(attachment: Attachment) -> IO[bytes]:
    """Open the bytes of a file that was found. Raises NotFound, Refused where the store is away."""
    try:
        return await asyncio.to_thread(upload_store().opened, attachment.id)
    except FileNotFoundError:
        raise NotFound(say(GONE)) from None


async def upload_content(owner: Owner, *, id: str) -> tuple[bytes, str]:
    """Return the bytes that a provider gets, and their type. Raises NotFound, Refused where the
    store is away."""
    attachment = await find_upload(owner, id=id)

    def read() -> tuple[bytes, str]:
        file, mime_type = upload_store().sent(id)
        with file:
            return file.read(), mime_type or attachment.mime_type or ""

    try:
        return await asyncio.to_thread(read)
    except FileNotFoundError:
        raise NotFound(say(GONE)) from None


@reading
def upload_text(owner: Owner, *, id: str) -> str:
    """Return the text of a file, "" where none can be extracted. Raises NotFound."""
    text = _owned_uploads(owner).filter(id=uuid.UUID(id)).values_list("text", flat=True).first()
    if text is None:
        raise NotFound(say(GONE))
    return text


@reading
def provider_reference(owner: Owner, *, id: str, at: str) -> str | None:
    """Return the file's id at the provider account `at`, None where it isn't stored there."""
    upload = _owned_uploads(owner).filter(id=uuid.UUID(id))
    references = FileReference.objects.filter(upload__in=upload, at=at)
    return references.values_list("reference", flat=True).first()


@writing
def save_reference(owner: Owner, *, id: str, at: str, reference: str | None) -> None:
    """Store the file's id at the provider account `at`; None deletes it. Raises NotFound."""
    hold(owner)
    row = _owned_upload(owner, id)
    if reference is None:
        FileReference.objects.filter(upload=row, at=at).delete()
    else:
        FileReference.objects.update_or_create(
            upload=row,
            at=at,
            defaults={"reference": reference, "created": timezone.now()},
        )


def _owned_uploads(owner: Owner) -> QuerySet[Upload]:
    """Select the owner's files, except those of deleted conversations."""
    return Upload.objects.filter(owner.filter(), conversation__deleted=None)


def _owned_upload(owner: Owner, id: str) -> Any:
    """Read one of them without its text. Raises NotFound."""
    row = _without_text(_owned_uploads(owner).filter(id=uuid.UUID(id))).first()
    if row is None:
        raise NotFound(say(GONE))
    return row


def _without_text(rows: QuerySet[Upload]) -> QuerySet[Any]:
    """Read the length of each text instead of the text, which may be long."""
    return rows.annotate(characters=Length("text")).defer("text")


def _attachment(row: Upload, *, characters: int) -> Attachment:
    return Attachment(
        id=str(row.id),
        name=row.name,
        size=row.size,
        modality=row.modality,  # type: ignore[arg-type]
        mime_type=row.mime_type,
        width=row.width,
        height=row.height,
        characters=characters,
    )
