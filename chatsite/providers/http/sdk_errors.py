"""What an SDK's error is to us, and what a refusal teaches."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from types import ModuleType
from typing import Any

import httpx2

from chatsite.providers.http import failures
from chatsite.providers.http.refusals import ServerRefusal, read_sizes, refused_fields


def explain_sdk_error(
    error: Exception, *, sdk: ModuleType, model: str, sent: Collection[str]
) -> tuple[Exception, ServerRefusal]:
    """Return a ProviderError for what an SDK raised before an answer began, or a server said in
    place of one, and what a refusal says; both SDKs name their errors alike. Other errors are our
    own, and are returned unchanged. `sent` are the optional fields of the request."""
    kinds: Any = sdk
    headers: Mapping[str, str] | None = None
    if isinstance(error, failures.RefusedInStream):
        status, words, name = error.status, error.words, "error event"
    elif isinstance(error, kinds.APIStatusError):
        stated: Any = error
        status, headers, name = stated.status_code, stated.response.headers, type(error).__name__
        code, kind = getattr(error, "code", ""), getattr(error, "type", "")
        words = f"{code or ''} {kind or ''} {stated.message} {_body(error)}".strip()
    elif isinstance(error, kinds.APIConnectionError):
        cause = error.__cause__
        detail = str(cause) if isinstance(cause, httpx2.HTTPError) else ""
        return failures.unreachable(detail), ServerRefusal()
    elif isinstance(error, kinds.APIError):
        return failures.malformed(type(error).__name__), ServerRefusal()
    else:
        return error, ServerRefusal()
    fields = refused_fields(status, words, sent=sent)
    failure = failures.refused(
        status, model=model, name=name, words=words, headers=headers, fields=fields
    )
    if failure.code == "too_large":
        return failure, ServerRefusal(sizes=read_sizes(words))
    return failure, ServerRefusal(
        fields=fields if failure.code in ("no_tools", "bad_request") else ()
    )


def _body(error: Any) -> str:
    """What the body has beside the message: sizes, or a list of fields."""
    try:
        return json.dumps(error.body) if isinstance(error.body, dict | list) else ""
    except (TypeError, ValueError):
        return ""
