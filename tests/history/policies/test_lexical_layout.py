"""How much room `relevant` gives to quotes, by what a message asks, and where its tail is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chatsite.history import Decision, Entry, Evidence, Hit, Recall, decide, resolve
from chatsite.history.path.transcript import Transcript
from chatsite.history.room import Window
from chatsite.messages import Message
from conformance_kit.cases import with_tokens
from conformance_kit.strategies.adapter import counted_head
from tests.history.policies.test_policies import chat, receipt_of

HEAD = counted_head()
TURNS = 100
HITS = Recall(hits=tuple(Hit(seq=seq, score=5 - seq / 100, why="x") for seq in range(2, 160, 2)))
PLAIN = "Which harbour did Ana name?"
WORK = "How can I find the harbour?"
STATES = "Ana named a harbour. Which one was it?"


def asked(text: str, *, tokens: int = 10, limit: int = 4_000, share: int | None = None) -> Decision:
    path = chat(TURNS)
    path[-1] = replace(path[-1], message=with_tokens(Message.user(text, id="m201"), tokens))
    return decided(path, Evidence(recall=HITS), limit=limit, share=share)


def decided(
    path: Sequence[Entry], evidence: Evidence, *, limit: int = 4_000, share: int | None = None
) -> Decision:
    template = {
        "historyPolicy": "relevant",
        "historyTokens": limit,
        "historyRecallShare": share,
    }
    return decide(
        Transcript(entries=tuple(path)),
        resolve(environment={}, url={}, template=template),
        head=HEAD,
        window=Window(100_000, 100),
        evidence=evidence,
        agent="demo",
    )


def quoted(decision: Decision) -> int:
    return next((part.tokens for part in decision.parts if part.name == "recalled"), 0)


def test_a_plain_question_takes_what_is_free_but_for_a_little() -> None:
    found = asked(PLAIN)
    hit = 150  # with what it answers
    assert found.limit // 18 < found.limit - found.tokens < found.limit // 16 + hit


def test_a_large_budget_is_not_filled_with_quotes() -> None:
    found = asked(PLAIN, limit=9_900)
    assert 6_000 < quoted(found) <= 6_500


def test_a_long_question_takes_less() -> None:
    assert quoted(asked(PLAIN, tokens=90)) < quoted(asked(PLAIN)) / 3


def test_a_share_that_is_set_is_the_most_for_new_quotes() -> None:
    assert 500 < quoted(asked(PLAIN, share=25)) <= 1_000


def test_who_goes_on_with_work_or_says_something_first_gets_a_part() -> None:
    assert 200 < quoted(asked(WORK)) <= 400
    assert 200 < quoted(asked(STATES)) <= 400


def test_a_longer_message_that_says_something_gets_up_to_twice_the_part() -> None:
    assert 400 < quoted(asked(STATES, tokens=90)) <= 800
    assert 400 < quoted(asked(STATES, tokens=400)) <= 800


def test_the_newest_turns_grow_past_half_of_the_room_while_there_is_room() -> None:
    path = chat(TURNS)
    found = decided(path, Evidence(recall=HITS))
    cut = found.cut
    for turns in range(TURNS + 1, TURNS + 20):
        path = chat(turns)
        evidence = Evidence(recall=Recall(hits=()), previous=receipt_of(found))
        found = decided(path, evidence)
    assert found.cut == cut
    history = next(part.tokens for part in found.parts if part.name == "history")
    assert history > found.limit / 2


def test_a_tools_result_takes_no_more_quotes_than_it_needs() -> None:
    first = asked(PLAIN)
    path = chat(TURNS)
    path[-1] = replace(path[-1], message=with_tokens(Message.user(PLAIN, id="m201"), 10))
    answer = with_tokens(Message.assistant("I look. " * 300, id="m202"), 900)
    path.append(Entry(message=answer, seq=202, quoted=first.quoted))
    evidence = Evidence(recall=HITS, previous=receipt_of(first))
    then = decided(path, evidence)
    assert set(then.quoted) < set(first.quoted)
    assert quoted(then) > quoted(first) - 900
