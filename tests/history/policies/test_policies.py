"""`tokens`, `lastN` with a step, quotes, summary and strategy: requests, reasons and notes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.history import (
    Decision,
    Entry,
    Evidence,
    Hit,
    NotLoaded,
    Previous,
    Recall,
    RunningSummary,
    StrategyChoice,
    StrategySlot,
    Transcript,
    TriageChoice,
    Window,
    decide,
    resolve,
)
from chatsite.messages import Message, Role, Source, TokenCount, ToolCall
from conformance_kit.cases import with_tokens
from conformance_kit.strategies.adapter import counted_head

HEAD = counted_head()
HEAD_TOKENS = sum(message.tokens.count for message in HEAD.messages if message.tokens)


def make_entry(seq: int, role: Role, tokens: int, source: Source = "web", **marks: Any) -> Entry:
    text = f"{role} {seq} " + "word " * tokens
    message = Message(id=f"m{seq}", role=role, content=text, source=source)
    return Entry(message=with_tokens(message, tokens), seq=seq, **marks)


def chat(turns: int, tokens: int = 50, *, start: int = 0) -> list[Entry]:
    """Turns of a question and an answer, each of `tokens`, then the current message."""
    entries: list[Entry] = []
    for turn in range(start, turns):
        entries.append(make_entry(2 * turn + 1, "user", tokens))
        entries.append(make_entry(2 * turn + 2, "assistant", tokens))
    return [*entries, make_entry(2 * turns + 1, "user", 10)]


def decision_on(
    entries: Sequence[Entry],
    policy: str,
    *,
    evidence: Evidence | None = None,
    not_loaded: NotLoaded | None = None,
    window: int = 100_000,
    **template: Any,
) -> Decision:
    names = {"tokens": "historyTokens", "length": "historyLength", "step": "historyStep"}
    values = {names.get(name, name): value for name, value in template.items()}
    return decide(
        Transcript(entries=tuple(entries), not_loaded=not_loaded or NotLoaded()),
        resolve(environment={}, url={}, template={"historyPolicy": policy, **values}),
        head=HEAD,
        window=Window(window, 100),
        evidence=evidence or Evidence(),
        agent="demo",
    )


def in_place(decision: Decision) -> list[int]:
    return [int(m.id[1:]) for m in decision.request if m.id[1:].isdigit()]


def reason_of(decision: Decision, seq: int) -> str:
    return next(v.reason for v in decision.verdicts if v.first <= seq <= v.last)


def sentence_of(decision: Decision, seq: int) -> str:
    verdicts = decision.to_dict()["verdicts"]
    return str(next(v["sentence"] for v in verdicts if v["first"] <= seq <= v["last"]))


def receipt_of(decision: Decision) -> Previous:
    found = Previous.from_dict(json.loads(json.dumps(decision.to_dict())))
    assert found is not None
    return found


class TestStep:
    def test_the_cut_moves_by_the_step(self) -> None:
        sent = []
        for turns in range(4, 13):
            decision = decision_on(chat(turns), "lastN", length=5, step=3)
            sent.append(in_place(decision)[0])
        # With length 5 and step 3, 3 to 5 user messages are sent, the current one included.
        assert sent == [1, 7, 7, 7, 13, 13, 13, 19, 19]

    @pytest.mark.parametrize("turns", range(30))
    def test_between_length_minus_step_and_length_user_messages_are_sent(self, turns: int) -> None:
        decision = decision_on(chat(turns), "lastN", length=6, step=4)
        users = sum(seq % 2 for seq in in_place(decision))
        assert min(turns + 1, 3) <= users <= 6

    def test_a_step_beyond_the_length_acts_as_the_length(self) -> None:
        far = decision_on(chat(20), "lastN", length=3, step=99)
        assert in_place(far) == in_place(decision_on(chat(20), "lastN", length=3, step=3))

    def test_messages_that_were_not_loaded_count_too(self) -> None:
        whole = decision_on(chat(20), "lastN", length=5, step=3)
        not_loaded = NotLoaded(messages=24, users=12, tokens=999, first=1, last=24)
        part = decision_on(chat(20, start=12), "lastN", length=5, step=3, not_loaded=not_loaded)
        assert in_place(part) == in_place(whole)

    def test_the_words_of_the_settings_name_the_step(self) -> None:
        decision = decision_on(chat(3), "lastN", length=5, step=3)
        assert decision.settings.words == "your last 5 exchanges, moving 3 at a time"


class TestTokens:
    def test_everything_is_sent_while_it_fits(self) -> None:
        decision = decision_on(chat(5), "tokens", tokens=600)
        assert in_place(decision) == list(range(1, 12))
        assert decision.cut is None

    def test_an_overflow_cuts_down_to_the_low_water_mark_and_the_window_grows_again(self) -> None:
        cuts, leading = [], []
        previous = None
        for turns in range(3, 16):
            decision = decision_on(
                chat(turns), "tokens", tokens=600, evidence=Evidence(previous=previous)
            )
            assert decision.tokens <= 600
            cuts.append(decision.cut)
            leading.append(decision.leading / decision.tokens)
            previous = receipt_of(decision)
        # 600 tokens hold five turns of 100, half of them two: the cut stays for four turns.
        assert cuts == [None] * 3 + [9] * 4 + [17] * 4 + [25] * 2
        # While the cut stays, everything but the newest turn was in the request before.
        stays = [now == before for before, now in itertools.pairwise(cuts)]
        shares = [share for share, same in zip(leading[1:], stays, strict=True) if same]
        assert min(shares) > 0.4

    def test_messages_that_were_not_loaded_are_above_the_cut(self) -> None:
        whole = decision_on(chat(20), "tokens", tokens=600)
        not_loaded = NotLoaded(messages=20, users=10, tokens=1_000, first=1, last=20)
        part = decision_on(chat(20, start=10), "tokens", tokens=600, not_loaded=not_loaded)
        assert in_place(part) == in_place(whole)
        assert reason_of(part, 1) == "above_cut"
        assert part.horizon == whole.horizon

    def test_new_token_counts_never_bring_back_messages_that_were_not_loaded(self) -> None:
        not_loaded = NotLoaded(messages=20, users=10, tokens=1, first=1, last=20)
        part = decision_on(chat(12, start=10), "tokens", tokens=9_000, not_loaded=not_loaded)
        assert part.cut is not None
        assert reason_of(part, 1) == "above_cut"


class TestNotLoaded:
    NOT_LOADED = NotLoaded(messages=34, users=17, tokens=1_700, first=3, last=36)

    def path(self, **marks: Any) -> list[Entry]:
        first = [make_entry(1, "user", 50, **marks), make_entry(2, "assistant", 50)]
        return [*first, *chat(20, start=18)]

    def test_a_pinned_turn_above_a_gap_is_not_joined_with_the_turns_below(self) -> None:
        decision = decision_on(
            self.path(pinned=True), "lastN", length=3, not_loaded=self.NOT_LOADED
        )
        assert decision.to_dict()["layout"][:2] == [
            {"first": 1, "last": 2},
            {"first": 37, "last": 40},
        ]

    def test_two_excluded_turns_with_a_gap_between_have_two_verdicts(self) -> None:
        path = self.path(excluded=True)
        path[2] = replace(path[2], excluded=True)
        decision = decision_on(path, "lastN", length=3, not_loaded=self.NOT_LOADED)
        runs = [(v.first, v.last) for v in decision.verdicts if v.reason == "excluded"]
        assert runs == [(1, 2), (37, 38)]


class TestQuotes:
    HITS = Evidence(recall=Recall(hits=(Hit(seq=4, score=2, why='it shares "harbour"'),)))

    def test_nothing_is_quoted_while_everything_fits(self) -> None:
        decision = decision_on(chat(5), "relevant", tokens=9_000, evidence=self.HITS)
        assert in_place(decision) == list(range(1, 12))
        assert not any(verdict.quoted for verdict in decision.verdicts)

    def test_a_hit_and_its_question_are_quoted_directly_before_the_current_message(self) -> None:
        decision = decision_on(chat(30), "relevant", tokens=1_000, evidence=self.HITS)
        quoted, current = decision.request[-2:]
        assert quoted.role == "user"
        assert "user 3" in (quoted.content or "") and "assistant 4" in (quoted.content or "")
        assert current.id == "m61"
        assert reason_of(decision, 4) == reason_of(decision, 3) == "relevant"
        assert 'it shares "harbour"' in sentence_of(decision, 4)
        assert {v.first for v in decision.verdicts if v.quoted} == {3, 4}
        assert reason_of(decision, 5) == "not_relevant"

    def test_the_parts_add_up_to_the_request(self) -> None:
        decision = decision_on(chat(30), "relevant", tokens=1_000, evidence=self.HITS)
        sizes = {part.name: part for part in decision.parts}
        assert sizes["recalled"].basis == "estimated"
        total = sum(m.tokens.count for m in decision.request if m.tokens)
        assert decision.tokens == total <= 1_000

    def test_the_verdict_on_a_hit_without_room_says_so(self) -> None:
        big = [make_entry(1, "user", 50), make_entry(2, "assistant", 400), *chat(30, start=1)]
        hits = Evidence(recall=Recall(hits=(Hit(seq=2, score=9, why="x"), *self.HITS.recall.hits)))  # type: ignore[union-attr]
        decision = decision_on(big, "relevant", tokens=1_000, evidence=hits)
        assert reason_of(decision, 2) == "not_relevant"
        assert "it is less relevant" in sentence_of(decision, 2)
        assert reason_of(decision, 4) == "relevant"
        full = decision_on(big, "relevant", tokens=400, evidence=hits)
        assert reason_of(full, 2) == "over_budget"
        assert "the room for quotes was used up" in sentence_of(full, 2)

    def test_a_short_hit_takes_the_room_before_a_long_one_of_little_more_score(self) -> None:
        long = [make_entry(1, "user", 20), make_entry(2, "assistant", 100)]
        short = [make_entry(3, "user", 20), make_entry(4, "assistant", 20)]
        path = [*long, *short, *chat(30, start=2)]

        def quoted(score: float) -> set[int]:
            hits = (Hit(seq=2, score=score, why="x"), Hit(seq=4, score=2, why="x"))
            evidence = Evidence(recall=Recall(hits=hits))
            decision = decision_on(path, "relevant", tokens=1_000, evidence=evidence)
            return {v.first for v in decision.verdicts if v.reason == "relevant"}

        assert quoted(2.5) == {3, 4}
        assert quoted(5) == {1, 2}

    @given(order=st.permutations(range(2, 22, 2)))
    def test_what_is_quoted_follows_from_the_hits_and_not_from_their_order(
        self, order: list[int]
    ) -> None:
        def request(seqs: Sequence[int]) -> tuple[Message, ...]:
            hits = tuple(Hit(seq=seq, score=1 + seq / 10, why="x") for seq in seqs)
            evidence = Evidence(recall=Recall(hits=hits))
            return tuple(decision_on(chat(30), "relevant", tokens=1_000, evidence=evidence).request)

        assert request(order) == request(sorted(order))

    def test_a_message_sent_in_its_place_is_not_quoted_again(self) -> None:
        hits = Evidence(recall=Recall(hits=(Hit(seq=59, score=1, why="x"),)))
        decision = decision_on(chat(30), "relevant", tokens=1_000, evidence=hits)
        assert 59 in in_place(decision)
        assert decision.request[-2].id != "recalled"

    @pytest.mark.parametrize("mark", ["excluded", "forgets"])
    def test_messages_that_a_person_left_out_are_never_recalled(self, mark: str) -> None:
        entries = chat(30)
        if mark == "excluded":
            entries[3] = replace(entries[3], excluded=True)
        else:
            entries[10] = replace(entries[10], forgets_above=True)
        decision = decision_on(entries, "relevant", tokens=1_000, evidence=self.HITS)
        assert "assistant 4" not in "".join(m.content or "" for m in decision.request)

    def test_the_beginning_stays_whatever_is_recalled(self) -> None:
        first = decision_on(chat(30), "relevant", tokens=1_000, evidence=self.HITS)
        other = Evidence(
            recall=Recall(hits=(Hit(seq=8, score=2, why="x"),)), previous=receipt_of(first)
        )
        second = decision_on(chat(31), "relevant", tokens=1_000, evidence=other)
        history = next(part.tokens for part in first.parts if part.name == "history")
        assert second.leading >= HEAD_TOKENS + history

    def test_the_line_stands_at_the_message_where_a_marked_turn_leaves_no_room(self) -> None:
        """The pinned turn is sent; the one replied to has the stronger claim than the last one, and
        doesn't fit, so that nothing is the tail, whatever the previous cut was."""
        path = chat(3)
        path[2] = replace(path[2], pinned=True)
        limit = HEAD_TOKENS + 160
        first = decision_on(path, "relevant", tokens=limit, evidence=self.HITS)
        path[-1] = replace(path[-1], message=replace(path[-1].message, reply_to="m1"))
        previous = replace(receipt_of(first), cut=3)
        evidence = replace(self.HITS, previous=previous)
        decision = decision_on(path, "relevant", tokens=limit, evidence=evidence)
        assert in_place(decision) == [3, 4, 7]
        assert decision.horizon == 7

    def test_without_a_search_the_newest_are_sent_with_a_note(self) -> None:
        decision = decision_on(chat(30), "relevant", tokens=1_000)
        assert decision.notes == ("Older messages were not searched: the newest turns are sent.",)
        assert reason_of(decision, 4) == "above_cut"
        noted = decision_on(chat(30), "relevant", tokens=1_000, evidence=Evidence(notes=("So.",)))
        assert noted.notes == ("So.",)

    def test_nothing_is_said_of_relevance_where_nothing_was_looked_at(self) -> None:
        """Results of tools aren't searched, and a message without a word can't be searched for."""
        path = chat(30)
        call = ToolCall(id="c", name="search")
        asked = Message.assistant(None, id="m2", calls=(call,))
        path[1] = replace(path[1], message=with_tokens(asked, 50))
        found = Message.tool("{}", id="m3", call_id="c")
        path[2] = replace(path[2], message=with_tokens(found, 50))
        searched = Evidence(recall=Recall(hits=()))
        decision = decision_on(path, "relevant", tokens=1_000, evidence=searched)
        assert [reason_of(decision, seq) for seq in (1, 2, 3, 4)] == [
            *("not_relevant", "above_cut", "above_cut", "not_relevant"),
        ]
        thanks = replace(path[-1].message, content="Thanks!")
        path[-1] = replace(path[-1], message=thanks)
        nothing = decision_on(path, "relevant", tokens=1_000, evidence=searched)
        assert reason_of(nothing, 1) == "above_cut"


