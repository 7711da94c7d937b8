"""Long texts in parts, so that one paragraph of a long answer can be found by what it says."""

from __future__ import annotations

import re

# Characters. A message of up to LONG is one passage: 250 words, most of what people write. Beyond,
# parts of about PART at the best border near it.
LONG = 1_500
PART = 700
_BORDERS = (
    re.compile(r"\n\s*\n"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?])\s|(?<=[\u3002\uff01\uff1f\u0964])"),
    re.compile(r"\s"),
)


def passages(text: str) -> list[str]:
    """The text in order; parts end at a paragraph, a line, a sentence or a word, if they can."""
    found = []
    start = 0
    while len(text) - start > LONG:
        end = _border(text, start + PART // 2, start + PART + PART // 2)
        found.append(text[start:end])
        start = end
    found.append(text[start:])
    return found


def _border(text: str, earliest: int, latest: int) -> int:
    """The last border of the best kind between the two; `latest` where there is none."""
    for border in _BORDERS:
        ends = [match.end() for match in border.finditer(text, earliest, latest)]
        if ends:
            return ends[-1]
    return latest
