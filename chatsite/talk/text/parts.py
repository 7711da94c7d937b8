"""Cuts a long answer into posts of a room: at paragraphs, or else at lines, sentences or words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# A cut further to the front than this share of a post would make too many posts.
_LEAST_SHARE = 4
_FENCE = re.compile(r" {0,3}(?P<marker>`{3,12}|~{3,12})(?P<info>.*)")
_INFO = 40
# The most that a fence adds to a post: its marker with the language, and the marker at the end.
_ADDED = 12 + _INFO + 1 + 1 + 12
_SENTENCE = re.compile(r"[.!?…。！？][\"')\]”’]*\s+")
_WORD = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Part:
    """One post. `body` is a piece of the answer as it was written; the marks around the body close
    and reopen code that the cut went through."""

    body: str
    opening: str = ""
    closing: str = ""

    @property
    def text(self) -> str:
        return f"{self.opening}{self.body}{self.closing}"


@dataclass(frozen=True, slots=True)
class _Fence:
    marker: str
    info: str

    @property
    def opening(self) -> str:
        return f"{self.marker}{self.info}\n"

    def closing(self, body: str) -> str:
        return f"{'' if body.endswith(chr(10)) else chr(10)}{self.marker}"


def cut(text: str, most: int) -> tuple[Part, ...]:
    """Cuts the text into posts of at most `most` characters; their bodies together are the text."""
    if len(text) <= most:
        return (Part(text),)
    fences = _fences(text) if most > 2 * _ADDED else ()
    parts: list[Part] = []
    start = 0
    while start < len(text):
        inside = _open_at(fences, start)
        opening = inside.opening if inside else ""
        if len(opening) + len(text) - start <= most:
            parts.append(Part(text[start:], opening))
            break
        room = most - _ADDED if fences else most
        end = start + _place_to_cut(text[start : start + room])
        cut_fence = _open_at(fences, end)
        body = text[start:end]
        parts.append(Part(body, opening, cut_fence.closing(body) if cut_fence else ""))
        start = end
    return tuple(parts)


def _place_to_cut(window: str) -> int:
    """Measures how much of the window goes into this post."""
    least = len(window) // _LEAST_SHARE
    for mark in ("\n\n", "\n"):
        found = window.rfind(mark)
        if found >= max(least, 1):
            return found + len(mark)
    for pattern in (_SENTENCE, _WORD):
        ends = [match.end() for match in pattern.finditer(window) if match.end() > least]
        if ends:
            return ends[-1]
    return len(window)


# ---- code fences -----------------------------------------------------------------------------
def _fences(text: str) -> Sequence[tuple[int, _Fence | None]]:
    """Lists where code begins and ends: each place, and the fence that is open from there on."""
    changes: list[tuple[int, _Fence | None]] = []
    fence: _Fence | None = None
    place = 0
    for line in text.splitlines(keepends=True):
        place += len(line)
        found = _FENCE.fullmatch(line.rstrip("\r\n"))
        if found is None:
            continue
        marker, info = found["marker"], found["info"].strip()
        if fence is None:
            if "`" not in info or marker[0] != "`":
                fence = _Fence(marker, info[:_INFO])
                changes.append((place, fence))
        elif not info and marker[0] == fence.marker[0] and len(marker) >= len(fence.marker):
            fence = None
            changes.append((place, None))
    return changes


def _open_at(fences: Sequence[tuple[int, _Fence | None]], place: int) -> _Fence | None:
    """Finds the fence that is open before the character at `place`."""
    found: _Fence | None = None
    for begins, fence in fences:
        if begins > place:
            break
        found = fence
    return found
