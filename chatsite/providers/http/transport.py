"""The SDKs' HTTP over aiohttp: httpx2's own transport costs three times as much for each token.

The SDKs keep their httpx2 client and their typed errors; only what carries the bytes is another.
Redirects are never followed, so that a key goes to the configured host and nowhere else.
"""

from __future__ import annotations

import io
import urllib.request
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import aiohttp
import httpx2
from yarl import URL

# aiohttp has decoded the body by the time httpx2 sees it; a cookie would be sent with the requests
# of everybody else.
_SPENT = frozenset({b"content-encoding", b"content-length", b"transfer-encoding", b"set-cookie"})
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
# A key that is part of the address would stand in aiohttp's texts, so only classes are named.
_KINDS: tuple[tuple[type[BaseException], type[httpx2.RequestError]], ...] = (
    (aiohttp.ConnectionTimeoutError, httpx2.ConnectTimeout),
    (aiohttp.ClientConnectorError, httpx2.ConnectError),
    (aiohttp.ClientHttpProxyError, httpx2.ProxyError),
    (TimeoutError, httpx2.ReadTimeout),
    (aiohttp.InvalidURL, httpx2.UnsupportedProtocol),
    (aiohttp.ServerDisconnectedError, httpx2.RemoteProtocolError),
    (aiohttp.ClientPayloadError, httpx2.RemoteProtocolError),
    (aiohttp.ClientResponseError, httpx2.RemoteProtocolError),
    (aiohttp.ClientError, httpx2.ReadError),
    (OSError, httpx2.ReadError),
    (ValueError, httpx2.LocalProtocolError),
)


def client(base_url: str, *, connect: float) -> httpx2.AsyncClient:
    """A client for one server; some 20 ms for its certificates, so make it in a thread."""
    proxy = proxy_for(base_url)
    return httpx2.AsyncClient(
        transport=AiohttpTransport(tls=base_url.startswith("https"), proxy=proxy),
        timeout=httpx2.Timeout(None, connect=connect),
        headers={"Accept-Encoding": "gzip, deflate"},
        follow_redirects=False,
        trust_env=False,
    )


class Body(httpx2.AsyncByteStream):
    """A response's body as it arrives. Errors are httpx2's.

    It is `extensions["body"]` of a response too, to be read without httpx2's iterators.
    """

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._content = response.content

    async def read(self) -> bytes:
        """What has arrived, at once where something has; b"" at the end."""
        try:
            return await self._content.readany()
        except (aiohttp.ClientError, OSError, RuntimeError) as error:
            rest = self._unread()
            if rest:
                return rest
            raise translated(error) from None

    def fail(self, error: OSError) -> None:
        """Let a `read` that waits, and every later one, raise: cheaper than a timer for each."""
        self._content.set_exception(error)

    def at_end(self) -> bool:
        return self._content.at_eof()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while data := await self.read():
            yield data

    async def aclose(self) -> None:
        """A body that wasn't read to its end takes its connection with it."""
        self._response.close()

    def _unread(self) -> bytes:
        """What came before the connection broke: aiohttp's own `readany` drops it."""
        content = self._content
        return content._read_nowait(-1) if content._buffer else b""


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """`proxy` is an address of http or https, perhaps with a name and a password; without `tls`
    the certificates aren't loaded."""

    def __init__(self, *, tls: bool = True, proxy: str | None = None) -> None:
        self._tls = httpx2.create_ssl_context() if tls else True
        self._proxy = URL(proxy).with_user(None) if proxy else None
        self._proxy_headers = _known_as(URL(proxy)) if proxy else None
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        content = await request.aread()
        limits = request.extensions.get("timeout", {})
        try:
            response = await self._opened().request(
                request.method,
                URL(str(request.url), encoded=True),
                headers=[(name.decode(), value.decode()) for name, value in request.headers.raw],
                # Written in pieces: one large write would hold up everybody's answers.
                data=io.BytesIO(content) if content else None,
                allow_redirects=False,
                proxy=self._proxy,
                proxy_headers=self._proxy_headers,
                timeout=aiohttp.ClientTimeout(
                    total=None,
                    connect=limits.get("connect"),
                    sock_connect=limits.get("connect"),
                    sock_read=limits.get("read"),
                ),
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise translated(error) from None
        body = Body(response)
        return httpx2.Response(
            response.status,
            headers=[pair for pair in response.raw_headers if pair[0].lower() not in _SPENT],
            stream=body,
            extensions={"http_version": b"HTTP/1.1", "body": body},
        )

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _opened(self) -> aiohttp.ClientSession:
        """Made where it is used first: it belongs to that event loop."""
        if self._session is None:
            # Turns are bounded elsewhere; a bound here would make people wait without a word.
            connector = aiohttp.TCPConnector(limit=0, ssl=self._tls, keepalive_timeout=60)
            self._session = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar()
            )
        return self._session


def translated(error: BaseException) -> httpx2.RequestError:
    """The same failure as httpx2 names it; its text is only the class of what happened."""
    kind = next((own for theirs, own in _KINDS if isinstance(error, theirs)), httpx2.ReadError)
    return kind(type(error).__name__)


def proxy_for(base_url: str) -> str | None:
    """A proxy of the environment; it is for the world outside, not for this machine."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    if host in _LOOPBACK or urllib.request.proxy_bypass(host):
        return None
    return urllib.request.getproxies().get(parts.scheme)


def _known_as(proxy: URL) -> dict[str, str] | None:
    """The header that takes the place of a name and a password in a proxy's address."""
    if proxy.user is None:
        return None
    said = aiohttp.encode_basic_auth(proxy.user, proxy.password or "")
    return {"Proxy-Authorization": said}
