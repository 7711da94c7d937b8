"""Reading values out of a JSON document: each function returns a typed value or raises
BadTemplate with the dotted place. JSON's null counts as absent. Messages never quote a value.
"""

from __future__ import annotations

from collections.abc import Mapping

from chatsite.errors import BadTemplate

DEEPEST = 64  # Levels; far above any template, far below the interpreter's own limit.


LONGEST_NAME = 80  # Characters of a key or folder that a message shows.


def join(place: str, key: str | int) -> str:
    """The dotted place of a key."""
    shown = on_one_line(str(key))
    return f"{place}.{shown}" if place else shown


def on_one_line(name: str) -> str:
    """A name from outside, fit for a line on a terminal."""
    if len(name) > LONGEST_NAME:
        name = name[: LONGEST_NAME - 1] + "…"
    return name if name.isprintable() else name.encode("unicode_escape").decode("ascii")


def clean(value: object, place: str = "", *, depth: int = 0) -> object:
    """A copy of JSON data without keys to services, so that nothing later can show or send them.

    Refuses what can be neither stored nor sent: half of a surrogate pair has no UTF-8 form, and
    PostgreSQL stores no NUL. Refuses what isn't JSON data.
    """
    if depth > DEEPEST:
        raise BadTemplate(f"is nested deeper than {DEEPEST} levels", key=place)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _sendable(value, place)
    if isinstance(value, list):
        return [clean(item, join(place, i), depth=depth + 1) for i, item in enumerate(value)]
    if isinstance(value, dict):
        return {
            _sendable(key, place): clean(item, join(place, key), depth=depth + 1)
            for key, item in value.items()
            if not _is_secret(key, item)
        }
    raise BadTemplate("is not JSON data", key=place)


def _sendable(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise BadTemplate("has a key that is not text", key=place)
    if "\0" in value:
        raise BadTemplate("holds a NUL character, which can't be stored", key=place)
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise BadTemplate("holds half a surrogate pair (\\ud800 to \\udfff)", key=place)
    return value


def _is_secret(key: object, value: object) -> bool:
    """`apiKey`, `api_key`, `openaiApiKey`...; `useCustomApiKey` is a switch and stays."""
    name = key.lower().replace("_", "").replace("-", "") if isinstance(key, str) else ""
    return name.endswith("apikey") and not isinstance(value, bool)


def mapping(value: object, place: str) -> Mapping[str, object]:
    """An object; empty when absent."""
    if value is None and place:
        return {}
    if not isinstance(value, dict):
        raise BadTemplate(f"must be an object, not {_kind(value)}", key=place)
    return value


def text(value: object, place: str) -> str:
    if value is None:
        raise BadTemplate("is missing", key=place)
    if not isinstance(value, str):
        raise BadTemplate(f"must be text, not {_kind(value)}", key=place)
    return value


def optional_text(value: object, place: str) -> str | None:
    return None if value is None else text(value, place)


def texts(value: object, place: str) -> tuple[str, ...]:
    """A list of texts; empty when absent."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise BadTemplate(f"must be a list of texts, not {_kind(value)}", key=place)
    return tuple(text(item, join(place, index)) for index, item in enumerate(value))


def whole(value: object, place: str, *, lowest: int, highest: int) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadTemplate(f"must be a whole number, not {_kind(value)}", key=place)
    if not lowest <= value <= highest:
        raise BadTemplate(f"must be from {lowest} to {highest}", key=place)
    return value


def number(value: object, place: str, *, lowest: int = 0, highest: int) -> float | None:
    """From `lowest` to `highest`."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadTemplate(f"must be a number, not {_kind(value)}", key=place)
    if not lowest <= value <= highest:
        raise BadTemplate(f"must be from {lowest} to {highest}", key=place)
    return float(value)


def fraction(value: object, place: str) -> float | None:
    return number(value, place, highest=1)


def one_of(value: object, place: str, allowed: tuple[str, ...]) -> str | None:
    said = optional_text(value, place)
    if said is not None and said not in allowed:
        raise BadTemplate(f"must be one of {', '.join(allowed)}", key=place)
    return said


def yes_or_no(value: object, place: str) -> bool:
    """False when absent."""
    if value is None:
        return False
    if not isinstance(value, bool):
        raise BadTemplate(f"must be true or false, not {_kind(value)}", key=place)
    return value


def _kind(value: object) -> str:
    kinds = {
        bool: "true or false",
        str: "text",
        int: "a number",
        float: "a number with a point",
        list: "a list",
        dict: "an object",
        type(None): "null",
    }
    return kinds.get(type(value), "something else")
