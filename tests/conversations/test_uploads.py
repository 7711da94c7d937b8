"""Uploaded files belong to their owner and to one conversation, and count against a quota."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from chatsite.conversations.files import uploads
from chatsite.conversations.lifecycle import delete_conversation, undelete_conversation
from chatsite.conversations.models import Conversation, FileReference, Upload
from chatsite.conversations.owners import Owner
from chatsite.errors import NotFound, Refused
from chatsite.files.kinds import Kind
from chatsite.messages import Attachment
from tests.conversations.builders import ADA, BOB, begin, end, new_id, row, run_in_threads
from tests.conversations.upload_builders import (
    Keep,
    conversation_with,
    folder,
    keep,
    stored_file_names,
)

__all__ = ["folder", "keep"]


def content_of(attachment: Attachment) -> tuple[bytes, str]:
    return asyncio.run(uploads.upload_content(ADA, id=attachment.id))


@pytest.mark.django_db(transaction=True)
class TestKeeping:
    def test_a_file_is_stored_under_a_random_name_and_readable_by_us_alone(
        self, keep: Keep, folder: Path
    ) -> None:
        attachment = keep(name="../plan.txt", text="Hello")
        assert stored_file_names(folder) == [attachment.id.replace("-", "")]
        found = uploads.find_upload.here(ADA, id=attachment.id)
        path = uploads.upload_folder().path(attachment.id)
        assert (found, path.read_bytes()) == (attachment, b"Hello")
        assert (attachment.characters, attachment.width, attachment.height) == (5, 4, 3)
        assert uploads.upload_text.here(ADA, id=attachment.id) == "Hello"
        assert path.parent.stat().st_mode & 0o777 == 0o700

    def test_a_converted_form_of_the_file_may_be_sent(self, keep: Keep) -> None:
        bmp = keep(b"BM", kind=Kind("image", "image/bmp"), converted=b"as png")
        assert content_of(bmp) == (b"as png", "image/png")
        assert content_of(keep()) == (b"Hello", "text/plain")

    def test_the_last_space_of_the_quota_is_used_only_once(self, keep: Keep, settings: Any) -> None:
        settings.FILES_QUOTA_MB = 1
        megabyte = 1024 * 1024
        keep(bytes(megabyte - 10), owner=BOB)
        results = run_in_threads(6, lambda: keep(bytes(megabyte * 2 // 5)))
        kept = [each for each in results if isinstance(each, Attachment)]
        refused = [each for each in results if isinstance(each, Refused)]
        assert (len(kept), len(refused)) == (2, 4)
        assert {error.code for error in refused} == {"quota_full"}
        assert "may take 1 MB together; 0.2 MB are free" in refused[0].message
        assert Upload.objects.filter(ADA.filter()).count() == 2

    def test_a_file_that_was_not_sent_can_be_discarded(self, keep: Keep, folder: Path) -> None:
        mine = keep(converted=b"x")
        with pytest.raises(NotFound):
            uploads.discard_upload.here(BOB, id=mine.id)
        uploads.discard_upload.here(ADA, id=mine.id)
        assert stored_file_names(folder) == []
        with pytest.raises(NotFound):
            uploads.find_upload.here(ADA, id=mine.id)

    def test_deleting_an_account_deletes_its_files(self, keep: Keep, folder: Path) -> None:
        user = User.objects.create_user("ada")
        keep(owner=ADA)
        assert uploads.move_uploads(guest="ada", user=user.pk, most=9) == 1
        sent = keep(owner=Owner(user=user.pk))
        conversation_with(sent, owner=Owner(user=user.pk))
        assert len(stored_file_names(folder)) == 2
        user.delete()
        assert stored_file_names(folder) == []


@pytest.mark.django_db(transaction=True)
class TestSending:
    def test_files_are_returned_once_each_in_the_order_of_their_ids(self, keep: Keep) -> None:
        one, two = keep(name="one"), keep(name="two", text="words")
        asked = [two.id, one.id, two.id]
        assert uploads.attachments_of.here(ADA, asked, conversation=new_id()) == (two, one)
        assert uploads.attachments_of.here(ADA, [], conversation=new_id()) == ()

    def test_files_of_others_and_missing_files_can_not_be_sent(self, keep: Keep) -> None:
        theirs, mine = keep(owner=BOB), keep()
        for ids in ([theirs.id], [mine.id, new_id()]):
            with pytest.raises(NotFound, match="Your text is kept"):
                uploads.attachments_of.here(ADA, ids, conversation=new_id())
        conversation = new_id()
        end(begin(conversation))
        with pytest.raises(Refused, match="Your text is kept"):
            uploads.claim_uploads(row(conversation), [theirs.id])
        assert Upload.objects.get(id=theirs.id).conversation is None

    def test_a_file_belongs_to_one_conversation(self, keep: Keep) -> None:
        mine = keep()
        first = conversation_with(mine)
        assert uploads.attachments_of.here(ADA, [mine.id], conversation=first) == (mine,)
        uploads.claim_uploads(row(first), [mine.id])
        with pytest.raises(Refused, match="another conversation"):
            uploads.attachments_of.here(ADA, [mine.id], conversation=new_id())
        with pytest.raises(Refused):
            conversation_with(mine)
        with pytest.raises(Refused, match="stays with it"):
            uploads.discard_upload.here(ADA, id=mine.id)

    def test_files_of_a_deleted_conversation_are_hidden_until_it_is_restored(
        self, keep: Keep
    ) -> None:
        mine = keep(text="words")
        conversation = conversation_with(mine)
        delete_conversation.here(owner=ADA, conversation=conversation)
        for ask in (uploads.find_upload, uploads.upload_text):
            with pytest.raises(NotFound):
                ask.here(ADA, id=mine.id)
        with pytest.raises(NotFound):
            uploads.attachments_of.here(ADA, [mine.id], conversation=conversation)
        undelete_conversation.here(owner=ADA, conversation=conversation)
        assert uploads.upload_text.here(ADA, id=mine.id) == "words"

    def test_a_deletion_by_an_administrator_removes_the_files(
        self, keep: Keep, folder: Path
    ) -> None:
        conversation = conversation_with(keep(), keep())
        Conversation.objects.filter(id=conversation).delete()
        assert stored_file_names(folder) == []

    def test_a_file_without_its_bytes_is_not_found(self, keep: Keep, folder: Path) -> None:
        mine = keep()
        os.unlink(uploads.upload_folder().path(mine.id))
        for ask in (uploads.require_bytes, uploads.open_upload):
            with pytest.raises(NotFound):
                asyncio.run(ask(mine))
        with pytest.raises(NotFound):
            content_of(mine)


@pytest.mark.django_db(transaction=True)
def test_a_providers_id_of_a_file_is_stored_for_its_account(keep: Keep) -> None:
    mine = keep()

    def known(owner: Owner, at: str) -> str | None:
        return uploads.provider_reference.here(owner, id=mine.id, at=at)

    assert known(ADA, "openai:1") is None
    for name in ("file-1", "file-2"):
        uploads.save_reference.here(ADA, id=mine.id, at="openai:1", reference=name)
    assert (known(ADA, "openai:1"), known(ADA, "openai:2")) == ("file-2", None)
    assert known(BOB, "openai:1") is None
    with pytest.raises(NotFound):
        uploads.save_reference.here(BOB, id=mine.id, at="openai:1", reference="file-3")
    uploads.save_reference.here(ADA, id=mine.id, at="openai:1", reference=None)
    assert (known(ADA, "openai:1"), FileReference.objects.count()) == (None, 0)
