"""The clock tool: its answer in a time zone, and unknown zones."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chatsite.tools.clock import ClockTool
from chatsite.tools.tool import ToolContext, ToolError

USING = ToolContext(owner=None, conversation="here")
NEW_YEAR = datetime(2025, 12, 31, 23, 30, 15, 123456, tzinfo=UTC)


def a_clock(zone: str = "UTC") -> ClockTool:
    return ClockTool(now=lambda: NEW_YEAR, zone=zone)


async def test_it_returns_time_date_and_weekday_in_the_requested_zone() -> None:
    assert await a_clock().run({"zone": "Asia/Tokyo"}, USING) == {
        "zone": "Asia/Tokyo",
        "time": "2026-01-01T08:30:15+09:00",
        "date": "2026-01-01",
        "weekday": "Thursday",
    }


async def test_without_a_zone_the_agents_own_is_used() -> None:
    clock = a_clock("America/New_York")
    found = await clock.run({}, USING)
    assert isinstance(found, dict)
    assert (found["zone"], found["weekday"]) == ("America/New_York", "Wednesday")
    assert "America/New_York" in str(clock.parameters)


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        ("Paris", "Perhaps you mean Europe/Paris."),
        ("new york", "America/New_York"),
        ("Europe", "There is no time zone"),
        ("../../etc/passwd", "There is no time zone"),
        ("/etc/localtime", "There is no time zone"),
        ("x" * 5000, "There is no time zone"),
        ("Zürich", "There is no time zone"),
    ],
)
async def test_an_unknown_zone_is_answered_with_similar_ones(zone: str, words: str) -> None:
    with pytest.raises(ToolError) as caught:
        await a_clock().run({"zone": zone}, USING)
    assert words in caught.value.message
    assert len(caught.value.message) < 300


def test_a_clock_cannot_be_built_with_an_unknown_zone() -> None:
    with pytest.raises(ToolError, match="no time zone"):
        a_clock("Mars/Olympus")
