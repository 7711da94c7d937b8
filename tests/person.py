"""A person without a browser: a session, and sockets whose events are recorded."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import Iterable, Mapping
from http.cookies import Morsel
from types import TracebackType
from typing import Any, Literal

import aiohttp
from yarl import URL

from chatsite.history import show_receipt

PATIENCE = 30.0
Kind = Literal["session", "csrf", ""]


def kind_of(cookie: str) -> Kind:
    """What a cookie of this server is for; "" for other cookies. A version before this one named
    them as Django does."""
    if cookie == "csrftoken" or (cookie.startswith("chatsite_") and cookie.endswith("_csrf")):
        return "csrf"
    return "session" if cookie == "sessionid" or cookie.startswith("chatsite_") else ""


class Person:
    """One session. `async with Person(url) as ada:`, then `ada.page()` opens sockets. `address` is
    one of this machine's own (127.0.0.0/8) to come from, for a server that counts by address.
    `compress` is aiohttp's for sockets: 15 offers compression as a browser does."""

    def __init__(self, url: str, *, address: str = "", compress: int = 0) -> None:
        self.url = url
        self.address = address
        self.compress = compress

    async def __aenter__(self) -> Person:
        self.http = aiohttp.ClientSession(
            cookie_jar=aiohttp.CookieJar(unsafe=True),
            connector=aiohttp.TCPConnector(
                limit=0, local_addr=(self.address, 0) if self.address else None
            ),
        )
        async with self.http.get(f"{self.url}/chat") as answer:
            assert answer.status == 200, await answer.text()
        await self.obtain_session()
        return self

    async def obtain_session(self) -> None:
        """As a page does that was opened without one."""
        async with self.http.post(f"{self.url}/session", headers=self.headers()) as answer:
            # A version before this one made the session with the page.
            assert answer.status in (204, 404), await answer.text()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.http.close()

    def cookie(self, kind: Kind) -> str:
        """The value of the server's cookie, "" if there is none."""
        return next((one.value for one in self.cookies() if kind_of(one.key) == kind), "")

    def name_of(self, kind: Kind) -> str:
        """What the server calls this cookie."""
        return next(one.key for one in self.cookies() if kind_of(one.key) == kind)

    def cookies(self) -> list[Morsel[str]]:
        """All that go to this server."""
        return list(self.http.cookie_jar.filter_cookies(URL(self.url)).values())

    def headers(self) -> dict[str, str]:
        """The headers that the page's script sends."""
        return {"X-CSRFToken": self.cookie("csrf"), "Origin": self.url}

    async def ask(
        self, method: str, path: str, body: Any = None, *, expect: int = 200
    ) -> dict[str, Any]:
        """A JSON request over HTTP, as the page makes it."""
        async with self.http.request(
            method, self.url + path, json=body, headers=self.headers()
        ) as answer:
            text = await answer.text()
            assert answer.status == expect, f"{answer.status}: {text[:500]}"
            found: dict[str, Any] = json.loads(text)
            return found

    async def page_data(self, path: str = "/chat") -> dict[str, Any]:
        """What the page is given when it is loaded: the agents that are offered, among it."""
        async with self.http.get(f"{self.url}{path}") as answer:
            text = await answer.text()
        found = re.search(r'<script id="page"[^>]*>(.*?)</script>', text, flags=re.DOTALL)
        assert found is not None
        data: dict[str, Any] = json.loads(found[1])
        return data

    async def sign_in(self, name: str, password: str) -> None:
        form = {"username": name, "password": password}
        async with self.http.get(f"{self.url}/accounts/login/") as answer:
            page = await answer.text()
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert token is not None
        form["csrfmiddlewaretoken"] = token[1]
        async with self.http.post(
            f"{self.url}/accounts/login/", data=form, headers={"Origin": self.url}
        ) as answer:
            assert answer.url.path == "/chat", f"not signed in: {answer.url}"

    async def sign_out(self) -> None:
        async with self.http.post(f"{self.url}/accounts/logout/", headers=self.headers()) as answer:
            assert answer.url.path == "/chat", f"not signed out: {answer.url}"
        await self.obtain_session()

    async def page(self, conversation: str | None = None, *, at: str = "", **options: str) -> Page:
        """Open a conversation (a new one without an id) as a page does, `at` another server of the
        same host."""
        url = at or self.url
        socket = await self.http.ws_connect(
            f"{url}/ws", headers={"Origin": url}, compress=self.compress
        )
        page = Page(socket, conversation or str(uuid.uuid4()), **options)
        page.snapshot = await page.open()
        return page

    async def leave_out(self, messages: Iterable[Mapping[str, Any]], *, on: bool = True) -> None:
        for message in messages:
            await self.ask("PATCH", f"/messages/{message['id']}", {"excluded": on})

    async def cells(self, conversation: str) -> int:
        """How many of the engine's cells the conversation uses, in a slot or on disk."""
        view = await self.ask("GET", f"/conversations/{conversation}/cache")
        return int(view["used"])

    async def fewer_cells(self, conversation: str, than: int) -> int:
        """Wait until the conversation uses fewer cells than `than`; return how many."""
        async with asyncio.timeout(PATIENCE):
            while (left := await self.cells(conversation)) >= than:  # noqa: ASYNC110 - a server
                await asyncio.sleep(0.05)
        return left

    async def ready_page(self, conversation: str | None = None) -> Page:
        """Open a page and wait until the embedded model is ready."""
        page = await self.page(conversation)
        engine = page.snapshot["engine"]
        while engine["state"] == "loading":
            engine = await page.until("engine")
        assert engine["state"] == "ready", engine
        return page