class TestBackground:
    def briefing(self, *marks: str) -> list[Entry]:
        entries = chat(3)[:-1]
        entries.append(make_entry(7, "assistant", 20, "briefing", excluded="excluded" in marks))
        entries.append(make_entry(8, "assistant", 20, "scheduled"))
        return [*entries, make_entry(9, "user", 10)]

    @pytest.mark.parametrize(
        "policy", ["lastN", "all", "tokens", "relevant", "summary", "strategy"]
    )
    def test_background_messages_directly_before_a_message_are_quoted(self, policy: str) -> None:
        decision = decision_on(self.briefing(), policy)
        assert reason_of(decision, 7) == reason_of(decision, 8) == "followed"
        assert "assistant 7" in (decision.request[-2].content or "")
        assert 7 not in in_place(decision)

    def test_the_policy_none_quotes_no_background_messages(self) -> None:
        decision = decision_on(self.briefing(), "none")
        assert reason_of(decision, 7) in ("background", "over_length")

    def test_at_most_the_set_number_is_quoted_and_no_excluded_one(self) -> None:
        few = decision_on(self.briefing(), "all", conversation={"previous_tasks_count": 1})
        assert [v.first for v in few.verdicts if v.quoted] == [8]
        none = decision_on(self.briefing(), "all", conversation={"previous_tasks_count": 0})
        assert not any(v.quoted for v in none.verdicts)
        left = decision_on(self.briefing("excluded"), "all")
        assert [v.first for v in left.verdicts if v.quoted] == [8]

    def test_a_background_message_that_is_replied_to_is_sent_in_its_place_only(self) -> None:
        entries = self.briefing()
        reply = replace(entries[-1].message, reply_to="m8")
        decision = decision_on([*entries[:-1], replace(entries[-1], message=reply)], "all")
        assert 7 in in_place(decision) and 8 in in_place(decision)
        assert not any(v.quoted for v in decision.verdicts)

    def test_an_answer_in_between_ends_the_quoting(self) -> None:
        entries = [*self.briefing(), make_entry(10, "assistant", 10), make_entry(11, "user", 10)]
        decision = decision_on(entries, "all")
        assert reason_of(decision, 8) == "background"


