"""A line to a server on which a round trip takes as long as over a network, and its bytes."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator


class SlowLine:
    """Forwards connections to a local port and delays both directions by half a round trip.

    `received` counts the bytes that the browser got, headers included, `sent` those that it sent.
    A connection is open a round trip after it was asked for: the system here accepts it at once, so
    that what the browser sends before waits until then.
    """

    def __init__(self, port: int, *, round_trip: float) -> None:
        self.target = port
        self.one_way = round_trip / 2
        self.received = self.sent = 0
        self.port = 0

    async def serve(self) -> asyncio.Server:
        server = await asyncio.start_server(self._forward, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened = asyncio.get_running_loop().time() + 2 * self.one_way
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.target)
        try:
            await asyncio.gather(
                self._pipe(reader, up_writer, opened=opened, answers=False),
                self._pipe(up_reader, writer, opened=opened, answers=True),
            )
        except (OSError, asyncio.CancelledError):  # one side has hung up, or the line ends
            pass
        finally:
            for one in (writer, up_writer):
                one.close()

    async def _pipe(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        opened: float,
        answers: bool,
    ) -> None:
        """Everything arrives `one_way` seconds after it was sent, at any rate."""
        loop = asyncio.get_running_loop()
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def deliver() -> None:
            while True:
                due, data = await under_way.get()
                await asyncio.sleep(max(0.0, due - loop.time()))
                if not data:
                    writer.close()
                    return
                writer.write(data)

        delivering = asyncio.create_task(deliver())
        try:
            data = b"-"
            while data:
                data = await reader.read(64 * 1024)
                if answers:
                    self.received += len(data)
                else:
                    self.sent += len(data)
                under_way.put_nowait((max(loop.time(), opened) + self.one_way, data))
            await delivering
        finally:
            delivering.cancel()


@contextlib.contextmanager
def slow_line(port: int, *, round_trip: float) -> Iterator[SlowLine]:
    """The line in a thread of its own; `line.port` is where a browser finds the server."""
    line = SlowLine(port, round_trip=round_trip)
    loop = asyncio.new_event_loop()
    ready, end = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with await line.serve():
            ready.set()
            await end.wait()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait()
    try:
        yield line
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()
