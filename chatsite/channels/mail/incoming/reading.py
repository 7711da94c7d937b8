"""Reads a mail. No bytes make it raise: of what is broken the rest is read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import policy
from email.errors import MessageError
from email.message import EmailMessage, Message
from email.parser import BytesParser
from email.utils import getaddresses, parsedate_to_datetime
from hashlib import sha256

from chatsite.channels.mail.incoming.bounds import bounded
from chatsite.channels.mail.incoming.html_text import text_of_html
from chatsite.messages import UNSOUND

# A tree with more parts is an attack; the first ones are read.
MOST_PARTS = 200
# Python's parser takes quadratic time on long headers.
LONGEST_HEADER = 4_000
LONGEST_CHAIN = 50
LONGEST_ID = 250
# Of the text. A message that long is refused anyway.
MOST_CHARACTERS = 1_000_000
LONGEST_SUBJECT = 200
_ID = re.compile(r"<([^<>\s]{1,900})>")
# Stricter than the standard: nothing in it can be read in two ways.
_ADDRESS = re.compile(r"[^\s@<>()\[\]\\,;:\"]{1,64}@[^\s@<>()\[\]\\,;:\"]{1,190}")
# What may go wrong in the standard library on broken mails, besides its own errors.
_BROKEN = (
    *(MessageError, ValueError, LookupError, TypeError, AttributeError, AssertionError),
    *(RecursionError, NotImplementedError),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedFile:
    name: str
    type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMail:
    """`id` is the Message-ID without brackets, or made from the bytes. `sender` is the one address
    of From in small letters, "" where there are none or several. `replied` and `chain` are the ids
    of In-Reply-To and References. `headers` has every header's values under its small name."""

    id: str
    sender: str
    subject: str
    text: str
    date: datetime | None
    replied: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()
    files: tuple[AttachedFile, ...] = ()
    headers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    type: str = "text/plain"


def read_mail(data: bytes) -> ReadMail:
    """The mail in these bytes; of a mail that is too large its headers are enough."""
    tree = _tree(data)
    headers = _headers(tree)
    text, files = _contents(tree)
    return ReadMail(
        id=_own_id(headers, data),
        sender=_sender(tree, headers),
        subject=_subject(tree),
        text=text,
        date=_date(headers),
        replied=_ids(headers.get("in-reply-to", ())),
        chain=_ids(headers.get("references", ())),
        files=files,
        headers=headers,
        type=_type(tree),
    )


def _tree(data: bytes) -> EmailMessage:
    cut, readable = bounded(data)
    parser = BytesParser(policy=policy.default)
    if readable:
        try:
            return parser.parsebytes(cut)
        except _BROKEN:
            pass  # nested too deeply, for instance
    tree = parser.parsebytes(cut, headersonly=True)
    tree.set_payload("")
    return tree


def text_only(value: str) -> str:
    """Without what can't be stored or sent."""
    return UNSOUND.sub("\N{REPLACEMENT CHARACTER}", value)


# ---- headers ---------------------------------------------------------------------------------
def _headers(tree: Message) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for name, value in tree.raw_items():
        found.setdefault(name.lower(), []).append(text_only(str(value)))
    return {name: tuple(values) for name, values in found.items()}


def _parsed(tree: Message, name: str) -> object:
    """The first such header as the standard library reads it; None where it can't."""
    for key, value in tree.raw_items():
        if key.lower() == name:
            try:
                return policy.default.header_fetch_parse(key, str(value)[:LONGEST_HEADER])
            except _BROKEN:
                return None
    return None


def _subject(tree: Message) -> str:
    try:
        said = str(_parsed(tree, "subject") or "")
    except _BROKEN:
        return ""
    return text_only(" ".join(said.split()))[:LONGEST_SUBJECT]


