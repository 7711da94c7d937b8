"""The reference ids of the bot's posts: by them it finds its own posts again."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Tag = Literal["result", "ack", "progress"]
_FORM = re.compile(
    r"chatsite:(?P<about>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"(?::(?P<part>[1-9][0-9]{0,6}))?:(?P<tag>result|ack|progress)"
)


class Reference(NamedTuple):
    """`about` is the id of the turn, or of the message where there is no turn; `part` counts the
    posts of one answer from 1."""

    about: str
    tag: Tag
    part: int = 1

    def __str__(self) -> str:
        part = f":{self.part}" if self.part > 1 else ""
        return f"chatsite:{self.about}{part}:{self.tag}"


def read_reference(text: str) -> Reference | None:
    """None for one that isn't ours."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    tag: Tag = found["tag"]  # type: ignore[assignment]
    return Reference(found["about"], tag, int(found["part"] or 1))
