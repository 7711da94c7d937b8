"""Guesses at passwords are delayed and logged, and keep nobody else out."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator

import pytest

from chatsite.limits.table import GUESSES
from tests.person import Person
from tests.running import Server
from tests.web.browser_requests import Answer, ask

PASSWORD = "a-long-password-1906"
BAD = "not-the-password-77"
DELAYED = "There were too many wrong passwords. This one wasn't checked. Try again in "
# Django's own sentence of a form with a wrong password.
WRONG = "Please enter"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("sign-ins")
    with Server(
        folder,
        LIMITS_FACTOR="1",
        PEOPLE_PER_ADDRESS="3",
        TRUSTED_PROXIES="127.0.0.1",
        SIGNUP="true",
    ) as running:
        for name in ("grace", "edsger", "ada", "barbara"):
            running.add_user(name, PASSWORD)
        yield running
    assert "Traceback" not in running.log, running.log
    assert BAD not in running.log and PASSWORD not in running.log


async def sign_in(
    person: Person, name: str, password: str, *, address: str, path: str = "/accounts/login/"
) -> Answer:
    """As from another address: the server trusts what this machine forwards."""
    headers = {"X-Forwarded-For": address, "Accept": "text/html", "Origin": person.url}
    page = await ask(person, "GET", path, headers=headers)
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert token is not None, page.text
    form = {"username": name, "password": password, "csrfmiddlewaretoken": token[1]}
    return await ask(person, "POST", path, data=form, headers=headers)


async def guess_until_delayed(
    server: Server, name: str, *, address: str, path: str = "/accounts/login/"
) -> Answer:
    async with Person(server.url) as eve:
        for _ in range(GUESSES.burst):
            answer = await sign_in(eve, name, BAD, address=address, path=path)
            assert answer.status == 200 and WRONG in answer.text
        return await sign_in(eve, name, BAD, address=address, path=path)


@pytest.mark.parametrize(
    ("path", "address"), [("/accounts/login/", "203.0.113.1"), ("/admin/login/", "203.0.113.2")]
)
async def test_wrong_passwords_are_delayed_in_words_with_the_seconds(
    path: str, address: str, server: Server
) -> None:
    answer = await guess_until_delayed(server, "grace", address=address, path=path)
    assert answer.status == 429 and 1 <= int(answer.headers["retry-after"]) <= 30
    assert DELAYED.replace("'", "&#x27;") in answer.text and "Please wait" in answer.text
    async with Person(server.url) as eve:
        right = await sign_in(eve, "grace", PASSWORD, address=address, path=path)
        assert right.status == 429, "a right password isn't looked at either"
    assert re.search(rf'WARNING Sign-in failed: account "grace" from "{address}"\n', server.log)
    assert re.search(rf'WARNING Sign-in delayed: "grace" from "{address}", \d+ s\n', server.log)


async def test_the_delay_is_for_that_account_at_that_address_alone(server: Server) -> None:
    address = "203.0.113.3"
    assert (await guess_until_delayed(server, "Edsger", address=address)).status == 429
    async with Person(server.url) as edsger, Person(server.url) as other:
        assert (await sign_in(other, "edsger", BAD, address=address)).status == 429, "by any case"
        elsewhere = await sign_in(edsger, "edsger", PASSWORD, address="203.0.113.4")
        assert elsewhere.status == 302
        another = await sign_in(other, "ada", PASSWORD, address=address)
        assert another.status == 302
    assert 'INFO Signed in: account "edsger", staff from "203.0.113.4"\n' in server.log


async def test_many_guesses_at_once_pass_as_few_as_one_after_the_other(server: Server) -> None:
    async with Person(server.url) as eve:
        answers = await asyncio.gather(
            *(sign_in(eve, "ada", BAD, address="203.0.113.5") for _ in range(12))
        )
    statuses = [answer.status for answer in answers]
    assert statuses.count(200) == GUESSES.burst and statuses.count(429) == 12 - GUESSES.burst


async def test_a_right_password_ends_the_delay(server: Server) -> None:
    address = "203.0.113.6"
    async with Person(server.url) as barbara, Person(server.url) as eve:
        for _ in range(GUESSES.burst - 1):
            await sign_in(barbara, "barbara", BAD, address=address)
        assert (await sign_in(barbara, "barbara", PASSWORD, address=address)).status == 302
        for _ in range(GUESSES.burst - 1):
            again = await sign_in(eve, "barbara", BAD, address=address)
            assert again.status == 200, "none of the guesses before counts"


async def test_what_is_typed_can_not_forge_a_line_of_the_log(server: Server) -> None:
    forged = 'x\n2026-11-22 00:00:00,000 INFO Signed in: account "root" from "127.0.0.1"\u202e'
    async with Person(server.url) as eve:
        await sign_in(eve, forged, BAD, address="203.0.113.7")
    (line,) = [line for line in server.log.splitlines() if "203.0.113.7" in line]
    assert line[24:].startswith(r'WARNING Sign-in failed: account "x\n2026-11-22 00:00')
    assert line.endswith(r'\"127.0.0.1\"\u202e" from "203.0.113.7"')


async def test_changes_of_accounts_are_logged(server: Server) -> None:
    change = f"u.is_staff = False; u.set_password({PASSWORD!r}); u.save()"
    found = "from django.contrib.auth.models import User; u = User.objects.get(username='ada')"
    said = server.manage("shell", "-c", f"{found}; {change}")
    assert 'Account "ada": new password, staff off' in said and PASSWORD not in said
