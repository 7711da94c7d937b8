"""Texts as they read without the marks of Markdown, for the lines in which hits are shown. Pure."""

from __future__ import annotations

import re

_ANY = re.compile(r"[*_`#|<>\[$~\\=+-]")
_FENCE = re.compile(r"[ \t>]*(?:`{3,}|~{3,})[\w+.#-]{0,30}[ \t]*")
_RULE = re.compile(r"[ \t]*(?:[-*_][ \t]*){3,}|={3,}[ \t]*")
_BEGINS = re.compile(r"[ \t]*(?:>[ \t>]*)?(?:#{1,6}[ \t]+|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?)?")
# Each has a longest length, so that no text takes long.
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,1000}(?: \"[^\"]{0,200}\")?\)")
_ADDRESS = re.compile(r"<((?:https?://|mailto:)[^<>\s]{1,500})>|\[\^[\w-]{1,40}\]:?")
_TAG = re.compile(r"</?(?:br|b|i|em|strong|sub|sup|p|div|span|kbd|u) ?/?>", re.I)
_PAIRS = re.compile(
    r"(?<![\w*\\])(\*{1,3})(?=\S)([^*]{1,200}?)(?<=\S)\1(?![\w*])"
    r"|(?<![\w_\\])(_{1,3})(?=\S)([^_]{1,200}?)(?<=\S)\3(?![\w_])"
)
_SIGNS = re.compile(r"\*\*|~~|`+|\$\$|\\[()\[\]]|\\(?=[*_`#|~$])")


def plain_text(text: str) -> str:
    """Return the text without marks of Markdown, never longer: links as their words, the cells of
    tables between dots, code and formulas without what stands around them."""
    if not _ANY.search(text):
        return text
    lines = (line for line in text.splitlines() if not _FENCE.fullmatch(line))
    return "\n".join(_plain_line(line) for line in lines if not _is_rule(line))


def _is_rule(line: str) -> bool:
    below_head = "|" in line and "-" in line and not line.strip(" \t|:-")
    return below_head or _RULE.fullmatch(line) is not None


def _plain_line(line: str) -> str:
    line = _BEGINS.sub("", line, count=1)
    if line.startswith("|"):
        cells = [cell.strip() for cell in line.split("|") if cell.strip()]
        dotted = " · ".join(cells)
        line = dotted if len(dotted) <= len(line) else " ".join(cells)
    line = _ADDRESS.sub(r"\1", _LINK.sub(r"\1", line))
    # What is bold goes with the signs; what they escape is no mark any more.
    line = _PAIRS.sub(lambda pair: pair[2] or pair[4], _TAG.sub(" ", line))
    return _SIGNS.sub("", line)
