"""A site: one server on SQLite, or several on one PostgreSQL, and what each part of it uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tests.bench.figures import spread
from tests.bench.people import all_ask, page_asker, people_on, question
from tests.bench.processes import application, cpu_seconds, server_pid
from tests.postgres import Postgres
from tests.running import Server

WARM_PEOPLE = 20


@dataclass(frozen=True, slots=True)
class Crowd:
    """So many people get so many tokens each, so many a second, and start within so many
    seconds."""

    people: int
    tokens: int
    rate: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Used:
    """Seconds of CPU of all servers, and of their database where it has a process of its own."""

    servers: float
    database: float

    def __sub__(self, before: Used) -> Used:
        return Used(self.servers - before.servers, self.database - before.database)

    def per(self, count: int, seconds: float) -> Used:
        """Of each of so many, in this unit."""
        return Used(self.servers / count / seconds, self.database / count / seconds)

    @property
    def all(self) -> float:
        return self.servers + self.database


@dataclass(frozen=True, slots=True)
class Site:
    name: str
    servers: Sequence[Server]
    postgres: Postgres | None = None

    @property
    def urls(self) -> list[str]:
        return [server.url for server in self.servers]

    def used(self) -> Used:
        return Used(
            sum(cpu_seconds(server_pid(server)) for server in self.servers),
            cpu_seconds(self.postgres.pid) if self.postgres else 0.0,
        )

    async def warm(self) -> None:
        """Have some people answered, so that caches and connections are there."""
        async with people_on(self.urls, WARM_PEOPLE * len(self.servers)) as pages:
            asks = [page_asker(page) for page in pages]
            await all_ask(asks, question(tokens=20, rate=0, first=0.0), seconds=1.0)


@contextmanager
def on_sqlite(provider: str) -> Iterator[Site]:
    with application(provider, MAX_ANSWERS="1000") as server:
        yield Site("one server, SQLite", [server])


@contextmanager
def on_postgresql(provider: str, count: int) -> Iterator[Site]:
    """PostgreSQL waits for the disk, as it does unasked."""
    with ExitStack() as stack:
        postgres = stack.enter_context(Postgres(options=""))
        shared = {"DATABASE_URL": postgres.url, "SECRET_KEY": "of a bench", "MAX_ANSWERS": "1000"}
        servers = [
            stack.enter_context(application(provider, **shared))  # type: ignore[arg-type]
            for _ in range(count)
        ]
        name = f"{count} servers" if count > 1 else "one server"
        yield Site(f"{name}, PostgreSQL", servers, postgres)


def shown(used: Sequence[Used], unit: str, *, digits: int) -> str:
    """Servers and database, pass by pass."""
    servers = spread([one.servers for one in used], digits=digits)
    if not any(one.database for one in used):
        return f"{servers} {unit}"
    return f"{servers} + database {spread([one.database for one in used], digits=digits)} {unit}"
