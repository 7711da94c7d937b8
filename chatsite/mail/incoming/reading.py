"""Reads the head of a mail. No bytes make this raise: if something is broken, the rest is read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import policy
from email.errors import MessageError
from email.message import Message
from email.parser import BytesParser
from email.utils import getaddresses, parsedate_to_datetime
from hashlib import sha256

from chatsite.mail.incoming.charsets import decoded_header
from chatsite.messages import UNSOUND

# A mail with longer headers of its own is an attack.
LONGEST_HEADERS = 256 * 1024
# The parser takes quadratic time on the headers of any part that say what its content is.
LONGEST_CONTENT_HEADER = 2_000
MOST_PARAMETERS = 60
# Each part becomes an object of a kilobyte.
MOST_BOUNDARIES = 2_000
_CONTENT_HEADER = re.compile(
    rb"^(?:content-[a-z-]{1,30}|mime-version)[ \t]*:[^\r\n]*(?:\r?\n[ \t][^\r\n]*)*",
    flags=re.IGNORECASE | re.MULTILINE,
)
_BOUNDARY = re.compile(rb"boundary\s*=\s*(\"(?:[^\"\\]|\\.)*\"|[^\s;\"]+)", flags=re.IGNORECASE)
_DASHED = re.compile(rb"^--([^\r\n]*)", flags=re.MULTILINE)
_LONE_CR = re.compile(rb"\r(?!\n)")
_END = re.compile(rb"\r?\n\r?\n")
# UTF-8's mark of a file's beginning, which would count as part of a header's name.
_BOM = re.compile(rb"^\xef\xbb\xbf(?=[!-9;-~]+:)", flags=re.MULTILINE)
# Python's parser takes quadratic time on long headers.
LONGEST_HEADER = 4_000
LONGEST_FROM = 1_000
LONGEST_CHAIN = 50
LONGEST_ID = 250
LONGEST_SUBJECT = 200
_ID = re.compile(r"<([^<>\s]{1,900})>")
# This is stricter than the standard: nobody can read such an address in two ways.
_ADDRESS = re.compile(r"[^\s@<>()\[\]\\,;:\"]{1,64}@[^\s@<>()\[\]\\,;:\"]{1,190}")
TRACES = ("authentication-results", "received")
# Printable ASCII without the brackets of ids.
_PLAIN_ID = re.compile(r"[!-;=?-~]+")
# The standard library raises these on broken mails, besides its own errors.
BROKEN = (
    *(MessageError, ValueError, LookupError, TypeError, AttributeError, AssertionError),
    *(ArithmeticError, RecursionError, NotImplementedError),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MailHead:
    """The head of a mail. `id` is the Message-ID without brackets, or a hash of the head. `sender`
    is the one address of From in small letters, or "" for none and for several. `replied` and
    `chain` are the ids of In-Reply-To and References. `headers` has every header's values under its
    small name; `traces` are the headers that mail servers add, with small names, the newest
    first."""

    id: str
    sender: str
    subject: str
    date: datetime | None
    replied: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()
    headers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    traces: tuple[tuple[str, str], ...] = ()
    type: str = "text/plain"


def read_head(data: bytes) -> MailHead:
    """Reads the head of the mail that begins with these bytes."""
    # The newer policy parses Content-Type at the end of every mail, and raises on its charsets.
    tree = BytesParser(policy=policy.compat32).parsebytes(bounded(data)[0], headersonly=True)
    in_order = [(name.lower(), text_only(str(value))) for name, value in tree.raw_items()]
    headers: dict[str, list[str]] = {}
    for name, value in in_order:
        headers.setdefault(name, []).append(value)
    ids = _ids(headers.get("message-id", ()))
    return MailHead(
        id=ids[0] if ids else f"{sha256(data).hexdigest()}@no-message-id",
        sender=_sender(tree, headers),
        subject=header_text(first_header(tree, "subject"))[:LONGEST_SUBJECT],
        date=_date(headers),
        replied=_ids(headers.get("in-reply-to", ())),
        chain=_ids(headers.get("references", ())),
        headers=headers,
        traces=tuple(one for one in in_order if one[0] in TRACES),
        type=type_of(tree),
    )


def text_only(value: str) -> str:
    """Replaces the characters that can't be stored or sent."""
    return UNSOUND.sub("\N{REPLACEMENT CHARACTER}", value)


def lowered(address: str) -> str:
    """Writes ASCII's letters small. Other letters have no DNS name of their own in capitals, and
    the sign of the unit kelvin would become a "k"."""
    return address.encode().lower().decode()


# ---- headers ---------------------------------------------------------------------------------
def first_header(tree: Message, name: str) -> str:
    """Gives the first header of this name as it is written; "" stands for none."""
    return next((str(value) for key, value in tree.raw_items() if key.lower() == name), "")


def header_text(value: str) -> str:
    """Decodes a header as one line that can be stored."""
    return text_only(" ".join(decoded_header(value[:LONGEST_HEADER]).split()))


