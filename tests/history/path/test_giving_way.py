"""Results of tools and texts of files give way before talk: as a line each, in steps, and they come
back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.errors import PromptTooLarge
from chatsite.history import (
    Decision,
    Entry,
    Evidence,
    Previous,
    StoredRun,
    Transcript,
    Window,
    decide,
    resolve,
)
from chatsite.history.evidence import (
    BECAUSE_OF_ROOM,
    GAVE_WAY,
    GAVE_WAY_WITH_VALUES,
    LEFT_OUT,
)
from chatsite.history.receipts.replay import StoredRequest, rebuild_messages
from chatsite.messages import Attachment, Message, ToolCall
from conformance_kit.cases import with_tokens
from conformance_kit.strategies.adapter import counted_head

LIMIT = 2_000


def turn(number: int, *, result: int = 0, results: int = 1, asked: bool = False) -> list[Message]:
    """A turn of four messages, with `results` of so many words; `asked`: it isn't answered yet."""
    calls = tuple(
        ToolCall(id=f"call-{number}-{index}", name="search", arguments={"page": index})
        for index in range(results if result else 0)
    )
    found = [Message.user(f"Question {number}: what is in the harbour?", id=f"u{number}")]
    if calls:
        found.append(Message.assistant(None, id=f"c{number}", calls=calls))
        found += [
            Message.tool(f"{call.id} " + "quay " * result, id=f"r{call.id}", call_id=call.id)
            for call in calls
        ]
    if not asked:
        found.append(Message.assistant(f"Answer {number}: a quay and two cranes.", id=f"a{number}"))
    return found


def entries_of(messages: Iterable[Message], **marks: dict[str, Any]) -> tuple[Entry, ...]:
    """`marks` by the message's id."""
    return tuple(
        Entry(message=with_tokens(message), seq=seq, **marks.get(message.id, {}))
        for seq, message in enumerate(messages, 1)
    )


def talk(turns: int, *, result: int = 300) -> list[Message]:
    """So many turns with a result of 300 words each, and a question."""
    found = [message for number in range(1, turns + 1) for message in turn(number, result=result)]
    return [*found, *turn(turns + 1, asked=True)]


def decision(
    entries: tuple[Entry, ...],
    template: dict[str, object] | None = None,
    previous: Decision | None = None,
    *,
    policy: str = "tokens",
    limit: int = LIMIT,
) -> Decision:
    before = Previous.from_dict(previous.to_stored()) if previous else None
    settings = {"historyPolicy": policy, "historyTokens": limit, "historyLength": 99}
    return decide(
        Transcript(entries=entries),
        resolve(environment={}, url={}, template={**settings, **(template or {})}),
        head=counted_head(),
        window=Window(200_000, 256),
        evidence=Evidence(previous=before),
        agent="demo",
    )


def gave_way(found: Decision) -> set[int]:
    runs = (item for item in found.layout if isinstance(item, StoredRun))
    return {run.first for run in runs if run.shortened in BECAUSE_OF_ROOM}


def reason_of(found: Decision, seq: int) -> str:
    return next(one.reason for one in found.verdicts if one.first <= seq <= one.last)


@pytest.mark.parametrize("policy", ["tokens", "all", "lastN", "relevant", "summary"])
def test_where_there_is_no_room_old_results_become_lines_and_no_talk_goes(policy: str) -> None:
    entries = entries_of(talk(12))
    found = decision(entries, policy=policy)
    assert found.tokens <= LIMIT
    said = [message.content for message in found.request if message.role in ("user", "assistant")]
    wanted = [e.message.content for e in entries if e.message.role in ("user", "assistant")]
    assert said[-len(wanted) :] == wanted, "all talk is sent"
    gone = gave_way(found)
    results = [entry.seq for entry in entries if entry.message.role == "tool"]
    assert gone == set(results[: len(gone)]), "the oldest give way"
    assert {reason_of(found, seq) for seq in gone} == {"gave_way"}
    assert found.gave_way[0] == len(gone)
    assert found.gave_way[1] > 300 * len(gone)
    line = next(m.content for m in found.request if m.role == "tool")
    assert line == (
        "[Result of search, about 377 tokens, left out to make room; ask for it again if it is "
        "needed]"
    )


@pytest.mark.parametrize(("kept", "whole"), [(0, 0), (1, 1), (2, 2), (99, 2)])
def test_the_newest_results_stay_as_far_as_they_take_half_of_the_room(
    kept: int, whole: int
) -> None:
    found = decision(entries_of(talk(9)), {"historyKeepResults": kept, "historyLowWater": 1})
    assert gave_way(found) == {4 * number - 1 for number in range(1, 10 - whole)}


def test_a_batch_that_frees_too_little_is_not_made() -> None:
    found = decision(entries_of(talk(12)), {"historyLeastFreed": 100_000})
    assert gave_way(found) == set()
    assert found.cut is not None


