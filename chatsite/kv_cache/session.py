"""A slot's content as it was saved to disk, and which saved files are kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chatsite.kv_cache.books import Book


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What must match for a saved file to be loaded: model file, engine version, cell type of the
    cache and the tokens of one slot. Another engine would read nonsense."""

    model: str
    engine: str
    cache: str
    window: int

    def __str__(self) -> str:
        return f"{self.model} {self.engine} {self.cache} {self.window}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One saved slot. `key` is a conversation's id, or `head:` and a digest for an agent's
    beginning. `file` is a name of ours in the sessions' folder, `size` its bytes, `digest` the
    checksum of its content; `fingerprint` that of the engine that wrote it."""

    key: str
    fingerprint: str
    book: Book
    file: str
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A file in the folder; `used` is the time of its last use."""

    key: str
    size: int
    used: float


def outdated(kept: Iterable[SessionFile], *, limit: int) -> list[str]:
    """Keys of the least recently used files to delete, so that the rest takes at most `limit`
    bytes."""
    newest = sorted(kept, key=lambda one: one.used, reverse=True)
    gone: list[str] = []
    total = 0
    for one in newest:
        total += one.size
        if total > limit:
            gone.append(one.key)
    return gone
