"""Cookies of one's own: a browser has one jar for all ports of a host, and loses none there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from yarl import URL

from tests.person import Person
from tests.running import ROOT, Server
from tests.web.browser_requests import ask
from tests.web.conftest import STAFF

FOREIGN = {"sessionid": "f" * 32, "csrftoken": "F" * 32, "messages": "theirs"}


def jar_of(person: Person) -> dict[str, str]:
    return {one.key: one.value for one in person.cookies()}


async def titles(person: Person) -> list[str]:
    found = (await person.ask("GET", "/conversations"))["conversations"]
    return [one["title"] for one in found]


async def begin(person: Person, text: str) -> None:
    page = await person.page()
    await page.say(text)
    await page.close()


async def visit(person: Person, url: str) -> None:
    """Open another server's page, which obtains a session as its script does."""
    async with person.http.get(f"{url}/chat") as answer:
        (name,) = re.findall(r'data-csrf-cookie="([^"]+)"', await answer.text())
    headers = {"X-CSRFToken": jar_of(person)[name], "Origin": url}
    async with person.http.post(f"{url}/session", headers=headers) as answer:
        assert answer.status == 204, await answer.text()


async def test_two_servers_on_one_host_keep_their_guests_and_accounts(
    server: Server, tmp_path: Path
) -> None:
    with Server(tmp_path / "other") as other:
        async with Person(server.url) as ada:
            await begin(ada, "On the first")
            first = jar_of(ada)
            await visit(ada, other.url)
            assert first.items() <= jar_of(ada).items()
            assert len(jar_of(ada)) == 4
            ada.url = server.url
            assert await titles(ada) == ["On the first"]
        async with Person(server.url) as grace:
            await grace.sign_in(*STAFF)
            await visit(grace, other.url)
            grace.url = server.url
            assert (await grace.page_data())["user"]["name"] == STAFF[0]


async def test_another_projects_cookies_are_left_alone(server: Server) -> None:
    async with Person(server.url) as ada:
        await begin(ada, "Mine")
        ada.http.cookie_jar.update_cookies(FOREIGN, URL(server.url))
        seen: list[str] = []
        await ada.sign_in(*STAFF)
        for path in ("/chat", "/accounts/", "/admin/", "/accounts/login/", "/static/nowhere"):
            answer = await ask(ada, "GET", path)
            seen.append(answer.headers.get("set-cookie", ""))
        await ada.sign_out()
        assert FOREIGN.items() <= jar_of(ada).items()
        assert not any(name in " ".join(seen) for name in FOREIGN)


async def with_former_cookies(person: Person) -> dict[str, str]:
    """The browser as a former version left it: Django's names for the same values."""
    former = {"sessionid": person.cookie("session"), "csrftoken": person.cookie("csrf")}
    person.http.cookie_jar.clear()
    person.http.cookie_jar.update_cookies(former, URL(person.url))
    return former


async def test_whoever_is_signed_in_under_the_former_names_stays_so(server: Server) -> None:
    async with Person(server.url) as grace:
        await grace.sign_in(*STAFF)
        former = await with_former_cookies(grace)
        assert (await grace.page_data())["user"]["name"] == STAFF[0]
        assert former.items() <= jar_of(grace).items()
        named = {name: value for name, value in jar_of(grace).items() if name not in former}
        assert sorted(named.values()) == sorted(former.values())
        kept = {one.key: one for one in grace.http.cookie_jar}
        (session,) = [kept[name] for name, value in named.items() if value == former["sessionid"]]
        assert session["httponly"] and session["samesite"] == "Lax"
        assert 364 * 24 * 3600 < int(session["max-age"]) <= 365 * 24 * 3600


async def test_a_page_that_was_open_over_the_upgrade_goes_on(server: Server) -> None:
    """It sends the former token, opens its socket first, and never asks for a page."""
    async with Person(server.url) as ada:
        await begin(ada, "Before")
        former = await with_former_cookies(ada)
        await begin(ada, "Meanwhile")
        headers = {"X-CSRFToken": former["csrftoken"], "Origin": ada.url}
        for _ in range(2):
            async with ada.http.post(f"{ada.url}/session", headers=headers) as answer:
                assert answer.status == 204, await answer.text()
        assert sorted(await titles(ada)) == ["Before", "Meanwhile"]


async def test_a_former_cookie_that_names_no_session_here_is_ignored(server: Server) -> None:
    for key in ("f" * 32, "", "x", "../../etc/passwd", "é" * 8, "f" * 4_000):
        async with aiohttp.ClientSession() as http:
            headers = {"Cookie": f"sessionid={key}; csrftoken={'F' * 32}; other=1"}
            async with http.get(f"{server.url}/chat", headers=headers) as answer:
                assert answer.status == 200
                names = set(answer.cookies)
            assert len(names) == 1 and names.pop().endswith("_csrf")


async def test_signing_out_ends_the_session_under_the_former_name_too(server: Server) -> None:
    async with Person(server.url) as grace:
        await grace.sign_in(*STAFF)
        former = await with_former_cookies(grace)
        headers = {"X-CSRFToken": former["csrftoken"], "Origin": grace.url}
        async with grace.http.post(
            f"{grace.url}/accounts/logout/", headers=headers, allow_redirects=False
        ) as answer:
            assert answer.status == 302
        grace.http.cookie_jar.clear()
        grace.http.cookie_jar.update_cookies(former, URL(grace.url))
        assert (await grace.page_data())["user"]["signed_in"] is False


@pytest.mark.slow
async def test_the_names_stay_over_a_restart_and_are_the_administrators_where_set(
    tmp_path: Path,
) -> None:
    async def named(name: str = "") -> set[str]:
        with Server(tmp_path / "var", COOKIE_NAME=name) as running:
            async with Person(running.url) as ada:
                return set(jar_of(ada))

    first = await named()
    assert await named() == first
    assert await named("chatsite_team-1") == {"chatsite_team-1", "chatsite_team-1_csrf"}


def check(folder: Path, environment: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env=dict(environment) | {"VAR_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["a b", "a;b", "1a", "_a", "__Host-a", "a=b", "ä", "a" * 41, "a.b"]
)
def test_a_name_that_is_not_allowed_stops_the_start(name: str, tmp_path: Path) -> None:
    server = Server(tmp_path / "var", COOKIE_NAME=name)
    done = check(tmp_path / "var", server.environment)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Chatsite can't start. COOKIE_NAME={name!r} is not allowed.")
    assert "up to 39 more letters, digits, _ and -" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("content", ["not hexadecimal", "0123456789abcdef", "a; b=c"])
def test_an_id_that_was_changed_stops_the_start(content: str, tmp_path: Path) -> None:
    (tmp_path / "instance_id").write_text(content)
    done = check(tmp_path, Server(tmp_path).environment)
    assert done.returncode == 1
    assert done.stderr.startswith("Chatsite can't start. ") and "instance_id" in done.stderr
