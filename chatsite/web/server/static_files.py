"""Static files: collected under hashed names when they have changed, served by WhiteNoise.

Where a page names a source of `static/chat` that `make build` bundles, it gets the built file.
With DEBUG it gets the source itself: who edits a module sees the change with the next reload.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from functools import cache
from typing import IO, Any

import django
from asgiref.sync import markcoroutinefunction
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import ManifestStaticFilesStorage
from django.core.management import call_command
from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.storage import CompressedManifestStaticFilesStorage

BLOCK = 256 * 1024


# The bundler puts a hash of the content into the name.
BUILT = re.compile(r"built/[\w-]+-[A-Z0-9]{8}\.\w+$")


class KeepBuilt(ManifestStaticFilesStorage):
    """Leaves built files as they are: they import each other by their names."""

    def post_process(
        self, paths: dict[str, Any], dry_run: bool = False, **options: Any
    ) -> Iterator[Any]:
        built = [name for name in paths if BUILT.match(name)]
        rest = {name: path for name, path in paths.items() if name not in built}
        yield from super().post_process(rest, dry_run=dry_run, **options)
        yield from ((name, name, True) for name in built)


class HashedFiles(CompressedManifestStaticFilesStorage, KeepBuilt):
    """Names carry a hash of the content."""

    def url(self, name: str | None, force: bool = False) -> str:
        built = None if settings.DEBUG else built_files().get(name or "")
        address: str = (
            f"{settings.STATIC_URL}{built[0]}" if built else super().url(name or "", force=force)
        )
        return address


def chunk_addresses(name: str, *more: str) -> list[str]:
    """Lists the files that come with a built module: those that it imports at once, and those of
    `more` modules. The page names them, to load them with the module."""
    if settings.DEBUG:
        return []
    first, *rest = (file for one in (name, *more) for file in built_files().get(one, []))
    return [f"{settings.STATIC_URL}{file}" for file in dict.fromkeys(rest) if file != first]


@cache
def built_files() -> Mapping[str, list[str]]:
    """Lists by the name of a source its built file and that file's chunks, as at the server's
    start."""
    found: dict[str, list[str]] = json.loads(
        (settings.BASE_DIR / "static/built/built.json").read_text()
    )
    return found


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise without a thread for each request.

    WhiteNoise is synchronous: Django would run every request through a thread to reach it, and
    would log a warning for every file, because its body is a synchronous iterator.
    """

    sync_capable = False
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Awaitable[HttpResponseBase]]) -> None:
        super().__init__(get_response)
        markcoroutinefunction(self)

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        found: HttpResponseBase | Awaitable[HttpResponseBase] = super().__call__(request)
        return found if isinstance(found, HttpResponseBase) else await found

    def immutable_file_test(self, path: str, url: str) -> bool:
        name = url.removeprefix(settings.STATIC_URL)
        return bool(BUILT.match(name)) or super().immutable_file_test(path, url)

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> FileResponse:
        response: FileResponse = WhiteNoiseMiddleware.serve(static_file, request)
        response.streaming_content = read_blocks(response.file_to_stream)
        return response


async def read_blocks(file: IO[bytes] | None) -> AsyncIterator[bytes]:
    """Gives the file's content, then closes the file; nothing without a file (HEAD, not
    modified)."""
    if file is None:
        return
    try:
        while block := await asyncio.to_thread(file.read, BLOCK):
            yield block
    finally:
        file.close()


def collect_if_changed() -> None:
    """Brings STATIC_ROOT up to date. A stamp beside it saves the seconds that collecting takes."""
    stamp = settings.VAR_DIR / "static.stamp"
    signature = source_signature()
    if stamp.is_file() and stamp.read_text() == signature and settings.STATIC_ROOT.is_dir():
        return
    call_command("collectstatic", verbosity=0, interactive=False)
    stamp.write_text(signature)


def source_signature() -> str:
    """Hashes the names, sizes and times of all files that would be collected."""
    seen = [django.get_version()]
    for finder in get_finders():
        for path, storage in finder.list(None):
            changed = storage.get_modified_time(path).timestamp()
            seen.append(f"{path} {storage.size(path)} {changed}")
    return hashlib.sha256("\n".join(sorted(seen)).encode()).hexdigest()
