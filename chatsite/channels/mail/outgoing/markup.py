"""An answer's Markdown as simple HTML: nothing in it is loaded, and nothing in it runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape

_FENCE = re.compile(r"^\s{0,3}(```+|~~~+)")
_ITEM = re.compile(r"^\s{0,3}(?:([-*+])|\d{1,9}[.)])\s+(.*)$")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_CODE = re.compile(r"(`[^`\n]{1,500}`)")
_BOLD = re.compile(r"\*\*(?=\S)([^*\n]{1,500}?)(?<=\S)\*\*")
_LINK = re.compile(r"https?://[^\s<>\"'`]{1,1000}[^\s<>\"'`.,;:!?)\]]")


def html_of(text: str) -> str:
    """Paragraphs, lists, headings, code, bold words and addresses; the rest stays as written."""
    return "\n".join(_blocks(text.split("\n")))


def _blocks(lines: list[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if fence := _FENCE.match(line):
            end = _end_of_code(lines, at, fence[1])
            yield f"<pre>{escape(chr(10).join(lines[at + 1 : end]))}</pre>"
            at = end + 1
        elif heading := _HEADING.match(line):
            yield f"<p><b>{_inline(heading[1])}</b></p>"
            at += 1
        elif _ITEM.match(line):
            end = _end(lines, at, lambda one: not one.strip() or bool(_FENCE.match(one)))
            yield _list(lines[at:end])
            at = end
        elif not line.strip():
            at += 1
        else:
            end = _end(lines, at, _ends_paragraph)
            yield f"<p>{'<br>'.join(_inline(one) for one in lines[at:end])}</p>"
            at = end


def _ends_paragraph(line: str) -> bool:
    return not line.strip() or any(one.match(line) for one in (_FENCE, _ITEM, _HEADING))


def _end(lines: list[str], start: int, ends: Callable[[str], bool]) -> int:
    return next((at for at in range(start + 1, len(lines)) if ends(lines[at])), len(lines))


def _end_of_code(lines: list[str], start: int, fence: str) -> int:
    return _end(lines, start, lambda line: line.strip().startswith(fence))


def _list(lines: list[str]) -> str:
    """One level: a line that begins no item belongs to the one above."""
    items: list[str] = []
    first = _ITEM.match(lines[0])
    for line in lines:
        found = _ITEM.match(line.lstrip())
        if found:
            items.append(_inline(found[2]))
        else:
            items[-1] += f"<br>{_inline(line.strip())}"
    kind = "ul" if first and first[1] else "ol"
    return f"<{kind}>{''.join(f'<li>{item}</li>' for item in items)}</{kind}>"


def _inline(text: str) -> str:
    parts = _CODE.split(text)
    return "".join(
        f"<code>{escape(part[1:-1])}</code>" if number % 2 else _words(part)
        for number, part in enumerate(parts)
    )


def _words(text: str) -> str:
    made, last = "", 0
    for found in _LINK.finditer(text):
        address = escape(found[0])
        made += f'{_bold(text[last : found.start()])}<a href="{address}">{address}</a>'
        last = found.end()
    return made + _bold(text[last:])


def _bold(text: str) -> str:
    return _BOLD.sub(r"<b>\1</b>", escape(text))
