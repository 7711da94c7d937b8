"""What an outsider, a clock or an older program does at the edges of a server."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import aiohttp
import psutil

from tests.attacks.kit import Attack, Surroundings, Target, request
from tests.fakes.mailing import rows
from tests.person import Person
from tests.running import Server
from tests.story.agents import write_agent

DATABASE = "chatsite.sqlite3"
FORKS = """
import subprocess, sys, time

def build(ctx):
    for _ in range(20):
        ends = [sys.executable, "-c", "import time; time.sleep(300)", {name!r}]
        subprocess.Popen(ends, start_new_session=True)
    time.sleep(300)
"""


@contextmanager
def _own(target: Target, **environment: str) -> Iterator[Server]:
    """Another server of the same checkout, which may be stopped while others use the first."""
    with tempfile.TemporaryDirectory(prefix="chatsite-attack-") as folder:
        server = Server(Path(folder), flags=(), root=target.server.root, **environment)
        try:
            yield server
        finally:
            if server.process is not None and server.process.poll() is None:
                server.kill()


async def unready(target: Target) -> None:
    """/readyz of a server that can store nothing."""
    with _own(target) as server:
        await asyncio.to_thread(server.start)
        path = server.folder / DATABASE
        with closing(sqlite3.connect(path, isolation_level=None, timeout=20)) as other:
            other.execute("BEGIN IMMEDIATE")
            async with aiohttp.ClientSession() as http, http.get(f"{server.url}/readyz") as answer:
                target.saw(answer.status)
                if answer.status == 200:
                    target.breached("it says that it is ready")
            other.execute("ROLLBACK")


async def newer_database(target: Target) -> None:
    with _own(target) as server:
        await asyncio.to_thread(server.start)
        await asyncio.to_thread(server.stop)
        values = ("conversations", "9999_of_tomorrow", "2036-01-01 00:00:00")
        with closing(sqlite3.connect(server.folder / DATABASE)) as database:
            into = "INSERT INTO django_migrations (app, name, applied) VALUES (?, ?, ?)"
            database.execute(into, values)
            database.commit()
        try:
            await asyncio.to_thread(server.start)
            target.breached("a newer version's database is opened")
        except AssertionError:
            target.saw("refused to start")


async def wrong_clock(target: Target) -> None:
    """A start with a clock that is ten years ahead: what is stored becomes ten years older."""
    with _own(target) as server:
        await asyncio.to_thread(server.start)
        async with Person(server.url) as ada:
            await (await ada.page()).say("Hello")
            await asyncio.to_thread(server.stop)
            _shift(server, "-3650 days")
            await asyncio.to_thread(server.start)
            await asyncio.sleep(3)  # the purge of the start
            await asyncio.to_thread(server.stop)
            _shift(server, "+3650 days")
            await asyncio.to_thread(server.start)
            try:
                there = (await ada.ask("GET", "/conversations"))["count"]
            except AssertionError:
                there = 0
            target.saw("the guest is known" if there else "the guest is a stranger")
            if not there:
                target.breached("a guest loses their chats")


def _shift(server: Server, by: str) -> None:
    with closing(sqlite3.connect(server.folder / DATABASE)) as database:
        for table, column in (
            ("django_session", "expire_date"),
            ("conversations_conversation", "updated"),
            ("conversations_guest", "seen"),
        ):
            moved = f"strftime('%Y-%m-%d %H:%M:%f', {column}, ?)"
            database.execute(f"UPDATE {table} SET {column} = {moved}", [by])
        database.commit()


async def long_addresses(target: Target) -> None:
    async with Person(target.server.url) as eve:
        for path in ("/?", "/admin?", "/admin/x", "/chat/?agent=", "/accounts?"):
            await request(target, eve, "GET", path + "x" * 17_000)
    if tracebacks := target.server.log.count("Traceback"):
        target.breached(f"{tracebacks} tracebacks in the log")


async def caches(target: Target) -> None:
    async with Person(target.server.url) as eve:
        page = await eve.page()
        await page.say("Hello")
        for path in (
            f"/chat/{page.conversation}",
            "/conversations",
            "/accounts/",
            "/conversations/bookmarks",
        ):
            async with eve.http.get(eve.url + path) as answer:
                target.saw(answer.status)
                if "no-store" not in answer.headers.get("Cache-Control", ""):
                    target.breached(f"{path[:9]} may be kept")


async def planted_session(target: Target) -> None:
    """Somebody else's chats come along with a sign-up: the page has to say which."""
    async with Person(target.server.url) as eve:
        await (await eve.page()).say("a planted chat")
        async with eve.http.get(f"{eve.url}/accounts/signup/") as answer:
            if "a planted chat" not in await answer.text():
                target.breached("nobody is told what comes along")
            target.saw(answer.status)


@contextmanager
def _forking() -> Iterator[Surroundings]:
    name = f"begun-{uuid.uuid4()}"
    with tempfile.TemporaryDirectory() as folder:
        write_agent(Path(folder), "demo")
        write_agent(Path(folder), "forks", {"historyPolicy": "strategy"})
        (Path(folder) / "forks" / "strategy.py").write_text(FORKS.format(name=name))
        yield Surroundings({"AGENTS_DIR": folder}, parts={"name": name})
    for process in _named(name):
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _named(name: str) -> list[psutil.Process]:
    found = psutil.process_iter(["cmdline"])
    return [one for one in found if name in (one.info["cmdline"] or ())]


async def forking_strategy(target: Target) -> None:
    name = target.surroundings.parts["name"]
    async with Person(target.server.url) as eve:
        await (await eve.page(agent="forks")).say("Hello")
    await asyncio.sleep(1)
    if left := len(_named(name)):
        target.breached(f"{left} processes live on")
    turns = rows(target.server, "SELECT count(*) FROM conversations_turn")[0][0]
    target.saw(f"{turns and 1} answered")


ATTACKS = (
    Attack("unready", "/readyz while nothing can be stored", unready, refuses=False, in_ci=False),
    Attack("newer_database", "a database of tomorrow", newer_database, refuses=False, in_ci=False),
    Attack("wrong_clock", "a start ten years ahead", wrong_clock, refuses=False, in_ci=False),
    Attack("long_addresses", "5 addresses of 17,000 characters", long_addresses),
    Attack("caches", "4 pages with what is a person's", caches, refuses=False, in_ci=False),
    Attack(
        "planted_session",
        "a sign-up with chats of another",
        planted_session,
        refuses=False,
        in_ci=False,
    ),
    Attack(
        "forking_strategy",
        "a strategy that begins 20 processes",
        forking_strategy,
        refuses=False,
        around=_forking,
        in_ci=False,
    ),
)
