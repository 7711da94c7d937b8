"""Static files under hashed names, compressed, served without a thread a request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import IO, Any

from asgiref.sync import markcoroutinefunction
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.storage import CompressedManifestStaticFilesStorage

BLOCK = 256 * 1024


class HashedFiles(CompressedManifestStaticFilesStorage):
    """Names carry a hash of the content; imports between ES modules are rewritten to them."""

    support_js_module_import_aggregation = True
    # A pass settles one level of imports; ours are deeper than the five that Django allows.
    max_post_process_passes = 20


async def blocks(file: IO[bytes]) -> AsyncIterator[bytes]:
    try:
        while block := await asyncio.to_thread(file.read, BLOCK):
            yield block
    finally:
        file.close()


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise with an asynchronous body: Django warns of a synchronous one for every file."""

    sync_capable = False
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Awaitable[HttpResponseBase]]) -> None:
        super().__init__(get_response)
        self.next = get_response
        markcoroutinefunction(self)

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        found = self.find_file(path) if self.autorefresh else self.files.get(path)
        return await self.next(request) if found is None else self.serve(found, request)

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponseBase:
        answer = static_file.get_response(request.method, request.META)
        status = int(answer.status)
        response: HttpResponseBase = HttpResponse(status=status)  # HEAD, or not changed
        if answer.file is not None:
            response = StreamingHttpResponse(blocks(answer.file), status=status)
        del response["Content-Type"]
        for name, value in answer.headers:
            response[name] = value
        return response
