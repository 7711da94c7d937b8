"""Server-sent events: bytes in, the data of each whole event out.

The SDKs' own typed streaming costs several times the CPU of this for each token.
"""

from __future__ import annotations

MAX_EVENT_BYTES = 1024 * 1024


class SseParser:
    """Takes bytes as the socket gives them, cut anywhere, also inside a character."""

    def __init__(self) -> None:
        self._partial = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._skip_newline = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of the events that are complete with `chunk`, in order.

        Raises ValueError when one event is larger than MAX_EVENT_BYTES.
        """
        chunk = self._normalised(chunk)
        head, newline, rest = chunk.rpartition(b"\n")
        if not newline:
            self._grow(chunk)
            return []
        lines = (bytes(self._partial) + head).split(b"\n")
        self._partial.clear()
        payloads = []
        for line in lines:
            if not line:
                if self._data:
                    payloads.append(b"\n".join(self._data))
                    self._data = []
                    self._size = 0
            else:
                self._take(line)
        self._grow(rest)
        return payloads

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

    def _take(self, line: bytes) -> None:
        """Only `data` is used; other fields and comments are skipped."""
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value[1:] if value[:1] == b" " else value)
            self._bound(len(value) + 1)

    def _grow(self, rest: bytes) -> None:
        self._partial += rest
        self._bound(0)

    def _bound(self, more: int) -> None:
        self._size += more
        if self._size + len(self._partial) > MAX_EVENT_BYTES:
            raise ValueError(f"an event is larger than {MAX_EVENT_BYTES} bytes")
