"""Bounds the connections that do nothing: each holds one of a process's few open files.

Some ask for nothing, others don't read what they asked for; such an answer holds memory, and the
file that it is read from.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

from chatsite.process_limits import open_files

try:
    import fcntl
    import termios
except ImportError:  # Windows: then only what asyncio itself still has to send is known
    fcntl = termios = None  # type: ignore[assignment]

logger = logging.getLogger("chatsite.limits")
# Of one address. A browser opens six connections and asks over each within seconds.
MOST_OF_ADDRESS = 256
# Of everybody, each with up to 300 KB.
MOST_UNREAD = 2_048
LOGGED_ONCE_SECONDS = 60.0
# A phone in a tunnel reads nothing for a while; whoever reads slowly may go on for hours.
UNREAD_SECONDS = 30.0
LOOK_SECONDS = 5.0


class Connections:
    """Those of one server that do nothing in one way, by address, the oldest first. Over a bound
    the oldest is closed."""

    def __init__(self, kind: str, *, most: int, by_address: bool) -> None:
        """`by_address` is False behind a proxy, which brings everybody's connections."""
        self._kind = kind
        self._most = most
        self._by_address = by_address
        self._found: dict[str, dict[asyncio.Transport, None]] = {}
        self._count = 0
        self._logged = -LOGGED_ONCE_SECONDS

    def add(self, address: str, transport: asyncio.Transport) -> None:
        found = self._found.setdefault(address, {})
        if transport in found:
            return
        found[transport] = None
        self._count += 1
        if self._by_address and len(found) > MOST_OF_ADDRESS:
            self._close_oldest(address)
        elif self._count > self._most:
            self._close_oldest(max(self._found, key=lambda one: len(self._found[one])))

    def remove(self, address: str, transport: asyncio.Transport) -> None:
        found = self._found.get(address)
        if found is not None and transport in found:
            del found[transport]
            self._count -= 1
            if not found:
                del self._found[address]

    def _close_oldest(self, address: str) -> None:
        oldest = next(iter(self._found[address]))
        self.remove(address, oldest)
        oldest.abort()
        now = asyncio.get_running_loop().time()
        if now - self._logged >= LOGGED_ONCE_SECONDS:
            self._logged = now
            logger.warning("%s holds too many %s; the oldest are closed", address, self._kind)


@dataclass(slots=True)
class _Unread:
    address: str
    since: float
    left: int = -1  # bytes at the last look; -1 before the first one


class UnreadAnswers:
    """Connections whose client doesn't read as fast as they are written. One of which nothing is
    read for `UNREAD_SECONDS` is closed."""

    def __init__(self, *, by_address: bool) -> None:
        # A file that is sent takes two open files. The silent ones may have half of all.
        most = min(MOST_UNREAD, open_files() // 8)
        self._connections = Connections("unread answers", most=most, by_address=by_address)
        self._unread: dict[asyncio.Transport, _Unread] = {}
        self._look: asyncio.TimerHandle | None = None

    def add(self, address: str, transport: asyncio.Transport) -> None:
        if transport in self._unread:
            return
        loop = asyncio.get_running_loop()
        self._unread[transport] = _Unread(address, loop.time())
        if self._look is None:
            self._look = loop.call_later(LOOK_SECONDS, self._close_unread)
        self._connections.add(address, transport)

    def remove(self, transport: asyncio.Transport) -> None:
        found = self._unread.pop(transport, None)
        if found is not None:
            self._connections.remove(found.address, transport)

    def _close_unread(self) -> None:
        loop = asyncio.get_running_loop()
        for transport, found in list(self._unread.items()):
            left = bytes_left(transport)
            if found.left < 0 or left < found.left:
                if found.left >= 0:  # it is read, and no longer the oldest
                    found.since = loop.time()
                    self._connections.remove(found.address, transport)
                    self._connections.add(found.address, transport)
                found.left = left
            elif loop.time() - found.since >= UNREAD_SECONDS:
                transport.abort()
        again = bool(self._unread)
        self._look = loop.call_later(LOOK_SECONDS, self._close_unread) if again else None


def bytes_left(transport: asyncio.Transport) -> int:
    """Counts the bytes that the client hasn't confirmed yet. The system itself keeps up to some
    megabytes of them: a slow client reads for minutes before asyncio can hand on more."""
    left = transport.get_write_buffer_size()
    try:
        number = transport.get_extra_info("socket").fileno()
        waiting = fcntl.ioctl(number, termios.TIOCOUTQ, bytes(4))
    except (OSError, AttributeError, ValueError):
        return left
    return left + int.from_bytes(waiting, "little")


class HeldConnections:
    """Both kinds, of one server."""

    def __init__(self, *, by_address: bool) -> None:
        # The other half is for whoever asks for something, and for files.
        self.silent = Connections(
            "silent connections", most=open_files() // 2, by_address=by_address
        )
        self.unread = UnreadAnswers(by_address=by_address)


def held_connections(server_state: Any, config: Any) -> HeldConnections:
    """Finds the server's connections, kept with what uvicorn keeps of the server: uvicorn makes its
    protocols itself."""
    kept = vars(server_state)
    if "chatsite_held" not in kept:
        kept["chatsite_held"] = HeldConnections(by_address=not config.proxy_headers)
    found: HeldConnections = kept["chatsite_held"]
    return found
