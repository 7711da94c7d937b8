"""The host names under which the site answers."""

from __future__ import annotations

import aiohttp
import pytest

from tests.running import Server


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "a b", ""])
async def test_another_host_name_is_refused_and_the_log_stays_short(
    host: str, server: Server
) -> None:
    async with (
        aiohttp.ClientSession() as anyone,
        anyone.get(f"{server.url}/chat", headers={"Host": host}) as response,
    ):
        assert response.status == 400
    assert "DisallowedHost" not in server.log


async def test_an_endless_url_is_refused(server: Server) -> None:
    async with (
        aiohttp.ClientSession() as anyone,
        anyone.get(f"{server.url}/chat?{'x' * 70_000}") as response,
    ):
        assert response.status == 400
