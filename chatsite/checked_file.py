"""JSON files that people write: read, and every value checked in its place.

An agent's template, the file of tool servers and MODELS_FILE are read with this module. An error
names the dotted place and what is allowed there. It never quotes a value, which may be a key to a
service. JSON's null counts as an absent key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

from chatsite.errors import BadFile, BadSetting
from chatsite.wording import later

LARGEST_FILE = 1024 * 1024  # Bytes; a file that people write has some kilobytes.
DEEPEST = 64  # Levels; far above any template, far below the interpreter's own limit.
LONGEST_NAME = 80  # Characters of a key or a folder's name in a message.
_KINDS = {
    bool: later("true or false"),
    str: later("text"),
    int: later("a number"),
    float: later("a number with a point"),
    list: later("a list"),
    dict: later("an object"),
    type(None): later("null"),
}

TEXTS = later("texts")
T = TypeVar("T")
D = TypeVar("D")


def read_file(path: str | Path) -> bytes:
    """Raises BadFile."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise BadFile(f"can't be read: {system_reason(error)}") from None
    if len(data) > LARGEST_FILE:
        raise BadFile("is larger than 1 MiB")
    return data


def read_setting_file(variable: str, path: Path, read: Callable[[Node], T]) -> T:
    """What `read` makes of the JSON in the file that the `variable` of the environment names.
    Raises BadSetting with the place and what is allowed there."""
    try:
        return read(Node(parse_json(read_file(path))))
    except BadFile as error:
        place = f": {error.key}" if error.key else ""
        raise BadSetting(f"{variable}={str(path)!r}{place}: {error.message}.") from None


def system_reason(error: OSError) -> str:
    """The system's own words, without the path, which visitors need not know."""
    return (error.strerror or "unknown reason").lower()


