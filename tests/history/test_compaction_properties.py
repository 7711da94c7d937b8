"""Random sequences of compacting, undoing, marking and editing, under every policy: what is sent
stays sound at every step, and after all is undone it is what it was, to the byte.

`HYPOTHESIS_PROFILE=thorough` tries 100,000 sequences in all: `make properties`, or this file alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsite.history import (
    AddedMessage,
    Entry,
    Everything,
    Previous,
    RunningSummary,
    StoredRun,
    Transcript,
    reach,
)
from chatsite.history.compaction import (
    fold_by_hand,
    lost_instructions,
    lost_values,
    plain_draft,
    still_lost,
)
from chatsite.history.path.transcript import is_covered, split_turns
from chatsite.history.summary_plan import LEAST_TOKENS
from chatsite.history.token_estimate import estimate
from chatsite.messages import Message, TokenCount
from conformance_kit import checks
from conformance_kit.cases import CaseEntry, with_tokens
from conformance_kit.conversations import Dials
from conformance_kit.search import needed_by
from conformance_kit.strategies.adapter import PolicyCase, PolicyTrial
from conformance_kit.strategies.cases import EVEN, cases
from conformance_kit.trials import PolicyRefused
from tests.conformance.built_in import quote_checks, record_checks
from tests.conformance.built_in.loaded_part import load_part
from tests.conformance.built_in.variants import LEXICAL, STRATEGY, VARIANTS, Variant
from tests.examples import LANE, REPEATABLE, some

SEQUENCES = settings(
    REPEATABLE, max_examples=(100_000 if LANE == "thorough" else some(2_000)) // len(VARIANTS)
)
MOST_STEPS = 6
# With a compaction, too. The others say what must not stand for turns, or compare two limits.
BOUND = (
    *(checks.p1_calls_and_results_are_whole, checks.p2_reasoning_never_stands_alone),
    checks.p3_a_user_begins,
    *(checks.p4_the_current_turn_ends_it, checks.p5_the_current_message_is_there_untouched),
    *(checks.p6_never_empty, checks.p8_within_the_limit, checks.p9_in_order_and_once),
    *(checks.p13_the_same_input_gives_the_same_request, checks.p19_the_running_tool_rounds_stay),
    *(record_checks.p23_every_message_has_one_verdict, quote_checks.p28_nothing_is_sent_twice),
    *(record_checks.p23_the_layout_is_the_request, quote_checks.p29_the_request_is_rebuilt),
)
# Where no line stands for a result.
WITHOUT_LINES = (
    checks.p2_messages_are_untouched,
    record_checks.p20_sums_are_those_of_the_messages,
)


@dataclass(frozen=True, kw_only=True)
class Chat(PolicyCase):
    """A case with a compaction and with messages that are kept whole."""

    compaction: RunningSummary | None = None
    whole: frozenset[int] = field(default=frozenset(), hash=False)

    @property
    def transcript(self) -> Transcript:
        found = super().transcript
        entries = tuple(replace(e, kept_whole=e.seq in self.whole) for e in found.entries)
        return replace(found, entries=entries, compaction=self.compaction)

    def lines(self) -> list[str]:
        return [*super().lines(), f"compaction: {self.compaction}", f"whole: {set(self.whole)}"]


@st.composite
def chats(draw: st.DrawFn) -> Chat:
    case = draw(cases())
    # A right one, as the gatherer of `summary` would give it, comes with the compaction.
    evidence = replace(case.evidence, summary=None)
    skipped = ("head", "limit")
    given = {name: value for name, value in vars(case).items() if name not in skipped}
    return Chat(**given | {"evidence": evidence})


# ---- the steps -------------------------------------------------------------------------------
def compact(chat: Chat, dials: Dials) -> Chat:
    """Fold by hand what the compaction so far doesn't cover, in the words of a draft."""
    base, entries = chat.compaction, chat.transcript.entries
    marker = max((entry.seq for entry in entries if entry.forgets_above), default=0)
    above = base.last if base else marker - 1
    current = split_turns([e for e in entries if e.message.role != "system"])[-1].entries[0].seq
    path = [entry for entry in entries if above < entry.seq < current]
    firsts = [entry.seq for entry in path if entry.message.role == "user"]
    if not firsts:
        return chat
    to = dials.of((None, *firsts))
    hand = fold_by_hand(path, without={dials.of(firsts)} if dials.of((0, 1)) else (), to=to)
    if not hand.folded:
        return chat
    text = plain_draft(hand.folded, before=base.text if base else "", most=dials.of((64, 300)))
    made = RunningSummary(
        id=f"c{base.version + 1 if base else 1}",
        version=base.version + 1 if base else 1,
        text=text or "They talked.",
        first=base.first if base else path[0].seq,
        last=hand.covered[-1].seq,
        messages=hand.messages,
        by="you",
        tokens=TokenCount(count=estimate(text) + 10, tokenizer="test", basis="estimated"),
        compaction=base.version + 1 if base else 1,
        kept=(*(base.kept if base else ()), *hand.kept),
    )
    return with_compaction(chat, made)


