"""The words of the interface, in the reader's language.

The English text in the code is the key of the catalogue. What a model reads never passes through
here: it doesn't depend on the language of whoever looks at the page.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

# The edges set it for each request and each socket; without it the text stays English.
TRANSLATE: ContextVar[Callable[[str], str]] = ContextVar("translate")


def say(text: str, /, **values: object) -> str:
    """One text of the interface, with its values: `say("{count} files", count=2)`."""
    translate = TRANSLATE.get(str)
    found = translate(text)
    return found.format(**values) if values else found
