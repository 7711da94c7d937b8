"""Reads declarations of styles, with their lengths and colours."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import tinycss2
from tinycss2.color5 import parse_color

# The tokens of a value, and whether the declaration is an important one.
Tokens = Sequence[Any]
Declarations = Mapping[str, tuple[bool, Tokens]]
# Red, green and blue, 0 to 255, and how much of it covers what is behind it, 0 to 1.
Colour = tuple[float, float, float, float]
_SIDES = ("top", "right", "bottom", "left")
_FOUR = {1: (0, 0, 0, 0), 2: (0, 1, 0, 1), 3: (0, 1, 2, 1), 4: (0, 1, 2, 3)}
READ = frozenset(
    "display visibility opacity mso-hide color background background-color background-image"
    " -webkit-text-fill-color font font-size zoom filter transform translate scale clip clip-path"
    " content-visibility letter-spacing text-indent margin inset overflow overflow-x overflow-y"
    " width max-width height max-height left right top bottom margin-left margin-top padding-left"
    " padding-top white-space".split()
)
_SAME = {
    "margin-inline-start": "margin-left",
    "margin-block-start": "margin-top",
    "inset-inline-start": "left",
    "inset-inline-end": "right",
    "inset-block-start": "top",
    "inset-block-end": "bottom",
    "inline-size": "width",
    "block-size": "height",
    "max-inline-size": "max-width",
    "max-block-size": "max-height",
    "overflow-inline": "overflow-x",
    "overflow-block": "overflow-y",
    "-webkit-transform": "transform",
    "-webkit-filter": "filter",
    "-webkit-clip-path": "clip-path",
}
_FONT_SIZES = {
    "xx-small": 9.0,
    "x-small": 10.0,
    "small": 13.0,
    "medium": 16.0,
    "large": 18.0,
    "x-large": 24.0,
    "xx-large": 32.0,
}
_PIXELS = {"px": 1.0, "pt": 4 / 3, "pc": 16.0, "in": 96.0, "cm": 37.8, "mm": 3.78, "q": 0.945}
_OF_FONT = {"em": 1.0, "rem": 1.0, "ex": 0.5, "ch": 0.5, "cap": 0.7, "ic": 1.0, "lh": 1.2}
_OF_SYSTEM = {"canvas": "white", "window": "white", "canvastext": "black", "windowtext": "black"}


@functools.lru_cache(maxsize=2_000)
def declared(text: str) -> Declarations:
    """Reads the attribute `style`."""
    return declarations(tinycss2.parse_blocks_contents(text, skip_comments=True))


def declarations(parsed: Iterable[Any]) -> Declarations:
    """Reads declarations. Of one name the last counts, an important one before others."""
    found: dict[str, tuple[bool, Tokens]] = {}
    for one in parsed:
        if one.type != "declaration":
            continue
        name = _SAME.get(one.lower_name, one.lower_name)
        value = [token for token in one.value if token.type not in ("whitespace", "comment")]
        if name not in READ or not value:
            continue
        for part, tokens in _parts(name, value):
            if one.important or part not in found or not found[part][0]:
                found[part] = (one.important, tokens)
    return found


def _parts(name: str, value: Tokens) -> list[tuple[str, Tokens]]:
    """Splits a short form into long ones, and drops what isn't a colour or a size."""
    if name in ("color", "-webkit-text-fill-color", "background-color"):
        return [(name, value)] if value[0].type == "function" or is_colour(value[0]) else []
    if name == "background":
        colours = [token for token in value if is_colour(token)][-1:]
        images = [token for token in value if token.type in ("url", "function")]
        images = [token for token in images if not is_colour(token)]
        return [("background-color", colours), ("background-image", images)]
    if name == "font":
        sizes = [token for token in value if _is_size(token)][:1]
        return [("font-size", sizes)] if sizes else []
    if name == "font-size":
        return [(name, value)] if _is_size(value[0]) else []
    if name in ("margin", "inset"):
        four = [value[at] for at in _FOUR[min(len(value), 4)]]
        prefix = "margin-" if name == "margin" else ""
        return [(prefix + side, [one]) for side, one in zip(_SIDES, four, strict=True)]
    return [(name, value)]


def _is_size(token: Any) -> bool:
    if token.type == "number":
        return bool(token.value == 0)
    if token.type == "ident":
        return token.lower_value in _FONT_SIZES
    if token.type == "function":
        return token.lower_name in ("calc", "min", "max", "clamp")
    return token.type in ("dimension", "percentage")


# ---- words -------------------------------------------------------------------------------------
def words(tokens: Tokens) -> list[str]:
    return [token.lower_value for token in tokens if token.type == "ident"]


# ---- lengths -----------------------------------------------------------------------------------
def pixels(tokens: Tokens, font: float, percent: float, screen: float) -> float | None:
    """Measures the first length; `percent` and `screen` are the pixels of 1 % and of 1 vw. None
    stands for a length that can't be told."""
    return _length(tokens[0], (font, percent, screen), 0) if tokens else None