def with_compaction(chat: Chat, summary: RunningSummary | None) -> Chat:
    evidence = replace(chat.evidence, summary=summary)
    return replace(chat, compaction=summary, evidence=evidence)


def mark(chat: Chat, dials: Dials) -> Chat:
    """Pin, leave out, or forget what is above. What is covered makes the compaction invalid, unless
    it is a pin, as storage does it."""
    place, name = dials.of(range(len(chat.entries))), dials.of(("pinned", "excluded", "forget"))
    entry = chat.entries[place]
    if name == "forget":
        name = "forgets_above"
    if name == "excluded" and entry.message.role == "tool":
        return chat  # A line stands for it then, which `WITHOUT_LINES` and P23 don't know.
    changed = replace(entry, **{name: not getattr(entry, name)})  # type: ignore[arg-type]
    return _changed(chat, place, changed, is_pin=name == "pinned")


def edit(chat: Chat, dials: Dials) -> Chat:
    place = dials.of(range(len(chat.entries)))
    entry, said = chat.entries[place], dials.of(("Berth B-107, please.", "No.", "word " * 90))
    if entry.message.role not in ("user", "assistant") or entry.message.calls:
        return chat
    text = with_tokens(replace(entry.message, content=said))
    return _changed(chat, place, replace(entry, message=text), is_pin=False)


def _changed(chat: Chat, place: int, entry: CaseEntry, *, is_pin: bool) -> Chat:
    entries = (*chat.entries[:place], entry, *chat.entries[place + 1 :])
    chat = replace(chat, entries=entries)
    held = chat.compaction
    marker = max((e.seq for e in entries if e.forgets_above), default=0)
    if held and not is_pin and (entry.seq <= held.last or marker > held.first):
        return with_compaction(chat, None)
    return chat


def keep_whole(chat: Chat, dials: Dials) -> Chat:
    results = [entry.seq for entry in chat.entries if entry.message.role == "tool"]
    return replace(chat, whole=chat.whole ^ {dials.of(results)}) if results else chat


def enlarge(chat: Chat, dials: Dials) -> Chat:
    """A result of a tool that gives way where there is no room."""
    places = [place for place, entry in enumerate(chat.entries) if entry.message.role == "tool"]
    if not places:
        return chat
    entry = chat.entries[place := dials.of(places)]
    rows = "\n".join(f"row {number}: berth B-{number}" for number in range(60))
    large = with_tokens(replace(entry.message, content=rows))
    return _changed(chat, place, replace(entry, message=large), is_pin=False)


def narrow(chat: Chat, dials: Dials) -> Chat:
    """Under a smaller limit results give way, and turns go."""
    return replace(chat, budget=dials.of((60, 120, 300, 600, 5_000, None)))


