"""In which encoding a text is: said by its first bytes, UTF-8, or the most plausible of the others.

charset-normalizer is asked for what no alphabet here explains: it needs longer texts than a small
table. Runs in the child process only.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from chatsite.files.alphabets import ALPHABETS, FREQUENT, KANA

BLOCK = 1024 * 1024
# So much is looked at, from the first byte on that isn't ASCII.
SEEN = 8 * 1024
# All control characters but those that texts have: tab, line ends, and escape (colours in logs).
NOT_IN_TEXT = re.compile("[\x00-\x07\x0e-\x1a\x1c-\x1f]")
# Bytes that an encoding doesn't use become these in Python.
UNUSED = re.compile("[\x7f-\x84\x86-\x9f]")
CONTROLS_IN_BYTES = re.compile(NOT_IN_TEXT.pattern.encode())
_UTF8 = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
# What a reading is shown as, by Python's name. The server takes no other from the child process.
LABELS = {
    "cp1252": "windows-1252",
    "iso8859_15": "ISO-8859-15",
    "cp850": "IBM850",
    "mac_roman": "Mac Roman",
    "cp1254": "windows-1254",
    "iso8859_9": "ISO-8859-9",
    "cp1250": "windows-1250",
    "iso8859_2": "ISO-8859-2",
    "cp852": "IBM852",
    "iso8859_16": "ISO-8859-16",
    "cp1257": "windows-1257",
    "iso8859_13": "ISO-8859-13",
    "cp1251": "windows-1251",
    "koi8_r": "KOI8-R",
    "koi8_u": "KOI8-U",
    "cp866": "IBM866",
    "iso8859_5": "ISO-8859-5",
    "mac_cyrillic": "Mac Cyrillic",
    "cp1253": "windows-1253",
    "iso8859_7": "ISO-8859-7",
    "cp1255": "windows-1255",
    "iso8859_8": "ISO-8859-8",
    "cp1256": "windows-1256",
    "iso8859_6": "ISO-8859-6",
    "cp874": "windows-874",
    "cp1258": "windows-1258",
    "cp932": "Shift-JIS",
    "gb18030": "GB18030",
    "big5": "Big5",
    "cp949": "EUC-KR",
    "euc_jp": "EUC-JP",
    "iso2022_jp": "ISO-2022-JP",
    "utf_16_le": "UTF-16",
    "utf_16_be": "UTF-16",
}
_MARKED = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_JAPANESE_MAIL = re.compile(rb"\x1b\$[@B][!-~]+\x1b\([BJ]")
# Signs that texts of many languages have, and a word has none of inside.
_SIGNS = frozenset("€£§°«»¿¡“”„‚‘’–—…•©®™×½¼¾²³µ·\xa0№±÷،؟؛")
_IN_WORDS = frozenset("’·‘")
_LEAST = 0.55
# A writing's first encoding is by far the most frequent one.
_RARER = 0.025


def encodings_of(path: Path, head: bytes) -> Iterator[str]:
    """Python's names of the encodings that the text may be in, the most plausible one first. Those
    that `LABELS` knows are guesses. Nothing comes for what is no text."""
    for mark, codec in _MARKED:
        if head.startswith(mark):
            yield codec
            return
    if _JAPANESE_MAIL.search(head):
        yield "iso2022_jp"
    yield "utf-8-sig"
    sample = _sample(path)
    if b"\0" in head or b"\0" in sample:
        yield from _without_mark(head)
    elif not CONTROLS_IN_BYTES.search(sample) and not _is_mostly_utf8(sample):
        yield from _guesses(sample)


def is_broken_utf8(path: Path) -> bool:
    """Whether most of what isn't ASCII is UTF-8: another reading would be garbage."""
    return _is_mostly_utf8(_sample(path))


def reads_whole(path: Path, codec: str) -> bool:
    """Whether the file is a text in this encoding, to its end."""
    decoder = codecs.getincrementaldecoder(codec)()
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                text = decoder.decode(block)
                if NOT_IN_TEXT.search(text) or (codec in LABELS and UNUSED.search(text)):
                    return False
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _sample(path: Path) -> bytes:
    """The lines from the first byte on that isn't ASCII."""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            found = re.search(b"[\x80-\xff]", block)
            if found:
                start = max(block.rfind(b"\n", 0, found.start()) + 1, found.start() - 200)
                sample = block[start : start + SEEN]
                if len(sample) < SEEN:
                    sample += file.read(SEEN - len(sample))
                return sample
    return b""


def _is_mostly_utf8(sample: bytes) -> bool:
    rest, right = _UTF8.subn(b"", sample)
    wrong = sum(byte > 0x7F for byte in rest)
    return right >= 2 and right > 3 * wrong


