"""The words of the interface, in the reader's language.

The English text in the code is the key of the catalogue. What a model reads never passes through
here: it doesn't depend on the language of whoever looks at the page.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from string import Formatter
from typing import Any, NamedTuple


class Translator(NamedTuple):
    """Finds a text in a catalogue: by its English text, or by its English singular and plural.
    `language` is that of the catalogue: what caches texts has it in its key."""

    one: Callable[[str], str]
    counted: Callable[[str, str, int], str]
    language: Callable[[], str] = lambda: "en"


ENGLISH = Translator(str, lambda one, many, count: one if count == 1 else many)

# The edge sets it for each request and each socket (`chatsite.language`); without it: English.
TRANSLATE: ContextVar[Translator] = ContextVar("translate", default=ENGLISH)


# What stands between thousands and before decimals. Spanish writes four digits without a space.
SEPARATORS = {"de": (".", ","), "fr": ("\u202f", ","), "es": (".", ",")}
UNGROUPED = {"es": 10_000}


class _Numbers(Formatter):
    """Writes `{count:,}` and `{share:.1f}` as the language does; ten times slower than English."""

    def __init__(self, language: str) -> None:
        self._language = language

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, int) and abs(value) < UNGROUPED.get(self._language, 0):
            format_spec = format_spec.replace(",", "")
        written = str(super().format_field(value, format_spec))
        if isinstance(value, int | float) and format_spec:
            thousands, decimal = SEPARATORS[self._language]
            written = written.translate({ord(","): thousands, ord("."): decimal})
        return written


def _filled(text: str, language: str, values: dict[str, object]) -> str:
    if language not in SEPARATORS:
        return text.format(**values)
    return _Numbers(language).format(text, **values)


def say(text: str, /, **values: object) -> str:
    """One text of the interface, with its values: `say("{name} is typing", name="Ada")`."""
    translator = TRANSLATE.get()
    found = translator.one(text)
    return _filled(found, translator.language(), values) if values else found


def say_count(one: str, many: str, count: int, /, **values: object) -> str:
    """The text for one or for several: `say_count("{count} file", "{count} files", 2)`."""
    translator = TRANSLATE.get()
    found = translator.counted(one, many, count)
    shown = _filled("{count:,}", translator.language(), {"count": count})
    return _filled(found, translator.language(), values | {"count": shown})


def later(text: str) -> str:
    """A text of a table that is made once: `say` looks it up where somebody reads it."""
    return text
