from __future__ import annotations

import os
import subprocess
import sys

import aiohttp

from tests.person import Page, Person
from tests.running import ROOT, Server


def make_account(server: Server, name: str, password: str) -> None:
    subprocess.run(
        [sys.executable, "manage.py", "createsuperuser", "--noinput", f"--username={name}"],
        cwd=ROOT,
        env={
            **os.environ,
            **server.environment,
            "DJANGO_SUPERUSER_PASSWORD": password,
            "DJANGO_SUPERUSER_EMAIL": "",
        },
        check=True,
        capture_output=True,
    )


async def closed_with(page: Page) -> int | None:
    while True:
        message = await page.socket.receive(timeout=10)
        if message.type is not aiohttp.WSMsgType.TEXT:
            return page.socket.close_code


async def test_signing_in_closes_what_the_guest_had_open(server: Server) -> None:
    make_account(server, "grace", "a-long-password-1906")
    async with Person(server.url) as grace:
        as_guest = await grace.page()
        await grace.sign_in("grace", "a-long-password-1906")
        assert await closed_with(as_guest) == 4401


async def test_signing_out_closes_the_other_tabs_and_nobody_elses(server: Server) -> None:
    make_account(server, "edsger", "a-long-password-1930")
    async with Person(server.url) as edsger, Person(server.url) as elsewhere:
        for person in (edsger, elsewhere):
            await person.sign_in("edsger", "a-long-password-1930")
        tab, other_device = await edsger.page(), await elsewhere.page()
        await edsger.sign_out()
        assert await closed_with(tab) == 4401
        assert (await other_device.preview("Still here?"))["decision"] is not None
