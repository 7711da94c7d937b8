"""Reads the text of an HTML mail, and which pictures it shows.

Mail programs name the elements around a quote in the same way in all languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from inscriptis import Inscriptis
from inscriptis.css_profiles import CSS_PROFILES
from inscriptis.model.config import ParserConfig
from lxml import etree
from selectolax.lexbor import LexborHTMLParser

from chatsite.mail.incoming.html.hidden import Start, seen_parts
from chatsite.mail.incoming.html.rules import is_too_costly
from chatsite.mail.incoming.html.styles import words
from chatsite.mail.incoming.quotes import marks

# Noncharacters, which stand for no text in any language, mark the lines where a quote and a
# signature begin and end, and where the answered mail begins that goes on to the end.
QUOTE, UNQUOTE, SIGN, UNSIGN, BELOW = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3", "\ufdd4"
ALL = re.compile("[\ufdd0-\ufdd4]")
RULE = "_" * 32
_SIGNATURES = {
    *("gmail_signature", "moz-signature", "signature"),
    *("ms-outlook-mobile-signature", "applemailsignature", "protonmail_signature_block"),
    *("zimbra-signature", "yahoo_signature", "signature-container", "mail-signature"),
}
_BELOW = {
    *("divrplyfwdmsg", "appendonsend", "olk_src_body_section", "yahoo_quoted", "zwchr"),
    *("mail-editor-reference-message-container", "ms-outlook-mobile-reference-message"),
    *("stopspelling", "zmail_extra", "isforwardcontent"),
}
# Programs indent the sender's own words in this way.
_INDENTED = re.compile(r"margin:[^;]*40px;\s*border:\s*none", re.IGNORECASE)
# Outlook draws this line above From, Sent, To, Subject.
_LINE = re.compile(
    r"border:\s*none;\s*border-top:\s*solid[^;]*;\s*padding:\s*3\.0pt", re.IGNORECASE
)


def ends_of(part: Start) -> tuple[str, str]:
    """Gives the marks for the beginning and the end of an element; "" stands for none."""
    attributes = part.attributes
    style = (attributes.get("style") or "").strip()[:200]
    is_indented = bool(_INDENTED.match(style)) and attributes.get("type") != "cite"
    if part.tag == "blockquote" and not is_indented:
        return QUOTE, UNQUOTE
    if part.tag == "div" and attributes.get("name") == "quote":
        return QUOTE, UNQUOTE
    named = {attributes.get("id") or "", *(attributes.get("class") or "").split()[:20]}
    named = {name.lower().removeprefix("x_") for name in named}
    if named & _SIGNATURES:
        return SIGN, UNSIGN
    if named & _BELOW or _LINE.match(style):
        return BELOW, ""
    return "", ""


def written(lines: Iterable[str]) -> list[str]:
    """Writes a text, whose marks stand in lines of their own, as mail programs write plain text:
    with ">" before each quoted line and "-- " above a signature."""
    found: list[str] = []
    depth = 0
    is_begin = False
    for line in lines:
        mark = line.strip()
        if mark and ALL.fullmatch(mark):
            last = _strip_blank_lines(found) if mark in (UNQUOTE, SIGN, BELOW) else ""
            if mark in (QUOTE, UNQUOTE):
                depth += 1 if mark == QUOTE else -1
            elif mark == SIGN:
                if last in ("--", marks.SIGNATURE):
                    found.pop()
                found.append("> " * depth + marks.SIGNATURE)
            elif mark == UNSIGN or last != RULE:
                found.append(RULE if mark == BELOW else UNSIGN)
            is_begin = mark in (QUOTE, SIGN)
            if mark == UNQUOTE:
                found.append(("> " * depth).rstrip())
        elif mark or not is_begin:
            found.append(("> " * depth + line).rstrip() if depth else line)
            is_begin = False
    return _without_marks(found)


def _strip_blank_lines(lines: list[str]) -> str:
    """Takes the empty lines at the end away, also those of a quote, and returns the last line."""
    while lines and not lines[-1].strip("> "):
        lines.pop()
    return lines[-1] if lines else ""


def _without_marks(lines: list[str]) -> list[str]:
    """Takes the marks of signatures away. A signature above other words of the sender is ordinary
    text."""
    kept: list[str] = []
    below = ""
    open_ = False
    for line in reversed(lines):
        if line == UNSIGN:
            open_ = not below or _is_end(below)
        elif line == marks.SIGNATURE and not open_:
            continue
        else:
            kept.append(line)
            below = line if line.strip() else below
    return kept[::-1]


def _is_end(line: str) -> bool:
    """Tells whether the sender's words end above this line."""
    is_mark = marks.is_lead(line) or marks.is_line(line) or marks.is_from(marks.field_of(line))
    return is_mark or line.startswith(("> ", marks.SIGNATURE))


