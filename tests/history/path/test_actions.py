"""The short line that names the assistant's tool calls."""

from __future__ import annotations

from chatsite.history.path.shortened import actions_line
from chatsite.messages import Message, ToolCall


def line_for(*calls: tuple[str, dict[str, object]]) -> str:
    tool_calls = tuple(
        ToolCall(id=name, name=name, arguments=arguments) for name, arguments in calls
    )
    return actions_line([Message.assistant(None, id="a", calls=tool_calls)])


def test_it_names_tools_and_their_arguments() -> None:
    line = line_for(("search", {"query": "tides", "days": 3}), ("now", {}))
    assert line == "[Did: search (query: tides, days: 3), now]"


def test_messages_without_tool_calls_have_no_line() -> None:
    assert actions_line([Message.user("Hello", id="u"), Message.assistant("Hi", id="a")]) == ""


def test_the_calls_of_several_messages_are_one_line() -> None:
    one, other = (ToolCall(id=name, name=name) for name in ("open", "close"))
    calling = [Message.assistant(None, id=call.id, calls=(call,)) for call in (one, other)]
    assert actions_line(calling) == "[Did: open, close]"


def test_it_stays_short_and_on_one_line() -> None:
    arguments: dict[str, object] = {"text": "word\n" * 500, "deep": [{"x": 1}]}
    line = line_for(*((f"tool{number}", arguments) for number in range(18)))
    assert "\n" not in line and len(line) < 15 * 80
    assert "tool14" in line and "tool15" not in line and line.endswith("and 3 more]")
    assert "…" in line


def test_any_argument_can_be_shown() -> None:
    assert line_for(("draw", {"points": [1, 2], "colour": None, "name": "Zoë"})) == (
        "[Did: draw (points: [1, 2], colour: null, name: Zoë)]"
    )
