"""The socket opens for our own page only: its origin must be this scheme, host and port."""

from __future__ import annotations

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host

from chatsite.asgi_types import App, Receive, Scope, Send


class SameOrigin:
    """Refuses the handshake (403) unless `Origin` equals the page's own origin."""

    def __init__(self, application: App) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.lower(): value.decode("latin1") for name, value in scope["headers"]}
        if same_origin(headers, scheme=scope.get("scheme", "ws")):
            await self.application(scope, receive, send)
        else:
            await WebsocketDenier()(scope, receive, send)


def same_origin(headers: dict[bytes, str], *, scheme: str) -> bool:
    """Compares as browsers write origins: lower case, no default port."""
    host = headers.get(b"host", "").lower()
    domain, _ = split_domain_port(host)
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        return False
    secure = scheme == "wss"
    if settings.SECURE_PROXY_SSL_HEADER:
        first = headers.get(b"x-forwarded-proto", "").partition(",")[0]
        secure = first.strip() == "https"  # as Django reads it for the page itself
    own, default = ("https", ":443") if secure else ("http", ":80")
    return headers.get(b"origin", "").lower() == f"{own}://{host.removesuffix(default)}"
