"""The checks: what holds of every request, whoever chose it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from chatsite.messages import Message
from conformance_kit.cases import CaseEntry, total_tokens
from conformance_kit.trials import PolicyRefused, Trial


def p1_calls_and_results_are_whole(trial: Trial) -> None:
    rest = list(trial.history)
    while rest:
        message = rest.pop(0)
        assert message.role != "tool", "a result without its call directly before it"
        called = [call.id for call in message.calls]
        answered = []
        while called and rest and rest[0].role == "tool":
            answered.append(rest.pop(0).call_id)
        missing = set(called) - set(answered)
        assert not missing, f"a call without its result: {', '.join(sorted(missing))}"
        assert len(answered) == len(called), "more than one result for a call"
        assert len(set(called)) == len(called), "two calls with one id"


def p2_reasoning_never_stands_alone(trial: Trial) -> None:
    for message in trial.history:
        says = message.calls or message.attachments or message.role == "user" or message.content
        assert says, "an answer that says nothing and calls nothing"


def p2_messages_are_untouched(trial: Trial) -> None:
    stored = {entry.message.id: entry.message for entry in trial.entries}
    for message in trial.history:
        given = stored.get(message.id, message)
        whole = message is given or _is_cut(message, given, trial.cut_mark)
        assert whole, f"not as it was stored: {message.role} {message.id}"


def _is_cut(message: Message, given: Message, cut_mark: str) -> bool:
    """Whether an answer was cut to its beginning and marked so, where the subject may do that."""
    if not cut_mark:
        return False
    beginning, mark, rest = (message.content or "").partition(cut_mark)
    same = replace(given, content=message.content, metadata="", tokens=message.tokens) == message
    cut = bool(mark) and not rest and (given.content or "").startswith(beginning)
    return same and cut and given.role == "assistant"


def p3_a_user_begins(trial: Trial) -> None:
    said = [message for message in trial.history if message.role != "system"]
    assert not said or said[0].role == "user", f"it begins with the role {said[0].role}"


def p4_the_current_turn_ends_it(trial: Trial) -> None:
    current = [entry.message.id for entry in trial.current]
    assert trial.history and trial.history[-1].id in current, "it doesn't end in the current turn"


def p5_the_current_message_is_there_untouched(trial: Trial) -> None:
    asked = trial.current[0].message
    found = sum(message is asked for message in trial.request)
    assert found == 1, f"the message being asked is there {found} times"


def p6_never_empty(trial: Trial) -> None:
    assert any(message.role == "user" for message in trial.history), "no user message is left"


def p7_instructions_first_and_kept(trial: Trial) -> None:
    wanted = [
        entry.message
        for entry in trial.entries
        if entry.message.role == "system" and not entry.excluded and entry.seq >= trial.marker
    ]
    instructions = [*trial.case.instructions, *wanted]
    found = [message for message in trial.request if message.role == "system"]
    stored = [message for message in found if message not in trial.written]
    assert stored == instructions, (
        f"{len(instructions)} instructions were there, {len(stored)} are sent, or changed"
    )
    assert list(trial.request[: len(found)]) == found, "instructions stand behind something else"


def p8_within_the_limit(trial: Trial) -> None:
    taken, limit = total_tokens(trial.request), trial.case.limit
    assert taken <= limit, f"{taken:,} tokens where {limit:,} are allowed"


def p9_in_order_and_once(trial: Trial) -> None:
    places = {entry.message.id: entry.seq for entry in trial.entries}
    stored = [message for message in trial.history if message.id in places]
    said = [places[message.id] for message in stored if message.role != "system"]
    assert said == sorted(set(said)), "messages in another order, or twice"


def p10_more_room_sends_more(trial: Trial) -> None:
    less = trial.case.afresh.within(max(1, trial.case.limit * 3 // 4))
    more = trial.subject.run(trial.case.afresh)
    with suppress(PolicyRefused):
        fewer = trial.subject.run(less)
        known = {message.content for message in fewer.written}
        if any(message.content not in known for message in more.written):
            return  # a text that finds room now, such as a background task's note, takes it first
        lost = fewer.sent - more.sent
        assert not lost, f"sent with three quarters of the room, and not with all of it: {lost}"


def p12_deciding_again_changes_nothing(trial: Trial) -> None:
    # A mark on a message that can't be sent still keeps its turn.
    spared = {turn[0].seq for turn in trial.older if trial.is_spared(turn)}
    kept = tuple(
        replace(entry, pinned=entry.pinned or entry.seq in spared)
        for entry in trial.entries
        if entry.seq in trial.sent
    )
    again = trial.subject.run(trial.case.afresh.with_entries(kept))
    assert again.sent == trial.sent, f"of what it sent, it now sends {sorted(again.sent)}"


def p13_the_same_input_gives_the_same_request(trial: Trial) -> None:
    assert trial.subject.run(trial.case).request == trial.request, "another request the second time"


def p14_names_and_metadata_dont_matter(trial: Trial) -> None:
    entries = tuple(replace(entry, message=_renamed(entry.message)) for entry in trial.entries)
    case = trial.case.with_entries(entries)
    assert trial.subject.run(case).sent == trial.sent, "other ids, another choice"


def _renamed(message: Message) -> Message:
    return replace(
        message,
        id=f"other-{message.id}",
        reply_to=message.reply_to and f"other-{message.reply_to}",
        call_id=message.call_id and f"other-{message.call_id}",
        calls=tuple(replace(call, id=f"other-{call.id}") for call in message.calls),
        metadata='{"more": []}',
    )


def p16_what_fits_is_not_touched(trial: Trial) -> None:
    if total_tokens(trial.unguarded.request) <= trial.case.limit:
        lost = trial.unguarded.sent - trial.sent
        assert not lost, f"left out although all of it fits: {sorted(lost)}"
        assert trial.sent == trial.unguarded.sent


def p19_the_running_tool_rounds_stay(trial: Trial) -> None:
    for entry in _whole_rounds(trial.current):
        assert entry.seq in trial.sent, f"the running call {entry.seq} is left out"


def _whole_rounds(turn: Sequence[CaseEntry]) -> list[CaseEntry]:
    """Messages with calls that have all their results."""
    found = []
    for place, entry in enumerate(turn):
        called = [call.id for call in entry.message.calls]
        results: list[str | None] = []
        for later in turn[place + 1 :]:
            if later.message.role != "tool":
                break
            results.append(later.message.call_id)
        if called and len(set(called)) == len(called) and set(called) <= set(results):
            found.append(entry)
    return found


def p22_nothing_comes_from_elsewhere(trial: Trial) -> None:
    if not trial.may_write:
        foreign = [message.id for message in trial.written]
        assert not foreign, f"messages that were not given: {', '.join(foreign)}"
