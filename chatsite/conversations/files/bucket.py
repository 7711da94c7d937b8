"""Uploaded files in a bucket of S3, under the names that they have in a folder.

Imported only where FILES_URL names a bucket: boto3 takes 30 MB and a quarter of a second.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, cast

from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files import File
from storages.backends.s3 import S3Storage

from chatsite.errors import Refused
from chatsite.files.folder import SENT_ENDINGS, name_of
from chatsite.wording import later, say

logger = logging.getLogger("chatsite.files")
# A person waits for it, and a thread that others need too: two attempts, 2 s each to connect.
CONFIG = Config(
    connect_timeout=2,
    read_timeout=5,
    retries={"total_max_attempts": 2},
    # Other makers' stores don't know the newer checksums.
    request_checksum_calculation="when_required",
    response_checksum_validation="when_required",
)
NOT_KEPT = later(
    "The store for files can't be reached now, so that nothing was kept. Try again in a minute."
)
NOT_READ = later(
    "The store for files can't be reached now. The file is still kept; try again in a minute."
)


class Bucket:
    """The verbs of `files.folder.Folder` for files that were kept. Each asks over the network, so
    none may run on the event loop's thread or in a transaction. Each raises Refused where the store
    doesn't answer."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._storage: Any = S3Storage(
            **options,
            client_config=CONFIG,
            # In the thread that asks: ten more for each file would escape every limit.
            transfer_config=TransferConfig(use_threads=False),
            max_memory_size=1024 * 1024,  # what is read beyond it lies on the disk
            file_overwrite=True,
        )

    def keep(self, came: Path, id: str) -> None:
        """Store an upload, with the copy that is sent instead, under that id."""
        with _reached(NOT_KEPT):
            for ending in (*SENT_ENDINGS, ""):
                path = came.with_suffix(ending)
                if path.exists():
                    with path.open("rb") as file:
                        self._storage.save(name_of(id) + ending, File(file))

    def share(self, id: str, new: str) -> bool:
        """Copy a file, with the copies beside it, within the store; False where it isn't there."""
        with _reached(NOT_READ):
            names = self._names(id)
            client, bucket = self._storage.connection.meta.client, self._storage.bucket_name
            for name in sorted(names, reverse=True):  # the file itself last, as in `keep`
                client.copy_object(
                    Bucket=bucket,
                    CopySource={"Bucket": bucket, "Key": self._key(name)},
                    Key=self._key(name.replace(name_of(id), name_of(new))),
                )
            return name_of(id) in names

    def opened(self, id: str, ending: str = "") -> IO[bytes]:
        """Fetch all of the file before anything is passed on: a connection that breaks is then a
        sentence, and not half a file. Raises FileNotFoundError."""
        with _reached(NOT_READ):
            return cast(IO[bytes], self._storage.open(name_of(id) + ending).file)

    def sent(self, id: str) -> tuple[IO[bytes], str]:
        """Fetch what is sent to a provider, with its type where that is a copy. Raises
        FileNotFoundError."""
        with _reached(NOT_READ):
            names = self._names(id)
        for ending, mime_type in SENT_ENDINGS.items():
            if name_of(id) + ending in names:
                return self.opened(id, ending), mime_type
        return self.opened(id), ""

    def exists(self, id: str) -> bool:
        with _reached(NOT_READ):
            return bool(self._storage.exists(name_of(id)))

    def remove(self, id: str) -> None:
        with _reached(NOT_READ):
            for name in self._names(id):
                self._storage.delete(name)

    def ids(self, *, older_than: float) -> Iterator[str]:
        """Yield the ids of all files that were stored more than so many seconds ago."""
        before = time.time() - older_than
        with _reached(NOT_READ):
            for found in self._storage.bucket.objects.filter(Prefix=self._key("")):
                name = found.key.rpartition("/")[2]
                if len(name) == 32 and found.last_modified.timestamp() < before:
                    yield str(uuid.UUID(name))

    def fault(self) -> str:
        """Write, and remove, a file of no bytes: what is wrong with the bucket, "" for nothing."""
        try:
            client, bucket = self._storage.connection.meta.client, self._storage.bucket_name
            client.put_object(Bucket=bucket, Key=self._key("check"), Body=b"")
            client.delete_object(Bucket=bucket, Key=self._key("check"))
        except (BotoCoreError, ClientError) as error:
            return _reason(error)
        return ""

    def _names(self, id: str) -> set[str]:
        found = self._storage.bucket.objects.filter(Prefix=self._key(name_of(id)))
        return {one.key.removeprefix(self._key("")) for one in found}

    def _key(self, name: str) -> str:
        return f"{self._storage.location}/{name}".lstrip("/")


@lru_cache(maxsize=4)
def bucket_at(**options: str) -> Bucket:
    """The same object for the same bucket: a connection takes 100 ms to make."""
    return Bucket(options)


@contextmanager
def _reached(sentence: str) -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, ClientError, Boto3Error) as error:
        logger.error("the store for files can't be used: %s", _reason(error))
        raise Refused(say(sentence), code="store_away") from None


def _reason(error: Exception) -> str:
    """A word: the sentences of boto3 repeat addresses and keys."""
    if isinstance(error, ClientError):
        return str(error.response.get("Error", {}).get("Code", "unknown"))
    return type(error).__name__
