"""Decodes text whose character set is declared, or said to be another one than it is."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from charset_normalizer import from_bytes

# Python's codecs for names of hosts and for its own source: the first two take quadratic time, and
# no mail is written in any of them.
_NO_CHARSETS = {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"}
# What these names mean in the field: their supersets, as encoding.spec.whatwg.org lists them.
_MEANT = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift-jis": "cp932",
    "euc-kr": "cp949",
    "iso2022-jp": "iso2022_jp_ext",
}
_ALSO_NAMED = {
    "iso-8859-8-i": "iso-8859-8",
    "iso-8859-8-e": "iso-8859-8",
    "unicode-1-1-utf-7": "utf-7",
    "unicode-1-1-utf-8": "utf-8",
    "utf8mb4": "utf-8",
    "utf8mb3": "utf-8",
    "cp65001": "utf-8",
    "ansi": "cp1252",
    "win": "cp1252",
    "windows": "cp1252",
    "mac": "mac-roman",
    "x-mac-roman": "mac-roman",
    "sjis-win": "cp932",
    "windows-31j": "cp932",
    "euc-cn": "gb18030",
    "dos-866": "cp866",
    "koi": "koi8-r",
    "ks_c_5601": "cp949",
}
_NAME = re.compile(r"[a-z0-9][a-z0-9_.:-]*")
_CODE_PAGE = re.compile(r"(?:x-)?(?:cp|windows|win|ibm|ms|dos)[-_ ]?(\d{3,4})")
# Decoders that keep a state: bytes below 128 aren't always ASCII in them.
_SHIFTING = ("utf-7", "iso2022", "hz", "utf-16", "utf-32")
# Charset-normalizer takes a second for a megabyte, and is sure long before that.
MOST_LOOKED_AT = 4_096
# Fewer letters in UTF-8 might be a pair of characters of East Asia.
FEWEST_IN_UTF_8 = 4
# Fewer bytes tell nothing.
FEWEST_GUESSED = 6
# Nearly any few bytes are pairs of some set.
FEWEST_PAIRED = 12
_HIGH = re.compile(rb"[\x80-\xff]+")
_JAPANESE = ("cp932", "euc_jp")
_OF_PAIRS = ("cp932", "euc_jp", "gb18030", "big5", "cp949")
# Of a text's letters, to be one of these.
ENOUGH = 0.7
# The letters that two of three letters of a text are, in the languages of each set.
_OFTEN = {
    "cp1251": "оеаинтсрвлкмдпуія",
    "koi8_r": "оеаинтсрвлкмдпуія",
    "cp866": "оеаинтсрвлкмдпуія",
    "cp1253": "αοιετσνρκπςάίλμηυ",
    "cp1255": "יוהלאתרבמשםנחכך",
    "cp1256": "اليمونتربهدعةس",
    "cp874": "านรอกเงวม่้ยลทสดตะคปใ",
}


def decoded(data: bytes, declared: str | None) -> str:
    """By the declared character set where that reads it; else by the one that does. A replacement
    mark stands only where no reading has a character."""
    name = codec_of(declared)
    if name.startswith(_SHIFTING):
        if (text := _strictly(data, name)) is not None and not _is_odd(data, name):
            return text
        name = "utf-8" if name.startswith(("utf-16", "utf-32")) and 0 not in data else name
    text = _strictly(data, "utf-8")
    if text is not None:
        if name == "utf-8" or not _is_of_pairs(name):
            return text
        if sum(character > "\x7f" for character in text) >= FEWEST_IN_UTF_8:
            return text
    if name in ("", "utf-8"):
        # Some bytes of another set in a text of UTF-8, a footer for instance, are mended alone.
        return _guessed(data, utf_8=True)
    if name == "cp1252":
        return _guessed(data, utf_8=False)
    if (text := _strictly(data, name)) is not None:
        return text
    text = _replaced(data, name)
    # A damaged text of the declared set, or one of another.
    return text if text.count("\ufffd") * 20 < len(text) else _guessed(data, utf_8=False)


def codec_of(declared: str | None) -> str:
    """Python's name of the character set that is meant; "" for none and for what is no name of one,
    such as `8bit` and `x-unknown`."""
    found = _NAME.search((declared or "").lower().strip("\"' "))
    said = found[0] if found else ""
    said = _ALSO_NAMED.get(said, said)
    page = _CODE_PAGE.fullmatch(said)
    for name in (f"cp{page[1]}" if page else said, said, said.removeprefix("x-")):
        try:
            info = codecs.lookup(name)
        except (LookupError, ValueError):
            continue
        known = info.name.replace("_", "-")
        if known not in _NO_CHARSETS and info._is_text_encoding:
            known = _MEANT.get(known, known)
            return "utf-8" if known == "utf-8-sig" else known
    return ""


def _strictly(data: bytes, name: str) -> str | None:
    try:
        return data.decode(name).removeprefix("\ufeff")
    except (ValueError, LookupError):
        return None


def _replaced(data: bytes, name: str) -> str:
    try:
        return data.decode(name, "replace")
    except (ValueError, LookupError):
        return data.decode("utf-8", "replace")


def _is_odd(data: bytes, name: str) -> bool:
    """Text of single bytes that is called UTF-16 or UTF-32."""
    return name.startswith(("utf-16", "utf-32")) and 0 not in data and data.isascii()


def _is_of_pairs(name: str) -> bool:
    """Whether characters of East Asia are pairs of bytes in it, which UTF-8 may look like."""
    return name.startswith(("gb", "big5", "cp932", "cp949", "euc", "shift", "johab", "hkscs"))


def _guessed(data: bytes, *, utf_8: bool) -> str:
    if _is_beyond_western(data) and (not utf_8 or _is_little_utf_8(data)):
        for name in _likely(data[:MOST_LOOKED_AT]):
            if (text := _strictly(data, name)) is not None:
                return text
    return data.decode("utf-8" if utf_8 else "cp1252", "windows-1252")


def _likely(data: bytes) -> Iterator[str]:
    """Sets of the bytes, the likeliest first."""
    shares = {name: _share(data.decode(name, "replace"), often) for name, often in _OFTEN.items()}
    alphabets = sorted(shares, key=lambda name: -shares[name])
    yield from (name for name in _JAPANESE if _is_japanese(data.decode(name, "replace")))
    if shares[alphabets[0]] >= ENOUGH or sum(byte > 127 for byte in data) < FEWEST_PAIRED:
        yield alphabets[0]
    best = from_bytes(data, cp_isolation=list(_OF_PAIRS)).best()
    if best is not None:
        yield best.encoding
    yield from alphabets
    yield from _OF_PAIRS


def _is_japanese(text: str) -> bool:
    syllables = sum("\u3041" <= character <= "\u30fc" for character in text)
    return 3 * syllables >= sum(character > "\x7f" for character in text)


def _share(text: str, often: str) -> float:
    high = [character for character in text if character > "\x7f"]
    return sum(character in often for character in high) / max(1, len(high))


def _is_beyond_western(data: bytes) -> bool:
    """In Western text letters beyond ASCII stand between others."""
    runs = [len(run) for run in _HIGH.findall(data)]
    return sum(runs) >= FEWEST_GUESSED and 2 * (sum(runs) - len(runs)) >= sum(runs)


def _is_little_utf_8(data: bytes) -> bool:
    high = sum(byte > 127 for byte in data)
    return 4 * data.decode("utf-8", "replace").count("\ufffd") > high


def _by_windows_1252(error: UnicodeError) -> tuple[str, int]:
    """Bytes that don't decode, each by itself; the five it has no character for are controls."""
    assert isinstance(error, UnicodeDecodeError)
    wrong = error.object[error.start : error.end]
    return "".join(_CHARACTERS[byte] for byte in wrong), error.end


_CHARACTERS = [
    bytes([byte]).decode("cp1252", "ignore") or bytes([byte]).decode("latin-1")
    for byte in range(256)
]
codecs.register_error("windows-1252", _by_windows_1252)
