"""The live list: snapshots, listeners, and changes forbidden while a turn runs."""

from __future__ import annotations

import logging

import pytest

from chatsite.errors import BadRestore, TurnRunning
from chatsite.history import History
from chatsite.messages import Message, ToolCall

HELLO = Message.user("Hello", id="1")
ANSWER = Message.assistant("Hi!", id="2")


def test_a_snapshot_is_the_same_object_between_two_changes() -> None:
    history = History()
    assert history.snapshot() is history.snapshot()
    history.push(HELLO)
    before = history.snapshot()
    assert before is history.snapshot() == (HELLO,)
    history.push(ANSWER)
    assert before == (HELLO,)
    assert history.snapshot() == (HELLO, ANSWER)


def test_every_change_calls_each_listener_once() -> None:
    history = History()
    seen: list[int] = []
    history.subscribe(lambda: seen.append(len(history.snapshot())))
    history.push(HELLO)
    history.restore([HELLO, ANSWER])
    history.reset()
    history.reset()
    assert seen == [1, 2, 0, 0]


def test_a_listener_that_subscribes_twice_is_called_once_and_can_unsubscribe() -> None:
    history, seen = History(), []

    def listener() -> None:
        seen.append(1)

    leave = history.subscribe(listener)
    history.subscribe(listener)
    history.push(HELLO)
    leave()
    leave()
    history.push(ANSWER)
    assert seen == [1]


def test_a_listener_that_raises_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    history, seen = History(), []

    def broken() -> None:
        raise RuntimeError("no")

    history.subscribe(broken)
    history.subscribe(lambda: seen.append(1))
    with caplog.at_level(logging.ERROR):
        history.push(HELLO)
    assert seen == [1]
    assert history.snapshot() == (HELLO,)
    assert "a listener of a history failed" in caplog.text


def test_a_listener_removed_by_another_one_is_not_called() -> None:
    history, seen = History(), []
    history.subscribe(lambda: leave())
    leave = history.subscribe(lambda: seen.append(1))
    history.push(HELLO)
    assert seen == []


def test_while_a_turn_runs_messages_can_only_be_added() -> None:
    history = History([HELLO])
    with history.running():
        with pytest.raises(TurnRunning):
            history.reset()
        with pytest.raises(TurnRunning):
            history.restore([])
        with pytest.raises(TurnRunning), history.running():
            pass
        history.push(ANSWER)
    assert history.snapshot() == (HELLO, ANSWER)
    history.reset()


def test_a_turn_that_fails_unlocks_the_list() -> None:
    history = History()
    with pytest.raises(RuntimeError), history.running():
        raise RuntimeError
    history.reset()


def test_a_system_message_is_refused() -> None:
    with pytest.raises(ValueError, match="system"):
        History().push(Message.system("Be kind.", id="s"))


CALL = Message.assistant(None, id="c", calls=(ToolCall(id="x", name="search"),))
RESULT = Message.tool("{}", id="r", call_id="x")


@pytest.mark.parametrize(
    ("messages", "place", "words"),
    [
        ([HELLO, Message.system("Be kind.", id="s")], 1, "system message"),
        ([HELLO, HELLO], 1, "appears twice"),
        ([Message.user("Hi", id="")], 0, "no id"),
        ([Message.user("  ", id="1")], 0, "needs text or at least one attachment"),
        ([HELLO, RESULT], 1, "result of the call 'x'"),
        ([HELLO, CALL], 1, "not every one of its tool calls"),
        ([HELLO, CALL, ANSWER, RESULT], 1, "not every one of its tool calls"),
        ([HELLO, CALL, RESULT, Message.tool("{}", id="r2", call_id="x")], 3, "result of the call"),
        ([Message(id="1", role="user", content="Hi", calls=CALL.calls)], 0, "can't call tools"),
        ([Message(id="1", role="user", content="Hi", call_id="x")], 0, "is no tool result"),
        ([Message(id="1", role="data", content="Hi")], 0, "'data' is not known"),  # type: ignore[arg-type]
    ],
)
def test_restore_names_the_message_it_cant_take_and_changes_nothing(
    messages: list[Message], place: int, words: str
) -> None:
    history, seen = History([HELLO, ANSWER]), []
    history.subscribe(lambda: seen.append(1))
    with pytest.raises(BadRestore, match=f"^Message {place} can't be restored: ") as refusal:
        history.restore(messages)
    assert words in refusal.value.message
    assert history.snapshot() == (HELLO, ANSWER)
    assert seen == []


def test_restore_takes_whole_conversations_as_they_are() -> None:
    stopped = Message.assistant("", id="3")
    messages = [Message.assistant("Welcome!", id="0"), HELLO, CALL, RESULT, ANSWER, stopped]
    history = History()
    history.restore(messages)
    assert history.snapshot() == tuple(messages)
    assert all(
        stored is restored for stored, restored in zip(history.snapshot(), messages, strict=True)
    )