def test_results_give_way_earlier_where_the_settings_say_so() -> None:
    entries = entries_of(talk(8))
    roomy = decision(entries, limit=100_000)
    assert gave_way(roomy) == set()
    share = 100 * roomy.tokens // 100_000
    found = decision(entries, {"historyGiveWayAt": share}, limit=100_000)
    assert len(gave_way(found)) > 0
    assert found.cut is None


def test_what_gave_way_stays_so_and_the_beginning_changes_only_with_the_next_batch() -> None:
    messages: list[Message] = []
    before: Decision | None = None
    batches, moved = 0, 0
    for number in range(1, 41):
        messages += turn(number, asked=True)
        found = decision(entries_of(messages), previous=before, limit=6_000)
        if before is not None:
            assert gave_way(before) <= gave_way(found) | set(range(1, found.cut or 1))
            batches += gave_way(found) > gave_way(before)
            moved += found.leading < before.tokens - 200
        before = found
        messages = messages[:-1] + turn(number, result=300)
    assert before is not None
    assert before.tokens <= 6_000
    assert 2 <= batches <= moved <= 6, (batches, moved)


def test_what_gave_way_comes_back_where_there_is_more_room() -> None:
    entries = entries_of(talk(12))
    before = decision(entries)
    assert gave_way(before)
    assert gave_way(decision(entries, previous=before, limit=100_000)) == set()


def test_a_kept_result_and_those_of_a_pinned_turn_never_give_way() -> None:
    messages = talk(12)
    first, second = [m.id for m in messages if m.role == "tool"][:2]
    pinned = next(m.id for m in messages if m.calls and m.calls[0].id in second)
    entries = entries_of(messages, **{first: {"kept_whole": True}, pinned: {"pinned": True}})
    found = decision(entries, limit=3_000)
    whole = {m.id for m in found.request if m.role == "tool" and "quay quay" in (m.content or "")}
    assert {first, second} <= whole
    assert gave_way(found)


def test_a_result_that_a_person_left_out_is_a_line_and_its_turn_stays() -> None:
    messages = talk(2)
    result = next(m.id for m in messages if m.role == "tool")
    entries = entries_of(messages, **{result: {"excluded": True}})
    found = decision(entries, limit=100_000)
    seq = next(entry.seq for entry in entries if entry.message.id == result)
    assert reason_of(found, seq) == "excluded"
    assert reason_of(found, seq - 1) == "within_budget"
    assert StoredRun(seq, seq, LEFT_OUT) in found.layout
    line = next(m.content for m in found.request if m.id == result)
    assert line == "[Result of search, about 377 tokens, left out by the user]"
    assert found.gave_way == (0, 0)


def test_the_line_for_a_result_is_one_short_line_whatever_its_tool_is_called() -> None:
    name = "search\n\nSystem: " * 400
    call = ToolCall(id="odd", name=name)
    odd = [
        Message.user("What is there?", id="u0"),
        Message.assistant(None, id="c0", calls=(call,)),
        Message.tool("quay " * 300, id="r0", call_id="odd"),
    ]
    found = decision(entries_of([*odd, *talk(9)]), limit=3_000)
    assert 3 in gave_way(found)
    line = next(message.content or "" for message in found.request if message.id == "r0")
    assert "\n" not in line
    assert len(line) < 200


def with_values(messages: list[Message]) -> tuple[Entry, ...]:
    results = [message.id for message in messages if message.role == "tool"]
    return entries_of(messages, **{id: {"anchors": f"berth: B-{id}"} for id in results})


@pytest.mark.parametrize(
    ("wanted", "policies"),
    [("auto", {"tokens", "all", "lastN", "summary"}), ("off", set())]
    + [("on", {"tokens", "all", "lastN", "summary", "relevant"})],
)
def test_exact_values_of_a_result_stand_in_its_line(wanted: str, policies: set[str]) -> None:
    """Where no policy quotes them when they are asked for, unless the settings say otherwise."""
    entries = with_values(talk(12))
    for policy in ("tokens", "all", "lastN", "summary", "relevant"):
        found = decision(entries, {"historyAnchors": wanted}, policy=policy)
        assert found.tokens <= LIMIT
        line = next(m.content or "" for m in found.request if m.role == "tool")
        assert ("It has: berth: B-r" in line) == (policy in policies), policy
        shortened = {run.shortened for run in found.layout if isinstance(run, StoredRun)} - {0}
        assert shortened == {GAVE_WAY_WITH_VALUES if policy in policies else GAVE_WAY}
    assert line.startswith("[Result of search, about 377 tokens, left out")


def test_a_result_without_values_has_the_line_without_them() -> None:
    found = decision(entries_of(talk(12)))
    assert {run.shortened for run in found.layout if isinstance(run, StoredRun)} == {0, GAVE_WAY}


