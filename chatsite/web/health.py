"""What a supervisor or a proxy asks: whether the process runs, and whether it can serve."""

from __future__ import annotations

import asyncio

from django.db import Error
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from chatsite.conversations import store
from chatsite.web.people import site_of

READY_SECONDS = 2.0


@require_safe
async def health(request: HttpRequest) -> JsonResponse:
    """200 while the process answers at all."""
    return JsonResponse({"status": "ok"})


@require_safe
async def ready(request: HttpRequest) -> JsonResponse:
    """200 where the database answers in time, else 503. Providers aren't asked: each answer says
    for itself where one fails."""
    try:
        async with asyncio.timeout(READY_SECONDS):
            await site_of(request).run(store.answers)
    except (Error, TimeoutError):
        return JsonResponse({"status": "the database doesn't answer"}, status=503)
    return JsonResponse({"status": "ok"})
