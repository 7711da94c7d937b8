"""Reads the text and the files of a mail; no bytes make this raise."""

from __future__ import annotations

import contextlib
import html as html_entities
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from email import policy
from email.message import Message
from email.parser import BytesParser
from io import BytesIO

from chatsite.mail.incoming.html.text import read_page
from chatsite.mail.incoming.parts import (
    MOST_CHARACTERS,
    Leaf,
    bytes_of,
    is_encrypted,
    leaves_of,
)
from chatsite.mail.incoming.reading import (
    BROKEN,
    bounded,
    first_header,
    header_text,
    is_forwarded,
    text_only,
)

# A picture in the text with fewer bytes is a logo, an icon or a smile, unless it is wide and high:
# a picture of a window in few colours has 3 KB.
SMALL_PICTURE = 10 * 1024
WIDE, HIGH = 240, 120
# Two forms say the same if the HTML has this share of the plain form's words.
SAME = 0.5
_TAG = re.compile(r"<[^<>]*>")
_WORD = re.compile(r"\w{1,40}")
_STUB = re.compile(r"html|viewer|client|browser|e-?mail program|mailprogramm", re.IGNORECASE)
LONGEST_STUB = 300
_ARMOUR = "-----BEGIN PGP "
_SIGNED = re.compile(_ARMOUR + r"SIGNED MESSAGE-----\n(?:[\w-]{1,30}: [^\n]*\n)*\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedFile:
    """A file of a mail; the text itself shows a picture that `is_shown`."""

    name: str
    type: str
    data: bytes = field(repr=False)
    is_shown: bool = False


@dataclass(frozen=True, slots=True)
class Contents:
    """What a mail says, with what it quotes, and its files. Nobody can read a mail that
    `is_encrypted`."""

    text: str = field(repr=False)
    files: tuple[AttachedFile, ...] = ()
    is_encrypted: bool = False


class HasHtml(Exception):
    """The mail has HTML that must be read."""


def read_contents(data: bytes, *, html: bool = True) -> Contents:
    """Reads the contents of a mail. Reading HTML may take seconds and hundreds of megabytes:
    without `html`, a mail whose HTML must be read raises HasHtml."""
    tree = _parse(data)
    if tree is None:
        return Contents("")
    leaves = list(leaves_of(tree))
    if is_encrypted(leaves):
        return Contents("", is_encrypted=True)
    written = [(leaf, leaf.text()) for leaf in leaves if leaf.is_text]
    chosen = _choose_forms(written)
    files = [leaf for leaf in leaves if not (leaf.is_text or leaf.heading or leaf.is_needless)]
    sources = [text for leaf, text in written if leaf.type == "text/html"]
    pictures = [leaf for leaf in files if _is_picture_of(leaf, sources)]
    html_texts = [one for one in (written if pictures else chosen) if one[0].type == "text/html"]
    if not html and html_texts:
        raise HasHtml
    pages = {id(leaf): read_page(text) for leaf, text in html_texts}
    texts = {id(leaf): pages[id(leaf)].text if id(leaf) in pages else text for leaf, text in chosen}
    in_order = (leaf.heading or texts.get(id(leaf), "") for leaf in leaves)
    text = "\n\n".join(one.strip("\n") for one in in_order if one.strip())
    text = _without_armour(text_only(text.replace("\r\n", "\n")).strip())[:MOST_CHARACTERS]
    if text.startswith(_ARMOUR + "MESSAGE-----"):
        return Contents("", is_encrypted=True)
    shown = {source for page in pages.values() for source in page.pictures}
    if is_forwarded(header_text(first_header(tree, "subject"))):
        shown.update(f"cid:{leaf.content_id}" for leaf in pictures)
    kept = [leaf for leaf in files if leaf not in pictures or _is_shown(leaf, shown)]
    attached = (
        AttachedFile(name=leaf.name(), type=leaf.type, data=data, is_shown=leaf in pictures)
        for leaf in kept
        if (data := bytes_of(leaf.part))
    )
    return Contents(text, tuple(attached))


def _parse(data: bytes) -> Message | None:
    """Parses the mail; None stands for one that is nested too deeply, for instance. The standard
    library's older policy reads names and charsets only when somebody asks for them."""
    cut, readable = bounded(data)
    for way in (policy.default, policy.compat32) if readable else ():
        with contextlib.suppress(*BROKEN):
            return BytesParser(policy=way).parsebytes(cut)
    return None


# ---- alternatives ------------------------------------------------------------------------------
def _choose_forms(written: Sequence[tuple[Leaf, str]]) -> list[tuple[Leaf, str]]:
    """Chooses one form of each text that a mail has in several forms."""
    types: dict[int, str] = {}
    for choice in {id(leaf.choice): leaf.choice for leaf, _ in written if leaf.choice is not None}:
        forms = {"text/plain": "", "text/html": ""}
        for leaf, text in written:
            if id(leaf.choice) == choice:
                forms[leaf.type] += f"{text}\n"
        types[choice] = _choose_type(forms["text/plain"], forms["text/html"])
    return [
        (leaf, text) for leaf, text in written if types.get(id(leaf.choice), leaf.type) == leaf.type
    ]


def _choose_type(plain: str, html: str) -> str:
    """Chooses the plain form, which the sender wrote, unless it is a stub: a sentence about
    programs that show no HTML, or a footer that a gateway put in its place."""
    written = _WORD.findall(plain.lower())
    other = _WORD.findall(_without_tags(html).lower())
    if not written or not other:
        return "text/plain" if written or not html.strip() else "text/html"
    words_of_html = set(other)
    if sum(word in words_of_html for word in written) >= SAME * len(written):
        # A much shorter plain form is only the beginning.
        return "text/plain" if len(written) * 2 >= len(other) else "text/html"
    is_stub = len(plain.strip()) <= LONGEST_STUB and _STUB.search(plain)
    is_longer = len("".join(written)) >= len("".join(other))
    return "text/plain" if is_longer and not is_stub else "text/html"


def _without_tags(html: str) -> str:
    """Gives nearly the text of an HTML source, in no time."""
    pieces, at = [], 0
    small = html.lower()
    while (start := small.find("<style", at)) >= 0 and (end := small.find("</style", start)) >= 0:
        pieces.append(html[at:start])
        at = end
    pieces.append(html[at:])
    return html_entities.unescape(_TAG.sub(" ", " ".join(pieces)))


def _without_armour(text: str) -> str:
    """Takes the armour of a PGP signature away from around its text."""
    begin = _SIGNED.search(text)
    end = text.find(f"\n{_ARMOUR}SIGNATURE-----", begin.end()) if begin else -1
    if begin is None or end < 0:
        return text
    lines = text[begin.end() : end].split("\n")
    return text[: begin.start()] + "\n".join(line.removeprefix("- ") for line in lines)


# ---- files -------------------------------------------------------------------------------------
def _is_picture_of(leaf: Leaf, pages: Sequence[str]) -> bool:
    """Tells whether one of the HTML sources names the picture."""
    id = leaf.content_id
    return bool(id) and leaf.type.startswith("image/") and any(f"cid:{id}" in one for one in pages)


def _is_shown(leaf: Leaf, shown: set[str]) -> bool:
    """Tells whether the sender put the picture there for the reader: logos and icons don't
    count."""
    if f"cid:{leaf.content_id}" not in shown:
        return False
    data = bytes_of(leaf.part)
    return len(data) >= SMALL_PICTURE or _is_large(data)


def _is_large(picture: bytes) -> bool:
    from PIL import Image  # most mails need none of it

    with contextlib.suppress(Exception), Image.open(BytesIO(picture)) as opened:
        return opened.width >= WIDE and opened.height >= HIGH
    return False
