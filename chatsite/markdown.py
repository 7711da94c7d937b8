"""Markdown of messages as HTML, where no script of the page reads it: in mails and shared pages."""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

# The parser takes 0.9 s for the worst 30,000 characters that we know (brackets that nobody closes),
# and four times as long for twice as many. A table takes time by its columns and rows. A longer
# text and a wider table are sent as they are written.
LONGEST, MOST_CELLS = 30_000, 5_000
_ALLOWED = re.compile(r"(?:https?://|mailto:)[^\s]", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[^\s<>\"'`]{1,1000}[^\s<>\"'`.,;:!?)\]]")
# A longer formula is read as text: behind many signs that nobody closes, the time would grow by the
# square of the text.
_MATHS = re.compile(
    r"\\\(.{1,500}?\\\)|\\\[.{1,500}?\\\]|\$\$.{1,500}?\$\$"
    r"|\$(?![\s$])[^$\n]{1,300}(?<!\s)\$(?!\d)",
    re.DOTALL,
)
AS_WRITTEN = '<pre class="as-written">'


def html_of(text: str) -> str:
    """Renders CommonMark with tables and struck words, and keeps line ends. HTML stays text, a
    picture becomes a link, and links lead only to web pages and mail addresses. What would take too
    long is one `AS_WRITTEN`."""
    lines = text.splitlines()
    # The parser fills a short row up to all columns of its table.
    cells = len(lines) * max((line.count("|") for line in lines), default=0)
    if len(text) > LONGEST or cells > MOST_CELLS:
        return f"{AS_WRITTEN}{escape(text)}</pre>"
    return str(_parser().render(text)).strip()


def inline_html(line: str) -> str:
    """Escapes a line that isn't Markdown, and makes links of its addresses."""
    made, last = "", 0
    for found in _ADDRESS.finditer(line):
        address = escape(found[0])
        made += f'{escape(line[last : found.start()])}<a href="{address}">{address}</a>'
        last = found.end()
    return made + escape(line[last:])


def _keep_maths(state: StateInline, silent: bool) -> bool:
    """Keeps a formula as it is written: CommonMark would take the backslashes of its signs."""
    found = _MATHS.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("code_inline", "code", 0).content = found[0]
    state.pos = found.end()
    return True


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True})
    parser.enable(["table", "strikethrough"])
    parser.validateLink = lambda url: bool(_ALLOWED.match(url))  # type: ignore[method-assign]
    parser.inline.ruler.before("escape", "maths", _keep_maths)
    parser.add_render_rule("image", _render_picture)
    parser.add_render_rule("text", _render_text)
    return parser


def _render_picture(
    self: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: Any
) -> str:
    source = str(tokens[at].attrs.get("src", ""))
    words = escape(tokens[at].content or source)
    return words if _is_in_link(tokens, at) else f'<a href="{escape(source)}">{words}</a>'


def _render_text(
    self: RendererHTML,
    tokens: Sequence[Token],
    at: int,
    options: OptionsDict,
    env: MutableMapping[str, Any],
) -> str:
    """Renders text, with links for its addresses."""
    text = tokens[at].content
    is_plain = "://" not in text or _is_in_link(tokens, at)
    return escape(text) if is_plain else inline_html(text)


def _is_in_link(tokens: Sequence[Token], at: int) -> bool:
    for before in range(at - 1, -1, -1):
        if tokens[before].type in ("link_open", "link_close"):
            return tokens[before].type == "link_open"
    return False