# A newsletter's HTML has less, without its pictures; longer HTML is an attack.
MOST_CHARACTERS = 1_000_000
# This replaces a mail that can't be read in time, or safely, since it may hold hidden text.
UNREADABLE = "(This mail's HTML can't be read.)"
_CONFIG = ParserConfig(css=CSS_PROFILES["strict"])
_PICTURE = re.compile(r"data:image/[^\"'<>()\s]{1000,}", re.IGNORECASE)
_SHEET = re.compile(r"<style", re.IGNORECASE)
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# What lxml refuses, and the marks of quotes.
_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufdd0-\ufdd4\ufffe\uffff]")
# The elements that say how text is laid out. The others are left out around their text.
_LAID_OUT = frozenset(
    "p figure h1 h2 h3 h4 h5 h6 ul ol li address article aside div footer header hgroup main nav"
    " figcaption blockquote q pre xmp listing plaintext table tr td th br".split()
)
_BLOCKS = frozenset(
    "section center form fieldset dl dt dd details summary dialog hr caption legend option"
    " optgroup menu dir".split()
)
# Inscriptis calls itself for each, and shifts each list by four.
DEEPEST, DEEPEST_LISTS = 100, 5
_BLANKS = re.compile(r"[ \t]{21,}")


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """The text of a page. `pictures` are the addresses of the pictures among the sender's own
    words: in no quote, no signature, and not below the line of an answered mail."""

    text: str
    pictures: frozenset[str] = frozenset()


def read_page(html: str) -> HtmlPage:
    """Reads a page. This never raises, and never gives text that may be hidden."""
    try:
        html = _PICTURE.sub("data:", html)
        if _SHEET.search(html, MOST_CHARACTERS):
            return HtmlPage(UNREADABLE)
        html = _SURROGATE.sub("\ufffd", html[:MOST_CHARACTERS])
        if not html.strip():
            return HtmlPage("")
        if is_too_costly(html):
            return HtmlPage(UNREADABLE)
        laid_out, pictures = _build_tree(html)
        return HtmlPage(_write(laid_out), pictures)
    except Exception:
        # The libraries raise whatever a tree makes them; a mail is read anyway.
        return HtmlPage(UNREADABLE)


def _build_tree(html: str) -> tuple[etree._Element, frozenset[str]]:
    """Builds for Inscriptis a tree of what people see, and lists the pictures of an `HtmlPage`."""
    builder = etree.TreeBuilder()
    builder.start("body", {})
    opened: list[tuple[str, str]] = []
    pictures: set[str] = set()
    depth = lists = 0
    is_below = False
    root = LexborHTMLParser(html).root
    for part in seen_parts(root) if root is not None else ():
        if isinstance(part, str):
            builder.data(_NO_TEXT.sub("", part))
        elif isinstance(part, Start):
            tag = _tag(part)
            is_list = tag in ("ul", "ol")
            if depth >= DEEPEST or (is_list and lists >= DEEPEST_LISTS):
                tag = "br" if tag == "br" else ""
            begin, end = ends_of(part)
            _add_line(builder, begin)
            if tag:
                builder.start(tag, _attributes(part))
                depth, lists = depth + 1, lists + is_list
            opened.append((tag, end))
            is_below = is_below or begin == BELOW
            if part.tag == "img" and not is_below and not any(end for _, end in opened):
                pictures.add(part.attributes.get("src") or "")
        else:
            tag, end = opened.pop()
            if tag:
                builder.end(tag)
                depth, lists = depth - 1, lists - (tag in ("ul", "ol"))
            _add_line(builder, end)
    builder.end("body")
    return builder.close(), frozenset(pictures)


def _add_line(builder: etree.TreeBuilder, mark: str) -> None:
    if mark:
        builder.start("p", {})
        builder.data(mark)
        builder.end("p")


def _tag(part: Start) -> str:
    """Names the element that lays the part out; "" stands for text in a line."""
    if part.tag in _LAID_OUT:
        return part.tag
    display = words(part.style.get("display", ()))[-1:]
    is_block = part.tag in _BLOCKS or display in (["block"], ["flex"], ["grid"], ["table"])
    return "div" if is_block else ""


def _attributes(part: Start) -> dict[str, str]:
    found = {}
    display = words(part.style.get("display", ()))[-1:]
    if display and part.tag in ("div", "p", "li", "ul") and display[0].startswith("inline"):
        found["style"] = "display:inline"
    white_space = words(part.style.get("white-space", ()))[:1]
    if white_space and white_space[0].startswith("pre"):
        found["style"] = found.get("style", "") + ";white-space:pre"
    value = part.attributes.get("value") or ""
    if part.tag == "li" and re.fullmatch(r"[0-9]{1,6}", value):
        found["value"] = value
    return found


# ---- written out -------------------------------------------------------------------------------
def _write(tree: etree._Element) -> str:
    for table in tree.iter("table"):
        if _is_wide(table):
            for one in table.iter("table", "tr", "td", "th"):
                one.tag = "div"
    text = str(Inscriptis(tree, _CONFIG).get_text())
    lines = (_BLANKS.sub(" " * 20, line.rstrip()) for line in text.split("\n"))
    return "\n".join(written(lines))


def _is_wide(table: etree._Element) -> bool:
    """Tells whether a table is for the layout. Inscriptis pads tables with blanks, which makes such
    a table many times as long; it reads better with one cell below the other."""
    if next(table.iterdescendants("table"), None) is not None:
        return True
    total = width = height = 0
    columns = 0
    for row in table.iter("tr"):
        lines, cells = 1, 0
        for cell in row.iterchildren("td", "th"):
            text = "".join(cell.itertext())
            if ALL.search(text):
                return True
            total += len(text)
            width = max(width, len(text))
            lines = max(lines, text.count("\n") + sum(1 for _ in cell.iter()))
            cells += 1
        columns = max(columns, cells)
        height += lines
    return width * height * columns > 4 * total + 2_000
