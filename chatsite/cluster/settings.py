"""Where other servers of the same database reach this one."""

from __future__ import annotations

import socket

from chatsite.environment import text
from chatsite.errors import BadSetting


def host_and_port(name: str) -> tuple[str, int]:
    """Host and port; port 0 is any that is free. By default the address of the pages."""
    host, _, port = text(name).rpartition(":")
    if not text(name):
        pages = text("HOST", "127.0.0.1")
        return (socket.gethostname() if pages in ("0.0.0.0", "::") else pages), 0
    if not host or not (port.isascii() and port.isdigit() and int(port) < 65_536):
        raise BadSetting(
            f"{name}={text(name)!r} is not allowed. It is a host and a port: 10.0.0.7:8001"
        )
    return host.strip("[]"), int(port)


CLUSTER_ADDRESS = host_and_port("CLUSTER_ADDRESS")
