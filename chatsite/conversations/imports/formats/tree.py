"""Makes our tree of another program's: every message once, parents first, one path."""

from __future__ import annotations

import heapq
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from chatsite.conversations.imports.formats.values import Node, Said, joined


@dataclass(slots=True)
class Placed:
    """A message in its place: `parent` is the index of the one above, -1 for none. `created` is in
    seconds, 0 where it is unknown."""

    said: Said
    parent: int
    created: float
    on_path: bool = False


def arrange(nodes: Sequence[Node], current: str | None) -> list[Placed]:
    """The messages in the order in which they were written, each below its parent. A parent that
    is missing is none, a circle is opened, and of two nodes with one key the first has those
    below it. Without a `current` node the path leads to the newest message."""
    places: dict[str, int] = {}
    for index, node in enumerate(nodes):
        places.setdefault(node.key, index)
    above = [-1 if one.parent is None else places.get(one.parent, -1) for one in nodes]
    _open_circles(above)
    placed: list[Placed] = []
    # By node: the message that those below it hang on, and what was thought before an answer.
    ends, thoughts = {-1: -1}, {-1: ""}
    for created, index in _oldest_first(nodes, above):
        end, thought = ends[above[index]], thoughts[above[index]]
        for said in nodes[index].said:
            if said.role == "assistant":
                said.reasoning = thought = joined((thought, said.reasoning))
            if not said.is_empty:
                placed.append(Placed(said, end, created))
                end, thought = len(placed) - 1, ""
        ends[index], thoughts[index] = end, thought
    _pair_calls(placed)
    end = ends[places[current]] if current in places else -1
    _lay_path(placed, end if end >= 0 else len(placed) - 1)
    return placed


def _open_circles(above: list[int]) -> None:
    walked = [0] * len(above)
    for start in range(len(above)):
        place = start
        while place >= 0 and not walked[place]:
            walked[place] = start + 1
            if (following := above[place]) >= 0 and walked[following] == start + 1:
                above[place] = -1
            place = above[place]


def _oldest_first(nodes: Sequence[Node], above: Sequence[int]) -> list[tuple[float, int]]:
    """Nodes by their time, none before its parent. Without a time of its own a node has that of
    its parent."""
    below: defaultdict[int, list[int]] = defaultdict(list)
    for index, place in enumerate(above):
        below[place].append(index)
    ready = [(nodes[index].created or 0.0, index) for index in below[-1]]
    heapq.heapify(ready)
    found = []
    while ready:
        created, index = heapq.heappop(ready)
        found.append((created, index))
        for child in below[index]:
            heapq.heappush(ready, (max(created, nodes[child].created or created), child))
    return found


def _pair_calls(placed: list[Placed]) -> None:
    """A call without its result, or a result without its call, becomes text: no model takes it."""
    answered: dict[int, bool] = {}
    for one in placed:
        answered[one.parent] = answered.get(one.parent, True) and one.said.role == "tool"
    for index, one in enumerate(placed):
        if one.said.call and not answered.get(index):
            name, arguments = one.said.call
            called = f"{name}\n{json.dumps(arguments, ensure_ascii=False, indent=1)}"
            one.said.call = None
            one.said.text = joined((one.said.text, fenced(called)))
    for one in placed:
        if one.said.role == "tool" and not (one.parent >= 0 and placed[one.parent].said.call):
            one.said.role, one.said.text = "assistant", fenced(one.said.text)


def _lay_path(placed: list[Placed], end: int) -> None:
    if placed and placed[end].said.call:
        end = max(index for index, one in enumerate(placed) if one.parent == end)
    while end >= 0:
        placed[end].on_path = True
        end = placed[end].parent


def fenced(code: str, language: str = "") -> str:
    marks = "```"
    while marks in code:
        marks += "`"
    return f"{marks}{language}\n{code}\n{marks}"