def font_size(tokens: Tokens, above: float) -> float | None:
    if tokens and tokens[0].type == "ident":
        return _FONT_SIZES.get(tokens[0].lower_value)
    return pixels(tokens, above, above / 100, 10.0)


def number(tokens: Tokens) -> float | None:
    """Reads the first number, or a percentage as a part of 1."""
    return pixels(tokens, 1.0, 0.01, 1.0)


def _length(token: Any, bases: tuple[float, float, float], depth: int) -> float | None:
    font, percent, screen = bases
    if token.type == "number":
        return float(token.value)
    if token.type == "percentage":
        return float(token.value) * percent
    if token.type == "dimension":
        unit = token.lower_unit
        if unit in _PIXELS:
            return float(token.value) * _PIXELS[unit]
        if unit in _OF_FONT:
            return float(token.value) * _OF_FONT[unit] * font
        if unit[-2:] in ("vw", "vh", "vi", "vb") or unit in ("vmin", "vmax"):
            return float(token.value) * screen
        return None
    if depth < 20 and token.type in ("function", "() block"):
        inner = token.arguments if token.type == "function" else token.content
        name = token.lower_name if token.type == "function" else "calc"
        return _calculate(name, inner, lambda one: _length(one, bases, depth + 1))
    return None


def _calculate(name: str, inner: Tokens, value: Callable[[Any], float | None]) -> float | None:
    arguments: list[list[Any]] = [[]]
    for token in inner:
        if token.type == "literal" and token.value == ",":
            arguments.append([])
        elif token.type not in ("whitespace", "comment"):
            arguments[-1].append(token)
    values = [_sum(one, value) for one in arguments]
    numbers = [one for one in values if one is not None]
    if len(numbers) != len(values):
        return None
    if name in ("min", "max"):
        return min(numbers) if name == "min" else max(numbers)
    if name == "clamp" and len(numbers) == 3:
        return max(numbers[0], min(numbers[1], numbers[2]))
    return numbers[0] if name == "calc" and len(numbers) == 1 else None


def _sum(tokens: Tokens, value: Callable[[Any], float | None]) -> float | None:
    """Adds up a value, or values with + - * / between them."""
    total, product, sign = 0.0, None, 1.0
    for at, token in enumerate(tokens):
        if at % 2 == 0:
            one = value(token)
            operator = tokens[at - 1].value if at else "+"
            if one is None or (operator == "/" and not one):
                return None
            if operator in ("*", "/") and product is not None:
                product = product * one if operator == "*" else product / one
            else:
                total += sign * (product or 0.0)
                product, sign = one, -1.0 if operator == "-" else 1.0
        elif token.type != "literal" or token.value not in ("+", "-", "*", "/"):
            return None
    return total + sign * product if product is not None and len(tokens) % 2 else None


# ---- colours -----------------------------------------------------------------------------------
def is_colour(token: Any) -> bool:
    return is_inherited(token) or colour(token) is not None


def is_inherited(token: Any) -> bool:
    return token.type == "ident" and token.lower_value in ("inherit", "currentcolor")


def colour(token: Any) -> Colour | None:
    """Reads a colour; None stands for anything else, and for an inherited colour."""
    if token.type not in ("ident", "hash", "function"):
        return None
    if token.type == "ident" and token.lower_value in _OF_SYSTEM:
        return named_colour(_OF_SYSTEM[token.lower_value])
    try:
        found = parse_color(token)
        if found is None or isinstance(found, str):
            return None
        if found.space not in ("srgb", "hsl", "hwb"):
            return _grey(found)
        red, green, blue = (min(255.0, max(0.0, one * 255)) for one in found.to("srgb").coordinates)
    except Exception:
        # The library raises for what isn't one in many ways.
        return None
    return None if math.isnan(red + green + blue) else (red, green, blue, found.alpha)


def _grey(found: Any) -> Colour:
    """Translates a colour of another space: as light, and purple if it isn't grey."""
    one, two, three = found.to(found.space).coordinates
    if found.space in ("lab", "lch", "oklab", "oklch"):
        light = min(255.0, max(0.0, one * (255 if found.space.startswith("ok") else 2.55)))
        is_grey = abs(two) < (0.02 if found.space.startswith("ok") else 3)
        if is_grey and (found.space.endswith("ch") or abs(three) < 3):
            return (light, light, light, found.alpha)
        return (light / 2 + 60, 0.0, light / 2 + 60, found.alpha)
    red, green, blue = (min(255.0, max(0.0, part * 255)) for part in (one, two, three))
    return (red, green, blue, found.alpha)


@functools.lru_cache(maxsize=500)
def named_colour(text: str) -> Colour | None:
    """Reads the colour in an attribute of HTML, which may leave out the #."""
    token = tinycss2.parse_one_component_value(text.strip())
    found = colour(token)
    if found is None and re.fullmatch(r"[0-9a-f]{3}|[0-9a-f]{6}", text.strip(), re.IGNORECASE):
        return named_colour(f"#{text.strip()}")
    return found
