"""What a purge removes for good, when, and what it keeps."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from chatsite.conversations.files import uploads
from chatsite.conversations.lifecycle import Purged, delete_conversation, purge
from chatsite.conversations.models import Conversation, Message, Turn, Upload
from tests.conversations.builders import ADA, new_id, talk
from tests.conversations.upload_builders import (
    Keep,
    conversation_with,
    folder,
    keep,
    stored_file_names,
)

__all__ = ["folder", "keep"]
pytestmark = pytest.mark.django_db(transaction=True)
NOTHING = Purged(conversations=0, unsent=0, leftovers=0)
HOUR = timedelta(hours=1)


def later(hours: float) -> Purged:
    return purge(now=timezone.now() + timedelta(hours=hours))


def aged(path: Path, hours: float) -> Path:
    then = time.time() - hours * 3600
    os.utime(path, (then, then))
    return path


def test_a_deleted_conversation_is_purged_with_its_files_after_an_hour(
    keep: Keep, folder: Path
) -> None:
    gone, stays = conversation_with(keep()), conversation_with(keep())
    talk(gone, 3)
    delete_conversation.here(owner=ADA, conversation=gone)
    assert later(0.9) == NOTHING
    assert len(stored_file_names(folder)) == 2
    assert later(1.1) == Purged(conversations=1, unsent=0, leftovers=0)
    assert len(stored_file_names(folder)) == 1
    assert [str(row.id) for row in Conversation.objects.all()] == [stays]
    for rows in (Message.objects.all(), Turn.objects.all(), Upload.objects.all()):
        assert {str(row.conversation_id) for row in rows} == {stays}


def test_a_long_conversation_is_removed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatsite.conversations.lifecycle.ROWS", 3)
    gone = new_id()
    talk(gone, 5)
    Turn.objects.filter(number=5).update(asked=Message.objects.filter(seq=1).get())
    delete_conversation.here(owner=ADA, conversation=gone)
    assert later(2).conversations == 1
    assert (Message.objects.count(), Turn.objects.count()) == (0, 0)


def test_a_file_that_was_never_sent_is_removed_after_a_day(keep: Keep, folder: Path) -> None:
    conversation_with(keep())
    keep()
    assert later(23) == NOTHING
    assert later(25) == Purged(conversations=0, unsent=1, leftovers=0)
    assert len(stored_file_names(folder)) == 1


def test_leftovers_are_removed_and_files_being_written_are_kept(keep: Keep, folder: Path) -> None:
    whole, lost, fresh = keep(), keep(), keep()
    for attachment in (whole, lost):
        path = aged(uploads.upload_folder().path(attachment.id), 2)
        Upload.objects.filter(id=attachment.id).update(created=timezone.now() - 2 * HOUR)
    path.unlink()
    nobodys = uploads.upload_folder().path(new_id())
    nobodys.parent.mkdir(exist_ok=True)
    for path in (nobodys, nobodys.with_suffix(".png"), uploads.upload_folder().coming()):
        path.write_bytes(b"x")
        aged(path, 2)
    uploads.upload_folder().coming().write_bytes(b"under way")
    assert purge() == Purged(conversations=0, unsent=0, leftovers=3)
    assert {str(row.id) for row in Upload.objects.all()} == {whole.id, fresh.id}
    assert len(stored_file_names(folder)) == 3
    assert purge() == NOTHING


def test_a_missing_folder_deletes_no_rows(
    keep: Keep, folder: Path, settings: Any, tmp_path: Path
) -> None:
    keep()
    Upload.objects.update(created=timezone.now() - 2 * HOUR)
    settings.FILES_DIR = tmp_path / "not mounted"
    assert purge() == NOTHING
    settings.FILES_DIR = folder
    assert (Upload.objects.count(), len(stored_file_names(folder))) == (1, 1)


def test_the_command_prints_what_it_removed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("purge")
    said = (
        "Removed: deleted conversations 0, deleted messages 0, files never sent 0, leftovers 0.\n"
    )
    assert capsys.readouterr().out == said
