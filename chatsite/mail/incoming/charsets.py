"""Decodes text whose character set is declared, or said to be another one than it is."""

from __future__ import annotations

import binascii
import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby

import webencodings

from chatsite.alphabets import ISO_2022_JP, likely_encodings

# Python's codecs for names of hosts and for its own source: the first two take quadratic time, and
# no mail is written in any of them.
_NO_CHARSETS = {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"}
# What these names mean in the field: UTF-16 with its mark, or without.
_MEANT = {"gbk": "gb18030", "iso2022_jp": "iso2022_jp_ext", "utf-16-le": "utf-16"}
_NAME = re.compile(r"[a-z0-9][a-z0-9_.:-]*")
_CODE_PAGE = re.compile(r"(?:x-)?(?:cp|windows|win|ibm|ms|dos)[-_ ]?(\d{3,4})")
# Decoders that keep a state: bytes below 128 aren't always ASCII in them.
_SHIFTING = ("utf-7", "iso2022", "hz")
# Text of single bytes is called so, too.
_WIDE = ("utf-16", "utf-32")
# Characters of East Asia are pairs of bytes in these, which UTF-8 may look like.
_OF_PAIRS = ("gb", "big5", "cp932", "cp949", "euc", "shift", "johab")
FEWEST_IN_UTF_8 = 4
# A word of a header in its own character set (RFC 2047).
_WORD = re.compile(r"=\?([^?\s*]{1,60})(?:\*[^?\s]{0,60})?\?([BbQq])\?([^?]*)\?=")
_BETWEEN = re.compile(r"(\?=)\s+(?==\?)")
# What programs declare whatever they send.
_SAYS_LITTLE = ("", "utf-8", "cp1252")


def decoded(data: bytes, declared: str | None) -> str:
    """By the declared character set where that reads it; else by the one that does. A replacement
    mark stands only where no reading has a character."""
    for codec in _in_order(data, codec_of(declared)):
        text = data.decode(codec, _BY_WINDOWS_1252 if codec == "cp1252" else "replace")
        # A damaged text of this set is better than a whole one of another.
        if text.count("\ufffd") * 20 <= len(text):
            return text.removeprefix("\ufeff")
    # Some bytes of another set in a text of UTF-8, a footer for instance, are mended alone.
    return data.decode("utf-8", _BY_WINDOWS_1252)


def codec_of(declared: str | None) -> str:
    """Python's name of the character set that is meant; "" for none and for what is no name of one,
    such as `8bit` and `x-unknown`."""
    found = _NAME.search((declared or "").lower())
    said = found[0] if found else ""
    page = _CODE_PAGE.fullmatch(said)
    for name in (f"cp{page[1]}" if page else said, said, said.removeprefix("x-")):
        with suppress(LookupError):
            name = codecs.lookup(name).name.replace("_", "-")
        # Browsers know more names, and mean a superset by some.
        encoding = webencodings.lookup(name)
        with suppress(LookupError):
            known = codecs.lookup(encoding.codec_info.name if encoding else name)
            if known.name not in _NO_CHARSETS and known._is_text_encoding:
                return _MEANT.get(known.name, known.name)
    return ""


def _in_order(data: bytes, name: str) -> Iterator[str]:
    """The character sets that the bytes may be in, the likeliest first."""
    if name in _SAYS_LITTLE and ISO_2022_JP.search(data):
        yield "iso2022_jp_ext"
    if name.startswith(_SHIFTING) or (name.startswith(_WIDE) and 0 in data):
        yield name
    with suppress(UnicodeDecodeError):
        letters = sum(character > "\x7f" for character in data.decode())
        if letters >= FEWEST_IN_UTF_8 or not name.startswith(_OF_PAIRS):
            yield "utf-8"
    # A single letter tells less than a declaration.
    if name not in _SAYS_LITTLE or (name == "cp1252" and sum(byte > 0x7F for byte in data) < 2):
        yield name
    yield from likely_encodings(data, name)


def _by_windows_1252(error: UnicodeError) -> tuple[str, int]:
    """Bytes that don't decode, each by itself; the five it has no character for are controls."""
    assert isinstance(error, UnicodeDecodeError)
    wrong = (error.object[at : at + 1] for at in range(error.start, error.end))
    read = (one.decode("cp1252", "ignore") or one.decode("latin-1") for one in wrong)
    return "".join(read), error.end


_BY_WINDOWS_1252 = "windows-1252"
codecs.register_error(_BY_WINDOWS_1252, _by_windows_1252)


# ---- headers ---------------------------------------------------------------------------------
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
