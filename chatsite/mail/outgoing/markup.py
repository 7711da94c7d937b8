"""An answer's Markdown as HTML for a mail: nothing in it is loaded, and nothing in it runs."""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

# The parser takes 0.9 s for the worst 30,000 characters that we know (brackets that are never
# closed), and four times as long for twice as many; for a table, by its columns and rows. What is
# longer or wider is shown as it is written.
LONGEST, MOST_CELLS = 30_000, 5_000
_ALLOWED = re.compile(r"(?:https?://|mailto:)[^\s]", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[^\s<>\"'`]{1,1000}[^\s<>\"'`.,;:!?)\]]")
_PRE = '<pre style="white-space:pre-wrap">{}</pre>'


def html_of(text: str) -> str:
    """CommonMark with tables and struck words; line ends are kept. HTML in it stays text, a picture
    becomes a link, and links lead to web pages and mail addresses alone."""
    lines = text.splitlines()
    # A row that is cut short gets all the columns of its table.
    cells = len(lines) * max((line.count("|") for line in lines), default=0)
    if len(text) > LONGEST or cells > MOST_CELLS:
        return _PRE.format(escape(text))
    made = str(_parser().render(text)).strip()
    return made.replace("<table>", '<table border="1" cellpadding="4" cellspacing="0">')


def inline_html(line: str) -> str:
    """A line of our own: nothing in it is Markdown, and its addresses are links."""
    made, last = "", 0
    for found in _ADDRESS.finditer(line):
        address = escape(found[0])
        made += f'{escape(line[last : found.start()])}<a href="{address}">{address}</a>'
        last = found.end()
    return made + escape(line[last:])


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True})
    parser.enable(["table", "strikethrough"])
    parser.validateLink = lambda url: bool(_ALLOWED.match(url))  # type: ignore[method-assign]
    parser.add_render_rule("image", _picture)
    parser.add_render_rule("text", _text)
    return parser


def _picture(
    self: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: Any
) -> str:
    source = str(tokens[at].attrs.get("src", ""))
    words = escape(tokens[at].content or source)
    return words if _is_in_link(tokens, at) else f'<a href="{escape(source)}">{words}</a>'


def _text(
    self: RendererHTML,
    tokens: Sequence[Token],
    at: int,
    options: OptionsDict,
    env: MutableMapping[str, Any],
) -> str:
    """With links of the addresses that stand in it."""
    text = tokens[at].content
    is_plain = "://" not in text or _is_in_link(tokens, at)
    return escape(text) if is_plain else inline_html(text)


def _is_in_link(tokens: Sequence[Token], at: int) -> bool:
    for before in range(at - 1, -1, -1):
        if tokens[before].type in ("link_open", "link_close"):
            return tokens[before].type == "link_open"
    return False