def send(chat: Chat, dials: Dials) -> Chat:
    """The receipt of this request is that of the one before the next."""
    try:
        decision = VARIANTS[dials.of(range(len(VARIANTS)))].run(chat).decision
    except PolicyRefused:
        return chat
    stored = json.loads(json.dumps(decision.to_stored()))
    evidence = replace(chat.evidence, previous=Previous.from_dict(stored))
    return replace(chat, evidence=evidence)


STEPS: tuple[Callable[[Chat, Dials], Chat], ...] = (
    *(compact, compact, narrow, mark, enlarge, edit, keep_whole, send),
)


# ---- what must hold --------------------------------------------------------------------------
@pytest.mark.examples
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_every_step_is_sound_and_undoing_all_gives_the_first_request(variant: Variant) -> None:
    @SEQUENCES
    @given(chat=chats(), numbers=st.lists(EVEN, min_size=1, max_size=MOST_STEPS))
    def holds(chat: Chat, numbers: list[int]) -> None:
        before = [chat]
        for number in numbers:
            dials = Dials(number)
            if len(before) > 1 and dials.of((0, 0, 1)):
                before.pop()  # undo
            else:
                before.append(dials.of(STEPS)(before[-1], dials))
            check_step(variant, before[-1])
        while len(before) > 1:
            was = before.pop()
            if was.compaction and not before[-1].compaction and was.entries == before[-1].entries:
                undone = with_compaction(was, None)
                expected = replace(before[-1], budget=was.budget, evidence=undone.evidence)
                assert request_of(variant, undone) == request_of(
                    variant, replace(expected, whole=was.whole)
                )
        assert request_of(variant, before[0]) == request_of(variant, chat)

    holds()


def request_of(variant: Variant, chat: Chat) -> tuple[object, ...]:
    """The request to the byte, or why there is none."""
    try:
        decision = variant.run(chat).decision
    except PolicyRefused as refusal:
        return (str(refusal),)
    return (*decision.request, json.dumps(decision.to_stored()))


def check_step(variant: Variant, chat: Chat) -> None:
    try:
        trial = variant.run(chat)
    except PolicyRefused:
        assert needed_by(variant, chat) > chat.limit, "refused though it fits"
        return
    lines = any(isinstance(i, StoredRun) and i.shortened < 0 for i in trial.decision.layout)
    for check in BOUND if lines else (*BOUND, *WITHOUT_LINES):
        check(trial)
    check_compaction(trial)
    check_loaded_part(trial, chat)


def check_compaction(trial: PolicyTrial) -> None:
    """It is in the request once, before all turns, and what it covers is not; marks win."""
    chat = trial.case
    assert isinstance(chat, Chat)
    held, layout = chat.compaction, trial.decision.layout
    sent = [one for one in layout if isinstance(one, AddedMessage) and one.kind == "summary"]
    assert len(sent) <= 1
    if held is None:
        return
    covered = [turn for turn in split_turns(stored(trial)) if is_covered(turn, held)]
    if not sent:
        no_room = trial.decision.limit - held.tokens.count - trial.decision.parts[-1].tokens
        assert trial.subject.name == "none" or no_room < trial.decision.limit
        assert not any(run.reason == "summarised" for run in trial.decision.verdicts)
        return
    assert sent[0].id == held.id and trial.subject.name != "none"
    assert trial.decision.reports["summary"]["compaction"] == held.compaction
    for turn in covered:
        seqs = {entry.seq for entry in turn.entries} - {e.seq for e in trial.current}
        spared = any(e.pinned or e.message.id == _replied(trial) for e in turn.entries)
        assert spared or not seqs & trial.sent, "it is sent beside what stands for it"
    first = next((m for m in trial.history if m.role != "system"), None)
    assert first is not None and (first.id == "summary" or _is_text(first))
    horizon = trial.decision.horizon
    turns = [turn for turn in split_turns(stored(trial)) if turn.user is not None]
    replied = any(e.message.id == _replied(trial) for turn in covered for e in turn.entries)
    if covered and horizon is not None and not replied and not any(map(_is_spared, turns)):
        assert horizon > held.last or horizon in held.kept


