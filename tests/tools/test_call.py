"""Whatever a call runs into, there is a result: JSON that can be stored and sent."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsite.messages import UNSOUND
from chatsite.tools.arguments import check_arguments, parse_arguments, schema_fault
from chatsite.tools.call import LONGEST_ERROR, ToolResult, call_tool
from chatsite.tools.tool import ToolContext, ToolError

USING = ToolContext(owner=None, conversation="here")
CANARY = "sk-canary-in-an-exception"
ANY: Mapping[str, object] = {"type": "object"}


class Given:
    """A tool that does what it is given."""

    description = "Does what it is given."

    def __init__(
        self,
        work: Callable[[Mapping[str, object]], Awaitable[object]],
        *,
        parameters: Mapping[str, object] = ANY,
    ) -> None:
        self.name = "given"
        self.parameters = parameters
        self._work = work

    async def run(self, arguments: Mapping[str, object], using: ToolContext) -> object:
        return await self._work(arguments)


async def of(
    work: Callable[[Mapping[str, object]], Awaitable[object]],
    arguments: str = "{}",
    *,
    room: int = 10_000,
    seconds: float = 5,
    parameters: Mapping[str, object] = ANY,
    name: str = "given",
) -> ToolResult:
    tool = Given(work, parameters=parameters)
    return await call_tool(name, arguments, [tool], USING, seconds=seconds, room_characters=room)


def returning(value: object) -> Callable[[Mapping[str, object]], Awaitable[object]]:
    async def work(arguments: Mapping[str, object]) -> object:
        return value

    return work


def raising(error: BaseException) -> Callable[[Mapping[str, object]], Awaitable[object]]:
    async def work(arguments: Mapping[str, object]) -> object:
        raise error

    return work


def the_error(result: ToolResult) -> tuple[str, str]:
    assert result.failed
    error = json.loads(result.content)["error"]
    assert set(error) == {"name", "message"}
    return error["name"], error["message"]


async def test_what_it_returns_is_the_content_and_what_was_written_the_arguments() -> None:
    async def echo(arguments: Mapping[str, object]) -> object:
        return {"got": dict(arguments)}

    result = await of(echo, '{"a": [1, "é"]}')
    assert result == ToolResult(
        content='{"got": {"a": [1, "é"]}}', failed=False, arguments={"a": [1, "é"]}
    )


async def test_no_arguments_at_all_are_an_empty_object() -> None:
    assert (await of(returning(None), " ")).content == "null"


async def test_null_counts_as_not_said_where_it_can_mean_nothing_else() -> None:
    async def echo(arguments: Mapping[str, object]) -> object:
        return dict(arguments)

    kinds = {"a": {"type": "string"}, "b": {"type": ["string", "null"]}, "c": {"type": "string"}}
    schema = {"type": "object", "properties": kinds, "required": ["c"]}
    result = await of(echo, '{"a": null, "b": null, "c": "x", "d": null}', parameters=schema)
    assert json.loads(result.content) == {"b": None, "c": "x", "d": None}
    assert "a" in result.arguments
    assert the_error(await of(echo, '{"c": null}', parameters=schema))[0] == "BadArguments"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"a": 1', "no valid JSON: Expecting ',' delimiter at character 8"),
        ("[1]", "must be a JSON object"),
        ("null", "must be a JSON object"),
        ('{"a": NaN}', "no valid JSON"),
        ('{"a": ' + "9" * 5_000 + "}", "no valid JSON"),
        ('{"a": ' + "[" * 100_000, "have 100,006 characters"),
        ("[" * 50_000, "no valid JSON"),
        ('{"a": ' + "[" * 40 + "]" * 40 + "}", "nested deeper"),
        ('{"a": "\\ud800"}', "can't be stored"),
        ('{"\\u0000": 1}', "can't be stored"),
    ],
    ids=lambda text: text[:20],
)
async def test_arguments_that_cannot_be_read_are_told_and_nothing_is_run(
    arguments: str, words: str
) -> None:
    result = await of(raising(AssertionError("was run")), arguments)
    name, message = the_error(result)
    assert (name, result.arguments) == ("BadArguments", {})
    assert words in message and message.endswith("The tool was not run.")


async def test_arguments_that_do_not_fit_the_schema_are_named_with_their_place() -> None:
    schema = {
        "type": "object",
        "properties": {"to": {"type": "object", "properties": {"hour": {"maximum": 23}}}},
        "required": ["text"],
        "additionalProperties": False,
    }
    result = await of(returning(1), '{"to": {"hour": 24}, "x": 1}', parameters=schema)
    name, message = the_error(result)
    assert name == "BadArguments"
    for part in ("to.hour: 24 is greater", "'text' is a required property", "'x' was unexpected"):
        assert part in message
    assert result.arguments == {"to": {"hour": 24}, "x": 1}


async def test_an_unknown_tool_is_answered_with_those_there_are() -> None:
    name, message = the_error(await of(returning(1), name="search"))
    assert (name, message) == (
        "UnknownTool",
        "No tool of that name can be called here. There are: given.",
    )


async def test_a_tools_own_error_is_shown_as_it_is_but_not_without_end() -> None:
    failed = await of(raising(ToolError("The shop is closed.", name="Closed")))
    assert the_error(failed) == ("Closed", "The shop is closed.")
    _, message = the_error(await of(raising(ToolError("x" * 10_000))))
    assert len(message) == LONGEST_ERROR + 1


async def test_of_any_other_exception_only_its_kind_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    for error in (KeyError(CANARY), ExceptionGroup(CANARY, [ValueError(CANARY)])):
        result = await of(raising(error))
        name, _ = the_error(result)
        assert name == type(error).__name__
        assert CANARY not in result.content
    assert "test_call.py" in caplog.text and CANARY not in caplog.text


async def test_one_that_takes_too_long_is_ended() -> None:
    ended = asyncio.Event()

    async def work(arguments: Mapping[str, object]) -> object:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return None

    name, message = the_error(await of(work, seconds=0.02))
    assert name == "TimedOut" and "0.02 seconds" in message
    assert ended.is_set()


async def test_its_own_time_out_is_not_taken_for_ours() -> None:
    assert the_error(await of(raising(TimeoutError())))[0] == "TimeoutError"


async def test_only_cancelling_passes() -> None:
    task = asyncio.create_task(of(returning(1)))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("value", [{1, 2}, object(), float("nan"), b"x", {"a": {(1, 2): 3}}])
async def test_what_json_cannot_hold_is_told(value: object) -> None:
    assert the_error(await of(returning(value)))[0] == "BadResult"


async def test_a_value_that_holds_itself_is_told() -> None:
    value: list[object] = []
    value.append(value)
    assert the_error(await of(returning(value)))[0] == "BadResult"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(), inner, max_size=8),
)


@settings(max_examples=40)
@given(value=JSON | st.text(min_size=300), room=st.integers(0, 600))
def test_every_result_is_sound_json_within_its_room(value: object, room: int) -> None:
    result = asyncio.run(of(returning(value), room=room))
    assert not UNSOUND.search(result.content)
    found = json.loads(result.content)
    if len(result.content) > max(room, 200):
        assert result.failed
    elif not result.failed and isinstance(found, dict) and set(found) == {"cut", "beginning"}:
        assert "there was no room" in found["cut"]


async def test_a_long_result_is_cut_and_says_by_how_much() -> None:
    result = await of(returning("word " * 10_000), room=1_000)
    found = json.loads(result.content)
    assert found["beginning"].startswith("word word")
    assert f"first {len(found['beginning']):,} of 50,000 characters" in found["cut"]
    assert 900 < len(result.content) <= 1_000 and not result.failed


async def test_what_is_cut_is_not_even_written_down() -> None:
    """It would hold up everybody's answers, and nothing bounds what a tool server returns."""

    class Long(list[object]):
        def __iter__(self) -> Iterator[object]:
            yield from ["word"] * 50_000
            raise AssertionError("all of it was read")

    result = await of(returning({"found": Long([1])}), room=10**7)
    assert "there was no room" in json.loads(result.content)["cut"]
    assert 99_000 < len(result.content) <= 100_000


