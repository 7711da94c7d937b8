"""A Talk-shaped server on a real socket, which behaves as Talk's documentation describes.

Rooms with long polling (304 for nothing new), posts with reference ids and replies, edits,
deletions, reactions, files over WebDAV. It can be told to fail:

withdraw()       the bot's password isn't accepted any more; `restore()` gives it back
fail(503, 2)     the next two requests to a room get this status; `retry_after` is a header
lose_answers(1)  the next post arrives, but its connection breaks before the answer
header = "x"     stands above every page in place of the number of its last message
gives_all        a page has all that is new, whatever is asked for
rewrite = ...    makes of each page what the server says instead; the same for `rewrite_shares`
cuts_polls = 2   a proxy in front answers with 504 where nothing came within so many seconds
says_text        what it can do are numbers as text, and an object for the list
holds_files      no file is given until it is False
takes = 500      longer posts are refused with `refuses`, 413, whatever is said to be allowed
file_answers["Talk/a.txt"] = 403   what is said of one file; `share_answers` the same of its shares
takes_posts = 1  one more post is taken, then 503 for all; None takes all
again(3)         every poll gives the three newest known messages once more
stop(), start()  a restart on the same port; the rooms stay

`with FakeTalk() as talk:` runs it in a thread. `python -m tests.fakes.talk_server --port 8190` runs
it alone, with a room and a page that shows it as text and has a form to write.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import html
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from tests.fakes.talk_rooms import Room, TalkState

BOT, PASSWORD = "assistant", "app-password-canary-91c"
_OCS = "/ocs/v2.php/apps/spreed/api/v1/chat/{token}"
_PAGE = """<!doctype html><meta charset="utf-8"><title>{name}</title>
<link rel="icon" href="data:,"><style>
body{{font:15px/1.5 Inter,system-ui,sans-serif;margin:0;background:#f3f1ec;color:#1f1d1a}}
main{{max-width:720px;margin:0 auto;padding:24px 20px}} h1{{font-size:20px}}
p{{background:#fff;border:1px solid #e6e2da;border-radius:8px;padding:10px 14px;margin:0 0 10px}}
p{{white-space:pre-wrap;overflow-wrap:anywhere}} p.bot{{border-left:4px solid #2f5d50}}
form{{display:flex;gap:8px}} input{{font:inherit;padding:7px}} input[name=text]{{flex:1}}
</style><main><h1>Talk: {name}</h1>{text}<form method="post"><input name="who" value="ada" size="8"
aria-label="Who writes"><input name="text" autofocus placeholder="Write in the room"
aria-label="Message"><button>Write</button></form><a href="">Look again</a></main>"""


class FakeTalk(TalkState):
    """The server in a thread of its own, for as long as the `with` block runs."""

    def __init__(self, *, port: int = 0, longest: int = 32_000) -> None:
        super().__init__()
        self.port, self.longest = port, longest
        self.password = PASSWORD
        self.features = ["chat-v2", "chat-replies", "chat-reference-id", "edit-messages"]
        self.asked: list[str] = []
        self.polling = 0
        self._failures: deque[tuple[int, str, str]] = deque()
        self._lost = self._repeated = 0
        self.takes_posts: int | None = None
        self.takes: int | None = None
        self.refuses = 413
        self.refused = 0
        self.file_answers: dict[str, int] = {}
        self.share_answers: dict[str, int] = {}
        self.header: str | None = None
        self.rewrite: Callable[[Any], Any] | None = None
        self.rewrite_shares: Callable[[Any], Any] | None = None
        self.cuts_polls: float | None = None
        self.says_text = False
        self.holds_files = False
        self.gives_all = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()
        self._thread: threading.Thread | None = None

    # ---- running -----------------------------------------------------------------------------
    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        if not started.wait(10):
            raise RuntimeError("the fake Talk didn't start")

    def stop(self) -> None:
        assert self._loop is not None and self._thread is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._loop is not None:
            self.stop()

    def _run(self, started: threading.Event) -> None:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        runner = web.AppRunner(
            self.application(),
            handle_signals=False,
            shutdown_timeout=0.1,
            handler_cancellation=True,
        )
        loop.run_until_complete(runner.setup())
        site = web.TCPSite(runner, "127.0.0.1", self.port, reuse_address=True)
        loop.run_until_complete(site.start())
        self.port = runner.addresses[0][1]
        self._loop, self._changed = loop, asyncio.Event()
        started.set()
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(runner.cleanup())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()

    def application(self) -> web.Application:
        app = web.Application(client_max_size=1024 * 1024)
        app.router.add_get(_OCS, self._guarded(self._read))
        app.router.add_post(_OCS, self._guarded(self._post))
        app.router.add_get("/ocs/v2.php/cloud/user", self._guarded(self._account))
        app.router.add_get("/ocs/v2.php/cloud/capabilities", self._guarded(self._able))
        app.router.add_get(_OCS.replace("v1/chat", "v4/room"), self._guarded(self._room))
        shares = "/ocs/v2.php/apps/files_sharing/api/v1/shares"
        app.router.add_get(shares, self._guarded(self._shares))
        app.router.add_get("/remote.php/dav/files/{user}/{path:.+}", self._guarded(self._file))
        app.router.add_get("/{token}", self._show)
        app.router.add_post("/{token}", self._write)
        return app

    # ---- what goes wrong -----------------------------------------------------------------------
    def withdraw(self) -> None:
        self.password = ""

    def restore(self) -> None:
        self.password = PASSWORD

    def fail(self, status: int, times: int = 1, *, retry_after: str = "", token: str = "") -> None:
        self._failures.extend([(status, retry_after, token)] * times)

    def lose_answers(self, posts: int = 1) -> None:
        self._lost += posts

    def again(self, messages: int) -> None:
        self._repeated = messages

    # ---- changes wake those who poll -------------------------------------------------------------
    def _append(self, room: Room, *said: Any, **more: Any) -> dict[str, Any]:
        raw = super()._append(room, *said, **more)
        if self._loop is not None:
            # The event that is waited for then, which may be another one by that time.
            self._loop.call_soon_threadsafe(lambda: self._changed.set())
        return raw

    # ---- requests ------------------------------------------------------------------------------
    def _guarded(
        self, answer: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            self.asked.append(f"{request.method} {request.path_qs}")
            given = request.headers.get("Authorization", "").removeprefix("Basic ")
            right = base64.b64encode(f"{BOT}:{self.password}".encode()).decode()
            if not self.password or given != right:
                return _ocs({"message": "Current user is not logged in"}, status=401)
            if request.path.startswith("/ocs/") and request.headers.get("OCS-APIRequest") != "true":
                return _ocs({"message": "CSRF check failed"}, status=412)
            token = request.match_info.get("token", "")
            if token and self._failures and self._failures[0][2] in ("", token):
                status, retry_after, _ = self._failures.popleft()
                headers = {"Retry-After": retry_after} if retry_after else {}
                return web.Response(status=status, headers=headers)
            if token and token not in self.rooms:
                return _ocs([], status=404)
            return await answer(request)

        return handle

    async def _read(self, request: web.Request) -> web.StreamResponse:
        token, asked = request.match_info["token"], request.query
        limit = 1_000_000 if self.gives_all else min(int(asked.get("limit", "100")), 200)
        if asked["lookIntoFuture"] == "0":
            newest = self.rooms[token].messages[::-1][:limit]
            return self._page(newest) if newest else web.Response(status=304)
        known = int(asked["lastKnownMessageId"])
        if self._repeated:
            before = [one for one in self.rooms[token].messages if one["id"] <= known]
            known = before[-self._repeated :][0]["id"] - 1 if before else known
            if not self.after(token, int(asked["lastKnownMessageId"]), 1):
                self._repeated = 0
        self.polling += 1
        try:
            waits = float(asked.get("timeout", "30"))
            found = await self._awaited(token, known, limit, min(waits, self.cuts_polls or waits))
        finally:
            self.polling -= 1
        if not found and self.cuts_polls and self.cuts_polls < waits:
            return web.Response(status=504)
        return self._page(found) if found else web.Response(status=304)

    def _page(self, messages: list[dict[str, Any]]) -> web.Response:
        """As Talk does it: what is shown to nobody is left out, and counted in the header."""
        shown = [one for one in messages if one["id"] not in self.hidden]
        above = str(messages[-1]["id"]) if self.header is None else self.header
        headers = {"X-Chat-Last-Given": above} if above else None
        return _ocs(shown, headers=headers, rewrite=self.rewrite)

    async def _awaited(
        self, token: str, known: int, limit: int, seconds: float
    ) -> list[dict[str, Any]]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not (found := self.after(token, known, limit)) and loop.time() < deadline:
            changed = self._changed
            try:
                async with asyncio.timeout_at(deadline):
                    await changed.wait()
            except TimeoutError:
                break
            if self._changed is changed:
                self._changed = asyncio.Event()
        return found

    async def _post(self, request: web.Request) -> web.StreamResponse:
        token, said = request.match_info["token"], await request.json()
        if self.rooms[token].read_only:
            return _ocs([], status=403)
        if self.takes_posts is not None:
            if not self.takes_posts:
                return _ocs([], status=503)
            self.takes_posts -= 1
        if not said["message"].strip():
            return _ocs({"error": "message"}, status=400)
        if len(said["message"]) > min(self.longest, self.takes or self.longest):
            self.refused += 1
            return _ocs({"error": "message"}, status=self.refuses)
        reply_to, thread = int(said.get("replyTo", 0)), int(said.get("threadId", 0))
        if reply_to and not self.may_be_replied_to(token, reply_to):
            return _ocs({"error": "reply-to"}, status=400)
        if not reply_to and thread and thread not in self.threads:
            return _ocs({"error": "reply-to"}, status=400)
        reference = said.get("referenceId", "")[:64]
        text = said["message"].strip()
        raw = self.say(token, BOT, text, reference=reference, reply_to=reply_to, thread=thread)
        raw["silent"] = said.get("silent", False)
        if self._lost:
            self._lost -= 1
            assert request.transport is not None
            request.transport.abort()
        return _ocs(raw, status=201)

    async def _account(self, request: web.Request) -> web.StreamResponse:
        return _ocs({"id": BOT, "display-name": "Assistant"})

    async def _able(self, request: web.Request) -> web.StreamResponse:
        config = {"chat": {"max-length": str(self.longest) if self.says_text else self.longest}}
        features = dict(enumerate(self.features)) if self.says_text else self.features
        spreed = {"features": features, "config": config} if self.features else None
        return _ocs({"version": {}, "capabilities": {"spreed": spreed} if spreed else {}})

    async def _room(self, request: web.Request) -> web.StreamResponse:
        room = self.rooms[request.match_info["token"]]
        last = room.messages[-1] if room.messages else []
        shown = {"token": room.token, "displayName": room.name, "lastMessage": last}
        return _ocs(shown | {"readOnly": int(room.read_only), "type": 1 if room.one_to_one else 2})

    async def _shares(self, request: web.Request) -> web.StreamResponse:
        """As Nextcloud tells of one file what reaches the bot; 404 where there is no such file."""
        path = request.query["path"].strip("/")
        if status := self.share_answers.get(path):
            return web.Response(status=status)
        number, tokens = self.shares.get(path, (0, []))
        folder = any(one.startswith(f"{path}/") for one in self.files)
        if request.query.get("shared_with_me") != "true" or not (folder or path in self.files):
            return _ocs([], status=404)
        kind = "folder" if folder else "file"
        said = {"id": "1", "share_type": 10, "file_source": number, "item_type": kind}
        found = [said | {"share_with": token, "path": f"/{path}"} for token in tokens]
        return _ocs(found, rewrite=self.rewrite_shares)

    async def _file(self, request: web.Request) -> web.StreamResponse:
        while self.holds_files:  # noqa: ASYNC110 - set by another thread
            await asyncio.sleep(0.01)
        if status := self.file_answers.get(request.match_info["path"]):
            return web.Response(status=status)
        content = self.files.get(request.match_info["path"])
        if content is None or request.match_info["user"] != BOT:
            return web.Response(status=404)
        return web.Response(body=content)

    # ---- the page of the demo --------------------------------------------------------------------
    async def _show(self, request: web.Request) -> web.StreamResponse:
        room = self.rooms.get(request.match_info["token"])
        if room is None:
            raise web.HTTPNotFound
        bot = room.names[BOT]
        text = "".join(
            f"<p{' class=bot' if line.startswith(f'{bot}: ') else ''}>{html.escape(line)}</p>"
            for line in self.shown(room.token)
        )
        page = _PAGE.format(name=html.escape(room.name), text=text)
        return web.Response(text=page, content_type="text/html")

    async def _write(self, request: web.Request) -> web.StreamResponse:
        said, token = await request.post(), request.match_info["token"]
        if token in self.rooms and str(said.get("text", "")).strip():
            self.say(token, str(said.get("who") or "ada"), str(said["text"]))
        raise web.HTTPSeeOther(f"/{token}")


def _ocs(
    data: Any,
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
    rewrite: Callable[[Any], Any] | None = None,
) -> web.Response:
    meta = {"status": "ok" if status < 400 else "failure", "statuscode": status}
    found = {"ocs": {"meta": meta, "data": data}}
    return web.json_response(rewrite(found) if rewrite else found, status=status, headers=headers)


def main() -> None:
    parser = argparse.ArgumentParser(description="A Talk-shaped server with one room.")
    parser.add_argument("--port", type=int, default=8190)
    parser.add_argument("--room", default="harbour1")
    asked = parser.parse_args()
    talk = FakeTalk(port=asked.port)
    talk.add_room(asked.room, "ada", "bob", bot=BOT)
    print(f"Talk: {talk.url}/{asked.room}, user {BOT}, password {PASSWORD}", flush=True)
    talk.start()
    threading.Event().wait()


if __name__ == "__main__":
    main()
