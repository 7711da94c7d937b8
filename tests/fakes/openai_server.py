"""A provider that speaks OpenAI's chat completions on a real socket and fails on demand.

The newest user message may hold a directive: `[[mode=cut;at=5]]`; of a message in parts its text
parts are read. Keys:

mode         ok, 400, 401, 402, 403, 404, 408, 413, 429, quota, too_large, 500, 503, 529, no_tools
             (400 as Ollama's, where the request has tools), cut (TCP reset), cleancut (proper end,
             no finish_reason), error_event, malformed, hang0 (nothing after the headers), hang
             (silence mid-way), pings (comments mid-way, for ever), no_usage (silence after the
             finish_reason), slow (5 tokens a second), length, content_filter, empty
at           how many tokens are sent before the failure (5)
code         an error_event's own status
fails        the failure is sent so often for this text, then an answer (0: always)
retry_after  a header of any failure, unchanged: seconds or a date
retry_ms     the same as `retry-after-ms`
tokens, text how many tokens to answer, or which words (24 tokens)
over         1: more tokens than the request asks for, as some servers give
b64          the words in URL-safe base64, for texts that hold `;` or `]]`
raw          the whole body in URL-safe base64, sent as it is; `type` is its content type
rate         tokens a second; 0 is as fast as the socket takes them (0)
first        seconds before the first token (0)
crumbs       1: every byte is its own write
stamp        1: every word ends with `@` and when it was sent, in microseconds of CLOCK_MONOTONIC

calls        the tools to call, `weather:{"city": "Rome"}|clock:{}`: names with the text of their
             arguments, valid JSON or not. Only in a request with tools; the words follow their
             results. `before` are words that precede the calls.
rounds       how many rounds of these calls (1)
shape        how calls are streamed: pieces (a name, then pieces of 7 characters), again (id and
             name with every piece), whole (all in one delta), noindex, zero (each whole, all with
             index 0), object (arguments as an object)
ids          missing, empty, same (all alike), short (`call_0` in every round)
finish       the finish_reason ("tool_calls" with calls, else "stop")
signed       1: the first call has a `thought_signature`, as Gemini's
think        so many pieces of reasoning before all else (0), or its words
field        its field: reasoning_content, reasoning, or both joined by `+`
details      1: OpenRouter's `reasoning_details` too, signed and encrypted
cached       tokens that were in the cache (0); `cached_as=deepseek` reports them as DeepSeek does

Without a directive the next answer of `FakeOpenAI.script` is sent, as long as there is one: words,
or a directive. A function in it gets the request, stays, and answers all following requests.

`keep=2048` (an argument): the server silently drops all but the last so many tokens of a prompt,
answers the rest, and reports so many prompt tokens. `pages` are other paths with the JSON they
answer (`/api/tags`, `/props`, ...), or a function of the request's JSON; `models` is what
`/v1/models` lists. `POST /v1/files` stores files in `files`; a request with another id is refused
as OpenAI does; with `refuses_files` all uploads are refused. With `strict` a request whose roles
don't alternate is refused in the words of chat templates. `requests` are the bodies of chat
completions as received, `headers` their headers, `asked` all requests as "GET /path".
`refused_url()` is an address without a server.

`with FakeOpenAI() as fake:` runs it in a thread; `python -m tests.fakes.openai_server --port 8199`
runs it alone, then `GET /_stats` and `GET /_requests` show what it has received.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from tests.fakes.openai_answers import Script
from tests.fakes.openai_connection import Behaviour, Connection, Page, Seen
from tests.fakes.openai_uploads import Uploaded


class FakeOpenAI:
    """The server in a thread of its own, for as long as the `with` block runs."""

    def __init__(
        self,
        *,
        port: int = 0,
        script: Iterable[str] = (),
        keep: int = 0,
        pages: Mapping[str, Page] | None = None,
        models: tuple[str, ...] = ("fake-model",),
        refuses_files: bool = False,
        strict: bool = False,
    ) -> None:
        self.seen = Seen()
        self.script: Script = deque(script)
        self.behaviour = Behaviour(
            self.script, keep, dict(pages or {}), models, refuses_files, strict
        )
        self.port = port
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fake-openai", daemon=True)

    def connection(self) -> Connection:
        """One for each socket; another dialect has its own."""
        return Connection(self.seen, self.behaviour)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """Bodies as received, oldest first."""
        return self.seen.requests

    @property
    def headers(self) -> list[dict[str, str]]:
        return self.seen.headers

    @property
    def asked(self) -> list[str]:
        return self.seen.asked

    @property
    def files(self) -> dict[str, Uploaded]:
        """Uploaded files by id; clear it, and the server has lost them all."""
        return self.seen.files

    @property
    def in_flight(self) -> int:
        return self.seen.in_flight

    @property
    def client_aborts(self) -> int:
        return self.seen.client_aborts

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._started.wait(10):
            raise RuntimeError("the fake provider didn't start")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        server = loop.run_until_complete(_listen(self.connection, port=self.port))
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(_finish_closing())
        loop.close()


async def _finish_closing() -> None:
    """A connection that its client has just closed needs three rounds of the loop: to read the end,
    to close, and to tell its protocol. Left half closed it warns in whatever test is next."""
    for _ in range(3):
        await asyncio.sleep(0)


def refused_url() -> str:
    """An address without a server: the port was free a moment ago."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{unused.getsockname()[1]}/v1"


async def _listen(connection: Callable[[], Connection], *, port: int) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    return await loop.create_server(connection, "127.0.0.1", port, backlog=1024)


async def _serve(port: int) -> None:
    seen, behaviour = Seen(), Behaviour()
    server = await _listen(lambda: Connection(seen, behaviour), port=port)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description="A fake OpenAI-compatible provider")
    parser.add_argument("--port", type=int, default=8199, help="0 takes a free one")
    asyncio.run(_serve(parser.parse_args().port))


if __name__ == "__main__":
    main()