@pytest.mark.parametrize("wanted", ["auto", "off"])
def test_a_request_is_built_again_with_the_values_that_it_had(wanted: str) -> None:
    """Whatever the settings say now: the receipt tells it of each line."""
    entries = with_values(talk(12))
    found = decision(entries, {"historyAnchors": wanted})
    kept = StoredRequest(agent="demo", receipt=found.to_stored(), entries=entries, summaries={})
    rebuilt, differences = rebuild_messages(kept, counted_head())
    assert not differences
    assert [m.content for m in rebuilt] == [m.content for m in found.request]


def test_what_gave_way_with_values_stays_so_and_the_beginning_with_it() -> None:
    messages = talk(12)
    first = decision(with_values(messages))
    messages = [*messages, Message.assistant("There is.", id="a"), Message.user("And?", id="u")]
    found = decision(with_values(messages), previous=first)
    assert gave_way(first) <= gave_way(found)
    assert found.leading > first.tokens - 50


def test_a_file_whose_text_is_as_short_as_its_line_stays() -> None:
    note = Attachment(id="f", name="note.txt", size=9, modality="document", characters=9)
    asked = with_tokens(Message.user("Read this. " * 40, note, id="u0"))
    entries = entries_of([asked, *talk(12)])
    assert 1 not in gave_way(decision(entries))


def test_texts_of_files_give_way_and_the_words_beside_them_stay() -> None:
    survey = Attachment(id="f", name="survey.pdf", size=9, modality="document", characters=40_000)
    asked = Message.user("Read this.", survey, id="u0")
    tokens = replace(with_tokens(asked).tokens or pytest.fail(), count=10_000)
    answer = Message.assistant("A survey of quays.", id="a0")
    entries = entries_of([asked, answer, *talk(3)])
    entries = (replace(entries[0], message=replace(asked, tokens=tokens)), *entries[1:])
    found = decision(entries)
    assert found.request[len(counted_head().messages)].content == (
        "Read this.\n\nFile: survey.pdf [its text, about 10,000 tokens, left out to make room]"
    )
    assert reason_of(found, 1) == "gave_way"
    assert found.gave_way[1] > 9_900


def test_results_of_the_running_turn_give_way_but_for_what_the_model_has_yet_to_read() -> None:
    asked = [*turn(1, result=300, results=6, asked=True)]
    more = turn(2, result=100, results=4, asked=True)[1:]
    found = decision(entries_of([*asked, *more]))
    assert gave_way(found) == {3, 4, 5, 6, 7}, "the newest that was read stays"
    assert found.tokens <= LIMIT
    part = next(one.tokens for one in found.parts if one.name == "current")
    assert part == sum(m.tokens.count for m in found.request[-13:] if m.tokens)
    with pytest.raises(PromptTooLarge):
        decision(entries_of(turn(1, result=300, results=9, asked=True)))


@given(st.data())
def test_the_request_is_whole_within_its_limit_and_can_be_built_again(data: st.DataObject) -> None:
    """Whatever calls there are: no call without its results, no result without its call."""
    messages: list[Message] = []
    for number in range(1, data.draw(st.integers(2, 14))):
        messages += turn(
            number,
            result=data.draw(st.sampled_from([0, 5, 80, 300, 900])),
            results=data.draw(st.integers(1, 4)),
        )
    messages += turn(99, asked=True)
    values = st.sampled_from(["", "id: A-17", "size: 4096; src/quay.py:12; tracking: TRK10020030"])
    flags = st.fixed_dictionaries({"anchors": values}, optional={"kept_whole": st.just(True)})
    marks = {m.id: data.draw(flags) for m in messages if m.role == "tool"}
    entries = entries_of(messages, **marks)
    template: dict[str, object] = {
        "historyGiveWayAt": data.draw(st.sampled_from([20, 60, 100])),
        "historyKeepResults": data.draw(st.integers(0, 4)),
        "historyLowWater": data.draw(st.sampled_from([20, 50, 100])),
        "historyAnchors": data.draw(st.sampled_from(["auto", "on", "off"])),
    }
    policy = data.draw(st.sampled_from(["tokens", "all", "lastN", "relevant", "summary"]))
    first = decision(entries, template, policy=policy)
    found = decision(entries, template, first, policy=policy)
    assert found.request == first.request, "the same path again changes nothing"
    assert found.tokens <= LIMIT
    assert found.tokens == sum(m.tokens.count for m in found.request if m.tokens)
    waiting: list[str] = []
    for message in found.request:
        if message.role == "tool":
            assert message.call_id == waiting.pop(0)
        else:
            assert not waiting
            waiting = [call.id for call in message.calls]
    kept = StoredRequest(agent="demo", receipt=found.to_stored(), entries=entries, summaries={})
    rebuilt, differences = rebuild_messages(kept, counted_head())
    assert not differences
    assert [m.content for m in rebuilt] == [m.content for m in found.request]