def summary(last: int, *, first: int = 1, tokens: int = 40) -> Evidence:
    count = TokenCount(count=tokens, tokenizer="test", basis="counted")
    return Evidence(
        summary=RunningSummary(
            id="s1",
            version=2,
            text="They spoke of the harbour.",
            first=first,
            last=last,
            messages=last,
            by="small",
            tokens=count,
        )
    )


class TestSummary:
    def test_the_summary_replaces_the_covered_turns_and_the_tail_follows_it(self) -> None:
        decision = decision_on(chat(10), "summary", tokens=900, evidence=summary(8))
        assert decision.request[len(HEAD.messages)].content == (
            "Summary of the earlier part of this conversation:\n\nThey spoke of the harbour."
        )
        assert in_place(decision) == list(range(9, 22))
        assert reason_of(decision, 1) == reason_of(decision, 8) == "summarised"
        assert decision.horizon == 9

    @pytest.mark.parametrize(("anchors", "stands"), [("auto", True), ("on", True), ("off", False)])
    def test_the_values_that_it_lost_are_its_last_line(self, anchors: str, stands: bool) -> None:
        evidence = summary(8)
        assert evidence.summary is not None
        line = "It leaves out: TRK10020030 (5)"
        evidence = replace(evidence, summary=replace(evidence.summary, values=line))
        decision = decision_on(
            chat(10), "summary", tokens=900, evidence=evidence, historyAnchors=anchors
        )
        message = decision.request[len(HEAD.messages)]
        assert (message.content or "").endswith(f"harbour.\n\n{line}") == stands
        assert message.tokens is not None
        assert (message.tokens.count > 40) == stands
        assert decision.tokens == sum(m.tokens.count for m in decision.request if m.tokens) <= 900

    def test_nothing_is_summarised_while_everything_fits(self) -> None:
        decision = decision_on(chat(10), "summary", tokens=9_000, evidence=summary(8))
        assert in_place(decision) == list(range(1, 22))

    def test_a_turn_that_is_only_partly_covered_is_sent(self) -> None:
        decision = decision_on(chat(10), "summary", tokens=900, evidence=summary(7))
        assert in_place(decision)[0] == 7

    def test_turns_between_summary_and_tail_are_above_the_cut(self) -> None:
        decision = decision_on(chat(30), "summary", tokens=900, evidence=summary(8))
        assert reason_of(decision, 9) == "above_cut"
        assert reason_of(decision, 8) == "summarised"

    def test_a_pinned_turn_stays_whole_below_the_summary(self) -> None:
        entries = chat(10)
        entries[2] = replace(entries[2], pinned=True)
        decision = decision_on(entries, "summary", tokens=900, evidence=summary(8))
        assert in_place(decision)[:3] == [3, 4, 9]
        assert reason_of(decision, 3) == "pinned"

    def test_a_summary_that_covers_forgotten_messages_is_not_sent(self) -> None:
        entries = chat(10)
        entries[4] = replace(entries[4], forgets_above=True)
        decision = decision_on(entries, "summary", tokens=700, evidence=summary(8))
        assert all("Summary" not in (m.content or "") for m in decision.request)
        assert "forgotten" in decision.notes[0]

    def test_without_a_summary_the_newest_are_sent_with_a_note(self) -> None:
        decision = decision_on(chat(30), "summary", tokens=900)
        assert decision.notes == ("There is no summary yet: what doesn't fit is left out.",)

    def test_the_same_summary_keeps_the_beginning(self) -> None:
        path = [*chat(10)[:-1], make_entry(21, "user", 50), make_entry(22, "assistant", 50)]
        first = decision_on(path[:-1], "summary", tokens=900, evidence=summary(8))
        with_it = replace(summary(8), previous=receipt_of(first))
        second = decision_on(
            [*path, make_entry(23, "user", 9)], "summary", tokens=900, evidence=with_it
        )
        assert second.leading == first.tokens
        edited = replace(summary(8), previous=receipt_of(first))
        assert edited.summary is not None
        other = replace(edited, summary=replace(edited.summary, text="It was another harbour."))
        third = decision_on(
            [*path, make_entry(23, "user", 9)], "summary", tokens=900, evidence=other
        )
        assert third.leading == HEAD_TOKENS


