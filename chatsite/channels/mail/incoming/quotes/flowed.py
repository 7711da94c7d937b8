"""Joins the lines of `format=flowed` (RFC 3676), which its writer didn't end."""

from __future__ import annotations

SIGNATURE = "-- "


def joined(text: str, *, delsp: bool) -> str:
    """`delsp`: the blank at the end of a line was added as well."""
    found: list[tuple[int, list[str]]] = []
    flows = False
    for line in text.replace("\r\n", "\n").split("\n"):
        words = line.lstrip(">")
        depth = len(line) - len(words)
        words = words.removeprefix(" ")  # put there so that nothing else is meant
        goes_on = words.endswith(" ") and words != SIGNATURE
        if not (flows and found[-1][0] == depth and words != SIGNATURE):
            found.append((depth, []))
        found[-1][1].append(words[:-1] if goes_on and delsp else words)
        flows = goes_on
    lines = ("> " * depth + "".join(words) for depth, words in found)
    return "\n".join(line if line.endswith(SIGNATURE) else line.rstrip(" ") for line in lines)
