"""Cuts what would keep the standard library's parser busy for minutes, in one pass."""

from __future__ import annotations

import re

# Of the mail's own headers; more is an attack.
LONGEST_HEADERS = 256 * 1024
# The parser takes quadratic time on these headers, wherever in the tree they stand.
LONGEST_CONTENT_HEADER = 2_000
MOST_PARAMETERS = 60
# Each becomes an object of a kilobyte.
MOST_BOUNDARIES = 2_000
_CONTENT_HEADER = re.compile(
    rb"^(?:content-[a-z-]{1,30}|mime-version)[ \t]*:[^\r\n]*(?:\r?\n[ \t][^\r\n]*)*",
    flags=re.IGNORECASE | re.MULTILINE,
)
_BOUNDARY = re.compile(rb"boundary\s*=\s*(\"(?:[^\"\\]|\\.)*\"|[^\s;\"]+)", flags=re.IGNORECASE)
_DASHED = re.compile(rb"^--([^\r\n]*)", flags=re.MULTILINE)
_LONE_CR = re.compile(rb"\r(?!\n)")
_END = re.compile(rb"\r?\n\r?\n")
# UTF-8's mark of a file's beginning: the header behind it would have another name.
_BOM = re.compile(rb"^\xef\xbb\xbf(?=[!-9;-~]+:)", flags=re.MULTILINE)


def bounded(data: bytes) -> tuple[bytes, bool]:
    """The mail with its headers cut to a length that can be read, and whether its body can be."""
    # The parser ends a line at a "\r" alone as well, which no mail program writes.
    data = _LONE_CR.sub(b"\n", data)
    end = _END.search(data, 0, LONGEST_HEADERS)
    if end is None and len(data) > LONGEST_HEADERS:
        data, end = data[:LONGEST_HEADERS], None
    head = data[: end.start() if end else LONGEST_HEADERS]
    data = _BOM.sub(b"", head) + data[len(head) :]
    readable = (end is not None or len(data) < LONGEST_HEADERS) and _parts(data) <= MOST_BOUNDARIES
    return _CONTENT_HEADER.sub(_cut, data), readable


def _cut(header: re.Match[bytes]) -> bytes:
    return b";".join(header[0][:LONGEST_CONTENT_HEADER].split(b";")[:MOST_PARAMETERS])


def _parts(data: bytes) -> int:
    """At most how many parts a parser finds; 0 where it looks for none."""
    small = data.lower() if b"/" in data else b""
    found = data.count(b"\n--") if b"multipart/" in small else 0
    if found > MOST_BOUNDARIES and b"boundary*" not in small:
        # Text may have such lines as well: a comment of SQL begins with "--".
        names = {name for one in _BOUNDARY.findall(data) for name in _readings(one)}
        lines = (line.rstrip() for line in _DASHED.findall(data))
        found = sum(line in names or line.removesuffix(b"--") in names for line in lines)
    if b"delivery-status" in small:
        found += data.count(b"\n\n") + data.count(b"\n\r\n")
    return found


def _readings(boundary: bytes) -> tuple[bytes, ...]:
    """A boundary as the parser may take it: without quotes, backslashes and angle brackets."""
    plain = boundary.strip(b'"')
    unescaped = re.sub(rb"\\(.)", rb"\1", plain)
    return plain, unescaped, unescaped.strip(b"<>")
