"""Reading requests and answering errors, for every view of this folder."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_http_methods

from chatsite.errors import (
    BadCommand,
    BadFile,
    BadRestore,
    ChatsiteError,
    NotFound,
    PromptTooLarge,
    ProviderError,
    Refused,
    TooMany,
)
from chatsite.messages import MAX_ATTACHMENTS, UNSOUND
from chatsite.web.server.requests import too_many
from chatsite.wording import say

MAX_MODEL = 200
# The characters of a page's own query: more than all settings with their values have.
MAX_QUERY = 4_096
STATUS: tuple[tuple[type[ChatsiteError], int], ...] = (
    (NotFound, 404),
    (Refused, 409),
    (BadCommand, 400),
    (BadRestore, 400),
    (PromptTooLarge, 409),
    (ProviderError, 502),
    (ChatsiteError, 500),
)
View = Callable[..., Coroutine[Any, Any, HttpResponseBase]]


def takes(*methods: str) -> Callable[[View], View]:
    """Decorates a view that takes these methods. Our own errors are answered with `{code, message}`
    and their status."""
    return lambda view: require_http_methods(methods)(_answer_errors(view))


def _answer_errors(view: View) -> View:
    @functools.wraps(view)
    async def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return await view(request, *args, **kwargs)
        except TooMany as error:
            return too_many(request, error)
        except BadFile as error:  # a template from a form, which shows it at its place
            wrong = {"code": "bad_template", "message": error.said(), "place": error.key}
            return JsonResponse(wrong, status=400)
        except ChatsiteError as error:
            status = next(status for kind, status in STATUS if isinstance(error, kind))
            return JsonResponse({"code": error.code, "message": error.message}, status=status)

    return wrapped


def request_body(request: HttpRequest) -> bytes:
    try:
        return request.body
    except RequestDataTooBig:
        raise BadCommand(say("The request's body is too large.")) from None


def json_fields(request: HttpRequest) -> dict[str, Any]:
    try:
        body = json.loads(request_body(request) or b"{}")
    except (ValueError, RecursionError):
        raise BadCommand(say("The request's body is not JSON.")) from None
    if not isinstance(body, dict):
        raise BadCommand(say("The request's body is not a JSON object."))
    return body


def storable(text: str) -> str:
    """Raises BadCommand for characters that no database stores: lone surrogates and NUL."""
    if UNSOUND.search(text):
        raise BadCommand(say("This text holds characters that can't be stored."))
    return text


def time_in_utc(text: str) -> datetime:
    """Reads a time with its offset. Raises ValueError, and OverflowError: one at the edge of the
    calendar has none in UTC, in which the database asks for it."""
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        raise ValueError
    return when.astimezone(UTC)


def model_name(value: Any) -> str:
    """Reads `provider:name`, or "" for the agent's own model."""
    if not isinstance(value, str) or len(value) > MAX_MODEL:
        raise BadCommand(
            say("model is a text of at most {max_model} characters.", max_model=MAX_MODEL)
        )
    return storable(value)


def page_query(value: Any) -> str:
    """Reads the page's query string."""
    if not isinstance(value, str) or len(value) > MAX_QUERY:
        raise BadCommand(
            say("query is the page's own, at most {max_query:,} characters.", max_query=MAX_QUERY)
        )
    return storable(value)


def upload_ids(value: Any) -> list[str]:
    """Reads the ids of uploaded files."""
    if not isinstance(value, list) or len(value) > MAX_ATTACHMENTS:
        raise BadCommand(
            say(
                "attachments are a list of at most {max_attachments} ids.",
                max_attachments=MAX_ATTACHMENTS,
            )
        )
    try:
        return [str(UUID(one)) for one in value]
    except (ValueError, AttributeError, TypeError):
        raise BadCommand(say("attachments are the ids of files.")) from None


def replied_id(value: Any) -> str | None:
    """Reads the id of the message that a draft replies to; None stands for none."""
    try:
        return str(UUID(value)) if value else None
    except (ValueError, AttributeError, TypeError):
        raise BadCommand(say("reply_to is the id of a message.")) from None
