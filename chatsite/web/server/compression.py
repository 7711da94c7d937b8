"""Which answers are compressed. SECURITY.md says how BREACH is kept out."""

from __future__ import annotations

from typing import Any, cast

from asgiref.sync import sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import patch_vary_headers

# Nothing of the address is mirrored in these pages, and no secret is in them.
PAGES = ("chat", "conversation-page")


class Compression(GZipMiddleware):
    """gzip for the chat page, and for JSON that a page of this site asks for."""

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        response = await cast(Any, self.get_response)(request)
        if may_be_compressed(request, response):
            # Beside the event loop: a long conversation takes milliseconds.
            response = await sync_to_async(self.process_response)(request, response)
        return cast(HttpResponseBase, response)


def may_be_compressed(request: HttpRequest, response: HttpResponseBase) -> bool:
    kind = response.headers.get("Content-Type", "").partition(";")[0]
    if response.streaming or response.status_code != 200:
        return False
    if kind == "application/json":
        # The browser says so itself, and no script can: another site's requests, from which the
        # length of an answer could be learnt, are answered without compression.
        patch_vary_headers(response, ("Sec-Fetch-Site",))
        return request.headers.get("Sec-Fetch-Site") == "same-origin"
    match = request.resolver_match
    return kind == "text/html" and match is not None and match.url_name in PAGES
