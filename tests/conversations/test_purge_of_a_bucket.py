"""What a purge removes where the files are in a bucket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chatsite.conversations.files import uploads
from chatsite.conversations.lifecycle import purge
from chatsite.conversations.models import Upload
from tests.conversations.builders import ADA
from tests.conversations.upload_builders import Keep, folder, keep
from tests.files.stores import KEY, s3_server

__all__ = ["folder", "keep"]


@pytest.mark.django_db(transaction=True)
def test_bytes_without_a_row_go_with_the_purge_and_rows_stay_while_the_bucket_is_away(
    keep: Keep, settings: Any, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    for name, value in KEY.items():
        monkeypatch.setenv(name, value)
    # As if every file had been stored long ago.
    monkeypatch.setattr("chatsite.conversations.lifecycle.LEFT_OVER_SECONDS", -60)
    with s3_server() as s3:
        settings.FILES_BUCKET = s3.options
        gone, stays = keep(), keep(converted=b"as png")
        uploads.discard_upload.here(ADA, id=gone.id)
        store = uploads.upload_store()
        # As a request does at its end.
        uploads.upload_folder().discard_unfinished(older_than=-60)
        assert store.exists(gone.id)
        assert purge().leftovers == 1
        assert (store.exists(gone.id), store.exists(stays.id)) == (False, True)
    assert purge().leftovers == 0
    assert [str(row.id) for row in Upload.objects.all()] == [stays.id]
