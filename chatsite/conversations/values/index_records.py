"""What the store hands to an index: plain values, no rows."""

from __future__ import annotations

from dataclasses import dataclass

from chatsite.history.lexical.index import Line


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexProgress:
    """Where an index that ends at a message stands on the path.

    `newest` are the last messages up to that one that can be indexed, newest first: it lies on
    the path if it is the first of them. `messages` of every kind stand on the path up to it, and
    `waiting` behind it.
    """

    newest: tuple[int, ...] = ()
    messages: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLines:
    """`messages` of every kind stand on the path up to the last of these lines."""

    lines: tuple[Line, ...] = ()
    messages: int = 0
