"""Single decisions: which messages are sent, which are left out, and the receipt about them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import pytest

from chatsite.errors import PromptTooLarge
from chatsite.history import (
    Decision,
    Entry,
    Evidence,
    Head,
    NotLoaded,
    Previous,
    Transcript,
    Window,
    decide,
    resolve,
)
from chatsite.messages import Message, Source, ToolCall
from conformance_kit.cases import with_tokens
from conformance_kit.strategies.adapter import counted_head

HEAD = counted_head()
WIDE = Window(1_000_000, 256)


def user(seq: int, tokens: int = 10, *, source: Source = "web", **marks: Any) -> Entry:
    message = Message.user(f"question {seq}", id=f"m{seq}", source=source)
    return Entry(message=with_tokens(message, tokens), seq=seq, **marks)


def answer(seq: int, tokens: int = 10, **marks: Any) -> Entry:
    message = Message.assistant(f"answer {seq}", id=f"m{seq}")
    return Entry(message=with_tokens(message, tokens), seq=seq, **marks)


def call(seq: int, *ids: str, **marks: Any) -> Entry:
    calls = tuple(ToolCall(id=id, name="search") for id in ids)
    return Entry(
        message=with_tokens(Message.assistant(None, id=f"m{seq}", calls=calls), 10),
        seq=seq,
        **marks,
    )


def result(seq: int, id: str) -> Entry:
    return Entry(message=with_tokens(Message.tool("{}", id=f"m{seq}", call_id=id), 10), seq=seq)


def system(seq: int, **marks: Any) -> Entry:
    return Entry(
        message=with_tokens(Message.system("Be kind.", id=f"m{seq}"), 10), seq=seq, **marks
    )


def decision_on(
    entries: Sequence[Entry],
    policy: str = "all",
    *,
    length: int = 20,
    tokens: int | None = None,
    low_water: int = 50,
    window: Window = WIDE,
    head: Head = HEAD,
    not_loaded: NotLoaded | None = None,
    previous: Previous | None = None,
) -> Decision:
    template: dict[str, object] = {
        "historyPolicy": policy,
        "historyLength": length,
        "historyTokens": tokens,
        "historyLowWater": low_water,
    }
    return decide(
        Transcript(entries=tuple(entries), not_loaded=not_loaded or NotLoaded()),
        resolve(environment={}, url={}, template=template),
        head=head,
        window=window,
        evidence=Evidence(previous=previous),
        agent="demo",
    )


def sent(decision: Decision) -> list[int]:
    """The sequence numbers in the order of the request, without the head."""
    head = {message.id for message in HEAD.messages}
    return [int(m.id[1:]) for m in decision.request if m.id not in head]


def reasons(decision: Decision) -> list[tuple[int, int, str]]:
    return [(v.first, v.last, v.reason) for v in decision.verdicts if v.first]


PATH = [user(1), answer(2), user(3), answer(4), user(5), answer(6), user(7)]


def test_last_n_sends_the_last_user_messages_and_their_answers() -> None:
    decision = decision_on(PATH, "lastN", length=2)
    assert sent(decision) == [5, 6, 7]
    assert decision.request[: len(HEAD.messages)] == HEAD.messages
    assert reasons(decision) == [(1, 4, "over_length"), (5, 6, "within_length"), (7, 7, "current")]
    assert decision.horizon == 5
    assert (decision.stored, decision.sent) == (7, 3)


def test_a_length_of_zero_acts_as_one() -> None:
    assert sent(decision_on(PATH, "lastN", length=0)) == [7]


def test_none_sends_the_message_and_its_tool_rounds() -> None:
    running = [*PATH, call(8, "a", "b"), result(9, "b"), result(10, "a")]
    decision = decision_on(running, "none")
    assert sent(decision) == [7, 8, 9, 10]
    assert decision.horizon == 7


def test_all_has_no_horizon() -> None:
    decision = decision_on(PATH, "all")
    assert sent(decision) == [1, 2, 3, 4, 5, 6, 7]
    assert decision.horizon is None


def test_a_greeting_is_never_sent_and_makes_no_horizon() -> None:
    decision = decision_on([answer(1), answer(2), user(3), answer(4), user(5)], "all")
    assert sent(decision) == [3, 4, 5]
    assert reasons(decision)[0] == (1, 2, "greeting")
    assert decision.horizon is None


def test_the_head_comes_before_everything_under_every_policy() -> None:
    both = counted_head(prefilled=True)
    for policy in ("none", "lastN", "all"):
        decision = decision_on(PATH, policy, head=both)
        assert decision.request[:3] == both.messages
        kinds = [(v.reason, v.messages) for v in decision.verdicts if not v.first]
        assert kinds == [("system", 1), ("prefilled", 2)]


def test_instructions_inside_the_path_follow_those_of_the_head() -> None:
    both = counted_head(prefilled=True)
    decision = decision_on([user(1), system(2), answer(3), user(4)], "lastN", length=1, head=both)
    assert [message.role for message in decision.request] == [
        "system",
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert reasons(decision)[1] == (2, 2, "system")


def test_nothing_above_a_marker_is_sent_not_even_a_pinned_turn_or_an_instruction() -> None:
    path = [system(1), user(2, pinned=True), answer(3), user(4, forgets_above=True), user(5)]
    decision = decision_on(path)
    assert sent(decision) == [4, 5]
    assert reasons(decision)[0] == (1, 3, "above_marker")
    assert decision.horizon == 4


def test_a_marker_inside_a_turn_takes_the_whole_turn() -> None:
    path = [user(1), answer(2), user(3), answer(4, forgets_above=True), user(5)]
    assert sent(decision_on(path)) == [5]


def test_a_marker_in_the_current_turn_does_not_cut_the_message() -> None:
    path = [user(1), answer(2), user(3), answer(4, forgets_above=True)]
    assert sent(decision_on(path)) == [3, 4]


def test_an_excluded_question_takes_its_turn_and_an_excluded_answer_itself() -> None:
    path = [user(1, excluded=True), answer(2), user(3), answer(4, excluded=True), user(5)]
    decision = decision_on(path)
    assert sent(decision) == [3, 5]
    assert reasons(decision) == [
        (1, 2, "excluded"),
        (3, 3, "within_budget"),
        (4, 4, "excluded"),
        (5, 5, "current"),
    ]


def test_an_excluded_tool_call_takes_its_turn() -> None:
    path = [user(1), call(2, "a", excluded=True), result(3, "a"), answer(4), user(5)]
    assert sent(decision_on(path)) == [5]


def test_an_excluded_turn_still_counts_towards_the_length() -> None:
    path = [user(1), answer(2), user(3, excluded=True), answer(4), user(5)]
    assert sent(decision_on(path, "lastN", length=2)) == [5]


def test_a_pin_keeps_its_turn_in_its_place() -> None:
    path = [user(1), answer(2, pinned=True), *PATH[2:]]
    decision = decision_on(path, "lastN", length=2)
    assert sent(decision) == [1, 2, 5, 6, 7]
    assert reasons(decision)[0] == (1, 2, "pinned")
    assert decision.horizon == 5


def test_a_pin_directly_above_the_tail_belongs_to_it() -> None:
    path = [*PATH[:2], user(3, pinned=True), *PATH[3:]]
    assert decision_on(path, "lastN", length=2).horizon == 3


def test_the_message_replied_to_comes_with_its_turn() -> None:
    reply = replace(PATH[-1], message=replace(PATH[-1].message, reply_to="m2"))
    decision = decision_on([*PATH[:-1], reply], "none")
    assert sent(decision) == [1, 2, 7]
    assert reasons(decision)[0] == (1, 2, "replied_to")


@pytest.mark.parametrize("policy", ["none", "lastN", "all"])
def test_background_turns_are_not_sent_and_not_counted(policy: str) -> None:
    path = [user(1), answer(2), user(3, source="scheduled"), answer(4), user(5)]
    decision = decision_on(path, policy, length=2)
    assert sent(decision) == ([5] if policy == "none" else [1, 2, 5])
    assert (3, 4, "background") in reasons(decision)


def test_a_background_turn_that_somebody_pinned_is_sent() -> None:
    path = [user(1, source="briefing", pinned=True), answer(2), user(3)]
    assert sent(decision_on(path, "lastN", length=1)) == [1, 2, 3]


def test_a_background_turn_of_its_own_is_sent_whole() -> None:
    scheduled = user(3, source="scheduled")
    report = replace(answer(4), message=replace(answer(4).message, source="scheduled"))
    assert sent(decision_on([user(1), answer(2), scheduled, report], "none")) == [3, 4]


def test_a_budget_cuts_whole_turns_down_to_the_low_water_mark() -> None:
    path = [entry for n in range(1, 21, 2) for entry in (user(n), answer(n + 1))] + [user(21)]
    decision = decision_on(path, tokens=HEAD_TOKENS + 100)
    assert decision.limit == HEAD_TOKENS + 100
    # The room is 90 tokens beside the head and the current message; two turns take 40.
    assert decision.tokens == HEAD_TOKENS + 10 + 40
    assert decision.cut == decision.horizon == sent(decision)[0]
    assert reasons(decision)[0][2] == "above_cut"
    assert decision.to_dict()["verdicts"][1]["sentence"] == (
        f"above the cut: the budget of {HEAD_TOKENS + 100} tokens was exceeded, so the oldest "
        "turns went at once, down to 50% of the room; the beginning then stays the same"
    )


HEAD_TOKENS = sum(message.tokens.count for message in HEAD.messages if message.tokens)


def test_the_window_bounds_every_policy_and_has_its_own_reason() -> None:
    decision = decision_on(PATH, "lastN", window=Window(HEAD_TOKENS + 60, 10), tokens=5_000)
    assert reasons(decision)[0][2] == "over_window"
    assert decision.limit == HEAD_TOKENS + 50
    assert decision.tokens <= decision.limit


def test_pinned_turns_are_dropped_last_and_only_over_the_limit_itself() -> None:
    path = [user(1, 30, pinned=True), user(2, 30), user(3, 30, pinned=True), user(4, 30), user(5)]
    some = decision_on(path, tokens=HEAD_TOKENS + 70)
    assert sent(some) == [1, 3, 5]
    assert reasons(some) == [
        (1, 1, "pinned"),
        (2, 2, "over_budget"),
        (3, 3, "pinned"),
        (4, 4, "over_budget"),
        (5, 5, "current"),
    ]
    assert sent(decision_on(path, tokens=HEAD_TOKENS + 69)) == [3, 5]


@pytest.mark.parametrize("policy", ["lastN", "all", "tokens", "relevant", "summary", "strategy"])
def test_a_message_whose_answer_failed_is_not_sent_with_later_ones(policy: str) -> None:
    path = [user(1), answer(2), user(3, unanswered=True), user(4), answer(5), user(6)]
    decision = decision_on(path, policy)
    assert sent(decision) == [1, 2, 4, 5, 6]
    assert reasons(decision)[1] == (3, 3, "unanswered")
    assert decision.horizon is None
    pinned = [replace(entry, pinned=entry.seq == 3) for entry in path]
    assert sent(decision_on(pinned, policy)) == [1, 2, 3, 4, 5, 6]
    # The turn that is tried again is the current one, which is always sent.
    assert sent(decision_on(path[:3], policy)) == [1, 2, 3]


def test_messages_that_merely_follow_each_other_are_all_sent() -> None:
    assert sent(decision_on([user(1), user(2), user(3)])) == [1, 2, 3]


def test_a_failed_message_keeps_its_place_in_the_length() -> None:
    """As an excluded one does: nothing older comes in its place when the answer is tried again."""
    path = [user(1), answer(2), user(3), answer(4), user(5, unanswered=True), user(6)]
    assert sent(decision_on(path, "lastN", length=3)) == [3, 4, 6]


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (5_000, "the message itself, with 5,000 tokens"),
        (1, "the agent's instructions, with 8 tokens"),
    ],
)
def test_a_request_that_can_never_fit_is_refused_naming_its_largest_part(
    tokens: int, words: str
) -> None:
    with pytest.raises(PromptTooLarge) as refusal:
        decision_on([user(1, tokens)], tokens=5)
    assert words in refusal.value.message
    assert "Your text is kept" in refusal.value.message


def test_a_reserve_larger_than_the_window_is_refused_too() -> None:
    with pytest.raises(PromptTooLarge, match="0 are allowed"):
        decision_on([user(1)], window=Window(100, 200))


def test_broken_tool_groups_and_empty_answers_are_not_sent() -> None:
    path = [user(1), call(2, "a", "b"), result(3, "a"), answer(4), user(5), result(6, "x"), user(7)]
    decision = decision_on(path)
    assert sent(decision) == [1, 4, 5, 7]
    assert [r for r in reasons(decision) if r[2] == "incomplete_tool_group"] == [
        (2, 3, "incomplete_tool_group"),
        (6, 6, "incomplete_tool_group"),
    ]


def test_a_pending_call_of_the_running_turn_is_not_sent_but_its_message_is() -> None:
    assert sent(decision_on([user(1), call(2, "a"), result(3, "a"), call(4, "b")])) == [1, 2, 3]


def test_messages_that_were_not_loaded_are_one_verdict() -> None:
    not_loaded = NotLoaded(messages=8, users=4, tokens=310, first=1, last=8)
    decision = decision_on(
        [user(9), answer(10), user(11)], "lastN", length=2, not_loaded=not_loaded
    )
    run = decision.verdicts[1]
    assert (run.first, run.last, run.messages, run.tokens, run.role) == (1, 8, 8, 310, None)
    assert (run.reason, run.sent) == ("over_length", False)
    assert decision.to_dict()["verdicts"][1]["sentence"] == "older than your last 2 exchanges"
    assert decision.horizon == 9
    assert decision.stored == 11


def test_messages_that_should_have_been_loaded_are_reported_as_not_read() -> None:
    not_loaded = NotLoaded(messages=8, users=4, tokens=310, first=1, last=8)
    assert reasons(decision_on([user(9)], "all", not_loaded=not_loaded))[0][2] == "not_read"
    assert (
        reasons(decision_on([user(9)], "lastN", length=5, not_loaded=not_loaded))[0][2]
        == "not_read"
    )
    assert (
        reasons(decision_on([user(9, forgets_above=True)], not_loaded=not_loaded))[0][2]
        == "above_marker"
    )


def test_greetings_that_were_not_loaded_make_no_horizon() -> None:
    not_loaded = NotLoaded(messages=1, users=0, tokens=5, first=1, last=1)
    decision = decision_on([user(2)], "none", not_loaded=not_loaded)
    assert reasons(decision)[0][2] == "greeting"
    assert decision.horizon is None


def test_a_loaded_greeting_among_others_leaves_their_verdict_its_end() -> None:
    not_loaded = NotLoaded(messages=3, users=0, tokens=15, first=1, last=4)
    decision = decision_on([answer(2), user(5)], not_loaded=not_loaded)
    assert reasons(decision)[0] == (1, 4, "greeting")


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [answer(1)],
        [replace(user(1), message=Message.user("?", id="m1"))],
        [user(2), user(2)],
        [user(2), answer(1)],
    ],
)
def test_an_invalid_path_is_a_programming_error(entries: list[Entry]) -> None:
    with pytest.raises(ValueError):
        decision_on(entries)


def test_leading_tokens_are_those_of_the_previous_request() -> None:
    first = decision_on(PATH[:5])
    receipt = json.loads(json.dumps(first.to_dict()))
    again = decision_on(PATH, previous=Previous.from_dict(receipt))
    assert again.leading == first.tokens
    assert decision_on(PATH, "none", previous=Previous.from_dict(receipt)).leading == HEAD_TOKENS
    other = decision_on(
        PATH, head=counted_head(prefilled=True), previous=Previous.from_dict(receipt)
    )
    assert other.leading == 0


@pytest.mark.parametrize(
    "receipt", [{}, {"head": {}}, {"head": {"hash": "x"}, "verdicts": [{}]}, {"verdicts": 3}]
)
def test_an_unreadable_receipt_is_no_evidence(receipt: dict[str, object]) -> None:
    assert Previous.from_dict(receipt) is None


def test_a_decision_takes_a_few_milliseconds_per_thousand_messages() -> None:
    path = [entry for n in range(1, 5_000, 2) for entry in (user(n), answer(n + 1))] + [user(5_001)]
    took = []
    for _ in range(5):
        start = perf_counter()
        decision_on(path)
        took.append(perf_counter() - start)
    assert min(took) < 0.25, "fifty milliseconds per thousand is ten times what it should be"