def _without_mark(head: bytes) -> Iterator[str]:
    """UTF-16 without its mark: a text has line ends and blanks, whose zeros are all on one side."""
    even = head[: len(head) // 2 * 2]
    low, high = even[1::2].count(0), even[::2].count(0)
    for codec, zeros, others in (("utf_16_le", low, high), ("utf_16_be", high, low)):
        if zeros <= 4 * others:
            continue
        text = even.decode(codec, "replace")
        known = [c for c in text if unicodedata.category(c) not in ("Cn", "Co", "Cs", "Cc")]
        if len(known) + sum(c in "\t\r\n\x0b\x0c" for c in text) == len(text):
            yield codec


def _guesses(sample: bytes) -> Iterator[str]:
    found: list[tuple[float, int, str]] = []
    for codec in FREQUENT:
        if (text := _decoded(sample, codec)) is not None:
            found.append((_score_signs(text, codec), -len(found), codec))
    for writing in ALPHABETS:
        for place, codec in enumerate(writing.codecs):
            if (text := _decoded(sample, codec)) is not None:
                score = _score_letters(text, writing.letters, ranked=writing.ranked)
                found.append((score - _RARER * place, -len(found), codec))
    found.sort(reverse=True)
    good = [codec for score, _, codec in found if score >= _LEAST]
    yield from dict.fromkeys(good or _asked_elsewhere(sample))


def _decoded(sample: bytes, codec: str) -> str | None:
    """None where some byte has no meaning in it."""
    try:
        # The sample may end within a character.
        text = codecs.getincrementaldecoder(codec)().decode(sample)
    except UnicodeDecodeError:
        return None
    return None if NOT_IN_TEXT.search(text) or UNUSED.search(text) else text


def _asked_elsewhere(sample: bytes) -> list[str]:
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=sorted(set(LABELS) - {"utf_16_le", "utf_16_be"})).best()
    return [best.encoding] if best and best.coherence > 0 and best.encoding in LABELS else []


def _score_letters(text: str, letters: str, *, ranked: bool) -> float:
    """How well the language explains what isn't ASCII: at most 1."""
    worth = {c: 1 - 0.6 * n / len(letters) if ranked else 1.0 for n, c in enumerate(letters)}
    total, count = 0.0, 0
    around = f" {text} "
    for before, sign, after in zip(around, text, around[2:], strict=False):
        if sign < "\x80":
            continue
        count += 1
        if (value := worth.get(sign, worth.get(sign.lower()))) is not None:
            total += value - _fault(before, sign, after, own_script=ranked)
        elif sign in _SIGNS:
            inside = before.isalpha() and after.isalpha() and sign not in _IN_WORDS
            inside = inside or (sign in "½¼¾" and after.isalpha())
            total += -1.0 if inside else 0.9
        elif sign.isalpha() and not ranked:
            total += 0.3  # of another language, as names are
        else:
            total -= 1.5
    return total / count if count else 0.0


def _fault(before: str, sign: str, after: str, *, own_script: bool) -> float:
    """How unlikely the letter is in this place of a word."""
    fault = 1.0 if before.islower() and sign.isupper() else 0.0
    fault += 0.3 if sign.islower() and after.isupper() else 0.0
    fault += 0.5 if before.isupper() and sign.isupper() and after.islower() else 0.0
    if own_script:  # It isn't mixed with ASCII's letters.
        return fault + (1.0 if _is_ascii_letter(before) or _is_ascii_letter(after) else 0.0)
    # Latin words consist of those.
    fault += 0.5 if before > "\x7f" and after > "\x7f" else 0.0
    # Portuguese has "õe" alone; in Hungarian the byte is "ő".
    return fault + (0.5 if sign in "õÕ" and after not in "eE" else 0.0)


def _score_signs(text: str, codec: str) -> float:
    """The same for writings with thousands of characters."""
    frequent, usual = FREQUENT[codec]
    total, count = 0.0, 0
    around = f" {text} "
    for before, sign, after in zip(around, text, around[2:], strict=False):
        if sign < "\x80":
            continue
        count += 1
        if sign in frequent:
            total += 1.0
        elif sign in KANA or "\uff61" <= sign <= "\uff9f":
            total -= 0.5  # in Chinese or Korean, or of half width
        elif "\u3000" <= sign <= "\u303f" or "\uff00" <= sign <= "\uff60" or sign in _SIGNS:
            total += 0.9
        elif sign.isalpha() and sign.encode(codec)[0] in usual:
            total += 0.5
        else:
            total -= 1.0
        total -= 0.5 if _is_ascii_letter(before) or _is_ascii_letter(after) else 0.0
    return total / count if count else 0.0


def _is_ascii_letter(sign: str) -> bool:
    return sign.isascii() and sign.isalpha()
