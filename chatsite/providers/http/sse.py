"""Server-sent events: bytes in, the data of each whole event out.

The SDKs' own typed streaming costs several times the CPU of this for each token.
"""

from __future__ import annotations

import json

MAX_EVENT_BYTES = 1024 * 1024
_MARK = b"\xef\xbb\xbf"
# What may follow a closed object or list within one JSON value.
_GOES_ON = (b",", b"}", b"]")
# How JSON and web pages begin.
_BARE = (b"{", b"[", b"<")


class SseParser:
    """Takes bytes as the socket gives them, cut anywhere, also inside a character.

    A body that begins with `{` or `[` is JSON instead of events: one value, or one a line. Lines of
    data without a blank line between them are events of their own where they can't be one value.
    The data of an event with the name "error" comes as `{"error": ...}`.
    """

    def __init__(self) -> None:
        self._partial = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._skip_newline = False
        self._head: bytes | None = b""
        self._is_json = False
        self._is_error = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of the events that are complete with `chunk`, in order.

        Raises ValueError when one event is larger than MAX_EVENT_BYTES.
        """
        if self._head is not None:
            chunk = self._begin(chunk)
        chunk = self._normalised(chunk)
        head, newline, rest = chunk.rpartition(b"\n")
        if not newline:
            self._grow(chunk)
            return []
        lines = (bytes(self._partial) + head).split(b"\n")
        self._partial.clear()
        payloads: list[bytes] = []
        for line in lines:
            if line:
                self._take(line, payloads)
            elif not self._is_json:
                self._close(payloads)
        self._grow(rest)
        return payloads

    def end(self) -> list[bytes]:
        """Return what is left at the end of the body: an event without its blank line."""
        payloads: list[bytes] = []
        if self._partial:
            self._take(bytes(self._partial), payloads)
            self._partial.clear()
        self._close(payloads)
        return payloads

    def _begin(self, chunk: bytes) -> bytes:
        """Without the byte order mark and the blanks before the first byte."""
        head = (self._head or b"") + chunk
        if _MARK.startswith(head[:3]) and len(head) < len(_MARK):
            self._head = head
            return b""
        head = head.removeprefix(_MARK).lstrip()
        self._head = None if head else b""
        self._is_json = head[:1] in (b"{", b"[")
        return head

    def _normalised(self, chunk: bytes) -> bytes:
        """With `\\n` as the only line end; a `\\r\\n` that was cut in two counts once."""
        if not chunk:
            return chunk
        if self._skip_newline and chunk[:1] == b"\n":
            chunk = chunk[1:]
        self._skip_newline = chunk[-1:] == b"\r"
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def _take(self, line: bytes, payloads: list[bytes]) -> None:
        """Other fields than `data` are skipped, and comments. Some servers leave the field's name
        out, or write it otherwise."""
        field, _, value = line.partition(b":")
        if self._is_json or (field != b"data" and line.startswith(_BARE)):
            value = line
        elif field != b"data" and not self._is_data(field.strip().lower(), value, payloads):
            return
        value = value[1:] if value[:1] == b" " else value
        if self._data and _is_closed(self._data[-1], value):
            self._close(payloads)
        self._data.append(value)
        self._bound(len(value) + 2)

    def _is_data(self, field: bytes, value: bytes, payloads: list[bytes]) -> bool:
        """llama-server before September 2025 had a field of its own for errors."""
        if field in (b"event", b"error"):
            if self._data and _is_closed(self._data[-1], b""):
                self._close(payloads)
            self._is_error = field == b"error" or value.strip().lower() == b"error"
        return field in (b"data", b"error")

    def _close(self, payloads: list[bytes]) -> None:
        if self._data:
            data = b"\n".join(self._data)
            payloads.append(_as_error(data) if self._is_error else data)
        self._data = []
        self._size = 0
        self._is_error = False

    def _grow(self, rest: bytes) -> None:
        self._partial += rest
        self._bound(0)

    def _bound(self, more: int) -> None:
        self._size += more
        if self._size + len(self._partial) > MAX_EVENT_BYTES:
            raise ValueError(f"an event is larger than {MAX_EVENT_BYTES} bytes")


def _is_closed(last: bytes, following: bytes) -> bool:
    """Whether a line ends its event without a blank line: no JSON goes on like that."""
    return last.rstrip().endswith((b"}", b"]")) and not following.lstrip().startswith(_GOES_ON)


def _as_error(data: bytes) -> bytes:
    try:
        error = json.loads(data)
    except (ValueError, RecursionError):
        error = data.decode(errors="replace")
    if isinstance(error, dict) and error.get("error"):
        return data
    return json.dumps({"error": error}).encode()
