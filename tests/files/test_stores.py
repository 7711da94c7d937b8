"""A folder and a bucket do the same with files that were kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chatsite.checks import check_bucket
from chatsite.conversations.files.bucket import Bucket
from chatsite.errors import Refused
from chatsite.files.folder import Folder
from tests.conversations.builders import new_id
from tests.files.stores import KEY, S3Server, s3_server

Store = Folder | Bucket


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


@pytest.fixture(params=["folder", "bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    if request.param == "folder":
        return Folder(tmp_path)
    for name, value in KEY.items():
        monkeypatch.setenv(name, value)
    return Bucket(request.getfixturevalue("s3").options)


def kept(store: Store, tmp_path: Path, content: bytes = b"Hello", converted: bytes = b"") -> str:
    id, came = new_id(), Folder(tmp_path).coming()
    came.write_bytes(content)
    if converted:
        came.with_suffix(".png").write_bytes(converted)
    store.keep(came, id)
    return id


def read(store: Store, id: str) -> bytes:
    with store.opened(id) as file:
        return file.read()


def read_sent(store: Store, id: str) -> tuple[bytes, str]:
    file, mime_type = store.sent(id)
    with file:
        return file.read(), mime_type


def test_a_file_is_read_as_it_was_kept(store: Store, tmp_path: Path) -> None:
    large = bytes(range(256)) * 40_000
    for content in (b"Hello", large):
        id = kept(store, tmp_path, content)
        assert read(store, id) == content and store.exists(id)
        assert read_sent(store, id) == (content, "")


def test_a_copy_beside_a_file_is_sent_instead(store: Store, tmp_path: Path) -> None:
    id = kept(store, tmp_path, b"BM", b"as png")
    assert (read(store, id), read_sent(store, id)) == (b"BM", (b"as png", "image/png"))


def test_a_shared_file_stays_until_both_ids_are_removed(store: Store, tmp_path: Path) -> None:
    old, new = kept(store, tmp_path, b"BM", b"as png"), new_id()
    assert store.share(old, new) and not store.share(new_id(), new_id())
    store.remove(old)
    assert not store.exists(old)
    assert (read(store, new), read_sent(store, new)) == (b"BM", (b"as png", "image/png"))
    store.remove(new)
    for ask in (store.opened, store.sent):
        with pytest.raises(FileNotFoundError):
            ask(new)


def test_it_lists_each_file_once_by_its_age(store: Store, tmp_path: Path) -> None:
    id = kept(store, tmp_path, b"BM", b"as png")
    assert list(store.ids(older_than=-5)).count(id) == 1
    assert id not in list(store.ids(older_than=60))


def test_the_check_names_a_bucket_that_is_missing(
    s3: S3Server, settings: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in KEY.items():
        monkeypatch.setenv(name, value)
    settings.FILES_BUCKET = s3.options  # type: ignore[attr-defined]
    assert check_bucket(None) == []
    settings.FILES_BUCKET = s3.options | {"bucket_name": "nobodys"}  # type: ignore[attr-defined]
    (found,) = check_bucket(None)
    assert "nothing can be written there (NoSuchBucket)" in found.msg


def test_a_store_that_is_away_refuses_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in KEY.items():
        monkeypatch.setenv(name, value)
    with s3_server() as server:
        store = Bucket(server.options)
        id = kept(store, tmp_path)
    with pytest.raises(Refused, match="nothing was kept"):
        kept(store, tmp_path)
    for ask in (store.opened, store.sent, store.exists, store.remove):
        with pytest.raises(Refused, match="still kept"):
            ask(id)
    assert "EndpointConnectionError" in caplog.text
    assert "a-secret" not in caplog.text and "a-key" not in caplog.text
