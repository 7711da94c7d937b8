"""Decodes bodies and headers, whose declared character set may be a wrong one."""

from __future__ import annotations

import binascii
import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby

import webencodings

from chatsite.alphabets import ISO_2022_JP, likely_encodings

# Python's codecs for names of hosts and for its own source. Nobody writes mails in them, and the
# first two take quadratic time.
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
_DECLARED_ALWAYS = ("", "utf-8", "cp1252")


def decoded(data: bytes, declared: str | None) -> str:
    """Decodes by the declared character set if that reads the bytes, or else by one that does. A
    replacement mark stands only where no reading has a character."""
    for codec in _likely_codecs(data, codec_of(declared)):
        text = data.decode(codec, _BY_WINDOWS_1252 if codec == "cp1252" else "replace")
        # A text with some damage in this set is likelier than a whole text in another one.
        if text.count("\ufffd") * 20 <= len(text):
            return text.removeprefix("\ufeff")
    # In a text of UTF-8 a footer, for instance, may be in another set: only its bytes are mended.
    return data.decode("utf-8", _BY_WINDOWS_1252)


def codec_of(declared: str | None) -> str:
    """Finds Python's name of the character set that a declaration means. "" stands for none, and
    for declarations such as `8bit` and `x-unknown`."""
    found = _NAME.search((declared or "").lower())
    label = found[0] if found else ""
    page = _CODE_PAGE.fullmatch(label)
    for name in (f"cp{page[1]}" if page else label, label, label.removeprefix("x-")):
        with suppress(LookupError):
            name = codecs.lookup(name).name.replace("_", "-")
        # Browsers know more names, and mean a superset by some.
        encoding = webencodings.lookup(name)
        with suppress(LookupError):
            codec = codecs.lookup(encoding.codec_info.name if encoding else name)
            if codec.name not in _NO_CHARSETS and codec._is_text_encoding:
                return _MEANT.get(codec.name, codec.name)
    return ""


def _likely_codecs(data: bytes, name: str) -> Iterator[str]:
    """Lists the character sets that the bytes may be in, the likeliest first."""
    if name in _DECLARED_ALWAYS and ISO_2022_JP.search(data):
        yield "iso2022_jp_ext"
    if name.startswith(_SHIFTING) or (name.startswith(_WIDE) and 0 in data):
        yield name
    with suppress(UnicodeDecodeError):
        letters = sum(character > "\x7f" for character in data.decode())
        if letters >= FEWEST_IN_UTF_8 or not name.startswith(_OF_PAIRS):
            yield "utf-8"
    # A single letter tells less than a declaration.
    if name not in _DECLARED_ALWAYS or (name == "cp1252" and sum(byte > 0x7F for byte in data) < 2):
        yield name
    yield from likely_encodings(data, name)


def _decode_by_windows_1252(error: UnicodeError) -> tuple[str, int]:
    """Decodes each wrong byte by itself; the five that have no character there become controls."""
    assert isinstance(error, UnicodeDecodeError)
    wrong = (error.object[at : at + 1] for at in range(error.start, error.end))
    read = (one.decode("cp1252", "ignore") or one.decode("latin-1") for one in wrong)
    return "".join(read), error.end


_BY_WINDOWS_1252 = "windows-1252"
codecs.register_error(_BY_WINDOWS_1252, _decode_by_windows_1252)


# ---- headers ---------------------------------------------------------------------------------
def decoded_header(value: str) -> str:
    """Decodes the encoded words and the raw bytes of a header, which the standard library gives as
    surrogates. The end of an encoded word may cut a character in two."""
    value = _BETWEEN.sub(r"\1", value)
    pieces: list[tuple[str, bytes]] = []
    at = 0
    for word in _WORD.finditer(value):
        if (data := _word_bytes(word[2], word[3])) is not None:
            pieces += [("", _raw_bytes(value[at : word.start()])), (word[1].lower(), data)]
            at = word.end()
    pieces.append(("", _raw_bytes(value[at:])))
    runs = groupby((piece for piece in pieces if piece[1]), key=lambda piece: piece[0])
    return "".join(decoded(b"".join(data for _, data in run), name) for name, run in runs)


def _raw_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _word_bytes(way: str, text: str) -> bytes | None:
    """Decodes an encoded word; None stands for a broken one, which readers see as it is written."""
    try:
        if way in "qQ":
            return binascii.a2b_qp(_raw_bytes(text.replace("_", "=20")))
        return binascii.a2b_base64(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
