"""The properties of a decision, P1 to P23, each as a check of one case."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from chatsite.conformance.cases import Case, turns_of
from chatsite.errors import PromptTooLarge
from chatsite.history import Decision, Entry, Evidence, Transcript, Window, decide
from chatsite.messages import Message

SPARED = ("pinned", "replied_to")
OVER = ("over_budget", "over_window")
PLENTY = Window(10_000_000, 1)


@dataclass(frozen=True)
class Seen:
    """A case decided under one policy, with what the checks ask for again and again."""

    case: Case
    policy: str
    decision: Decision

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        return self.case.transcript.entries

    @cached_property
    def history(self) -> list[Message]:
        """The request without its head."""
        head = {id(message) for message in self.case.head.messages}
        return [message for message in self.decision.request if id(message) not in head]

    @cached_property
    def sent(self) -> set[int]:
        """Sequence numbers of what is in the request."""
        chosen = {id(message) for message in self.decision.request}
        return {entry.seq for entry in self.entries if id(entry.message) in chosen}

    @cached_property
    def reasons(self) -> dict[int, str]:
        return {
            entry.seq: verdict.reason
            for verdict in self.decision.verdicts
            for entry in self.entries
            if verdict.first <= entry.seq <= verdict.last
        }

    @cached_property
    def older(self) -> list[tuple[Entry, ...]]:
        """Turns before the current one."""
        turns = turns_of(self.entries)[:-1]
        return turns[1:] if turns and turns[0][0].message.role != "user" else turns

    @cached_property
    def current(self) -> tuple[Entry, ...]:
        return turns_of(self.entries)[-1]

    @cached_property
    def overflowed(self) -> bool:
        return any(verdict.reason in OVER for verdict in self.decision.verdicts)

    @cached_property
    def unguarded(self) -> Seen:
        """With all the room in the world."""
        return see(replace(self.afresh, window=PLENTY, budget=None), self.policy)

    @property
    def afresh(self) -> Case:
        """The case without evidence of an earlier request."""
        return replace(self.case, evidence=Evidence())


def see(case: Case, policy: str) -> Seen:
    """Raises PromptTooLarge like `decide`."""
    decision = decide(
        case.transcript,
        case.settings(policy),
        head=case.head,
        window=case.window,
        evidence=case.evidence,
        agent="demo",
    )
    return Seen(case, policy, decision)


def tokens(messages: Sequence[Message]) -> int:
    return sum(message.tokens.count for message in messages if message.tokens)


def marker(seen: Seen) -> int:
    return max((entry.seq for entry in seen.entries if entry.forgets_above), default=0)


def p1_calls_and_results_are_whole(seen: Seen) -> None:
    rest = list(seen.history)
    while rest:
        message = rest.pop(0)
        assert message.role != "tool", "a result without its call directly before it"
        called = [call.id for call in message.calls]
        answered = []
        while called and rest and rest[0].role == "tool":
            answered.append(rest.pop(0).call_id)
        assert sorted(called) == sorted(map(str, answered))
        assert len(set(called)) == len(called)


def p2_reasoning_never_stands_alone(seen: Seen) -> None:
    for message in seen.history:
        assert message.calls or message.attachments or message.role == "user" or message.content


def p3_a_user_begins(seen: Seen) -> None:
    said = [message for message in seen.history if message.role != "system"]
    assert said[0].role == "user"


def p4_the_current_turn_ends_it(seen: Seen) -> None:
    assert seen.history[-1] in [entry.message for entry in seen.current]


def p5_the_current_message_is_there_untouched(seen: Seen) -> None:
    asked = seen.current[0].message
    assert sum(message is asked for message in seen.decision.request) == 1


def p6_never_empty(seen: Seen) -> None:
    assert any(message.role == "user" for message in seen.history)


def p7_instructions_first_and_pins_kept(seen: Seen) -> None:
    wanted = [
        entry.message
        for entry in seen.entries
        if entry.message.role == "system" and not entry.excluded and entry.seq >= marker(seen)
    ]
    instructions = [*seen.case.head.system, *wanted]
    assert list(seen.decision.request[: len(instructions)]) == instructions
    assert all(m.role != "system" for m in seen.decision.request[len(instructions) :])
    for turn in seen.older:
        left_out = any(entry.excluded for entry in turn) or turn[0].seq < marker(seen)
        if any(entry.pinned for entry in turn) and not left_out and turn[0].seq not in seen.sent:
            assert seen.reasons[turn[0].seq] in OVER
            rest = [other for other in seen.older if not is_spared(seen, other)]
            assert not any(other[0].seq in seen.sent for other in rest)


def is_spared(seen: Seen, turn: Sequence[Entry]) -> bool:
    """Whether a pin or the reply keeps the turn."""
    replied = seen.current[0].message.reply_to
    return any(entry.pinned or entry.message.id == replied for entry in turn)


def p8_within_the_limit(seen: Seen) -> None:
    decision, window = seen.decision, seen.case.window
    assert decision.limit == min(window.size - window.reply, seen.case.budget or 10**9)
    assert tokens(decision.request) <= decision.limit
    assert sum(part.tokens for part in decision.parts) == window.size


def p9_in_order_and_once(seen: Seen) -> None:
    places = {id(entry.message): place for place, entry in enumerate(seen.entries)}
    said = [places[id(message)] for message in seen.history if message.role != "system"]
    assert said == sorted(set(said))


def p10_more_room_sends_more(seen: Seen) -> None:
    less = replace(seen.afresh, budget=max(1, seen.decision.limit * 3 // 4))
    more = see(seen.afresh, seen.policy)
    with suppress(PromptTooLarge):
        assert see(less, seen.policy).sent <= more.sent
    wider = {"none": "lastN", "lastN": "all"}.get(seen.policy)
    if wider:
        assert seen.unguarded.sent <= see(seen.unguarded.case, wider).sent


def p10_a_longer_length_sends_more(seen: Seen) -> None:
    longer = replace(seen.unguarded.case, length=max(1, seen.case.length) + 1)
    if longer.length <= 1_000_000:
        assert seen.unguarded.sent <= see(longer, "lastN").sent


def p11_length_counts_user_messages(seen: Seen) -> None:
    asked = [turn[0] for turn in (*seen.older, seen.current)]
    counted = [e for e in asked if e.message.source == "web" or e is seen.current[0]]
    inside = counted[-max(1, seen.case.length) :]
    for entry in counted:
        outside = {"over_length", "above_marker", "excluded", *SPARED, *OVER}
        near = {"within_length", "current", "above_marker", "excluded", *SPARED, *OVER}
        assert seen.reasons[entry.seq] in (near if entry in inside else outside)
    unmarked = seen.unguarded.sent & {entry.seq for entry in counted}
    assert unmarked >= {e.seq for e in inside if seen.reasons[e.seq] == "within_length"}


def p12_deciding_again_changes_nothing(seen: Seen) -> None:
    # A mark on a message that can't be sent still keeps its turn.
    spared = {turn[0].seq for turn in seen.older if is_spared(seen, turn)}
    kept = tuple(
        replace(entry, pinned=entry.pinned or entry.seq in spared)
        for entry in seen.entries
        if entry.seq in seen.sent
    )
    again = see(replace(seen.afresh, transcript=Transcript(entries=kept)), seen.policy)
    assert again.sent == seen.sent


def p13_the_same_input_gives_the_same_bytes(seen: Seen) -> None:
    again = see(seen.case, seen.policy).decision
    assert again == seen.decision
    assert json.dumps(again.to_dict()) == json.dumps(seen.decision.to_dict())


def p14_names_and_metadata_dont_matter(seen: Seen) -> None:
    entries = tuple(replace(entry, message=_renamed(entry.message)) for entry in seen.entries)
    case = replace(seen.case, transcript=replace(seen.case.transcript, entries=entries))
    assert see(case, seen.policy).sent == seen.sent


def _renamed(message: Message) -> Message:
    return replace(
        message,
        id=f"other-{message.id}",
        reply_to=message.reply_to and f"other-{message.reply_to}",
        call_id=message.call_id and f"other-{message.call_id}",
        calls=tuple(replace(call, id=f"other-{call.id}") for call in message.calls),
        metadata='{"more": []}',
    )


def p16_what_fits_is_not_touched(seen: Seen) -> None:
    if tokens(seen.unguarded.decision.request) <= seen.decision.limit:
        assert seen.sent == seen.unguarded.sent


def p19_the_running_tool_rounds_stay(seen: Seen) -> None:
    for place, entry in enumerate(seen.current):
        called = [call.id for call in entry.message.calls]
        results: list[str | None] = []
        for later in seen.current[place + 1 :]:
            if later.message.role != "tool":
                break
            results.append(later.message.call_id)
        if called and len(set(called)) == len(called) and set(called) <= set(results):
            assert entry.seq in seen.sent


def p20_sums_are_those_of_the_messages(seen: Seen) -> None:
    decision = seen.decision
    assert decision.tokens == tokens(decision.request)
    said = sum(verdict.tokens for verdict in decision.verdicts)
    assert said == tokens(seen.case.head.messages) + tokens([e.message for e in seen.entries])
    assert decision.tokens == sum(v.tokens for v in decision.verdicts if v.sent)


def p21_wrong_evidence_does_no_harm(seen: Seen) -> None:
    """Every other check runs with it; and where nothing overflows it changes nothing at all."""
    if not seen.overflowed:
        assert seen.sent == see(seen.afresh, seen.policy).sent


def p22_nothing_comes_from_elsewhere(seen: Seen) -> None:
    known = {id(message) for message in seen.case.head.messages}
    known |= {id(entry.message) for entry in seen.entries}
    assert all(id(message) in known for message in seen.decision.request)


def p23_every_message_has_one_verdict(seen: Seen) -> None:
    decision = seen.decision
    runs = [verdict for verdict in decision.verdicts if verdict.first > 0]
    assert sum(run.messages for run in runs) == len(seen.entries) == decision.stored
    covered = [e.seq for run in runs for e in seen.entries if run.first <= e.seq <= run.last]
    assert covered == [entry.seq for entry in seen.entries]
    told = {
        e.seq for run in runs if run.sent for e in seen.entries if run.first <= e.seq <= run.last
    }
    assert told == seen.sent
    assert decision.sent == len(seen.sent)
    for before, after in zip(runs, runs[1:], strict=False):
        assert before.reason != after.reason, "neighbours with the same verdict are one run"
    assert all(verdict.sentence for verdict in decision.verdicts)
