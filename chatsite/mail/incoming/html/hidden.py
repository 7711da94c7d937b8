"""Finds what the reader of an HTML mail sees: what they don't, the model mustn't read either.

This module looks at elements, their attributes, and the styles in the mail. What it can't judge
counts as seen. It doesn't find text that something covers: a picture, an element laid over the
text, a gradient in its colour or a mask; text that many small moves bring far away; what a style
takes from a variable, from another file, or from a rule for some screens; and what depends on the
mail program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from selectolax.lexbor import LexborNode

from chatsite.mail.incoming.html.places import (
    FAINTEST,
    SAYING,
    SMALLEST,
    is_out_of_sight,
    is_undrawn,
)
from chatsite.mail.incoming.html.rules import Weight
from chatsite.mail.incoming.html.sheets import Element, apply_sheets, elements_of
from chatsite.mail.incoming.html.styles import (
    Colour,
    Tokens,
    colour,
    declared,
    font_size,
    is_inherited,
    named_colour,
    number,
    words,
)

UNSEEN = frozenset(
    "head template noscript script style object audio video title datalist canvas iframe"
    " noframes noembed progress meter defs symbol clippath mask pattern marker desc"
    " metadata".split()
)
# Nobody tells two colours apart that differ by so little in each of 255 steps.
NEAR = 16
WHITE, BLACK, BLUE = (255.0,) * 3 + (1.0,), (0.0,) * 3 + (1.0,), (0.0, 0.0, 238.0, 1.0)
# The attribute for the colour of the text, where it isn't `color`.
_COLOURED = {"body": "text"}
_GONE = (("display", "none"), ("mso-hide", "all"), ("content-visibility", "hidden"))
Style = dict[str, Tokens]
# The attributes that say how an element looks; one may be there without a value.
_READ = ("hidden", "popover", "open", "color", "text", "link", "href", "bgcolor", "background")
_ABSENT = "\0"


@dataclass(frozen=True, slots=True)
class Look:
    """How the text of an element looks. An element in it looks the same if it says nothing else.
    None stands for a colour that can't be told."""

    size: float = 16.0
    colour: Colour | None = BLACK
    ground: Colour | None = WHITE
    links: Colour | None = BLUE
    seen: bool = True
    opacity: float = 1.0
    is_closed: bool = False
    is_drawn: bool = False

    @property
    def is_read(self) -> bool:
        is_there = self.seen and self.size >= SMALLEST and self.opacity >= FAINTEST
        return is_there and not _is_same(self.colour, self.ground)


@dataclass(frozen=True, slots=True)
class Start:
    tag: str
    attributes: Mapping[str, str | None]
    style: Style


@dataclass(frozen=True, slots=True)
class End:
    pass


def seen_parts(root: LexborNode) -> Iterator[Start | End | str]:
    """Gives the elements and texts that people see, in their order. Raises TooMuch."""
    elements = elements_of(root)
    apply_sheets(root, elements)
    looks = _Looks()
    opened: list[tuple[int, Look, bool]] = []
    gone: set[int] = set()
    summaries: set[int] = set()
    for node in root.traverse(include_text=True):
        above = node.parent.mem_id if node.parent is not None else 0
        if above in gone:
            gone.add(node.mem_id)
            continue
        while opened and opened[-1][0] != above:
            opened.pop()
            yield End()
        _, look, is_read = opened[-1] if opened else (0, Look(), True)
        if (element := elements.get(node.mem_id)) is None:
            if node.is_text_node and (text := node.text_content) and not look.is_closed:
                yield text if is_read and not look.is_drawn else " "
            continue
        is_summary = look.is_closed and element.tag == "summary" and above not in summaries
        if is_summary:
            summaries.add(above)
        style = looks.style(element)
        inner = None if look.is_closed and not is_summary else looks.look(element, style, look)
        if inner is None:
            gone.add(node.mem_id)
            continue
        opened.append((node.mem_id, inner, is_read if inner is look else inner.is_read))
        yield Start(element.tag, element.attributes, style)
    for _ in opened:
        yield End()


