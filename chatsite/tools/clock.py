"""The tool that tells the time: a model knows neither the day nor the hour."""

from __future__ import annotations

import asyncio
import zoneinfo
from collections.abc import Callable, Mapping
from datetime import datetime

from chatsite.tools.tool import ToolContext, ToolError

LONGEST_NAME = 64
DEFAULT_ZONE = "UTC"


class ClockTool:
    """`now` returns an aware time; `zone` is the default of a call. Raises ToolError for an unknown
    zone."""

    name = "clock"
    description = "The date, time and weekday now, in a time zone."

    def __init__(self, *, now: Callable[[], datetime], zone: str = DEFAULT_ZONE) -> None:
        self._now = now
        self._zone = zone
        _find_zone(zone)
        example = f"Such as Europe/Paris; default {zone}"
        self.parameters: Mapping[str, object] = {
            "type": "object",
            "properties": {"zone": {"type": "string", "description": example}},
            "additionalProperties": False,
        }

    async def run(self, arguments: Mapping[str, object], using: ToolContext) -> object:
        """`time` is ISO 8601 with its offset from UTC, to the second."""
        name = str(arguments.get("zone") or self._zone).strip()
        try:
            zone = _find_zone(name)
        except ToolError as error:
            # Reading the names of all zones takes some 20 ms from the disk.
            similar = await asyncio.to_thread(_similar_zones, name)
            raise ToolError(error.message + similar, name=error.name) from None
        now = self._now().astimezone(zone)
        return {
            "zone": name,
            "time": now.isoformat(timespec="seconds"),
            "date": now.date().isoformat(),
            "weekday": now.strftime("%A"),
        }


def _find_zone(name: str) -> zoneinfo.ZoneInfo:
    """Raises ToolError. A name is part of a path, so zoneinfo refuses some in its own ways."""
    if name.isascii() and name.isprintable() and len(name) <= LONGEST_NAME:
        try:
            return zoneinfo.ZoneInfo(name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            pass
    shown = name[:LONGEST_NAME]
    raise ToolError(
        f'There is no time zone "{shown}". Name it as the IANA database does: Europe/Paris, UTC.',
        name="UnknownZone",
    )


def _similar_zones(name: str) -> str:
    wanted = name.lower().replace(" ", "_").rpartition("/")[2]
    names = zoneinfo.available_timezones() if len(wanted) > 1 else set()
    found = [zone for zone in sorted(names) if wanted in zone.lower()]
    return f" Perhaps you mean {' or '.join(found[:3])}." if found else ""
