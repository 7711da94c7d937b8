"""The built-in tools, by the names that templates give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from chatsite.tools.calculator import Calculator
from chatsite.tools.clock import DEFAULT_ZONE, Clock
from chatsite.tools.search_history import SearchHistory
from chatsite.tools.tool import Tool, ToolError
from chatsite.tools.toolbox import Maker


def builtin(*, now: Callable[[], datetime], search_history: SearchHistory) -> Mapping[str, Maker]:
    """`now` gives an aware time. A template may set the clock's `zone`."""

    def clock(configuration: Mapping[str, object]) -> Tool:
        zone = configuration.get("zone", DEFAULT_ZONE)
        if not isinstance(zone, str):
            raise ToolError("zone must be the name of a time zone, such as Europe/Paris")
        return Clock(now=now, zone=zone)

    return {
        "calculator": lambda configuration: Calculator(),
        "clock": clock,
        "search_history": lambda configuration: search_history,
    }
