"""Reads the text and the files of a mail. No bytes make it raise."""

from __future__ import annotations

import codecs
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import policy
from email.message import Message
from email.parser import BytesParser

from chatsite.channels.mail.incoming.bounds import bounded
from chatsite.channels.mail.incoming.html.text import text_of_html
from chatsite.channels.mail.incoming.reading import BROKEN, text_only, type_of

# A tree with more parts is an attack; the first ones are read.
MOST_PARTS = 200
# Of the text. A message that long is refused anyway.
MOST_CHARACTERS = 1_000_000
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
}
_ALSO_NAMED = {"iso-8859-8-i": "iso-8859-8", "iso-8859-8-e": "iso-8859-8", "cp-1251": "cp1251"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedFile:
    name: str
    type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Contents:
    """What a mail says, with what it quotes, and its files."""

    text: str = field(repr=False)
    files: tuple[AttachedFile, ...] = ()


class HasHtml(Exception):
    """Text of the mail stands in HTML alone."""


def read_contents(data: bytes, *, html: bool = True) -> Contents:
    """The contents of the mail in these bytes. Without `html` raises HasHtml, should some have to
    be read: that may take seconds and hundreds of megabytes."""
    texts: list[tuple[bool, str, Message | None]] = []
    files: list[AttachedFile] = []
    tree = _tree(data)
    for number, (part, choice) in enumerate(_parts(tree) if tree is not None else (), start=1):
        kind = type_of(part)
        if kind in ("text/plain", "text/html") and not _is_file(part):
            texts.append((kind == "text/html", _decoded(part), choice))
        elif found := _bytes(part):
            files.append(AttachedFile(name=_name(part, number), type=kind, data=found))
    # One alternative is enough, and the plain one is what its sender wrote.
    plain = {choice for is_html, said, choice in texts if choice and not is_html and said.strip()}
    if not html and any(is_html and choice not in plain for is_html, _, choice in texts):
        raise HasHtml
    said = [
        text_of_html(said) if is_html else said
        for is_html, said, choice in texts
        if not is_html or choice not in plain
    ]
    text = "\n\n".join(one.strip() for one in said if one.strip())
    return Contents(text_only(text.replace("\r\n", "\n"))[:MOST_CHARACTERS], tuple(files))


def _tree(data: bytes) -> Message | None:
    """None where it can't be parsed: it is nested too deeply, for instance. The older way of the
    standard library reads names and charsets of headers only when it is asked for them."""
    cut, readable = bounded(data)
    for way in (policy.default, policy.compat32) if readable else ():
        with contextlib.suppress(*BROKEN):
            return BytesParser(policy=way).parsebytes(cut)
    return None


def _parts(tree: Message) -> Iterator[tuple[Message, Message | None]]:
    """The leaves of the tree in order, each with the outermost multipart/alternative that it is in;
    an attached mail is one leaf."""
    waiting: list[tuple[Message, Message | None]] = [(tree, None)]
    seen = 0
    while waiting and seen < MOST_PARTS:
        (part, choice), seen = waiting.pop(0), seen + 1
        kind = type_of(part)
        if part.is_multipart() and not kind.startswith("message/"):
            within = choice or (part if kind == "multipart/alternative" else None)
            waiting[:0] = [(one, within) for one in _inner(part)]
        else:
            yield part, choice


def _inner(part: Message) -> list[Message]:
    """Only of a part that holds others: of a text this call decodes it by the named charset."""
    return [one for one in part.get_payload() if isinstance(one, Message)]


def _is_file(part: Message) -> bool:
    try:
        return part.get_content_disposition() == "attachment" or bool(part.get_filename())
    except BROKEN:
        return True


def _bytes(part: Message) -> bytes:
    try:
        if part.is_multipart():  # an attached mail
            return b"\n".join(one.as_bytes() for one in _inner(part))
        data = part.get_payload(decode=True)
    except BROKEN:
        return b""
    return data if isinstance(data, bytes) else b""


def _decoded(part: Message) -> str:
    data = _bytes(part)[: MOST_CHARACTERS * 4]
    try:
        return data.decode(_charset(part), errors="replace")
    except BROKEN:
        return data.decode("utf-8", errors="replace")


def _charset(part: Message) -> str:
    """The declared one, where it is one; raises LookupError for a codec that isn't for mails."""
    said = part.get_content_charset() or "utf-8"
    name = codecs.lookup(_ALSO_NAMED.get(said, said)).name.replace("_", "-")
    if name in _NO_CHARSETS:
        raise LookupError(name)
    return _MEANT.get(name, name)


def _name(part: Message, number: int) -> str:
    try:
        name = part.get_filename()
    except BROKEN:
        name = None
    return text_only(str(name)) if name else f"attachment {number}"
