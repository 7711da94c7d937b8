"""Who asks each of several servers has no more than who asks one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import aiohttp

from chatsite.limits.table import WHOLE_EXPORTS
from tests.running import Server


async def test_two_servers_let_through_what_one_would(serve: Callable[..., Server]) -> None:
    narrow = {"LIMITS_FACTOR": "1", "PEOPLE_PER_ADDRESS": "1"}
    servers = [serve(**narrow), serve(**narrow)]

    async def status(server: Server) -> int:
        async with http.get(f"{server.url}/accounts/export/", allow_redirects=False) as answer:
            return answer.status

    async with aiohttp.ClientSession() as http:
        found = await asyncio.gather(*[status(server) for _ in range(5) for server in servers])
    assert found.count(429) == len(found) - WHOLE_EXPORTS.burst