def _sender(tree: Message, headers: Mapping[str, tuple[str, ...]]) -> str:
    """ "" for several, and where the two readers of the standard library don't agree: the server
    that checked the mail may have read it in the other way."""
    written = headers.get("from", ())
    if len(written) != 1 or len(written[0]) > LONGEST_HEADER:
        return ""
    try:
        addresses = [one.addr_spec for one in getattr(_parsed(tree, "from"), "addresses", ())]
        otherwise = [address for _, address in getaddresses([" ".join(written[0].split())])]
    except _BROKEN:
        return ""
    if len(addresses) != 1 or addresses != otherwise or not _ADDRESS.fullmatch(addresses[0]):
        return ""
    return str(addresses[0]).lower()


def _own_id(headers: Mapping[str, tuple[str, ...]], data: bytes) -> str:
    found = _ids(headers.get("message-id", ()))
    return found[0] if found else f"{sha256(data).hexdigest()}@no-message-id"


def _ids(values: tuple[str, ...]) -> tuple[str, ...]:
    """Each once, the newest ones of a long chain."""
    found = _ID.findall(" ".join(values)[-LONGEST_HEADER * LONGEST_CHAIN :])
    return tuple(dict.fromkeys(shortened_id(id) for id in found))[-LONGEST_CHAIN:]


def shortened_id(id: str) -> str:
    """An id as it is stored: a very long one by its hash."""
    return id if len(id) <= LONGEST_ID else f"{sha256(id.encode()).hexdigest()}@long-message-id"


def _date(headers: Mapping[str, tuple[str, ...]]) -> datetime | None:
    try:
        said = parsedate_to_datetime(headers["date"][0][:200])
        return (said if said.tzinfo else said.replace(tzinfo=UTC)).astimezone(UTC)
    except (*_BROKEN, OverflowError, IndexError):
        return None


def _type(part: Message) -> str:
    try:
        return part.get_content_type()
    except _BROKEN:
        return "text/plain"


# ---- the body --------------------------------------------------------------------------------
def _contents(tree: EmailMessage) -> tuple[str, tuple[AttachedFile, ...]]:
    plain: list[str] = []
    html: list[str] = []
    files: list[AttachedFile] = []
    for number, part in enumerate(_parts(tree), start=1):
        kind = _type(part)
        if kind in ("text/plain", "text/html") and not _is_file(part):
            (plain if kind == "text/plain" else html).append(_decoded(part))
        elif data := _bytes(part):
            files.append(AttachedFile(name=_name(part, number), type=kind, data=data))
    text = "\n\n".join(plain).strip()
    if not text:
        text = "\n\n".join(map(text_of_html, html)).strip()
    return text_only(text.replace("\r\n", "\n"))[:MOST_CHARACTERS], tuple(files)


def _parts(tree: Message) -> Iterator[Message]:
    """The leaves of the tree in order; an attached mail is one leaf."""
    waiting, seen = [tree], 0
    while waiting and seen < MOST_PARTS:
        part, seen = waiting.pop(0), seen + 1
        payload = part.get_payload()
        if isinstance(payload, list) and not _type(part).startswith("message/"):
            waiting[:0] = [one for one in payload if isinstance(one, Message)]
        else:
            yield part


def _is_file(part: Message) -> bool:
    try:
        return part.get_content_disposition() == "attachment" or bool(part.get_filename())
    except _BROKEN:
        return True


def _bytes(part: Message) -> bytes:
    try:
        payload = part.get_payload()
        if isinstance(payload, list):  # an attached mail
            return b"\n".join(one.as_bytes() for one in payload if isinstance(one, Message))
        data = part.get_payload(decode=True)
    except _BROKEN:
        return b""
    return data if isinstance(data, bytes) else b""


def _decoded(part: Message) -> str:
    data = _bytes(part)[: MOST_CHARACTERS * 4]
    try:
        return data.decode(part.get_content_charset() or "utf-8", errors="replace")
    except _BROKEN:
        return data.decode("utf-8", errors="replace")


def _name(part: Message, number: int) -> str:
    try:
        name = part.get_filename()
    except _BROKEN:
        name = None
    return text_only(str(name)) if name else f"attachment {number}"
