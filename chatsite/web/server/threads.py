"""The threads on which Django's synchronous code runs, kept from request to request."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from asgiref.sync import ThreadSensitiveContext

from chatsite.asgi_types import App, Receive, Scope, Send

# Each has a connection with up to 2 MB of SQLite's cache.
THREADS = 16


class RequestThreads:
    """An ASGI application in front of Django: all calls of a request run on one kept thread.

    Django by itself makes a thread, and with it a database connection, for every request: a third
    of what the page costs. A request gets the thread that the fewest requests have, so that up to
    16 at once have one each, and one that waits for its client (a slow body, a slow download) keeps
    nobody from anything: a thread is busy only while a call runs.

    Where two requests have the same thread, their calls take turns on it, whole calls one after the
    other. A transaction begins and ends within one call, since Django has none in asynchronous
    code; so two transactions never meet on a connection.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        # A thread is started with its first call, not before.
        self._requests = {
            ThreadPoolExecutor(1, thread_name_prefix=f"request-{number}"): 0
            for number in range(THREADS)
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        thread = min(self._requests, key=self._requests.__getitem__)
        self._requests[thread] += 1
        try:
            async with ThreadSensitiveContext(executor=thread):
                await self._app(scope, receive, send)
        finally:
            self._requests[thread] -= 1