class _Looks:
    """Keeps what was found for elements, since many in a mail are alike."""

    def __init__(self) -> None:
        self._styles: dict[tuple[object, ...], Style] = {}
        # The values hold the objects whose ids are in the keys, so that no other object gets the
        # ids.
        self._looks: dict[tuple[object, ...], tuple[Style, Look, Look | None]] = {}

    def style(self, element: Element) -> Style:
        key = (element.attributes.get("style"), *(id(style) for _, style in element.rules))
        if (found := self._styles.get(key)) is None:
            found = self._styles[key] = _style(element)
        return found

    def look(self, element: Element, style: Style, above: Look) -> Look | None:
        """Finds how an element looks; None stands for one that nobody sees."""
        attributes = element.attributes
        tag = element.tag.lower()
        is_drawn = above.is_drawn or tag == "svg"
        names = (*_READ, *SAYING) if is_drawn else _READ
        values = tuple(attributes.get(name, _ABSENT) for name in names) if attributes else ()
        key = (element.tag, id(style), id(above), values)
        if key not in self._looks:
            size = _size(style, above)
            is_gone = _is_gone(element, style, size) or (is_drawn and is_undrawn(attributes))
            # Of a drawing only the HTML in it is text.
            base = replace(above, size=size, is_drawn=is_drawn and tag != "foreignobject")
            look = None if is_gone else _look(element, style, base)
            self._looks[key] = (style, above, above if look == above else look)
        return self._looks[key][2]


def _style(element: Element) -> Style:
    """Merges what the rules and the element itself say."""
    found: dict[str, tuple[tuple[bool, Weight, int], Tokens]] = {}
    for weight, style in element.rules:
        for name, (important, order, tokens) in style.items():
            rank = (important, weight, order)
            if name not in found or found[name][0] <= rank:
                found[name] = (rank, tokens)
    for name, (important, tokens) in declared(element.attributes.get("style") or "").items():
        if important or name not in found or not found[name][0][0]:
            found[name] = ((important, (0, 0, 0), 0), tokens)
    return {name: tokens for name, (_, tokens) in found.items()}


# ---- what is gone with all that is in it -------------------------------------------------------
def _is_gone(element: Element, style: Style, size: float) -> bool:
    attributes = element.attributes
    if element.tag.lower() in UNSEEN or "hidden" in attributes or "popover" in attributes:
        return True
    if element.tag == "dialog" and "open" not in attributes:
        return True
    if any(word in words(style.get(name, ())) for name, word in _GONE):
        return True
    return is_out_of_sight(style, size, is_cell=element.tag in ("td", "th"))


# ---- how the rest looks ------------------------------------------------------------------------
def _size(style: Style, above: Look) -> float:
    size = font_size(style.get("font-size", ()), above.size)
    zoom = number(style.get("zoom", ()))
    return (above.size if size is None else size) * (1.0 if zoom is None else zoom)


def _look(element: Element, style: Style, above: Look) -> Look:
    attributes = element.attributes
    look = replace(above, is_closed=element.tag == "details" and "open" not in attributes)
    if (visibility := words(style.get("visibility", ()))) and visibility[0] != "inherit":
        look = replace(look, seen=visibility[0] not in ("hidden", "collapse"))
    if (opacity := number(style.get("opacity", ()))) is not None:
        look = replace(look, opacity=look.opacity * min(1.0, max(0.0, opacity)))
    if element.tag == "body" and (links := named_colour(attributes.get("link") or "")):
        look = replace(look, links=links)
    return _with_colour(element, style, _with_ground(element, style, look))


def _with_colour(element: Element, style: Style, look: Look) -> Look:
    tokens = style.get("-webkit-text-fill-color") or style.get("color")
    if tokens:
        if not is_inherited(tokens[0]):
            look = replace(look, colour=colour(tokens[0]))
    elif named := named_colour(element.attributes.get(_COLOURED.get(element.tag, "color")) or ""):
        look = replace(look, colour=named)
    elif element.tag == "a" and "href" in element.attributes:
        look = replace(look, colour=look.links)
    return look


def _with_ground(element: Element, style: Style, look: Look) -> Look:
    """Notes the background. A colour counts before a picture, which many programs don't load."""
    tokens = style.get("background-color")
    named = named_colour(element.attributes.get("bgcolor") or "")
    if tokens and not is_inherited(tokens[0]):
        found = colour(tokens[0])
        if found is None or found[3] > 0:
            return replace(look, ground=_mix(found, look.ground))
    elif named and tokens is None:
        return replace(look, ground=named)
    image = style.get("background-image", ())
    has_image = any(token.type in ("url", "function") for token in image)
    if has_image or element.attributes.get("background"):
        return replace(look, ground=None)
    return look


def _mix(colour: Colour | None, ground: Colour | None) -> Colour | None:
    """Mixes a colour with the ground that one sees through it."""
    if colour is None or colour[3] >= 1:
        return colour
    if ground is None:
        return None
    part = colour[3]
    red, green, blue = (
        one * part + other * (1 - part) for one, other in zip(colour[:3], ground[:3], strict=True)
    )
    return red, green, blue, 1.0


def _is_same(colour: Colour | None, ground: Colour | None) -> bool:
    if colour is None:
        return False
    if colour[3] < FAINTEST:
        return True
    mixed = _mix(colour, ground)
    if mixed is None or ground is None:
        return False
    return all(abs(a - b) <= NEAR for a, b in zip(mixed[:3], ground[:3], strict=True))
