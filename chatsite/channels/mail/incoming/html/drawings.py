"""Whether a part of a drawing (`<svg>`) is drawn at all: HTML may stand in one, and is read."""

from __future__ import annotations

import re
from collections.abc import Mapping

from chatsite.channels.mail.incoming.html.places import LEFT, RIGHT, SMALLEST

# What hides a part of a drawing, or might.
_HIDING = (
    *("transform", "opacity", "display", "visibility", "clip-path", "mask", "filter"),
    "overflow",
)
SAYING = (*_HIDING, "width", "height", "x", "y")
_NUMBER = re.compile(r"\s*([+-]?[0-9]{1,9}(?:\.[0-9]{1,9})?)(?:px)?\s*")


def is_undrawn(attributes: Mapping[str, str | None]) -> bool:
    if any(name in attributes for name in _HIDING):
        return True
    sizes, places = _pixels(attributes, "width", "height"), _pixels(attributes, "x", "y")
    return any(size < SMALLEST for size in sizes) or any(
        not LEFT <= place <= RIGHT for place in places
    )


def _pixels(attributes: Mapping[str, str | None], *names: str) -> list[float]:
    """Those that can be told: a percentage can't."""
    found = (_NUMBER.fullmatch(attributes.get(name) or "") for name in names)
    return [float(one[1]) for one in found if one is not None]
