"""Takes a mail apart into texts, files, and parts that are neither."""

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

# A tree with more parts is an attack; only the first ones are read.
MOST_PARTS = 200
# A message with a text that long is refused anyway.
MOST_CHARACTERS = 1_000_000
# Types and names of signatures, of keys, and of parts that a program adds for other programs.
_NEEDLESS = {
    *("application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-keys"),
    *("application/pgp-signature", "message/delivery-status"),
}
_NEEDLESS_NAMES = ("smime.p7s", "signature.asc", "publickey.asc")
_ENCRYPTED = ("application/pkcs7-mime", "application/x-pkcs7-mime", "application/pgp-encrypted")
_META = re.compile(rb"<meta[^<>]{0,300}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_RAW_NAME = re.compile(r"\bname\s*=\s*(?:\"([^\"]*)\"|([^;\s]+))", re.IGNORECASE)
_REST = re.compile(r"ATT[0-9]{5}\.(?:txt|html?)", re.IGNORECASE)
# The headers that stand above the text of an attached mail, or of one in a digest.
_SHOWN = ("From", "Date", "To", "Subject")
FORWARDED = "Forwarded message:"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A part that holds no other parts. `choice` is the outermost multipart/alternative around the
    part; `heading` stands above the text of an attached mail, and is empty for other parts."""

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
        """The part is neither a text nor a file of the sender's."""
        name = name_of(self.part).lower()
        # Rich text, a watch and a calendar get forms of the text of their own.
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
        """Decodes the text; HTML stays a source."""
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
    """Walks through a mail and the mails attached to it, and gives the leaves in their order."""
    waiting: list[tuple[Message, Message | None]] = [(tree, None)]
    seen = 0
    while waiting and seen < MOST_PARTS:
        (part, choice), seen = waiting.pop(0), seen + 1
        kind = type_of(part)
        if not part.is_multipart() or kind == "message/delivery-status":
            yield Leaf(part, kind, seen, choice)
        elif kind.startswith("message/"):
            for one in inner_parts(part):
                yield Leaf(one, kind, seen, heading=_heading(one))
                waiting.insert(0, (one, None))
        else:
            within = choice or (part if kind == "multipart/alternative" else None)
            waiting[:0] = [(one, within) for one in inner_parts(part)]


def inner_parts(part: Message) -> list[Message]:
    """Lists the parts in a part that holds others. For a text, `get_payload` would decode it."""
    return [one for one in part.get_payload() if isinstance(one, Message)]


def is_encrypted(leaves: list[Leaf]) -> bool:
    """Tells whether nobody can read the mail: it is PGP, or S/MIME in one piece, signed or not."""
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
    """Reads the file name of a part; "" stands for none."""
    try:
        name = str(part.get_filename() or "")
    except BROKEN:
        name = ""
    if "\ufffd" in name or not name.isprintable():
        # The name stands there as raw bytes, or declares a wrong character set.
        for header in ("content-disposition", "content-type"):
            if found := _RAW_NAME.search(first_header(part, header)[:1_000].replace("file", "")):
                return header_text(found[1] or found[2] or "") or text_only(name)
    return text_only(name)


def _is_file(part: Message) -> bool:
    """Tells whether a text is a file. Exchange makes a file of the text below another file."""
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
    """Joins the lines of `format=flowed` (RFC 3676), which the writer didn't end. With `delsp` the
    program added the blank at the end of a line, too."""
    found: list[tuple[int, list[str]]] = []
    flows = False
    for line in text.replace("\r\n", "\n").split("\n"):
        words = line.lstrip(">")
        depth = len(line) - len(words)
        words = words.removeprefix(" ")  # The program puts a blank before ">" and "From".
        goes_on = words.endswith(" ") and words != SIGNATURE
        if not (flows and found[-1][0] == depth and words != SIGNATURE):
            found.append((depth, []))
        found[-1][1].append(words[:-1] if goes_on and delsp else words)
        flows = goes_on
    lines = ("> " * depth + "".join(words) for depth, words in found)
    return "\n".join(line if line.endswith(SIGNATURE) else line.rstrip(" ") for line in lines)
