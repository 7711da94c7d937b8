"""Records as JSON: one encoder for every dataclass that is stored or goes over the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any

# Values that JSON has itself. Looked up by exact type: this runs for every frame of every answer.
PLAIN = frozenset({str, int, float, bool, type(None)})


class Record:
    """A base for dataclasses: `to_dict` gives the fields in their order, under their names.

    A class with a `type` (a `ClassVar[str]`) gives that first, so that a reader can tell the
    records of a union apart. A class whose form differs from its fields overrides `to_dict`.
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        return encode_fields(self)


def encode_fields(record: Any) -> dict[str, Any]:
    """A dataclass as a dictionary of JSON values."""
    tag, names = _shape(type(record))  # type: ignore[arg-type]  # a class is hashable
    encoded = {} if tag is None else {"type": tag}
    for name in names:
        value = getattr(record, name)
        encoded[name] = value if type(value) in PLAIN else encode(value)
    return encoded


def encode(value: Any) -> Any:
    """A value as JSON: records and sequences all the way down.

    A mapping is copied and its values are left alone: what is a mapping here was JSON before
    (a stored receipt has 10 to 40 kB, and copying it whole for every reader would be felt).
    """
    if type(value) in PLAIN:
        return value
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    return encode_fields(value)


@cache
def _shape(of: type) -> tuple[str | None, tuple[str, ...]]:
    """The tag of a dataclass, if it has one, and the names of its fields."""
    names = tuple(field.name for field in fields(of))
    return (None if "type" in names else getattr(of, "type", None)), names
