"""An index as bytes, in parts: each holds the passages that were added since the part before.

Words are stored, as the index holds them, so whoever deletes a text deletes its parts. A part of
another version of these rules is refused, not converted: making an index anew costs 0.3 ms a
message.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import struct
import sys
import unicodedata
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping

from chatsite.errors import Refused
from chatsite.history.lexical import index as index_module
from chatsite.history.lexical import words
from chatsite.history.lexical.index import Index

# Passages in a part, about: 2,000 of 40 words take 0.2 MB, which the writing thread stores in 5 ms.
PART = 2_000
# Of the passages' own columns, as `array` names them, with the names that `Index` has for them.
_COLUMNS = (("seqs", "I"), ("times", "q"), ("authors", "B"), ("flags", "B"), ("lengths", "H"))
_HEAD = struct.Struct("<III")


def _rules() -> bytes:
    """Changes with the code that makes an index, the Unicode tables and the order of bytes."""
    digest = hashlib.sha256(f"{unicodedata.unidata_version} {sys.byteorder}".encode())
    for module in (sys.modules[__name__], index_module, words):
        digest.update(inspect.getsource(module).encode())
    return digest.digest()[:16]


RULES = _rules()


def part_ends(index: Index, first: int) -> Iterator[int]:
    """Where parts of the passages from `first` on end, each behind a whole message."""
    while first < len(index):
        end = len(index)
        if end - first > PART:
            seq = index.seqs[first + PART]
            end = bisect_left(index.seqs, seq)
            end = end if end > first else bisect_right(index.seqs, seq)
        yield end
        first = end


def dump_part(index: Index, first: int, end: int) -> bytes:
    """The passages from `first` to the one before `end`, 1 ms for 200."""
    terms, counts, places = _between(index.postings, first, end)
    begins, behind = bisect_left(index.starts, first), bisect_left(index.starts, end)
    days, day_counts, sessions = _between(index.days, begins, behind)
    named = json.dumps([terms, days]).encode()
    columns = [array(code, _column(index, name)[first:end]) for name, code in _COLUMNS]
    starts, day_lengths = index.starts[begins:behind], index.day_lengths[begins:behind]
    arrays = (*columns, counts, places, day_counts, sessions, starts, day_lengths)
    body = b"".join(
        (
            _HEAD.pack(first, begins, len(named)),
            named,
            *(struct.pack("<I", len(one)) + one.tobytes() for one in arrays),
        )
    )
    return RULES + zlib.compress(body)


def load_part(index: Index, data: bytes) -> None:
    """Put a part behind the passages that the index has. Raises Refused where it doesn't fit."""
    if data[: len(RULES)] != RULES:
        raise Refused("The stored index was made by other rules.")
    try:
        body = zlib.decompress(data[len(RULES) :])
        first, begins, size = _HEAD.unpack_from(body)
        terms, days = json.loads(body[_HEAD.size : _HEAD.size + size])
        codes = [*(code for _, code in _COLUMNS), *"IIIIIB"]
        arrays = _arrays(body, _HEAD.size + size, codes)
    except (zlib.error, struct.error, ValueError, TypeError) as error:
        raise Refused("The stored index can't be read.") from error
    counts, places, day_counts, sessions, starts, day_lengths = arrays[len(_COLUMNS) :]
    if (first, begins) != (len(index), len(index.starts)):
        raise Refused("A part of the stored index is missing.")
    columns = arrays[: len(_COLUMNS)]
    if len({len(column) for column in columns}) > 1 or len(starts) != len(day_lengths):
        raise Refused("The stored index contradicts itself.")
    if sum(counts) != len(places) or len(terms) != len(counts) or len(days) != len(day_counts):
        raise Refused("The stored index contradicts itself.")
    _put(index.postings, terms, counts, places)
    _put(index.days, days, day_counts, sessions)
    begin = dict(zip(starts, day_lengths, strict=True))
    for passage, row in enumerate(zip(*columns, strict=True), first):
        if passage in begin:
            index.starts.append(passage)
            index.day_lengths.append(begin[passage])
        index.append(*row)


def _column(index: Index, name: str) -> array[int] | bytearray:
    column: array[int] | bytearray = getattr(index, name)
    return column


def _between(
    known: Mapping[str, array[int]], first: int, end: int
) -> tuple[list[str], array[int], array[int]]:
    """The words with places from `first` to the one before `end`, how many, and the places."""
    held: list[str] = []
    counts, found = array("I"), array("I")
    for word, places in known.items():
        if places[-1] >= first:
            here = places[bisect_left(places, first) : bisect_left(places, end)]
            if here:
                held.append(word)
                counts.append(len(here))
                found.extend(here)
    return held, counts, found


def _put(
    into: dict[str, array[int]], named: list[str], counts: array[int], places: array[int]
) -> None:
    at = 0
    for word, count in zip(named, counts, strict=True):
        here = places[at : at + count]
        at += count
        if word in into:
            into[word].extend(here)
        else:
            into[word] = here


def _arrays(body: bytes, at: int, codes: list[str]) -> list[array[int]]:
    found = []
    for code in codes:
        one: array[int] = array(code)
        (count,) = struct.unpack_from("<I", body, at)
        end = at + 4 + count * one.itemsize
        if end > len(body):
            raise ValueError("it ends too early")
        one.frombytes(body[at + 4 : end])
        found.append(one)
        at = end
    return found
