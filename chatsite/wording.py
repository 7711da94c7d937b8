"""The words of the interface, in the reader's language.

The English text in the code is the key of the catalogue. What a model reads never passes through
here: it doesn't depend on the language of whoever looks at the page.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import NamedTuple


class Translator(NamedTuple):
    """Finds a text in a catalogue: by its English text, or by its English singular and plural.
    `language` is that of the catalogue: what caches texts has it in its key."""

    one: Callable[[str], str]
    counted: Callable[[str, str, int], str]
    language: Callable[[], str] = lambda: "en"


ENGLISH = Translator(str, lambda one, many, count: one if count == 1 else many)

# The edge sets it for each request and each socket (`chatsite.language`); without it: English.
TRANSLATE: ContextVar[Translator] = ContextVar("translate", default=ENGLISH)


def say(text: str, /, **values: object) -> str:
    """One text of the interface, with its values: `say("{name} is typing", name="Ada")`."""
    found = TRANSLATE.get().one(text)
    return found.format(**values) if values else found


def say_count(one: str, many: str, count: int, /, **values: object) -> str:
    """The text for one or for several: `say_count("{count} file", "{count} files", 2)`."""
    found = TRANSLATE.get().counted(one, many, count)
    return found.format(count=f"{count:,}", **values)


def later(text: str) -> str:
    """A text of a table that is made once: `say` looks it up where somebody reads it."""
    return text