def _sender(tree: Message, headers: Mapping[str, Sequence[str]]) -> str:
    """Reads the one address of From. "" stands for several, and for one that the standard library's
    two readers read differently: the server that checked the mail may have read the other."""
    written = headers.get("from", ())
    if len(written) != 1 or len(written[0]) > LONGEST_FROM:
        return ""
    try:
        parsed = policy.default.header_fetch_parse("from", first_header(tree, "from"))
        addresses = [one.addr_spec for one in getattr(parsed, "addresses", ())]
        otherwise = [address for _, address in getaddresses([" ".join(written[0].split())])]
    except BROKEN:
        return ""
    if len(addresses) != 1 or addresses != otherwise or not _ADDRESS.fullmatch(addresses[0]):
        return ""
    return lowered(str(addresses[0]))


def _ids(values: Sequence[str]) -> tuple[str, ...]:
    """Lists each id once, and of a long chain the newest ones."""
    found = _ID.findall(" ".join(values)[-LONGEST_HEADER * LONGEST_CHAIN :])
    return tuple(dict.fromkeys(shortened_id(id) for id in found))[-LONGEST_CHAIN:]


def shortened_id(id: str) -> str:
    """Makes an id fit for storage and for our replies' headers. A hash replaces an id that is very
    long, or that could mean something there, as an encoded word does."""
    if len(id) <= LONGEST_ID and _PLAIN_ID.fullmatch(id) and "=?" not in id:
        return id
    return f"{sha256(id.encode('utf-8', 'replace')).hexdigest()}@long-message-id"


def _date(headers: Mapping[str, Sequence[str]]) -> datetime | None:
    try:
        date = parsedate_to_datetime(headers["date"][0][:200])
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)
    except (*BROKEN, OverflowError, IndexError):
        return None


def type_of(part: Message) -> str:
    try:
        return part.get_content_type()
    except BROKEN:
        return "text/plain"


# ---- bounds ----------------------------------------------------------------------------------
def bounded(data: bytes) -> tuple[bytes, bool]:
    """Cuts what would keep the standard library's parser busy for minutes. The second value tells
    whether the parser can read the body."""
    # The parser ends a line also at a lone "\r", which no mail program writes.
    data = _LONE_CR.sub(b"\n", data)
    end = _END.search(data, 0, LONGEST_HEADERS)
    if end is None and len(data) > LONGEST_HEADERS:
        data, end = data[:LONGEST_HEADERS], None
    head = data[: end.start() if end else LONGEST_HEADERS]
    data = _BOM.sub(b"", head) + data[len(head) :]
    readable = (end is not None or len(data) < LONGEST_HEADERS) and _count_parts(
        data
    ) <= MOST_BOUNDARIES
    return _CONTENT_HEADER.sub(_cut_header, data), readable


def _cut_header(header: re.Match[bytes]) -> bytes:
    return b";".join(header[0][:LONGEST_CONTENT_HEADER].split(b";")[:MOST_PARAMETERS])


def _count_parts(data: bytes) -> int:
    """Counts the parts that a parser may find at most."""
    small = data.lower() if b"/" in data else b""
    found = data.count(b"\n--") if b"multipart/" in small else 0
    if found > MOST_BOUNDARIES and b"boundary*" not in small:
        # Text may have such lines, too: a comment of SQL begins with "--".
        names = {name for one in _BOUNDARY.findall(data) for name in _boundary_readings(one)}
        lines = (line.rstrip() for line in _DASHED.findall(data))
        found = sum(line in names or line.removesuffix(b"--") in names for line in lines)
    if b"delivery-status" in small:
        found += data.count(b"\n\n") + data.count(b"\n\r\n")
    return found


def _boundary_readings(boundary: bytes) -> tuple[bytes, ...]:
    """Lists the ways in which the parser may read a boundary: without quotes, backslashes and angle
    brackets."""
    plain = boundary.strip(b'"')
    unescaped = re.sub(rb"\\(.)", rb"\1", plain)
    return plain, unescaped, unescaped.strip(b"<>")


_FORWARD = r"fwd?|wg|tr|rv|i|enc|vs|vl|vb|doorst|pd|továbbítás|转发|轉寄|転送|전달|yön|ilt"
_PREFIX = re.compile(
    rf"\s*(?:({_FORWARD})|re|aw|antw|sv|rif|res|odp|ref|ynt|atb|r|回复|答复|回覆|返信|답장)"
    r"(?:\s?\[\d{1,3}\]|\(\d{1,3}\))?\s?[:：]\s*",
    flags=re.IGNORECASE,
)
_TAG = re.compile(r"\s*\[[^\[\]]{1,40}\]\s*")


def answered_ids(mail: MailHead) -> tuple[str, ...]:
    """Lists the Message-IDs that lead to the mail's thread, the closest first."""
    return tuple(dict.fromkeys((*reversed(mail.replied), *reversed(mail.chain))))


def subject_key(subject: str) -> str:
    """Reduces a subject to the words that it shares with its answers' subjects; "" if it has
    none."""
    while found := _PREFIX.match(subject) or _TAG.match(subject):
        subject = subject[found.end() :]
    return " ".join(subject.split()).casefold()


def is_forwarded(subject: str) -> bool:
    """Tells whether the subject begins with a prefix of forwards, such as "Fwd:"."""
    found = _PREFIX.match(_TAG.sub("", subject, count=1))
    return found is not None and found[1] is not None
