"""Calls told apart by index, by id, or by both, in the forms in which servers stream them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chatsite.providers.base.provider import CallBegun
from chatsite.providers.openai.reader import ChatReader

A, B, C = "call_aaaaaaaa", "call_bbbbbbbb", "call_cccccccc"
FIVE, FORTY = '{"expression": "2+3"}', '{"expression": "10*4"}'
LEFT = object()


def piece(
    index: Any = LEFT, id: Any = LEFT, name: Any = LEFT, arguments: Any = LEFT
) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    said: dict[str, Any] = {"index": index, "id": id}
    said["function"] = {key: value for key, value in function.items() if value is not LEFT}
    return {key: value for key, value in said.items() if value is not LEFT}


def split(text: str) -> list[str]:
    return [text[start : start + 5] for start in range(0, len(text), 5)]


CALC = "calculator"
TWO = [(CALC, FIVE), (CALC, FORTY)]
FORMS: dict[str, list[dict[str, Any]]] = {
    "begun under the first one's index": [
        piece(0, A, CALC, FIVE),
        piece(0, B, CALC, ""),
        piece(1, arguments=FORTY),
    ],
    "the same in pieces": [
        piece(0, A, CALC, ""),
        *(piece(0, arguments=part) for part in split(FIVE)),
        piece(0, B, CALC, ""),
        *(piece(1, arguments=part) for part in split(FORTY)),
    ],
    "the same with its id": [
        piece(0, A, CALC, FIVE),
        piece(0, B, CALC, ""),
        *(piece(1, B, None, part) for part in split(FORTY)),
    ],
    "the same with its id and name": [
        piece(0, A, CALC, FIVE),
        piece(0, B, CALC, ""),
        *(piece(1, B, CALC, part) for part in split(FORTY)),
    ],
    "one index, told apart by id": [
        piece(0, A, CALC, ""),
        piece(0, B, CALC, ""),
        *(piece(0, A, LEFT, part) for part in split(FIVE)),
        *(piece(0, B, LEFT, part) for part in split(FORTY)),
    ],
    "interleaved by index": [
        piece(0, A, CALC, ""),
        piece(1, B, CALC, ""),
        *(
            piece(number, arguments=part)
            for parts in zip(split(FIVE.ljust(25)), split(FORTY.ljust(25)), strict=True)
            for number, part in enumerate(parts)
        ),
    ],
    "interleaved by id": [
        piece(LEFT, A, CALC, ""),
        piece(LEFT, B, CALC, ""),
        piece(LEFT, A, LEFT, FIVE),
        piece(LEFT, B, LEFT, FORTY),
    ],
    "both whole under one index": [piece(0, A, CALC, FIVE), piece(0, B, CALC, FORTY)],
    "both whole under one index and id": [piece(0, A, CALC, FIVE), piece(0, A, CALC, FORTY)],
    "both whole without index": [piece(None, A, CALC, FIVE), piece(None, B, CALC, FORTY)],
    "both whole without index or id": [piece(name=CALC, arguments=text) for text in (FIVE, FORTY)],
    "in pieces without index": [
        piece(LEFT, A, CALC, ""),
        *(piece(arguments=part) for part in split(FIVE)),
        piece(LEFT, B, CALC, ""),
        *(piece(arguments=part) for part in split(FORTY)),
    ],
    "id and name with every piece": [
        *(piece(0, A, CALC, part) for part in split(FIVE)),
        *(piece(1, B, CALC, part) for part in split(FORTY)),
    ],
    "id and name with every piece, without index": [
        *(piece(LEFT, A, CALC, part) for part in split(FIVE)),
        *(piece(LEFT, B, CALC, part) for part in split(FORTY)),
    ],
    "empty ids": [piece(0, "", CALC, FIVE), piece(1, "", CALC, FORTY)],
    "empty ids and null names after the first piece": [
        piece(0, A, CALC, ""),
        *(piece(0, "", None, part) for part in split(FIVE)),
        piece(1, B, CALC, ""),
        *(piece(1, "", None, part) for part in split(FORTY)),
    ],
    "empty names after the first piece": [
        piece(0, A, CALC, ""),
        *(piece(0, A, "", part) for part in split(FIVE)),
        piece(1, B, CALC, ""),
        *(piece(1, B, "", part) for part in split(FORTY)),
    ],
    "another id with every piece": [
        piece(0, A, CALC, ""),
        *(piece(0, f"call_x000000{n}", None, part) for n, part in enumerate(split(FIVE))),
        piece(1, B, CALC, FORTY),
    ],
    "names in pieces": [
        piece(0, A, "calcu", ""),
        piece(0, LEFT, "lator", ""),
        piece(0, arguments=FIVE),
        piece(1, B, CALC, FORTY),
    ],
    "names that grow": [
        piece(0, A, "calcu", ""),
        piece(0, A, CALC, ""),
        piece(0, arguments=FIVE),
        piece(1, B, CALC, FORTY),
    ],
    "arguments as objects": [
        piece(0, A, CALC, json.loads(FIVE)),
        piece(1, B, CALC, json.loads(FORTY)),
    ],
    "blanks around names": [piece(0, A, f" {CALC}\n", FIVE), piece(1, B, f"{CALC} ", FORTY)],
    "a namespace": [
        piece(0, A, f"functions.{CALC}", FIVE),
        piece(1, B, f" functions.{CALC}", FORTY),
    ],
    "an end without arguments": [
        piece(0, A, CALC, FIVE),
        piece(0, A, CALC, ""),
        piece(1, B, CALC, FORTY),
        piece(1, B, None, None),
    ],
    "without a function around": [
        {"index": 0, "id": A, "name": CALC, "arguments": json.loads(FIVE)},
        {"index": 1, "id": B, "type": "function", "name": CALC, "arguments": FORTY},
    ],
    "parameters": [
        {"id": A, "function": {"name": CALC, "parameters": json.loads(FIVE)}},
        {"id": B, "function": {"name": CALC, "input": FORTY}},
    ],
    "the arguments before their name": [
        piece(0, arguments=FIVE[:9]),
        piece(0, A, CALC, FIVE[9:]),
        piece(1, B, CALC, FORTY),
    ],
    "indexes as texts": [
        piece("0", A, CALC, ""),
        *(piece("0", arguments=part) for part in split(FIVE)),
        piece("1", B, CALC, FORTY),
    ],
    "an index that begins at one": [piece(1, A, CALC, FIVE), piece(2, B, CALC, FORTY)],
}


def read(pieces: list[dict[str, Any]], *, at_once: bool) -> tuple[list[str], list[tuple[str, Any]]]:
    """The names that were announced, and the calls."""
    reader = ChatReader(server="vllm", model="m")
    deltas = [{"tool_calls": pieces}] if at_once else [{"tool_calls": [one]} for one in pieces]
    begun: list[str] = []
    for choice in [*({"delta": delta} for delta in deltas), {"finish_reason": "tool_calls"}]:
        chunks = reader.take(json.dumps({"choices": [choice]}).encode())
        begun += [chunk.name for chunk in chunks if isinstance(chunk, CallBegun)]
    end = reader.finished()
    ids = [call.id for call in end.calls]
    assert len(set(ids)) == len(ids) and all(ids)
    return begun, [(call.name, json.loads(call.arguments)) for call in end.calls]


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("pieces", FORMS.values(), ids=FORMS)
def test_two_calls_stay_two_calls(pieces: list[dict[str, Any]], at_once: bool) -> None:
    begun, calls = read(pieces, at_once=at_once)
    assert calls == [(name, json.loads(arguments)) for name, arguments in TWO]
    assert len(begun) == 2 and all(CALC.startswith(name) for name in begun)


@pytest.mark.parametrize(
    "pieces",
    [
        [piece(0, A, "clock", "")],
        [piece(0, A, "clock")],
        [piece(0, A, "clock", None)],
        [piece(0, A, "clock", "null")],
        [piece(0, A, "clock", {})],
        [None, piece(0, A, "clock", "{}")],
    ],
    ids=["empty", "missing", "null", "null in quotes", "object", "null before"],
)
def test_a_call_without_arguments_has_an_empty_object(pieces: list[dict[str, Any]]) -> None:
    assert read(pieces, at_once=True) == (["clock"], [("clock", {})])


def test_three_calls_of_which_two_drift() -> None:
    pieces = [
        piece(0, A, CALC, FIVE),
        piece(0, B, CALC, ""),
        piece(1, arguments=FORTY[:8]),
        piece(1, arguments=FORTY[8:]),
        piece(1, C, "clock", ""),
        piece(2, arguments="{}"),
    ]
    assert [name for name, _ in read(pieces, at_once=False)[1]] == [CALC, CALC, "clock"]


@pytest.mark.parametrize("form", ["function_call", "one call in place of a list"])
def test_older_forms_of_one_call(form: str) -> None:
    reader = ChatReader()
    function = {"name": CALC, "arguments": FIVE}
    delta = (
        {"function_call": function}
        if form == "function_call"
        else {"tool_calls": piece(0, A, CALC, FIVE)}
    )
    reader.take(json.dumps({"choices": [{"delta": delta}]}).encode())
    reader.take(b'{"choices": [{"delta": {}, "finish_reason": "function_call"}]}')
    assert [(call.name, call.arguments) for call in reader.finished().calls] == [(CALC, FIVE)]