def parse_json(data: bytes) -> object:
    """The JSON document in UTF-8 bytes; a byte order mark is allowed. Raises BadFile.

    Stricter than `json`: an object with the same key twice is an error, since only one of them
    would count, and so are NaN and Infinity, which are no JSON.
    """
    try:
        document: object = json.loads(
            data.decode("utf-8-sig"), object_pairs_hook=_object, parse_constant=_no_constant
        )
    except UnicodeDecodeError as error:
        raise BadFile(f"is not UTF-8 text: byte {error.start + 1} is wrong") from None
    except json.JSONDecodeError as error:
        raise BadFile(
            f"is not valid JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise BadFile("is nested too deeply") from None
    except ValueError:
        # The interpreter's own limit (CVE-2020-10735); `json` lets it through as it is.
        raise BadFile("holds a number with too many digits") from None
    return document


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise BadFile("stands twice in one object; only one could count", key=join("", key))
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise BadFile(f"is not valid JSON: {name} is not a JSON number")


def join(place: str, key: str | int) -> str:
    """The dotted place of a key."""
    shown = on_one_line(str(key))
    return f"{place}.{shown}" if place else shown


def on_one_line(name: str) -> str:
    """A name from outside, fit for a line on a terminal."""
    if len(name) > LONGEST_NAME:
        name = name[: LONGEST_NAME - 1] + "…"
    return name if name.isprintable() else name.encode("unicode_escape").decode("ascii")


@dataclass(frozen=True, slots=True)
class Node:
    """A value of the document with its dotted place, "" for the whole document.

    The methods return the value as the type that it must have, or raise BadFile.
    """

    value: object
    place: str = ""

    def error(self, reason: str, **values: object) -> BadFile:
        return BadFile(reason, key=self.place, **values)

    def mapping(self) -> dict[str, object]:
        """Empty where the key is absent; the document itself may not be."""
        if self.value is None and self.place:
            return {}
        if not isinstance(self.value, dict):
            raise self.error(later("must be an object, not {kind}"), kind=self._kind)
        return self.value

    def __contains__(self, key: str) -> bool:
        """Also of a key whose value is null."""
        return key in self.mapping()

    def __getitem__(self, key: str) -> Node:
        """The value under a key of the object; a value of None where it is absent."""
        return Node(self.mapping().get(key), join(self.place, key))

    def optional(self, key: str, read: Callable[[Node], T], default: D) -> T | D:
        """What `read` makes of the value under the key, the default where it is absent."""
        node = self[key]
        return default if node.value is None else read(node)

    def items(self) -> Iterator[tuple[str, Node]]:
        for key in self.mapping():
            yield key, self[key]

    def unknown(self, known: Collection[str]) -> Iterator[tuple[str, Node]]:
        """The items whose key isn't among the known ones."""
        return ((key, node) for key, node in self.items() if key not in known)

    def list_of(self, what: str) -> list[Node]:
        """The items of a list; an error says what it must be a list of."""
        if not isinstance(self.value, list):
            raise self.error(later("must be a list of {of}, not {kind}"), of=what, kind=self._kind)
        return [Node(item, join(self.place, index)) for index, item in enumerate(self.value)]

    def text(self, *, empty: bool = True, longest: int | None = None) -> str:
        if self.value is None:
            raise self.error(later("is missing"))
        if not isinstance(self.value, str):
            raise self.error(later("must be text, not {kind}"), kind=self._kind)
        if "\0" in self.value:
            raise self.error(later("holds a NUL character, which can't be stored"))
        if not empty and not self.value.strip():
            raise self.error(later("must be text that isn't empty"))
        if longest is not None and len(self.value) > longest:
            raise self.error(later("must be a text of at most {most} characters"), most=longest)
        return self.value

    def texts(self) -> tuple[str, ...]:
        """A list of texts; empty where the key is absent."""
        return () if self.value is None else tuple(item.text() for item in self.list_of(TEXTS))

    def whole(self, lowest: int, highest: int) -> int:
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self.error(later("must be a whole number, not {kind}"), kind=self._kind)
        return self._within(self.value, lowest, highest)

    def number(self, lowest: int, highest: int) -> float:
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.error(later("must be a number, not {kind}"), kind=self._kind)
        return float(self._within(self.value, lowest, highest))

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.error(later("must be true or false, not {kind}"), kind=self._kind)
        return self.value

    def one_of(self, allowed: Sequence[str]) -> str:
        if self.text() not in allowed:
            raise self.error(later("must be one of: {allowed}"), allowed=", ".join(allowed))
        return self.text()

    def _within(self, value: T, lowest: int, highest: int) -> T:
        if not lowest <= value <= highest:  # type: ignore[operator]
            raise self.error(later("must be from {low} to {high}"), low=lowest, high=highest)
        return value

    @property
    def _kind(self) -> str:
        return _KINDS.get(type(self.value), later("something else"))


def storable(value: object, place: str = "", *, depth: int = 0) -> object:
    """A copy of JSON data without keys to services, so that nothing later can show or send them.

    Raises BadFile for what can be neither stored nor sent: half of a surrogate pair has no UTF-8
    form, and PostgreSQL stores no NUL. Raises it too for what isn't JSON data.
    """
    if depth > DEEPEST:
        raise BadFile(later("is nested deeper than {levels} levels"), key=place, levels=DEEPEST)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _storable_text(value, place)
    if isinstance(value, list):
        return [storable(item, join(place, i), depth=depth + 1) for i, item in enumerate(value)]
    if isinstance(value, dict):
        return {
            _storable_text(key, place): storable(item, join(place, key), depth=depth + 1)
            for key, item in value.items()
            if not _is_secret(key, item)
        }
    raise BadFile(later("is not JSON data"), key=place)


def _storable_text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise BadFile(later("has a key that is not text"), key=place)
    if "\0" in value:
        raise BadFile(later("holds a NUL character, which can't be stored"), key=place)
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise BadFile(later("holds half a surrogate pair (\\ud800 to \\udfff)"), key=place)
    return value


def _is_secret(key: object, value: object) -> bool:
    """`apiKey`, `api_key`, `openaiApiKey`...; `useCustomApiKey` is a switch and stays."""
    name = key.lower().replace("_", "").replace("-", "") if isinstance(key, str) else ""
    return name.endswith("apikey") and not isinstance(value, bool)