class TestTriage:
    TRIAGE: dict[str, Any] = {"historySelector": "triage"}

    def test_chosen_turns_keep_their_places(self) -> None:
        evidence = Evidence(triaged=TriageChoice(turns=frozenset({21, 41})))
        decision = decision_on(chat(30), "relevant", evidence=evidence, **self.TRIAGE)
        assert in_place(decision) == [21, 22, 41, 42, *range(51, 62)]
        assert reason_of(decision, 21) == "relevant"
        assert reason_of(decision, 23) == "not_relevant"
        assert reason_of(decision, 3) == "over_length"
        assert decision.horizon == 51

    def test_without_a_choice_the_whole_lookback_is_sent_with_a_note(self) -> None:
        decision = decision_on(chat(30), "relevant", **self.TRIAGE)
        assert in_place(decision) == list(range(11, 62))
        assert decision.notes

    def test_older_answers_can_be_shortened(self) -> None:
        decision = decision_on(
            chat(2), "relevant", conversation={"context_truncation": 12}, **self.TRIAGE
        )
        answers = [m.content or "" for m in decision.request if m.role == "assistant"]
        assert all(text.startswith("assistant ") and len(text) < 40 for text in answers)
        layout = decision.to_dict()["layout"]
        assert {"first": 2, "last": 2, "shortened": 12} in layout


