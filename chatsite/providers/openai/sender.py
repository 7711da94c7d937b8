"""Sends the requests of answers with the SDK's headers and errors, but without its `post`.

`post` builds every request from nothing and copies its options several times: 0.9 ms of CPU, a
seventh of a whole turn, and `completions.create` checks the types of every message and tool for 0.3
ms each on top.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import httpx2
from pydantic_core import to_json

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class Sender:
    """One server's chat completions. The SDK's client keeps the files, and `http` the connections.

    The client's own key is sent and no other: the SDK can also read an administrator's from the
    environment.
    """

    def __init__(self, client: AsyncOpenAI, http: httpx2.AsyncClient, base_url: str) -> None:
        self.client = client
        self._http = http
        self._url = httpx2.URL(f"{base_url.rstrip('/')}/chat/completions")
        self._timeouts = {"timeout": http.timeout.as_dict()}
        self._headers: httpx2.Headers | None = None

    async def send(self, body: Mapping[str, Any]) -> httpx2.Response:
        """The response before its body is read; raises the SDK's errors, as its `post` does."""
        import openai

        if self._headers is None:
            self._headers = self._collected_headers()
        request = httpx2.Request(
            "POST",
            self._url,
            headers=self._headers,
            content=to_json(body),
            extensions=self._timeouts,
        )
        try:
            response = await self._http.send(request, stream=True)
        except httpx2.TimeoutException as error:
            raise openai.APITimeoutError(request=request) from error
        except httpx2.RequestError as error:
            raise openai.APIConnectionError(request=request) from error
        if not response.is_success:
            await response.aread()
            raise self.client._make_status_error_from_response(response)
        return response

    async def aclose(self) -> None:
        await self.client.close()

    def _collected_headers(self) -> httpx2.Headers:
        """Collected with the first request: they name the event loop."""
        headers = httpx2.Headers(self._http.headers)
        own = {**self.client.default_headers, **self.client.auth_headers}
        headers.update({name: value for name, value in own.items() if isinstance(value, str)})
        return headers
