"""The text of an HTML mail."""

from __future__ import annotations

import re

from inscriptis import get_text
from inscriptis.css_profiles import CSS_PROFILES
from inscriptis.model.config import ParserConfig

# Of a newsletter's HTML; what is longer is an attack.
MOST_CHARACTERS = 1_000_000
_CONFIG = ParserConfig(css=CSS_PROFILES["strict"])
_QUOTE = re.compile(r"<blockquote\b", flags=re.IGNORECASE)
_TAG = re.compile(r"<[^<>]{0,10000}>")


def text_of_html(html: str) -> str:
    """Never raises; where the library can't read it, the text between the tags."""
    html = html[:MOST_CHARACTERS]
    # An HTML reply marks its quote by an element alone, which would be lost: who quotes ends with
    # it, and a line of ">" is what the text of a mail has in its place.
    marked = _QUOTE.sub("<p>&gt; </p><blockquote", html)
    try:
        return str(get_text(_without_declaration(marked), _CONFIG))
    except Exception:
        # The library and its parser raise whatever the tree makes them; a mail is read anyway.
        return _TAG.sub(" ", html)


def _without_declaration(html: str) -> str:
    """The parser refuses text that names an encoding: it has been decoded."""
    return re.sub(r"^\s*<\?xml[^>]{0,200}\?>", "", html)
