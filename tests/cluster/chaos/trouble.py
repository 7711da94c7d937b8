"""What goes wrong meanwhile: processes die, hang and begin anew, connections are cut."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from random import Random

from tests.cluster.chaos.people import Talker
from tests.cluster.chaos.record import Record, now
from tests.cluster.chaos.site import Site
from tests.running import Server

PAUSES = (2.0, 7.0)
LONGEST_HANG = 15.0
STOP_SECONDS = 150.0


class Trouble:
    """Makes one trouble after another, some of them at the same time; at least one server is left
    alone by what happens to servers. Every kind comes before one comes again."""

    def __init__(self, site: Site, people: Sequence[Talker], seed: int, record: Record) -> None:
        self.site, self.people, self.record = site, people, record
        self.random = Random(f"{seed} trouble")
        self.happened: Counter[str] = Counter()
        self._in_trouble: set[Server] = set()
        self._others: set[str] = set()
        self._under_way: set[asyncio.Task[None]] = set()

    async def make(self, until: float) -> None:
        """Until then, and until everything runs again."""
        kinds: list[Callable[[], Awaitable[None]]] = []
        while now() < until:
            await asyncio.sleep(self.random.uniform(*PAUSES))
            if not kinds:
                kinds = [*self._kinds(), self._kill, self._hang, self._cut]
                self.random.shuffle(kinds)
            self._under_way.add(asyncio.create_task(self._run(kinds.pop())))
        await asyncio.gather(*self._under_way)

    def _kinds(self) -> list[Callable[[], Awaitable[None]]]:
        postgres = [self._restart_postgres, self._crash_postgres]
        proxy = [self._restart_proxy, self._reload_proxy]
        return [self._kill, self._hang, self._replace, self._cut, *postgres, *proxy]

    async def _run(self, kind: Callable[[], Awaitable[None]]) -> None:
        await kind()

    # ---- servers -------------------------------------------------------------------------------
    def _take_server(self, kind: str) -> Server | None:
        free = [one for one in self.site.servers if one not in self._in_trouble]
        if len(free) < 2:
            return None
        server = self.random.choice(free)
        self._in_trouble.add(server)
        self.happened[kind] += 1
        return server

    async def _start(self, server: Server) -> None:
        """As a supervisor of processes does: again, until it is up."""
        while True:
            try:
                await asyncio.to_thread(server.start)
                break
            except AssertionError:
                self.happened["starts that failed"] += 1
                await asyncio.sleep(1)
        self._in_trouble.discard(server)

    async def _kill(self) -> None:
        down = self.random.uniform(0, 5)
        if (server := self._take_server("kill -9")) is None:
            return
        assert server.process is not None
        self.record.killed[server.process.pid] = now()
        await asyncio.to_thread(server.kill)
        await asyncio.sleep(down)
        await self._start(server)

    async def _hang(self) -> None:
        seconds = self.random.uniform(0.5, LONGEST_HANG)
        if (server := self._take_server("SIGSTOP")) is None:
            return
        assert server.process is not None
        server.process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        server.process.send_signal(signal.SIGCONT)
        self._in_trouble.discard(server)

    async def _replace(self) -> None:
        """Stop a server as an administrator does; its answers end, and another process follows."""
        if (server := self._take_server("stopped and started")) is None:
            return
        await asyncio.to_thread(server.stop, STOP_SECONDS)
        await self._start(server)

    # ---- what is around them -------------------------------------------------------------------
    async def _cut(self) -> None:
        pages = [page for talker in self.people for page in talker.pages]
        for page in self.random.sample(pages, len(pages) // 3):
            page.cut()
        self.happened["a third of all sockets cut"] += 1

    async def _restart_postgres(self) -> None:
        await self._postgres("PostgreSQL restarted", "fast", self.random.uniform(0, 4))

    async def _crash_postgres(self) -> None:
        await self._postgres("PostgreSQL crashed", "immediate", self.random.uniform(0, 4))

    async def _postgres(self, kind: str, mode: str, seconds: float) -> None:
        if "postgres" in self._others:
            return
        self._others.add("postgres")
        self.happened[kind] += 1
        await asyncio.to_thread(self.site.postgres.stop, mode)
        await asyncio.sleep(seconds)
        await asyncio.to_thread(self.site.postgres.start)
        self._others.discard("postgres")

    async def _restart_proxy(self) -> None:
        seconds = self.random.uniform(0, 3)
        await self._proxy("nginx restarted", self._stop_proxy, seconds, self.site.proxy.start)

    def _stop_proxy(self) -> None:
        self.site.proxy.stop()

    async def _reload_proxy(self) -> None:
        urls = [server.url for server in self.site.servers]
        self.random.shuffle(urls)
        await self._proxy("nginx reloaded", lambda: self.site.proxy.serve(urls))

    async def _proxy(
        self,
        kind: str,
        first: Callable[[], None],
        seconds: float = 0.0,
        then: Callable[[], None] = lambda: None,
    ) -> None:
        if "proxy" in self._others:
            return
        self._others.add("proxy")
        self.happened[kind] += 1
        await asyncio.to_thread(first)
        await asyncio.sleep(seconds)
        await asyncio.to_thread(then)
        self._others.discard("proxy")

    def line(self) -> str:
        return "; ".join(f"{count} {kind}" for kind, count in sorted(self.happened.items()))
