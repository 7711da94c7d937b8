"""Turns the elements with which HTML marks quotes and signatures into the lines of plain text.

Mail programs name these elements in the same way in all languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from chatsite.mail.incoming.html.hidden import Start
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
