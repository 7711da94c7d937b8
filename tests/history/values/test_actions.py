"""The short line on what the assistant did with its tools."""

from __future__ import annotations

from chatsite.history.values.actions import actions_line
from chatsite.messages import Message, ToolCall


def did(*calls: tuple[str, dict[str, object]]) -> str:
    made = tuple(ToolCall(id=name, name=name, arguments=said) for name, said in calls)
    return actions_line([Message.assistant(None, id="a", calls=made)])


def test_it_names_tools_and_what_they_were_asked() -> None:
    line = did(("search", {"query": "tides", "days": 3}), ("now", {}))
    assert line == "[Did: search (query: tides, days: 3), now]"


def test_who_called_nothing_has_no_line() -> None:
    assert actions_line([Message.user("Hello", id="u"), Message.assistant("Hi", id="a")]) == ""


def test_the_calls_of_several_messages_are_one_line() -> None:
    one, other = (ToolCall(id=name, name=name) for name in ("open", "close"))
    calling = [Message.assistant(None, id=call.id, calls=(call,)) for call in (one, other)]
    assert actions_line(calling) == "[Did: open, close]"


def test_it_stays_short_and_on_one_line() -> None:
    said: dict[str, object] = {"text": "word\n" * 500, "deep": [{"x": 1}]}
    line = did(*((f"tool{number}", said) for number in range(18)))
    assert "\n" not in line and len(line) < 15 * 80
    assert "tool14" in line and "tool15" not in line and line.endswith("and 3 more]")
    assert "…" in line


def test_any_argument_can_be_shown() -> None:
    assert did(("draw", {"points": [1, 2], "colour": None, "name": "Zoë"})) == (
        "[Did: draw (points: [1, 2], colour: null, name: Zoë)]"
    )
