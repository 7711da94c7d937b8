"""A socket accepts commands; a refusal of anything else repeats nothing of what was sent."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from chatsite.errors import BadCommand
from chatsite.live.commands import AnyCommand, AskPreview, Open, Send, Stop, parse, ref_of
from tests.examples import some

ID = "3f0c9d2e-8a51-4a0e-9d5b-0c1f6e7a2b34"
CLIENT = "b7e1a6c4-2d38-4f19-8e60-5a9d3c2b1f07"
CANARY = "canary"
PAGE = {"conversation": ID, "agent": "demo"}
COMMANDS: dict[str, dict[str, Any]] = {
    "open": {"type": "open", **PAGE},
    "send": {"type": "send", **PAGE, "client_id": CLIENT, "text": "Hello"},
    "stop": {"type": "stop", "conversation": ID},
    "preview": {"type": "preview", **PAGE, "draft": ""},
}
FIELDS = [(type, field) for type, command in COMMANDS.items() for field in command]
IN_OUR_WORDS = re.compile(r"This command isn't understood: [ -~]{1,150}\.")

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
names = st.sampled_from("type ref query conversation agent client_id text draft owner".split())
values = st.sampled_from([*COMMANDS, ID, "demo", "../x", "", "\0"]) | anything


@st.composite
def almost_valid(draw: st.DrawFn) -> str:
    """A valid command with some of its fields changed, removed or added; perhaps cut off."""
    command = dict(draw(st.sampled_from(list(COMMANDS.values()))))
    for _ in range(draw(st.integers(0, 3))):
        field = draw(names | st.text(max_size=8))
        if draw(st.booleans()):
            command[field] = draw(values)
        else:
            command.pop(field, None)
    frame = json.dumps(command, ensure_ascii=draw(st.booleans()))
    return frame[: draw(st.sampled_from([None, None, None, 1, 17, 60, 100]))]


frames = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=60),
    anything.map(json.dumps),
    almost_valid(),
    almost_valid(),
)


@pytest.mark.slow
@settings(
    max_examples=some(800),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(frames)
@example("[" * 30_000)
@example('{"type":' * 8_000)
@example('{"a":' + "9" * 5_000 + "}")
def test_any_frame_is_a_command_or_refused_in_our_words(frame: str) -> None:
    ref = ref_of(frame)
    assert len(ref) <= 64
    try:
        command = parse(frame)
    except BadCommand as error:
        assert IN_OUR_WORDS.fullmatch(error.message), error.message
    else:
        assert isinstance(command, get_args(AnyCommand))
        assert command.ref == ref
        assert "\0" not in getattr(command, "text", "") + getattr(command, "draft", "")


@pytest.mark.parametrize(
    ("type", "kind"), [("open", Open), ("send", Send), ("stop", Stop), ("preview", AskPreview)]
)
def test_a_valid_command_is_accepted(type: str, kind: type[AnyCommand]) -> None:
    assert parse(json.dumps(COMMANDS[type])).query == ""
    command = parse(json.dumps(COMMANDS[type] | {"ref": "7", "query": "historyPolicy=all"}))
    assert isinstance(command, kind)
    assert str(command.conversation) == ID
    assert (command.ref, command.query) == ("7", "historyPolicy=all")


@pytest.mark.parametrize("type", ["send", "preview"])
def test_a_message_may_reply_to_another(type: str) -> None:
    for reply_to, found in ((CLIENT, CLIENT), (None, "None")):
        command = parse(json.dumps(COMMANDS[type] | {"reply_to": reply_to}))
        assert isinstance(command, Send | AskPreview)
        assert str(command.reply_to) == found


@pytest.mark.parametrize(("type", "field"), FIELDS)
def test_a_missing_field_is_refused_by_name(type: str, field: str) -> None:
    remaining = {name: value for name, value in COMMANDS[type].items() if name != field}
    with pytest.raises(BadCommand, match=field):
        parse(json.dumps(remaining))


@pytest.mark.parametrize("wrong", [None, 7, [CANARY], {CANARY: CANARY}])
@pytest.mark.parametrize(("type", "field"), FIELDS)
def test_a_field_of_another_type_is_refused_by_name(type: str, field: str, wrong: object) -> None:
    with pytest.raises(BadCommand, match=field) as refused:
        parse(json.dumps(COMMANDS[type] | {field: wrong}))
    assert CANARY not in refused.value.message


@pytest.mark.parametrize("type", COMMANDS)
def test_an_unknown_field_is_refused_without_its_name(type: str) -> None:
    with pytest.raises(BadCommand, match=type) as refused:
        parse(json.dumps(COMMANDS[type] | {CANARY: 1}))
    assert CANARY not in refused.value.message


BAD_VALUES = {
    "another type": {"type": CANARY},
    "a type in capitals": {"type": "OPEN"},
    "a conversation that is no UUID": {"conversation": CANARY},
    "a conversation with a strange character": {"conversation": "☃" + ID[1:]},
    "an empty conversation": {"conversation": ""},
    "an agent with a path": {"agent": f"../{CANARY}"},
    "an agent with a NUL": {"agent": f"{CANARY}\0"},
    "an agent with a line's end": {"agent": f"{CANARY}\n"},
    "an empty agent": {"agent": ""},
    "an endless agent": {"agent": CANARY * 20},
    "an endless ref": {"ref": CANARY * 20},
    "an endless query": {"query": CANARY * 1_000},
    "NUL in a draft": {"draft": f"{CANARY}\0"},
    "a reply to what is no UUID": {"reply_to": CANARY},
}


@pytest.mark.parametrize("name", BAD_VALUES)
def test_a_bad_value_is_refused_and_not_repeated(name: str) -> None:
    with pytest.raises(BadCommand) as refused:
        parse(json.dumps(COMMANDS["preview"] | BAD_VALUES[name]))
    assert CANARY not in refused.value.message
    assert IN_OUR_WORDS.fullmatch(refused.value.message)


@pytest.mark.parametrize(
    "raw",
    ['"\\ud800"', '"\ud800"', "NaN", "Infinity", '"a\nb"', '"open', "{}", '"\\x41"', "tru"],
)
def test_a_frame_that_is_not_json_or_not_text_is_refused(raw: str) -> None:
    frame = json.dumps(COMMANDS["preview"]).replace('"draft": ""', f'"draft": {raw}')
    with pytest.raises(BadCommand):
        parse(frame)


def test_a_character_written_in_two_halves_is_text() -> None:
    command = parse(json.dumps(COMMANDS["send"] | {"text": "👍🏽"}))
    assert isinstance(command, Send)
    assert command.text == "👍🏽"


@pytest.mark.parametrize(
    ("frame", "ref"),
    [
        ('{"ref": "7", "type": "fly"}', "7"),
        ('{"ref": "7", "colour": "red"}', "7"),
        ('{"ref": 7}', ""),
        ('{"ref": "\\ud800"}', ""),
        ('{"ref": "' + "x" * 65 + '"}', ""),
        ('{"type": "stop"}', ""),
        ('["ref"]', ""),
        ("not JSON", ""),
        ("\ud800", ""),
        ("[" * 30_000, ""),
    ],
)
def test_the_ref_of_a_refused_frame_is_found_where_there_is_one(frame: str, ref: str) -> None:
    assert ref_of(frame) == ref
