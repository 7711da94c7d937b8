"""What an SDK's error is to us, and what a refusal teaches."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from types import ModuleType
from typing import Any

import httpx2

from chatsite.errors import ProviderError
from chatsite.providers.http import failures
from chatsite.providers.http.refusals import Refusal, refused_fields, sizes_in


def explain_sdk_error(
    error: Exception, *, sdk: ModuleType, model: str, sent: Collection[str] = ()
) -> tuple[Exception, Refusal]:
    """A ProviderError for what an SDK raised before an answer began, or a server said in place of
    one, and what a refusal says; both SDKs name their errors alike. Other errors are our own, and
    are returned unchanged. `sent` are the optional fields of the request."""
    kinds: Any = sdk
    if isinstance(error, failures.RefusedInStream):
        return _refusal(error.status, error.said, model=model, name="error event", sent=sent)
    if isinstance(error, kinds.APIStatusError):
        stated: Any = error
        code, kind = getattr(error, "code", ""), getattr(error, "type", "")
        return _refusal(
            stated.status_code,
            f"{code or ''} {kind or ''} {stated.message} {_body(error)}".strip(),
            model=model,
            name=type(error).__name__,
            sent=sent,
            headers=stated.response.headers,
        )
    return _unanswered(error, kinds), Refusal()


def _unanswered(error: Exception, kinds: Any) -> Exception:
    if isinstance(error, kinds.APIConnectionError):
        cause = error.__cause__
        return failures.unreachable(str(cause) if isinstance(cause, httpx2.HTTPError) else "")
    if isinstance(error, kinds.APIError):
        return failures.malformed(type(error).__name__)
    return error


def _refusal(
    status: int,
    said: str,
    *,
    model: str,
    name: str,
    sent: Collection[str],
    headers: Mapping[str, str] | None = None,
) -> tuple[ProviderError, Refusal]:
    fields = refused_fields(status, said, sent=sent)
    told = failures.refused(
        status, model=model, name=name, said=said, headers=headers, fields=fields
    )
    if told.code == "too_large":
        return told, Refusal(sizes=sizes_in(said), fields=())
    return told, Refusal(fields=fields if told.code in ("no_tools", "bad_request") else ())


def _body(error: Any) -> str:
    """What the body has beside the message: sizes, or a list of fields."""
    try:
        return json.dumps(error.body) if isinstance(error.body, dict | list) else ""
    except (TypeError, ValueError):
        return ""
