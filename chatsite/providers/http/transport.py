"""The SDKs' HTTP over aiohttp, with a body that can be read without httpx2's iterators.

The SDKs keep their httpx2 client and their typed errors; only the transport is replaced. Redirects
are never followed, so that a key is sent to the configured host and nowhere else.

httpx2's own transport costs three times the CPU of this one for each token. The SDKs ship a client
over aiohttp, too (`DefaultAioHttpClient`), but its stream drops what arrived before a connection
broke, unless everything is read the moment it arrives. Read like that a relayed token costs 1.31
times the CPU (144 against 109 microseconds of the whole server, medians of 9 interleaved passes of
`python -m tests.bench relay`, November 2026). Its session also stores cookies, writes a request's
body in one piece and quotes paths again.
"""

from __future__ import annotations

import io
import urllib.request
from collections.abc import AsyncIterator, Sequence
from urllib.parse import urlsplit

import aiohttp
import httpx2
from yarl import URL

# aiohttp has decoded the body by the time httpx2 sees it; a cookie would be sent with the requests
# of everybody else.
_REMOVED_HEADERS = frozenset(
    {b"content-encoding", b"content-length", b"transfer-encoding", b"set-cookie"}
)
# Of a body that is read whole: of an error, and of any other. Whoever sends more would fill the
# memory. A provider's own words are only searched for a few phrases.
MOST_OF_ERROR = 64 * 1024
MOST_OF_BODY = 4 * 1024 * 1024
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
# aiohttp's messages repeat the address, which may hold a key, so errors keep only the class.
_TRANSLATED_ERRORS: tuple[tuple[type[BaseException], type[httpx2.RequestError]], ...] = (
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


class ServerClient(httpx2.AsyncClient):
    """A client for one server, and its `transport`: a request that is sent over the transport alone
    isn't built by the client, which takes a fifteenth of the event loop's time a turn.

    Loading the certificates takes some 20 ms: make a client in a thread.
    """

    def __init__(self, base_url: str, *, connect: float) -> None:
        self.transport = AiohttpTransport(
            tls=base_url.startswith("https"), proxy=proxy_for(base_url)
        )
        super().__init__(
            transport=self.transport,
            timeout=httpx2.Timeout(None, connect=connect),
            headers={"Accept-Encoding": "gzip, deflate"},
            follow_redirects=False,
            trust_env=False,
        )


class ResponseBody(httpx2.AsyncByteStream):
    """A response's body as it arrives; its errors are httpx2's.

    Also `extensions["body"]` of the response, for whoever reads without httpx2's iterators.
    """

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._content = response.content
        self._broken = False

    async def read(self) -> bytes:
        """Return all bytes that have arrived, waiting for the first; b"" at the end."""
        try:
            return await self._content.readany()
        except (aiohttp.ClientError, OSError, RuntimeError) as error:
            # Once: a server may go on sending after `fail`, and hide the error by every byte.
            if not self._broken and (unread := self._take_unread(error)):
                return unread
            raise translated(error) from None

    def fail(self, error: OSError) -> None:
        """Make the `read` that waits, and every later one, raise `error`.

        One timer for the whole answer can call this; a timer for each read would cost more.
        """
        self._content.set_exception(error)

    def at_end(self) -> bool:
        return self._content.at_eof()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The whole body, for httpx2. Of an error the beginning is enough; half of anything else
        would be taken for all of it."""
        failed = not 200 <= self._response.status < 300
        left = MOST_OF_ERROR if failed else MOST_OF_BODY
        while data := await self.read():
            if len(data) > left:
                if not failed:
                    raise httpx2.RemoteProtocolError("BodyTooLong")
                yield data[:left]
                return
            left -= len(data)
            yield data

    async def aclose(self) -> None:
        """Closes the connection as well, unless the body was read to its end."""
        self._response.close()

    def _take_unread(self, error: Exception) -> bytes:
        """What arrived before the connection broke: `readany` raises without giving it."""
        self._content.set_exception(None)  # type: ignore[arg-type]  # "no error": the body can be read further
        unread = self._content.read_nowait()
        self._broken = True
        self._content.set_exception(error)
        return unread


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """`proxy` is an http or https address, perhaps with a name and a password. Without `tls` no
    certificates are loaded."""

    def __init__(self, *, tls: bool, proxy: str | None) -> None:
        self._tls = httpx2.create_ssl_context() if tls else True
        self._proxy = URL(proxy).with_user(None) if proxy else None
        self._proxy_headers = _proxy_headers(URL(proxy)) if proxy else None
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        timeouts = request.extensions.get("timeout", {})
        return await self.send(
            request.method,
            URL(str(request.url), encoded=True),
            headers=[(name.decode(), value.decode()) for name, value in request.headers.raw],
            content=await request.aread(),
            connect=timeouts.get("connect"),
            read=timeouts.get("read"),
        )

    async def send(
        self,
        method: str,
        url: URL,
        *,
        headers: Sequence[tuple[str, str]],
        content: bytes,
        connect: float | None,
        read: float | None = None,
    ) -> httpx2.Response:
        """Return the response before its body is read. Times are in seconds. Raises httpx2's
        errors."""
        if self._session is None:
            # Created at the first request: a session belongs to one event loop. Connections have no
            # limit: the number of turns is bounded before; here people would wait unexplained.
            connector = aiohttp.TCPConnector(limit=0, ssl=self._tls, keepalive_timeout=60)
            self._session = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar()
            )
        try:
            response = await self._session.request(
                method,
                url,
                headers=headers,
                # Written in pieces: one large write would hold up everybody's answers.
                data=io.BytesIO(content) if content else None,
                allow_redirects=False,
                proxy=self._proxy,
                proxy_headers=self._proxy_headers,
                timeout=aiohttp.ClientTimeout(
                    total=None, connect=connect, sock_connect=connect, sock_read=read
                ),
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise translated(error) from None
        body = ResponseBody(response)
        return httpx2.Response(
            response.status,
            headers=[
                pair for pair in response.raw_headers if pair[0].lower() not in _REMOVED_HEADERS
            ],
            stream=body,
            extensions={"http_version": b"HTTP/1.1", "body": body},
        )

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()


def translated(error: BaseException) -> httpx2.RequestError:
    """Return the same failure as httpx2's error; its text is only the class of aiohttp's."""
    kind = next(
        (own for theirs, own in _TRANSLATED_ERRORS if isinstance(error, theirs)), httpx2.ReadError
    )
    return kind(type(error).__name__)


def proxy_for(base_url: str) -> str | None:
    """Return the environment's proxy for this address; None for addresses of this machine."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    if host in _LOOPBACK or urllib.request.proxy_bypass(host):
        return None
    return urllib.request.getproxies().get(parts.scheme)


def _proxy_headers(proxy: URL) -> dict[str, str] | None:
    """The header that replaces the name and the password in a proxy's address."""
    if proxy.user is None:
        return None
    return {"Proxy-Authorization": aiohttp.encode_basic_auth(proxy.user, proxy.password or "")}
