"""Every tool call has a result, even a failed one: JSON that can be stored and sent."""

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
from chatsite.tools.tool import (
    ToolContext,
    ToolError,
    check_arguments,
    parse_arguments,
    schema_fault,
)
from chatsite.tools.toolbox import LONGEST_ERROR, ToolResult, call_tool

USING = ToolContext(owner=None, conversation="here")
CANARY = "sk-canary-in-an-exception"
ANY: Mapping[str, object] = {"type": "object"}


class FunctionTool:
    """A tool that runs the function it is built with."""

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


async def call_result(
    work: Callable[[Mapping[str, object]], Awaitable[object]],
    arguments: str = "{}",
    *,
    room: int = 10_000,
    seconds: float = 5,
    parameters: Mapping[str, object] = ANY,
    name: str = "given",
) -> ToolResult:
    tool = FunctionTool(work, parameters=parameters)
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


async def test_the_result_holds_the_returned_value_and_the_models_arguments() -> None:
    async def echo(arguments: Mapping[str, object]) -> object:
        return {"got": dict(arguments)}

    result = await call_result(echo, '{"a": [1, "é"]}')
    assert result == ToolResult(
        content='{"got": {"a": [1, "é"]}}', failed=False, arguments={"a": [1, "é"]}
    )


async def test_blank_arguments_count_as_an_empty_object() -> None:
    assert (await call_result(returning(None), " ")).content == "null"


async def test_null_counts_as_missing_if_the_schema_does_not_allow_it() -> None:
    async def echo(arguments: Mapping[str, object]) -> object:
        return dict(arguments)

    kinds = {"a": {"type": "string"}, "b": {"type": ["string", "null"]}, "c": {"type": "string"}}
    schema = {"type": "object", "properties": kinds, "required": ["c"]}
    result = await call_result(
        echo, '{"a": null, "b": null, "c": "x", "d": null}', parameters=schema
    )
    assert json.loads(result.content) == {"b": None, "c": "x", "d": None}
    assert "a" in result.arguments
    assert the_error(await call_result(echo, '{"c": null}', parameters=schema))[0] == "BadArguments"


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
async def test_unreadable_arguments_are_reported_and_the_tool_is_not_run(
    arguments: str, words: str
) -> None:
    result = await call_result(raising(AssertionError("was run")), arguments)
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
    result = await call_result(returning(1), '{"to": {"hour": 24}, "x": 1}', parameters=schema)
    name, message = the_error(result)
    assert name == "BadArguments"
    for part in ("to.hour: 24 is greater", "'text' is a required property", "'x' was unexpected"):
        assert part in message
    assert result.arguments == {"to": {"hour": 24}, "x": 1}


async def test_a_call_of_an_unknown_tool_is_answered_with_the_tools_there_are() -> None:
    name, message = the_error(await call_result(returning(1), name="search"))
    assert (name, message) == (
        "UnknownTool",
        "No tool of that name can be called here. There are: given.",
    )


async def test_a_tools_own_error_is_shown_as_it_is_up_to_a_bound() -> None:
    failed = await call_result(raising(ToolError("The shop is closed.", name="Closed")))
    assert the_error(failed) == ("Closed", "The shop is closed.")
    _, message = the_error(await call_result(raising(ToolError("x" * 10_000))))
    assert len(message) == LONGEST_ERROR + 1


async def test_any_other_exception_is_shown_by_its_type_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    for error in (KeyError(CANARY), ExceptionGroup(CANARY, [ValueError(CANARY)])):
        result = await call_result(raising(error))
        name, _ = the_error(result)
        assert name == type(error).__name__
        assert CANARY not in result.content
    assert "test_call.py" in caplog.text and CANARY not in caplog.text


async def test_a_tool_that_takes_too_long_is_ended() -> None:
    ended = asyncio.Event()

    async def work(arguments: Mapping[str, object]) -> object:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return None

    name, message = the_error(await call_result(work, seconds=0.02))
    assert name == "TimedOut" and "0.02 seconds" in message
    assert ended.is_set()


async def test_a_tools_own_timeout_is_not_reported_as_ours() -> None:
    assert the_error(await call_result(raising(TimeoutError())))[0] == "TimeoutError"


async def test_cancelling_a_call_is_not_turned_into_a_result() -> None:
    task = asyncio.create_task(call_result(returning(1)))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("value", [{1, 2}, object(), float("nan"), b"x", {"a": {(1, 2): 3}}])
async def test_a_value_that_json_cannot_hold_is_reported(value: object) -> None:
    assert the_error(await call_result(returning(value)))[0] == "BadResult"


async def test_a_value_that_contains_itself_is_reported() -> None:
    value: list[object] = []
    value.append(value)
    assert the_error(await call_result(returning(value)))[0] == "BadResult"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(), inner, max_size=8),
)


@settings(max_examples=40)
@given(value=JSON | st.text(min_size=300), room=st.integers(0, 600))
def test_every_result_is_valid_json_within_its_room(value: object, room: int) -> None:
    result = asyncio.run(call_result(returning(value), room=room))
    assert not UNSOUND.search(result.content)
    found = json.loads(result.content)
    if len(result.content) > max(room, 200):
        assert result.failed
    elif not result.failed and isinstance(found, dict) and set(found) == {"cut", "beginning"}:
        assert "there was no room" in found["cut"]


async def test_a_long_result_is_cut_and_says_by_how_much() -> None:
    result = await call_result(returning("word " * 10_000), room=1_000)
    found = json.loads(result.content)
    assert found["beginning"].startswith("word word")
    assert f"first {len(found['beginning']):,} of 50,000 characters" in found["cut"]
    assert 900 < len(result.content) <= 1_000 and not result.failed


async def test_the_part_beyond_the_cut_is_never_serialised() -> None:
    """Serialising blocks the event loop, and a tool server may return any amount."""

    class Long(list[object]):
        def __iter__(self) -> Iterator[object]:
            yield from ["word"] * 50_000
            raise AssertionError("all of it was read")

    result = await call_result(returning({"found": Long([1])}), room=10**7)
    assert "there was no room" in json.loads(result.content)["cut"]
    assert 99_000 < len(result.content) <= 100_000


class TestForeignSchemas:
    """A schema comes from a tool server and must not block this server."""

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
    def test_checks_without_a_time_bound_are_left_to_the_tool_server(
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
    def test_an_unusable_schema_is_reported(self, schema: dict[str, Any]) -> None:
        with pytest.raises(ToolError, match="own schema can't be used"):
            check_arguments({"a": 1}, schema)

    def test_only_schemas_of_an_object_have_no_fault(self) -> None:
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
def test_any_text_is_parsed_or_refused_with_a_reason(text: str) -> None:
    try:
        assert isinstance(parse_arguments(text), dict)
    except ToolError as error:
        assert error.name == "BadArguments"