def _is_text(message: Message) -> bool:
    return message.id.startswith("text-")


def _is_spared(turn: object) -> bool:
    return any(entry.pinned for entry in turn.entries)  # type: ignore[attr-defined]


def _replied(trial: PolicyTrial) -> str | None:
    return trial.current[0].message.reply_to


def stored(trial: PolicyTrial) -> list[Entry]:
    return [entry for entry in trial.case.transcript.entries if entry.message.role != "system"]


def check_loaded_part(trial: PolicyTrial, chat: Chat) -> None:
    """A policy with a reach decides the same on what the store loads: the turns that the compaction
    leaves in their places are among it."""
    wanted = reach(trial.decision.settings, room=chat.window.room)
    if isinstance(wanted, Everything) or trial.subject in (LEXICAL, STRATEGY):
        return
    if {"incomplete_tool_group", "empty"} & set(trial.reasons.values()) or chat.quoted:
        return
    kept = frozenset(chat.compaction.kept) if chat.compaction else frozenset()
    part = load_part(chat, wanted, also=kept)
    assert trial.subject.run(part).decision.request == trial.decision.request


@given(chat=chats(), most=st.integers(20, 400), before=st.sampled_from(("", "They spoke of tea.")))
def test_a_draft_without_a_model_keeps_to_its_tokens(chat: Chat, most: int, before: str) -> None:
    hand = fold_by_hand(chat.transcript.entries)
    draft = plain_draft(hand.folded, before=before, most=most)
    assert draft.startswith(before)
    assert estimate(draft) <= max(most, LEAST_TOKENS + estimate(before)) + 4


VALUES = ("B-107", "2026-03-01", "4,200", "/srv/quay/berths.log", "berth_id", "Larsen Quay", "30ms")


@given(
    said=st.lists(st.lists(st.sampled_from(VALUES), max_size=4), min_size=1, max_size=6),
    kept=st.lists(st.sampled_from(VALUES), max_size=4),
)
def test_what_a_draft_lost_is_the_set_difference_with_the_first_message_of_each(
    said: list[list[str]], kept: list[str]
) -> None:
    entries = [
        Entry(message=Message.user(f"it is {' and '.join(values)} now", id=f"m{seq}"), seq=seq)
        for seq, values in enumerate(said, 1)
    ]
    draft = f"they spoke of {' and '.join(kept)} then"
    lost = lost_values(entries, draft)
    assert {value.text for value in lost} == {v for values in said for v in values} - set(kept)
    for value in lost:
        first = next(seq for seq, values in enumerate(said, 1) if value.text in values)
        assert value.seq == first
    pairs = [(value.text, value.seq) for value in lost]
    assert still_lost(pairs, draft) == pairs
    assert still_lost(pairs, f"{draft}\nKeep: {', '.join(value.text for value in lost)}") == []


@pytest.mark.parametrize(
    ("said", "unit"),
    [
        ("It weighs 3,250 grams.", "grams"),
        ("There are 3,250 of them.", ""),
        ("Berth 3,250. Then more.", ""),
        ("Berth 3,250\nmetres", ""),
    ],
)
def test_a_lost_number_has_the_word_behind_it_as_its_unit(said: str, unit: str) -> None:
    [value] = lost_values([Entry(message=Message.user(said, id="m1"), seq=1)], "")
    assert (value.text, value.unit) == ("3,250", unit)


def test_an_instruction_is_lost_unless_the_text_has_it_or_it_is_in_force() -> None:
    said = "From now on, answer in German."
    message = Message.user(f"Hello! {said}", id="m1")
    for in_force, text, lost in (("", "Notes.", [said]), ("", said, []), (said, "Notes.", [])):
        [turn] = split_turns([Entry(message=message, seq=1, in_force=in_force)])
        assert [value.text for value in lost_instructions([turn], text)] == lost