class Page:
    """A socket that has opened one conversation; records every event."""

    def __init__(
        self,
        socket: aiohttp.ClientWebSocketResponse,
        conversation: str,
        *,
        agent: str = "demo",
        query: str = "",
    ) -> None:
        self.socket = socket
        self.conversation = conversation
        self.agent = agent
        self.query = query
        self.events: list[dict[str, Any]] = []
        self.snapshot: dict[str, Any] = {}
        self.receipt: dict[str, Any] | None = None

    async def command(self, type: str, **fields: Any) -> None:
        command = {
            "type": type,
            "conversation": self.conversation,
            "query": self.query,
            "ref": str(uuid.uuid4()),
        }
        await self.socket.send_str(json.dumps(command | fields))

    async def event(self) -> dict[str, Any]:
        """The next event, whatever it is."""
        message = await asyncio.wait_for(self.socket.receive(), PATIENCE)
        assert message.type == aiohttp.WSMsgType.TEXT, f"closed: {message!r}"
        event: dict[str, Any] = json.loads(message.data)
        self.events.append(event)
        return self._with_receipt(event)

    def _with_receipt(self, event: dict[str, Any]) -> dict[str, Any]:
        """A snapshot, and the end of a turn with its whole receipt, as the page puts it together;
        both as the panel shows it."""
        if event["type"] in ("snapshot", "decided"):
            self.receipt = event["receipt"]
        if event["type"] not in ("snapshot", "turn_ended"):
            return event
        reported = event.get("reported")
        if reported is not None:
            assert self.receipt is not None and self.receipt["turn"] == event["turn"]
            self.receipt = self.receipt | reported
        whole = self.receipt if event["type"] == "snapshot" or reported is not None else None
        return event | {"receipt": show_receipt(whole) if whole else None}

    async def until(self, *types: str) -> dict[str, Any]:
        """The next event of one of these types; an unexpected refusal fails the test."""
        while True:
            event = await self.event()
            if event["type"] in types:
                return event
            assert event["type"] != "refused", event

    async def open(self) -> dict[str, Any]:
        await self.command("open", agent=self.agent)
        return await self.until("snapshot")

    async def send(self, text: str, *, client_id: str | None = None, **fields: Any) -> str:
        client_id = client_id or str(uuid.uuid4())
        await self.command("send", agent=self.agent, client_id=client_id, text=text, **fields)
        return client_id

    async def say(self, text: str, **fields: Any) -> dict[str, Any]:
        """Send and wait for the end of the turn."""
        await self.send(text, **fields)
        return await self.until("turn_ended")

    async def preview(self, draft: str = "") -> dict[str, Any]:
        await self.command("preview", agent=self.agent, draft=draft)
        return await self.until("preview")

    async def close(self) -> None:
        await self.socket.close()