class TestForeignSchemas:
    """A tool server's schema is its own: it must not hold this server up."""

    @pytest.mark.parametrize(
        "schema",
        [
            {"properties": {"a": {"pattern": "(x+x+)+y"}}},
            {"patternProperties": {"(x+x+)+y": {}}, "additionalProperties": False},
            {"patternProperties": {"(x+x+)+y": {}}, "unevaluatedProperties": False},
            {"properties": {"b": {"uniqueItems": True}}},
        ],
        ids=str,
    )
    def test_what_could_take_for_ever_is_left_to_the_tools_own_server(
        self, schema: dict[str, Any]
    ) -> None:
        long = "x" * 5_000
        began = time.process_time()
        check_arguments({"a": long, long: 1, "b": [{"c": n} for n in range(3_000)]}, schema)
        assert time.process_time() - began < 0.5

    @pytest.mark.parametrize(
        "schema",
        [
            {"$ref": "#/$defs/none"},
            {"$ref": "https://example.org/schema.json"},
            {"$ref": "#"},
            {"type": "strange"},
        ],
        ids=str,
    )
    def test_one_that_cannot_be_used_is_told(self, schema: dict[str, Any]) -> None:
        with pytest.raises(ToolError, match="own schema can't be used"):
            check_arguments({"a": 1}, schema)

    def test_which_are_schemas_of_an_object(self) -> None:
        assert not schema_fault(
            {"type": "object", "properties": {"a": {"type": ["string", "null"]}}}
        )
        old = "http://json-schema.org/draft-07/schema#"
        lists = {"a": {"items": [{"type": "string"}]}}
        assert not schema_fault({"$schema": old, "type": "object", "properties": lists})
        for bad in (
            {},
            {"type": "array"},
            {"type": "object", "properties": []},
            {"type": "object", "properties": {"a": {"type": "strange"}}},
            {"type": "object", "properties": lists},
        ):
            assert "no JSON schema" in schema_fault(bad)
        assert "50,000" in schema_fault({"type": "object", "title": "x" * 50_000})


@settings(max_examples=40)
@given(text=st.text() | JSON.map(lambda value: json.dumps(value)))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    try:
        assert isinstance(parse_arguments(text), dict)
    except ToolError as error:
        assert error.name == "BadArguments"