def strategy_choice(*slots: StrategySlot) -> Evidence:
    return Evidence(chosen=StrategyChoice(slots=slots))


def text(role: Role, content: str, tokens: int = 5) -> Message:
    return with_tokens(Message(id=f"strategy-{content}", role=role, content=content), tokens)


class TestStrategy:
    def test_chosen_messages_are_sent_in_path_order_and_the_current_message_last(self) -> None:
        slots = (
            StrategySlot(name="history", priority=1, items=(19, 3, 4)),
            StrategySlot(name="system", priority=2, items=(text("system", "Be brief."),)),
        )
        decision = decision_on(chat(10), "strategy", evidence=strategy_choice(*slots))
        assert [m.id for m in decision.request[len(HEAD.system) :]][:1] == ["strategy-Be brief."]
        assert in_place(decision) == [3, 4, 19, 21]
        assert reason_of(decision, 3) == "strategy"
        assert reason_of(decision, 5) == "not_chosen"

    def test_a_text_is_placed_before_the_history_or_after_it(self) -> None:
        slots = (
            StrategySlot(name="facts", priority=1, items=(text("user", "first"),)),
            StrategySlot(name="history", priority=1, items=(3, 4)),
            StrategySlot(name="hint", priority=1, items=(text("user", "last"),)),
        )
        decision = decision_on(chat(5), "strategy", evidence=strategy_choice(*slots))
        ids = [m.id for m in decision.request if m.id not in {h.id for h in HEAD.messages}]
        assert ids == ["strategy-first", "m3", "m4", "strategy-last", "m11"]

    def test_a_conversation_never_begins_with_the_assistant(self) -> None:
        slots = (
            StrategySlot(name="a", priority=1, items=(text("assistant", "I said."),)),
            StrategySlot(name="b", priority=1, items=(4, 5, 6)),
        )
        decision = decision_on(chat(5), "strategy", evidence=strategy_choice(*slots))
        assert in_place(decision) == [5, 6, 11]
        assert "can't begin with the assistant" in decision.notes[0]

    def test_over_budget_the_lowest_priority_is_dropped(self) -> None:
        slots = (
            StrategySlot(name="old", priority=0, items=tuple(range(1, 11))),
            StrategySlot(name="new", priority=1, items=(17, 18, 19, 20)),
        )
        decision = decision_on(
            chat(10), "strategy", tokens=HEAD_TOKENS + 10 + 300, evidence=strategy_choice(*slots)
        )
        assert in_place(decision) == [9, 10, 17, 18, 19, 20, 21]
        assert reason_of(decision, 1) == "over_budget"

    def test_what_would_fit_is_not_said_to_have_no_room(self) -> None:
        slots = (
            StrategySlot(name="old", priority=0, items=(1, 2, 3, 4)),
            StrategySlot(name="new", priority=1, items=(17, 18)),
        )
        path = chat(10)
        path[1] = replace(path[1], message=with_tokens(path[1].message, 250))
        path[2] = replace(path[2], message=with_tokens(path[2].message, 120))
        path[3] = replace(path[3], message=with_tokens(path[3].message, 120))
        decision = decision_on(
            path, "strategy", tokens=HEAD_TOKENS + 10 + 150, evidence=strategy_choice(*slots)
        )
        assert in_place(decision) == [17, 18, 21]
        assert reason_of(decision, 3) == "over_budget"
        assert reason_of(decision, 1) == "low_priority"

    def test_pins_are_kept_and_take_their_room_first(self) -> None:
        entries = chat(10)
        entries[0] = replace(entries[0], pinned=True)
        slots = (StrategySlot(name="h", priority=0, items=tuple(range(11, 21))),)
        decision = decision_on(
            entries, "strategy", tokens=HEAD_TOKENS + 10 + 300, evidence=strategy_choice(*slots)
        )
        assert in_place(decision)[:2] == [1, 2]
        assert decision.tokens <= HEAD_TOKENS + 310

    def test_without_a_result_of_the_strategy_the_newest_are_sent(self) -> None:
        decision = decision_on(chat(10), "strategy")
        assert in_place(decision) == list(range(1, 22))
        assert decision.notes == ("The strategy didn't answer: the newest are sent.",)
