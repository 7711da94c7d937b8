"""Hostile values in every field: of frames, of addresses, of bodies and of headers."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Sequence
from typing import Any

import aiohttp
from yarl import URL

from tests.attacks.kit import TEXT, Target, frame, push, socket_of
from tests.person import Person
from tests.routes import own_routes

LONG = "x" * 20_000
DEEP = "[" * 5_000
VALUES: tuple[Any, ...] = (
    *("", " ", "\0", "\u202e\u2066txt", "\ud800", "é" * 300, LONG, "0", "-1", "1e309", "NaN"),
    *("٣", "9" * 400, "true", "null", "undefined", "lastN", "../../etc/passwd", "..%2f..%2f"),
    *("%00", "%s%s%n", "{{7*7}}", "${jndi:ldap://x}", "<script>alert(1)</script>"),
    *("javascript:alert(1)", "' OR 1=1 --", '"; DROP TABLE x;', "\r\nX-Injected: 1", "a\nb"),
    *("file:///etc/passwd", "//evil", "00000000-0000-4000-8000-000000000000", "demo", "CON"),
    *("=1+1", "\ufeff", "🏴" * 100, "\\" * 99, None, True, False, 0, -1, 1.5, 10**30, [], {}),
    *([[]], {"a": {"b": []}}, ["x"] * 1_000),
)
QUERIES = (
    *("agent", "q", "before", "debug", "next", "historyPolicy", "historyLength", "historyTokens"),
    *("historySelector", "model", "after", "cursor", "message"),
)
# What each of these takes; the rest is asked with GET.
BODIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "import": ("POST", ("format", "version", "agent", "title", "messages", "history", "settings")),
    "conversation": ("PATCH", ("title",)),
    "compare-draft": ("POST", ("query", "draft", "reply_to", "attachments", "model")),
    "compare-turn": ("POST", ("query", "model")),
    "summary": ("POST", ("version", "text")),
    "summary-switch": ("POST", ("on",)),
    "cache-cleanup": ("POST", ("strategy", "query")),
    "cache-bring-back": ("POST", ("turns", "query")),
    "files": ("POST", ("file",)),
    "message": ("PATCH", ("pinned", "excluded", "forget_above")),
    "login": ("POST", ("username", "password", "next")),
    "signup": ("POST", ("username", "password1", "password2")),
    "restore": ("POST", ()),
    "clear": ("POST", ()),
    "show": ("POST", ()),
}
METHODS = ("GET", "POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS", "TRACE")
HEADERS = (
    *("Cookie", "Content-Type", "X-CSRFToken", "X-File-Name", "Range", "Accept", "Origin"),
    *("X-Forwarded-For", "If-None-Match", "If-Modified-Since", "Referer", "Accept-Language"),
)
ALL_COMMANDS: tuple[dict[str, Any], ...] = (
    {"type": "open", "agent": "demo"},
    {"type": "send", "agent": "demo", "client_id": "", "text": "Hello", "history": {}},
    {"type": "send", "agent": "demo", "client_id": "", "text": "x", "reply_to": None, "model": ""},
    {"type": "send", "agent": "demo", "client_id": "", "text": "x", "attachments": []},
    {"type": "again", "agent": "demo", "client_id": "", "message": str(uuid.uuid4()), "model": ""},
    {"type": "continue", "agent": "demo", "client_id": "", "message": str(uuid.uuid4())},
    {"type": "choose", "history": {"historyPolicy": "all"}},
    {"type": "stop"},
    {"type": "preview", "agent": "demo", "draft": "x", "history": {}, "model": ""},
    {"type": "preview", "agent": "demo", "draft": "x", "reply_to": None, "attachments": []},
)
BROKEN = (
    b"\xff\xff\xff\xff",
    frame(TEXT, b"\xff\xfe"),
    frame(0x82, b"\0" * 100),
    frame(0x80, b"rest of nothing"),
    frame(0xF1, b"reserved bits"),
    frame(TEXT, b"x" * 70_000),
    frame(0x88, b"\x03"),
)


def routes() -> list[tuple[str, str]]:
    """Names and patterns: `export`, `/conversations/<uuid:id>/export`."""
    return [
        *((name, f"/{pattern}") for name, pattern in own_routes()),
        *(("", path) for path in ("/admin/", "/admin/login/", "/static/x.js", "/nowhere", "/ws")),
    ]


async def requests(target: Target, *, count: int, seed: int = 1) -> None:
    """Each with a few hostile values in it. Every answer of 500 and above is in `target.told`."""
    draw = random.Random(seed)
    known = routes()
    async with Person(target.server.url) as eve:
        page = await eve.page()
        await page.say("Hello")
        page.snapshot = await page.open()
        ids = [page.conversation, *(one["id"] for one in page.snapshot["messages"])]
        for _ in range(count):
            name, pattern = draw.choice(known)
            method, fields = BODIES.get(name, ("GET", ()))
            if draw.random() < 0.1:
                method = draw.choice(METHODS)
            headers = eve.headers() | _headers(draw)
            body = _body(draw, fields) if fields else None
            await _ask(target, eve, method, _address(draw, pattern, ids), headers, body)


async def _ask(
    target: Target, eve: Person, method: str, path: str, headers: dict[str, str], body: Any
) -> None:
    timeout = aiohttp.ClientTimeout(total=20)
    url = URL(eve.url + path, encoded=True)
    try:
        async with eve.http.request(
            method, url, data=body, headers=headers, allow_redirects=False, timeout=timeout
        ) as answer:
            await answer.read()
            target.saw(answer.status)
            if answer.status >= 500:
                target.saw(f"{answer.status} {method} {path[:120]}")
    except TimeoutError:
        target.saw(f"hang {method} {path[:120]}")
    except (aiohttp.ClientError, ValueError):
        target.saw("disconnected")


def _address(draw: random.Random, pattern: str, own: list[str]) -> str:
    parts = pattern.split("/")
    for place, part in enumerate(parts):
        if part.startswith("<"):
            parts[place] = draw.choice([*own, *own, _quoted(draw.choice(VALUES))])
    query = "&".join(
        f"{draw.choice(QUERIES)}={_quoted(draw.choice(VALUES))}" for _ in range(draw.randrange(3))
    )
    return "/".join(parts) + (f"?{query}" if query else "")


def _quoted(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return "".join(f"%{byte:02X}" for byte in text[:2_000].encode("utf-8", "surrogatepass"))


def _headers(draw: random.Random) -> dict[str, str]:
    name, value = draw.choice(HEADERS), draw.choice(VALUES)
    if draw.random() < 0.7 or not isinstance(value, str) or not value.isprintable():
        return {}
    return {name: value.encode("ascii", "ignore").decode()[:4_000]}


def _body(draw: random.Random, fields: Sequence[str]) -> bytes:
    kind = draw.random()
    if kind < 0.1:
        return DEEP.encode()
    if kind < 0.2:
        return draw.randbytes(draw.randrange(2_000))
    chosen = draw.sample(fields, draw.randrange(1, len(fields) + 1))
    said = {name: draw.choice(VALUES) for name in chosen}
    return json.dumps(said).encode("utf-8", "surrogatepass")


async def frames(target: Target, *, count: int, seed: int = 1) -> None:
    """Commands with hostile values and broken frames, over one socket after another."""
    draw = random.Random(seed)
    left = count
    async with Person(target.server.url) as eve:
        page = await eve.page()
        await page.say("Hello")
        while left > 0:
            async with socket_of(eve) as socket:
                for _ in range(draw.randrange(5, 60)):
                    left -= 1
                    data = draw.choice(BROKEN) if draw.random() < 0.05 else _command(draw, page)
                    if not await push(socket, data):
                        break
                await _hear(target, socket)


def _command(draw: random.Random, page: Any) -> bytes:
    if draw.random() < 0.1:
        return frame(TEXT, draw.choice((DEEP.encode(), b"", b"null", b"7", b'"x"', b"{")))
    command = {"ref": "1", "query": "", "conversation": page.conversation}
    command |= draw.choice(ALL_COMMANDS)
    if "client_id" in command:
        command["client_id"] = str(uuid.uuid4())
    for _ in range(draw.choice((0, 1, 1, 1, 2))):
        command[draw.choice([*command, *command, "other"])] = draw.choice(VALUES)
    return frame(TEXT, json.dumps(command).encode("utf-8", "surrogatepass"))


async def _hear(target: Target, socket: aiohttp.ClientWebSocketResponse) -> None:
    """Everything that is answered until the socket is closed, or silent for a moment."""
    while True:
        try:
            message = await socket.receive(0.3)
        except TimeoutError:
            return
        if message.type != aiohttp.WSMsgType.TEXT:
            target.saw(socket.close_code)
            return
        event = json.loads(message.data)
        target.saw(event.get("code") or event["type"])
