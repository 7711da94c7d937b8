"""Which pages may open the socket: only those of the same scheme, host and port."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from chatsite.live.limits import same_origin

LOCAL = "127.0.0.1:8000"
TLS = ("HTTP_X_FORWARDED_PROTO", "https")


def opens(host: str, origin: str | None, *, scheme: str = "ws", proto: str = "") -> bool:
    headers = {b"host": host}
    if origin is not None:
        headers[b"origin"] = origin
    if proto:
        headers[b"x-forwarded-proto"] = proto
    return same_origin(headers, scheme=scheme)


@pytest.fixture(autouse=True)
def hosts(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", "chat.example.org"]
    settings.SECURE_PROXY_SSL_HEADER = None


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        (LOCAL, "http://127.0.0.1:8000"),
        (LOCAL, "HTTP://127.0.0.1:8000"),
        ("LOCALHOST:8000", "http://localhost:8000"),
        ("chat.example.org", "http://Chat.Example.org"),
        ("chat.example.org:80", "http://chat.example.org"),
        ("[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_the_page_itself_opens_the_socket(host: str, origin: str) -> None:
    assert opens(host, origin)


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        (LOCAL, None),
        (LOCAL, ""),
        (LOCAL, "null"),
        (LOCAL, "http://evil.example"),
        (LOCAL, "http://127.0.0.1:8000.evil.example"),
        (LOCAL, "http://127.0.0.1:80001"),
        (LOCAL, "http://127.0.0.1:8001"),
        (LOCAL, "http://127.0.0.1"),
        (LOCAL, "https://127.0.0.1:8000"),
        (LOCAL, "ws://127.0.0.1:8000"),
        (LOCAL, "http://localhost:8000"),
        (LOCAL, "http://user@127.0.0.1:8000"),
        (LOCAL, "http://127.0.0.1:8000/"),
        (LOCAL, "http://127.0.0.1:8000, http://evil.example"),
        ("chat.example.org", "http://chat.example.org.evil.example"),
        ("chat.example.org", "http://evilchat.example.org"),
        ("chat.example.org", "http://chat.example.org:8000"),
        ("evil.example", "http://evil.example"),
        ("", "http://"),
        ("", ""),
    ],
)
def test_any_other_page_is_refused_the_socket(host: str, origin: str | None) -> None:
    assert not opens(host, origin)


class TestWithTls:
    def test_a_server_that_speaks_tls_accepts_its_own_page(self) -> None:
        assert opens("chat.example.org", "https://chat.example.org", scheme="wss")
        assert opens("chat.example.org:443", "https://chat.example.org", scheme="wss")
        assert not opens("chat.example.org", "http://chat.example.org", scheme="wss")

    def test_a_trusted_proxy_may_speak_tls_for_the_server(self, settings: Settings) -> None:
        settings.SECURE_PROXY_SSL_HEADER = TLS
        for proto in ("https", "https, http"):
            assert opens("chat.example.org", "https://chat.example.org", proto=proto)
        assert not opens("chat.example.org", "http://chat.example.org", proto="https")
        assert not opens("chat.example.org", "https://chat.example.org", proto="http, https")
        assert not opens("chat.example.org", "https://chat.example.org")

    def test_a_header_that_is_not_configured_as_trusted_changes_nothing(self) -> None:
        assert not opens("chat.example.org", "https://chat.example.org", proto="https")
