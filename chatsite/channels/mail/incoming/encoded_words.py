"""Reads the text of a header: encoded words (RFC 2047), and bytes that stand there as they are."""

from __future__ import annotations

import binascii
import re
from itertools import groupby

from chatsite.channels.mail.incoming.charsets import decoded

_WORD = re.compile(r"=\?([^?\s*]{1,60})(?:\*[^?\s]{0,60})?\?([BbQq])\?([^?]*)\?=")
_BETWEEN = re.compile(r"(\?=)\s+(?==\?)")


def decoded_header(value: str) -> str:
    """`value` as the standard library gives it, with its bytes beyond ASCII as surrogates. A
    character may be cut in two by the end of an encoded word."""
    value = _BETWEEN.sub(r"\1", value)
    pieces: list[tuple[str, bytes]] = []
    at = 0
    for word in _WORD.finditer(value):
        if (data := _bytes(word[2], word[3])) is not None:
            pieces += [("", _raw(value[at : word.start()])), (word[1].lower(), data)]
            at = word.end()
    pieces.append(("", _raw(value[at:])))
    runs = groupby((piece for piece in pieces if piece[1]), key=lambda piece: piece[0])
    return "".join(decoded(b"".join(data for _, data in run), name) for name, run in runs)


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _bytes(way: str, text: str) -> bytes | None:
    """None where it is none: it is shown as it is written."""
    try:
        if way in "qQ":
            return binascii.a2b_qp(_raw(text.replace("_", "=20")))
        return binascii.a2b_base64(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
