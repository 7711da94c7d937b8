"""What is measured side by side: this version, the one before, a bare relay, and Chainlit.

`--before PATH` names a checkout, `--chainlit PYTHON` an interpreter that has Chainlit; a side that
isn't named is left out. All run at the same time, and every pass goes round them.
"""

from __future__ import annotations

import statistics
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from tests.bench.chainlit_people import chainlit_people
from tests.bench.figures import Options, Row, ratios, spread, verdict
from tests.bench.people import Ask, all_ask, page_asker, people_at, question, relay_people
from tests.bench.processes import application, bare_relay, chainlit, server_pid
from tests.running import ROOT, Server

NOW, BEFORE, RELAY, CHAINLIT = "now", "before", "bare relay", "Chainlit"
WARM_PEOPLE = 20


class PeopleAt(Protocol):
    """Yields the asks of `count` new people; `deflate` offers compression as Chromium does."""

    def __call__(
        self, url: str, count: int, *, deflate: bool = True
    ) -> AbstractAsyncContextManager[Sequence[Ask]]: ...


@dataclass(frozen=True, slots=True)
class Side:
    """One running server: a version of the application, or the process of another."""

    name: str
    url: str
    people_at: PeopleAt
    process: Server | int

    @property
    def server(self) -> Server | None:
        return self.process if isinstance(self.process, Server) else None

    @property
    def pid(self) -> int:
        """Another one after a restart."""
        return server_pid(self.process) if isinstance(self.process, Server) else self.process

    def people(
        self, count: int, *, url: str = "", deflate: bool = True
    ) -> AbstractAsyncContextManager[Sequence[Ask]]:
        return self.people_at(url or self.url, count, deflate=deflate)


@asynccontextmanager
async def sides(
    options: Options, provider: str, *, without: Sequence[str] = ()
) -> AsyncIterator[list[Side]]:
    """The servers, ours first; each has answered some people, so that its caches are full."""
    async with AsyncExitStack() as stack:
        found = []
        roots = {NOW: ROOT} | ({BEFORE: options.before.resolve()} if options.before else {})
        for name, root in roots.items():
            # `starts` asks for more answers at once than a server allows unasked.
            one = stack.enter_context(application(provider, root=root, MAX_ANSWERS="1000"))
            found.append(Side(name, one.url, application_people, one))
        if RELAY not in without:
            socket, pid = stack.enter_context(bare_relay(provider))
            found.append(Side(RELAY, socket.removesuffix("/ws"), relay_people, pid))
        if options.chainlit and CHAINLIT not in without:
            url, pid = stack.enter_context(chainlit(provider, options.chainlit))
            found.append(Side(CHAINLIT, url, chainlit_people, pid))
        for side in found:
            async with side.people(WARM_PEOPLE) as asks:
                await all_ask(asks, question(tokens=20, rate=0, first=0.0), seconds=0.0)
        yield found


@asynccontextmanager
async def application_people(
    url: str, count: int, *, deflate: bool = True
) -> AsyncIterator[list[Ask]]:
    """Each begins the conversation of another guest."""
    async with people_at(url, count, deflate=deflate) as pages:
        yield [page_asker(page) for page in pages]


def turned(found: Sequence[Side], number: int) -> Sequence[Side]:
    """The sides in the order of a pass: each other one begins at the other end."""
    return found if number % 2 else found[::-1]


def compared(
    what: str,
    values: Mapping[str, Sequence[float]],
    *,
    unit: str,
    digits: int = 1,
    against: str,
    most: float | None = None,
) -> Row:
    """A row of the values of every side, pass by pass. The ratio is ours to that of the side
    `against`, which may have taken no part."""
    others = {name: found for name, found in values.items() if name != NOW}
    found = ratios(values[NOW], values[against]) if against in values else []
    target = ""
    if most is not None:
        target = f"ratio to {against} at most {most}"
        holds = bool(found) and statistics.median(found) <= most
        target = verdict(target, holds) if found else f"{target}: not measured"
    return Row(
        what=what,
        baseline="; ".join(f"{name} {spread(v, digits=digits)}" for name, v in others.items()),
        ours=f"{spread(values[NOW], digits=digits)} {unit}",
        ratio=spread(found, digits=2) if found else "",
        target=target,
    )
