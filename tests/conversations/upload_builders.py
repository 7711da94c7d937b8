"""Fixtures and helpers that store uploaded files for tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatsite.conversations.files import uploads
from chatsite.conversations.owners import Owner
from chatsite.files.intake import ReceivedFile
from chatsite.files.kinds import Kind
from chatsite.messages import Attachment
from tests.conversations.builders import ADA, begin, end, new_id, row

Keep = Callable[..., Attachment]
TEXT = Kind("document", "text/plain")


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.FILES_DIR = tmp_path
    return tmp_path


@pytest.fixture
def keep(folder: Path) -> Keep:
    """A function that stores a file as the server does when the upload is complete."""

    def store_file(
        content: bytes = b"Hello",
        *,
        owner: Owner = ADA,
        name: str = "notes.txt",
        kind: Kind = TEXT,
        text: str = "",
        converted: bytes = b"",
    ) -> Attachment:
        path = uploads.upload_folder().coming()
        path.write_bytes(content)
        if converted:
            path.with_suffix(".png").write_bytes(converted)
        size = len(content)
        taken = ReceivedFile(path=path, size=size, kind=kind, text=text, width=4, height=3)
        id = new_id()
        uploads.upload_store().keep(path, id)
        return uploads.add_upload.here(owner, id=id, name=name, taken=taken)

    return store_file


def stored_file_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def conversation_with(*attachments: Attachment, owner: Owner = ADA) -> str:
    """Send the attachments in a new conversation and return its id."""
    conversation = new_id()
    end(begin(conversation, owner=owner))
    uploads.claim_uploads(row(conversation), [each.id for each in attachments])
    return conversation
