"""A file's name as the page shows it: never a path, never displayed as another name."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 120
LONGEST_ENDING = 16
NAMELESS = "file"
# Blanks of all kinds, line ends among them: a prompt has the name on one line.
BLANKS = re.compile(r"\s+")


def safe_name(name: str) -> str:
    """The last part of a path without control and direction marks, at most 120 characters.

    A right-to-left override makes `exe.gpj` of `jpg.exe`; a slash or a backslash is a path on some
    machine; half characters can't be stored.
    """
    composed = unicodedata.normalize("NFC", BLANKS.sub(" ", name))
    last = re.split(r"[/\\]", composed)[-1]
    shown = "".join(c for c in last if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Cn"))
    name = shown.strip(" .")
    if len(name) > LONGEST:
        stem, dot, ending = name.rpartition(".")
        ending = dot + ending if stem and len(ending) < LONGEST_ENDING else ""
        name = name[: LONGEST - len(ending)].rstrip(" .") + ending
    return name or NAMELESS
