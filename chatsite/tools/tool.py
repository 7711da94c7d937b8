"""The protocol of a tool, its context and its errors, and the check of its arguments."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from jsonschema import Draft7Validator, Draft201909Validator, Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend, validator_for
from referencing import Registry

from chatsite.history import StoredRun
from chatsite.messages import UNSOUND
from chatsite.wording import later


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Who uses a tool, and where: the owner as storage knows it, and the conversation's id.

    `asked` is the sequence number of the user message that is answered, `sent` are the stored
    messages of the request. What a tool tells `note` stands in the turn's receipt.
    """

    owner: Any
    conversation: str
    asked: int = 0
    sent: tuple[StoredRun, ...] = ()
    note: Callable[[Mapping[str, object]], object] = lambda told: None

    def shows(self, seq: int) -> bool:
        """Whether the request has this message, whole and in its place."""
        return any(run.first <= seq <= run.last for run in self.sent if not run.shortened)


class ToolError(Exception):
    """A tool's own failure. The model and the page show `name` and `message`."""

    def __init__(self, message: str, *, name: str = "ToolError") -> None:
        super().__init__(message)
        self.name = name
        self.message = message


class Tool(Protocol):
    """`parameters` is a JSON schema of type object; `name` is what the model calls it by."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, object]: ...

    async def run(self, arguments: Mapping[str, object], using: ToolContext) -> object:
        """Return a value that JSON can hold. Raises ToolError, or whatever goes wrong; it may be
        cancelled at any time."""
        ...


LONGEST = 100_000  # Characters.
DEEPEST = 30
LARGEST_SCHEMA = 50_000  # Characters; each request would carry it.
_SHOWN, _LONGEST_SHOWN = 3, 200  # Faults, and characters of each.


def _skipped(*_: object) -> None:
    """In place of validators that run foreign regular expressions or compare every two items: one
    bad schema would block the whole server. The tool's own server checks these."""


def _additional(validator: Any, allowed: Any, instance: Any, schema: Any) -> Any:
    """Which properties are additional depends on `patternProperties`, where there are any."""
    if "patternProperties" in schema:
        return None
    return _ADDITIONAL(validator, allowed, instance, schema)


_ADDITIONAL: Any = Draft202012Validator.VALIDATORS["additionalProperties"]
_CHANGED = {
    "additionalProperties": _additional,
    **dict.fromkeys(
        ("pattern", "patternProperties", "unevaluatedProperties", "uniqueItems"), _skipped
    ),
}
_DIALECTS: Mapping[Any, Any] = {
    dialect: extend(dialect, _CHANGED)
    for dialect in (Draft7Validator, Draft201909Validator, Draft202012Validator)
}


def parse_arguments(text: str) -> dict[str, object]:
    """Return the object in this JSON; blank text counts as an empty object. Raises ToolError."""
    if len(text) > LONGEST:
        raise _bad(f"have {len(text):,} characters; {LONGEST:,} are allowed")
    try:
        found = _read(text.strip() or "{}")
        if isinstance(found, str):  # some servers encode the text of the arguments once more
            found = _read(found)
    except json.JSONDecodeError as error:
        raise _bad(f"are no valid JSON: {error.msg} at character {error.pos + 1}") from None
    except (ValueError, RecursionError):
        raise _bad("are no valid JSON") from None
    if not isinstance(found, dict):
        raise _bad("must be a JSON object")
    if deeper_than(found, DEEPEST):
        raise _bad(f"are nested deeper than {DEEPEST} levels")
    if any(UNSOUND.search(words) for words in _texts(found)):
        raise _bad("hold a character that can't be stored")
    return found


def _read(text: str) -> Any:
    return json.loads(text, parse_constant=_finite, parse_float=_finite)


def check_arguments(arguments: Mapping[str, object], schema: Mapping[str, object]) -> None:
    """Raise ToolError, with the place, for arguments that don't fit."""
    try:
        # An empty registry: a reference to another document is never fetched.
        validator = _DIALECTS[_dialect(schema)](schema, registry=Registry())
        faults = list(islice(validator.iter_errors(arguments), _SHOWN))
    except Exception as error:
        raise ToolError(
            f"The tool's own schema can't be used ({type(error).__name__}).", name="BadSchema"
        ) from None
    if faults:
        raise _bad("don't fit: " + "; ".join(_in_words(fault) for fault in faults))


def without_nulls(
    arguments: Mapping[str, object], schema: Mapping[str, object]
) -> dict[str, object]:
    """Return the arguments without nulls that can only mean "not given": many models write null for
    every optional argument."""
    properties, required = schema.get("properties"), schema.get("required")
    known = properties if isinstance(properties, dict) else {}
    needed = required if isinstance(required, list) else []
    return {
        name: value
        for name, value in arguments.items()
        if value is not None or name in needed or _takes_null(known.get(name))
    }


def _takes_null(schema: object) -> bool:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind is None or "null" in (kind if isinstance(kind, list) else [kind])


def schema_fault(schema: object) -> str:
    """Return why no provider can be given this schema; "" where it is one of type object."""
    wrong = later("what it says of its arguments is no JSON schema of an object")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return wrong
    if deeper_than(schema, DEEPEST):
        return wrong
    if len(json.dumps(schema)) > LARGEST_SCHEMA:
        return f"what it says of its arguments has more than {LARGEST_SCHEMA:,} characters"
    try:
        _dialect(schema).check_schema(schema)
    except Exception:
        return wrong
    return ""


def _dialect(schema: Mapping[str, object]) -> Any:
    """By `$schema`; without it, and for older dialects, the one that MCP assumes."""
    found = validator_for(schema, default=Draft202012Validator)
    return found if found in _DIALECTS else Draft202012Validator


def deeper_than(value: object, levels: int) -> bool:
    """Return whether the value is nested deeper than that; ends also for a value that holds
    itself."""
    row: list[object] = [value]
    for _ in range(levels):
        inner: list[object] = []
        for item in row:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list | tuple):
                inner.extend(item)
        row = [item for item in inner if isinstance(item, dict | list | tuple)]
        if not row:
            return False
    return True


def _texts(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting += [*item, *item.values()]
        elif isinstance(item, list):
            waiting += item


def _in_words(fault: ValidationError) -> str:
    place = "".join(f".{part}" for part in fault.absolute_path).lstrip(".")
    message = fault.message
    if len(message) > _LONGEST_SHOWN:
        message = f"{message[:_LONGEST_SHOWN]}…"
    return f"{place}: {message}" if place else message


def _bad(what: str) -> ToolError:
    return ToolError(f"The arguments {what}. The tool was not run.", name="BadArguments")


def _finite(text: str) -> float:
    """1e999 is valid JSON, and Python reads NaN: neither is a number that could be stored."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value
