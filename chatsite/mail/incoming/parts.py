"""Takes a mail apart: which of its parts say something, which are files, and which are neither."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message

from chatsite.mail.incoming.charsets import decoded
from chatsite.mail.incoming.quotes.marks import SIGNATURE
from chatsite.mail.incoming.reading import (
    BROKEN,
    first_header,
    header_text,
    text_only,
    type_of,
)

# A tree with more parts is an attack; the first ones are read.
MOST_PARTS = 200
# Of the text. A message that long is refused anyway.
MOST_CHARACTERS = 1_000_000
# The types and names of signatures, of their keys, and of what a program adds for other programs.
_NEEDLESS = {
    *("application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-keys"),
    *("application/pgp-signature", "message/delivery-status"),
}
_NEEDLESS_NAMES = ("smime.p7s", "signature.asc", "publickey.asc")
_ENCRYPTED = ("application/pkcs7-mime", "application/x-pkcs7-mime", "application/pgp-encrypted")
_META = re.compile(rb"<meta[^<>]{0,300}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_RAW_NAME = re.compile(r"\bname\s*=\s*(?:\"([^\"]*)\"|([^;\s]+))", re.IGNORECASE)
_REST = re.compile(r"ATT[0-9]{5}\.(?:txt|html?)", re.IGNORECASE)
# What is written above a mail that is attached, or one of a digest.
_SHOWN = ("From", "Date", "To", "Subject")
FORWARDED = "Forwarded message:"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A part without others in it. `choice` is the outermost multipart/alternative around it;
    `heading` stands above the text of an attached mail, and is empty for other parts."""

    part: Message
    type: str
    number: int
    choice: Message | None = None
    heading: str = ""

    @property
    def is_text(self) -> bool:
        is_text = self.type in ("text/plain", "text/html")
        is_text = is_text or (self.type == "text/markdown" and self.choice is None)
        return is_text and not _is_file(self.part)

    @property
    def is_needless(self) -> bool:
        """Neither text nor a file of the sender's."""
        name = name_of(self.part).lower()
        # A form of the text for other programs: rich text, a watch, a calendar.
        is_form = self.choice is not None and self.type.startswith("text/")
        if is_form and (not name or self.type == "text/calendar"):
            return True
        return self.type in _NEEDLESS or name in _NEEDLESS_NAMES

    @property
    def content_id(self) -> str:
        return first_header(self.part, "content-id").strip().strip("<>")

    def name(self) -> str:
        kind = ".ics" if self.type == "text/calendar" else ""
        return name_of(self.part) or f"attachment {self.number}{kind}"

    def text(self) -> str:
        """Of plain text and of HTML as it is written."""
        data = bytes_of(self.part)[: MOST_CHARACTERS * 4]
        try:
            charset = self.part.get_content_charset()
        except BROKEN:
            charset = None
        if charset is None and self.type == "text/html" and (meta := _META.search(data[:4_000])):
            charset = meta[1].decode("ascii", "ignore")
        text = decoded(data, charset)
        if self.type == "text/plain" and _parameter(self.part, "format") == "flowed":
            return _join_flowed(text, delsp=_parameter(self.part, "delsp") == "yes")
        return text


def leaves_of(tree: Message) -> Iterator[Leaf]:
    """In their order, with those of attached mails."""
    waiting: list[tuple[Message, Message | None]] = [(tree, None)]
    seen = 0
    while waiting and seen < MOST_PARTS:
        (part, choice), seen = waiting.pop(0), seen + 1
        kind = type_of(part)
        if not part.is_multipart() or kind == "message/delivery-status":
            yield Leaf(part, kind, seen, choice)
        elif kind.startswith("message/"):
            for one in inner(part):
                yield Leaf(one, kind, seen, heading=_heading(one))
                waiting.insert(0, (one, None))
        else:
            within = choice or (part if kind == "multipart/alternative" else None)
            waiting[:0] = [(one, within) for one in inner(part)]


def inner(part: Message) -> list[Message]:
    """Only of a part that holds others: of a text this call decodes it by the named charset."""
    return [one for one in part.get_payload() if isinstance(one, Message)]


def is_encrypted(leaves: list[Leaf]) -> bool:
    """S/MIME in one piece, also where it is only signed, and PGP: nothing of it can be read."""
    first = next((leaf for leaf in leaves if not leaf.is_text or leaf.text().strip()), None)
    if first is None:
        return False
    return first.type in _ENCRYPTED or name_of(first.part).lower() == "smime.p7m"


def bytes_of(part: Message) -> bytes:
    try:
        data = part.get_payload(decode=True)
    except BROKEN:
        return b""
    return data if isinstance(data, bytes) else b""


def name_of(part: Message) -> str:
    """Its file name; "" for none."""
    try:
        name = str(part.get_filename() or "")
    except BROKEN:
        name = ""
    if "\ufffd" in name or not name.isprintable():
        # Bytes as they are, or in another character set than is said.
        for header in ("content-disposition", "content-type"):
            if found := _RAW_NAME.search(first_header(part, header)[:1_000].replace("file", "")):
                return header_text(found[1] or found[2] or "") or text_only(name)
    return text_only(name)


def _is_file(part: Message) -> bool:
    """Of a text. Exchange makes one of what is written below a file."""
    try:
        disposition = part.get_content_disposition()
    except BROKEN:
        return True
    name = name_of(part)
    if disposition is None or _REST.fullmatch(name):
        return False
    return disposition == "attachment" or bool(name)


def _parameter(part: Message, name: str) -> str:
    try:
        return str(part.get_param(name) or "").lower()
    except BROKEN:
        return ""


def _heading(mail: Message) -> str:
    shown = ((name, header_text(first_header(mail, name.lower()))) for name in _SHOWN)
    return "\n".join((FORWARDED, *(f"{name}: {text}" for name, text in shown if text)))


def _join_flowed(text: str, *, delsp: bool) -> str:
    """`delsp`: the blank at the end of a line was added as well."""
    found: list[tuple[int, list[str]]] = []
    flows = False
    for line in text.replace("\r\n", "\n").split("\n"):
        words = line.lstrip(">")
        depth = len(line) - len(words)
        words = words.removeprefix(" ")  # put there so that nothing else is meant
        goes_on = words.endswith(" ") and words != SIGNATURE
        if not (flows and found[-1][0] == depth and words != SIGNATURE):
            found.append((depth, []))
        found[-1][1].append(words[:-1] if goes_on and delsp else words)
        flows = goes_on
    lines = ("> " * depth + "".join(words) for depth, words in found)
    return "\n".join(line if line.endswith(SIGNATURE) else line.rstrip(" ") for line in lines)
