"""Tells whether an element is out of sight: off the screen, cut away, without size, not drawn."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chatsite.mail.incoming.html.styles import Tokens, number, pixels, words

# In pixels: less than anybody sees or reads, and further than any screen to either side.
SMALLEST, LEFT, RIGHT = 2.0, -200.0, 3_000.0
# Nobody sees what has a smaller scale or opacity than this.
FAINTEST = 0.05
_PLACES = (
    *("left", "right", "top", "bottom", "text-indent", "margin-left", "margin-top"),
    *("padding-left", "padding-top", "translate"),
)
_SIDES = ("height", "max-height", "width", "max-width")
# What hides a part of a drawing, or might.
_HIDING = (
    *("transform", "opacity", "display", "visibility", "clip-path", "mask", "filter"),
    "overflow",
)
SAYING = (*_HIDING, "width", "height", "x", "y")
_NUMBER = re.compile(r"\s*([+-]?[0-9]{1,9}(?:\.[0-9]{1,9})?)(?:px)?\s*")
_TURNS = {"deg": 1.0, "rad": 180 / math.pi, "turn": 360.0, "grad": 0.9}


def is_out_of_sight(style: Mapping[str, Tokens], font: float, *, is_cell: bool) -> bool:
    """Tells whether nobody sees an element with this style. A table's cell (`is_cell`) is as large
    as its content, whatever its size says."""
    if any(_is_far([one], font) for name in _PLACES for one in style.get(name, ())):
        return True
    spacing = pixels(style.get("letter-spacing", ()), font, font / 100, 10.0)
    if spacing is not None and spacing < -0.9 * max(font, 1.0):
        return True
    if not (is_cell and not style.get("display")) and _is_cut_away(style, font):
        return True
    zoom, scale = number(style.get("zoom", ())), style.get("scale", ())
    if zoom is not None and zoom < FAINTEST or _is_flat(scale):
        return True
    return (
        any(_is_clipped(one, font) for one in _functions(style, "clip", "clip-path"))
        or any(_is_moved(one, font) for one in _functions(style, "transform"))
        or any(_is_filtered(one, font) for one in _functions(style, "filter"))
    )


def _functions(style: Mapping[str, Tokens], *names: str) -> Iterable[Any]:
    return (one for name in names for one in style.get(name, ()) if one.type == "function")


def _arguments(function: Any) -> list[Any]:
    return [
        one
        for one in function.arguments
        if one.type not in ("whitespace", "comment") and one != "," and one != "/"
    ]


def _is_far(tokens: Tokens, font: float) -> bool:
    """Tells whether a length leads off the screen; a percentage may count as the whole screen."""
    left = pixels(tokens, font, 2.2, 2.2)
    right = pixels(tokens, font, 20.0, 30.0)
    return (left is not None and left < LEFT) or (right is not None and right >= RIGHT)


def _is_cut_away(style: Mapping[str, Tokens], font: float) -> bool:
    """Tells whether a box hides what doesn't fit, and nothing fits or the text begins off the
    edge."""
    overflow = [
        one for name in ("overflow", "overflow-x", "overflow-y") for one in style.get(name, ())
    ]
    if not {"hidden", "clip", "auto", "scroll"} & set(words(overflow)):
        return False
    indent = style.get("text-indent")
    if indent and indent[0].type == "percentage" and indent[0].value >= 100:
        return True
    sizes = [pixels(style.get(name, ()), font, 10.0, 10.0) for name in _SIDES]
    return any(size is not None and size < SMALLEST for size in sizes)


def _is_clipped(function: Any, font: float) -> bool:
    name, values = function.lower_name, _arguments(function)
    # A box of 100 pixels, so that percentages are pixels.
    found = [pixels([one], font, 1.0, 10.0) for one in values]
    sizes = [one for one in found if one is not None]
    if name == "rect" and len(sizes) == len(values) == 4:
        top, right, bottom, left = sizes
        return right - left < SMALLEST or bottom - top < SMALLEST
    if name == "inset":
        if "round" in (rounded := words(values)):
            sizes = sizes[: len(values) - len(rounded)]
        if not sizes:
            return False
        top, right, bottom, left = (sizes * 4)[:4] if len(sizes) < 3 else (*sizes, sizes[1])[:4]
        return right + left >= 99 or top + bottom >= 99
    if name in ("circle", "ellipse"):
        radii = sizes[: 1 if name == "circle" else 2]
        return bool(radii) and min(radii) < 1
    # Points that are all one.
    return name == "polygon" and len(sizes) >= 2 and len({*sizes[::2]}) == len({*sizes[1::2]}) == 1


def _is_moved(function: Any, font: float) -> bool:
    name, values = function.lower_name, _arguments(function)
    if name.startswith("translate"):
        return any(_is_far([one], font) for one in values)
    if name.startswith("scale"):
        return _is_flat(values)
    if name in ("rotatex", "rotatey"):
        return bool(values) and abs(math.cos(math.radians(_degrees(values[0])))) < FAINTEST
    if name in ("matrix", "matrix3d"):
        numbers = [number([one]) for one in values]
        known = [one for one in numbers if one is not None]
        if name == "matrix" and len(known) == 6:
            area = known[0] * known[3] - known[1] * known[2]
            return abs(area) < FAINTEST**2 or any(_is_far([one], font) for one in values[4:])
        return len(known) == 16 and (
            abs(known[0] * known[5] - known[1] * known[4]) < FAINTEST**2
            or any(_is_far([one], font) for one in values[12:14])
        )
    return False


def _is_flat(values: Sequence[Any]) -> bool:
    factors = [number([one]) for one in values[:2]]
    return any(one is not None and abs(one) < FAINTEST for one in factors)


def _degrees(token: Any) -> float:
    if token.type == "dimension":
        return float(token.value) * _TURNS.get(token.lower_unit, 0.0)
    return 0.0


def _is_filtered(function: Any, font: float) -> bool:
    values = _arguments(function)
    if function.lower_name == "opacity":
        part = number(values)
        return part is not None and part < FAINTEST
    radius = pixels(values, font, 1.0, 10.0) if function.lower_name == "blur" else None
    return radius is not None and radius > font


# ---- parts of drawings ---------------------------------------------------------------------
def is_undrawn(attributes: Mapping[str, str | None]) -> bool:
    """Tells whether a part of a drawing (`<svg>`), which may hold HTML, isn't drawn."""
    if any(name in attributes for name in _HIDING):
        return True
    sizes, places = _pixels(attributes, "width", "height"), _pixels(attributes, "x", "y")
    return any(size < SMALLEST for size in sizes) or any(
        not LEFT <= place <= RIGHT for place in places
    )


def _pixels(attributes: Mapping[str, str | None], *names: str) -> list[float]:
    """Reads the attributes that are numbers of pixels; percentages don't count."""
    found = (_NUMBER.fullmatch(attributes.get(name) or "") for name in names)
    return [float(one[1]) for one in found if one is not None]
