"""A picture of costs against evidence, one panel a set of data, as plain SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 300, 260
LEFT, RIGHT, TOP, BOTTOM = 44, 18, 34, 40
LEGEND = 104
COLUMNS = 4
# The radius of a line's first dot, and by how much each of the next ones is larger.
FIRST_DOT, LARGER = 2.5, 1.0
# One colour a line for light and dark backgrounds, told apart by people who see no red or green
# (Okabe and Ito's, darkened or lightened to a contrast of 3).
COLOURS = (
    ("#6b6b6b", "#a3a3a3"),
    ("#8a6d00", "#f0e442"),
    ("#b25f00", "#e69f00"),
    ("#0072b2", "#56b4e9"),
    ("#a8427f", "#cc79a7"),
    ("#007a5a", "#00b386"),
    ("#c23b00", "#ff7f3f"),
    ("#3d3d9e", "#9d9dff"),
    ("#8c1d1d", "#ff9d9d"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A line, from its smallest dot to its largest: units a request, percent of questions."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    title: str
    series: tuple[Series, ...]


def draw(panels: Sequence[Panel], *, caption: str) -> str:
    """The whole picture; it follows the reader's choice of light or dark."""
    names = list(dict.fromkeys(one.name for panel in panels for one in panel.series))
    places = {name: place % len(COLOURS) for place, name in enumerate(names)}
    width, height = WIDTH * len(panels), HEIGHT + LEGEND
    inside = [
        f'<rect class="ground" width="{width}" height="{height}"/>',
        *(
            f'<g transform="translate({WIDTH * number} 0)">{"".join(_panel(panel, places))}</g>'
            for number, panel in enumerate(panels)
        ),
        *_legend(places, width),
        _text(LEFT, height - 14, caption, anchor="start"),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(caption)}">\n<style>\n{_style()}</style>\n'
        + "\n".join(inside)
        + "\n</svg>\n"
    )


def _style() -> str:
    def theme(which: int, ground: str, ink: str, quiet: str) -> str:
        colours = "".join(
            f".c{place}{{stroke:{pair[which]};fill:{pair[which]}}}"
            for place, pair in enumerate(COLOURS)
        )
        return (
            f".ground{{fill:{ground}}}text{{fill:{ink}}}.grid{{stroke:{quiet}}}"
            f"{colours}.dot{{stroke:{ground}}}"
        )

    return (
        "text{font:11px system-ui,sans-serif;stroke:none}.title{font-weight:600;font-size:13px}"
        ".line{stroke-width:2;stroke-linejoin:round}\n"
        f"{theme(0, '#ffffff', '#1f2328', '#d8dee4')}\n"
        f"@media (prefers-color-scheme:dark){{{theme(1, '#0d1117', '#e6edf3', '#30363d')}}}\n"
    )


# ---- one panel --------------------------------------------------------------------------------
def _panel(panel: Panel, places: dict[str, int]) -> Iterator[str]:
    costs = [cost for one in panel.series for cost, _ in one.points]
    low, high = math.log10(min(costs) / 1.25), math.log10(max(costs) * 1.25)

    def x(cost: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(cost) - low) / (high - low)

    def y(percent: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * percent / 100

    yield f'<text class="title" x="{LEFT}" y="20">{escape(panel.title)}</text>'
    for percent in (0, 25, 50, 75, 100):
        yield _grid(LEFT, y(percent), WIDTH - RIGHT, y(percent))
        yield _text(LEFT - 6, y(percent) + 4, f"{percent} %", anchor="end")
    for cost in _ticks(10**low, 10**high):
        yield _grid(x(cost), TOP, x(cost), HEIGHT - BOTTOM)
        yield _text(min(x(cost), WIDTH - 20), HEIGHT - BOTTOM + 15, f"{cost:,.0f}")
    yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "units a request")
    for one in panel.series:
        yield from _series(places[one.name], [(x(cost), y(share)) for cost, share in one.points])


def _series(place: int, points: Sequence[tuple[float, float]]) -> Iterator[str]:
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    if len(points) > 1:
        yield f'<polyline class="line c{place}" style="fill:none" points="{line}"/>'
    for number, (x, y) in enumerate(points):
        radius = FIRST_DOT + LARGER * (number if len(points) > 1 else 2)
        yield f'<circle class="dot c{place}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'


def _ticks(low: float, high: float) -> Iterator[float]:
    """1, 3, 10, 30 ... within the panel."""
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high))):
        for first in (1, 3):
            if low <= first * 10**power <= high:
                yield first * 10**power


def _grid(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<path class="grid" d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _legend(places: dict[str, int], width: int) -> Iterator[str]:
    each = (width - 2 * LEFT) / COLUMNS
    for number, (name, place) in enumerate(places.items()):
        x = LEFT + each * (number % COLUMNS)
        y = HEIGHT + 16 + 20 * (number // COLUMNS)
        yield f'<circle class="c{place}" cx="{x:.1f}" cy="{y - 4}" r="5"/>'
        yield _text(x + 12, y, name, anchor="start")
