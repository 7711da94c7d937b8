"""Reads JSON that is larger than memory, one value at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from io import TextIOWrapper
from typing import IO, Any

# Characters, at least: what is read at once grows with a value that doesn't end.
BLOCK = 1024 * 1024
# An error nearer to the end of what was read may be one of its end.
NEAR = 64
_BETWEEN = re.compile(r"[\s,]*")


class NotJson(ValueError):
    """The file isn't JSON, or ends within a value."""


def json_values(file: IO[bytes]) -> Iterator[Any]:
    """The elements of an array, or values one after another, as on the lines of JSONL. UTF-8, with
    a byte order mark or not. Raises NotJson, RecursionError for a nest that is too deep."""
    source = TextIOWrapper(file, "utf-8-sig", errors="replace", newline="")
    decode = json.JSONDecoder(strict=False).raw_decode
    buffer, at, is_array, ended = source.read(BLOCK), 0, None, False
    while True:
        at = _BETWEEN.match(buffer, at).end()  # type: ignore[union-attr]
        sign, broken = buffer[at : at + 1], False
        if sign == "[" and is_array is None or sign == "]" and is_array:
            is_array, at = sign == "[", at + 1
            continue
        if sign:
            try:
                value, end = decode(buffer, at)
                if ended or end < len(buffer):
                    yield value
                    is_array, at = bool(is_array), end
                    continue
            except json.JSONDecodeError as error:
                inside = not error.msg.startswith("Unterminated")
                broken = ended or (inside and error.pos < len(buffer) - NEAR)
        if broken or (ended and is_array):
            raise NotJson
        if ended:
            source.detach()
            return
        buffer, at = buffer[at:] + (more := source.read(max(BLOCK, len(buffer) - at))), 0
        ended = not more
