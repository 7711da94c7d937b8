"""`relevant` quotes the lines of a result that gave way which a question asks for."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from chatsite.history import (
    Decision,
    Entry,
    Evidence,
    Previous,
    Transcript,
    Window,
    decide,
    resolve,
)
from chatsite.history.lexical.best_lines import AFTER, BEFORE, in_lines
from chatsite.history.policies.lexical_passages import passage_of
from chatsite.history.receipts.replay import StoredRequest, rebuild_messages
from chatsite.messages import Message, ToolCall
from conformance_kit.cases import with_tokens
from conformance_kit.strategies.adapter import counted_head

QUESTION = "Which tracking number has Ada's parcel?"
VALUE = "TRK-4711"
FILLER = [f"line {number}: nothing of interest happened here" for number in range(40)]


def path(question: str, *, excluded: bool = False) -> list[Entry]:
    """Six turns with a result of forty lines each; the first result has the value."""
    messages: list[Message] = []
    for number in range(6):
        lines = list(FILLER)
        if not number:
            lines[20] = f"parcel of Ada: tracking number {VALUE}"
        call = ToolCall(id=f"c{number}", name="list_orders")
        messages += [
            Message.user(f"List the orders of week {number}.", id=f"u{number}"),
            Message.assistant(None, id=f"a{number}", calls=(call,)),
            Message.tool("\n".join(lines), id=f"t{number}", call_id=call.id),
            Message.assistant("Nothing special there.", id=f"b{number}"),
        ]
    messages.append(Message.user(question, id="question"))
    return [
        Entry(message=with_tokens(one), seq=seq, excluded=excluded and seq == 3)
        for seq, one in enumerate(messages, 1)
    ]


def decided(entries: list[Entry], previous: Decision | None = None) -> Decision:
    return decide(
        Transcript(entries=tuple(entries)),
        resolve(
            environment={}, url={}, template={"historyPolicy": "relevant", "historyTokens": 2_000}
        ),
        head=counted_head(),
        window=Window(200_000, 256),
        evidence=Evidence(previous=Previous.from_dict(previous.to_stored()) if previous else None),
        agent="demo",
    )


def holders(decision: Decision) -> list[Message]:
    return [message for message in decision.request if VALUE in (message.content or "")]


def test_the_lines_around_the_value_are_quoted_as_those_of_a_result() -> None:
    found = decided(path(QUESTION))
    [message] = holders(found)
    assert message.role == "user"
    assert "Result of a tool: line 16" in (message.content or "")
    assert len((message.content or "").splitlines()) < BEFORE + AFTER + 1 + 8 + 3 * 14
    assert 3 in found.quoted
    assert found.tokens <= 2_000


def test_a_result_is_read_in_lines_as_it_is_stored() -> None:
    """As JSON on one line: pieces of it with the value would take the room of many lines."""
    entries = [
        replace(one, message=with_tokens(replace(one.message, content=json.dumps(text))))
        if one.message.role == "tool" and (text := one.message.content)
        else one
        for one in path(QUESTION)
    ]
    [stored], [plain] = holders(decided(entries)), holders(decided(path(QUESTION)))
    assert stored.content == plain.content


@given(
    st.recursive(
        st.text('ab, \n"\\'), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_lines_of_json_only_divide_it(value: object) -> None:
    stored = json.dumps(value)
    blank = str.maketrans("", "", " \n\\")
    plain = stored.replace("\\n", "").translate(blank)
    assert in_lines(stored).translate(blank) == plain


def test_a_message_that_asks_nothing_has_no_lines_quoted() -> None:
    assert holders(decided(path("Ada's parcel has a tracking number, fine."))) == []


def test_a_result_that_a_person_left_out_is_never_quoted() -> None:
    assert holders(decided(path(QUESTION, excluded=True))) == []


def test_the_lines_stay_where_they_were_quoted_and_are_built_again() -> None:
    entries = path(QUESTION)
    first = decided(entries)
    answer = Message.assistant("It has this one.", id="answer")
    entries += [
        Entry(message=with_tokens(answer), seq=26, quoted=first.quoted),
        Entry(message=with_tokens(Message.user("Thanks.", id="thanks")), seq=27),
    ]
    then = decided(entries, first)
    assert then.leading == first.tokens
    stored = StoredRequest(
        agent="demo", receipt=then.to_stored(), entries=tuple(entries), summaries={}
    )
    rebuilt, differences = rebuild_messages(stored, counted_head())
    assert differences == ()
    assert [one.content for one in rebuilt] == [one.content for one in then.request]


@given(st.text(alphabet="ab \n", max_size=2_000), st.sampled_from([QUESTION, "", "abab aaa?"]))
def test_a_passage_is_a_part_of_its_result(text: str, question: str) -> None:
    result = Entry(message=Message.tool(text, id="t", call_id="c"), seq=1)
    passage = passage_of(result, question).message.content or ""
    assert passage in text
    assert passage_of(replace(result), question).message.content == passage


def test_the_passage_stands_in_its_place_where_small_letters_are_more_characters() -> None:
    lines = ["İ" * 30, *("sand" for _ in range(40)), "the berth is 4711", *["sand"] * 40]
    result = Entry(message=with_tokens(Message.tool("\n".join(lines), id="r", call_id="c")), seq=1)
    found = passage_of(result, "Which berth?").message.content or ""
    assert "the berth is 4711" in found
    assert found.count("\n") == 11
