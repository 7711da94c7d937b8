"""Refuses requests that Django can't read. It would answer 500, and log a traceback for each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import IO, Any, cast

from django.conf import settings
from django.core.exceptions import BadRequest
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.http import HttpResponse
from django.http.request import RawPostDataException
from django.http.response import HttpResponseBase

from chatsite.web.server.responses import KEPT_NOWHERE
from chatsite.wording import later, say

UNREADABLE = later("This request can't be read: its header Content-Type is not allowed.")
NO_UTF8 = later("This request can't be read: its address isn't UTF-8.")
TOO_MANY_FIELDS = later("This request can't be read: its address has too many fields.")
TOKEN = rb"[!#$%&'+.^_`|~0-9A-Za-z-]+"  # without *, which begins an encoding of the value
# RFC 2046, without the blank.
BOUNDARY = rb"[0-9A-Za-z'()+_,./:=?-]{1,70}"
# What no other value may name: a codec of Python's, or where the parts of a form begin.
PARAMETER = (
    rb'[ \t]*;[ \t]*(?:charset=(?:utf-?8|"utf-?8")'
    rb'|boundary=(?:"' + BOUNDARY + rb'"|' + BOUNDARY + rb")"
    rb"|(?!charset=|boundary=)" + TOKEN + rb"=(?:" + TOKEN + rb'|"[ !#-\[\]-~]*"))'
)
CONTENT_TYPE = re.compile(
    rb"(?:(?!multipart/)" + TOKEN + rb"/" + TOKEN + rb"(?:" + PARAMETER + rb")*"
    rb"|multipart/" + TOKEN + rb"(?=[^\"]*;[ \t]*boundary=)(?:" + PARAMETER + rb")+)?[ \t;]*",
    re.IGNORECASE,
)


class ReadableRequest(ASGIRequest):
    """A request whose form, if it can't be read, is its sender's mistake: the parts of a form name
    codecs too."""

    def _load_post_and_files(self) -> None:
        try:
            super()._load_post_and_files()
        except (LookupError, ValueError) as error:
            cast(Any, self)._mark_post_parse_error()
            raise BadRequest("A form that can't be read") from error

    @property
    def body(self) -> bytes:
        try:
            return super().body
        except RawPostDataException as error:  # it was read as a form
            raise BadRequest("A form where none is taken") from error


class Pages(ASGIHandler):
    """Django, for requests that it can read."""

    request_class = ReadableRequest

    def create_request(
        self, scope: Mapping[str, Any], body_file: IO[bytes]
    ) -> tuple[ASGIRequest, None] | tuple[None, HttpResponseBase]:
        if wrong := unreadable(scope):
            return None, _refusal(wrong)
        return super().create_request(scope, body_file)


def unreadable(scope: Mapping[str, Any]) -> str:
    """What is wrong with a request, "" if it can be read."""
    query: bytes = scope["query_string"]
    if query:
        if query.count(b"&") >= (settings.DATA_UPLOAD_MAX_NUMBER_FIELDS or len(query)):
            return say(TOO_MANY_FIELDS)
        try:
            query.decode()
        except UnicodeDecodeError:
            return say(NO_UTF8)
    found = [value for name, value in scope["headers"] if name == b"content-type"]
    if found and (len(found) > 1 or not CONTENT_TYPE.fullmatch(found[0])):
        return say(UNREADABLE)
    return ""


def _refusal(message: str) -> HttpResponse:
    body = json.dumps({"code": "unreadable", "message": message})
    headers = {"Cache-Control": KEPT_NOWHERE}
    return HttpResponse(body, status=400, content_type="application/json", headers=headers)
