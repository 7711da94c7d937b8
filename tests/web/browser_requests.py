"""HTTP requests as a browser sends them, and as an attacker would."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from yarl import URL

from tests.person import Person

NOBODYS = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An HTTP response. The keys of `headers` are lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


async def ask(
    person: Person,
    method: str,
    path: str,
    *,
    data: Any = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Send a request with only `headers` and the person's cookies. Doesn't follow redirects."""
    async with person.http.request(
        method,
        URL(person.url + path, encoded=True),
        data=data,
        headers=headers,
        allow_redirects=False,
    ) as answer:
        found = {name.lower(): value for name, value in answer.headers.items()}
        return Answer(status=answer.status, headers=found, body=await answer.read())


async def ask_from_page(
    person: Person, method: str, path: str, *, data: Any = None, type: str = ""
) -> Answer:
    """Send a request as the page does: with the site's origin and the CSRF token."""
    headers = {"Origin": person.url, "X-CSRFToken": person.cookie("csrf")}
    if type:
        headers["Content-Type"] = type
    return await ask(person, method, path, data=data, headers=headers)


async def submit(person: Person, path: str, **form: str) -> Answer:
    """Open the page at `path` and submit its form."""
    page = await ask(person, "GET", path)
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert token is not None, page.text
    fields = {**form, "csrfmiddlewaretoken": token[1]}
    return await ask(person, "POST", path, data=fields, headers={"Origin": person.url})


async def upload_file(
    person: Person, content: Any, *, name: str = "notes.txt", type: str = "text/html", **more: str
) -> Answer:
    """Upload a file as the page does. The server ignores the claimed content type."""
    headers = {
        "Origin": person.url,
        "X-CSRFToken": person.cookie("csrf"),
        "X-File-Name": quote(name),
        "Content-Type": type,
    }
    return await ask(person, "POST", "/files", data=content, headers=headers | more)


async def attach_file(person: Person, content: bytes, **said: str) -> dict[str, Any]:
    answer = await upload_file(person, content, **said)
    assert answer.status == 200, answer.text
    attachment: dict[str, Any] = answer.json["attachment"]
    return attachment
