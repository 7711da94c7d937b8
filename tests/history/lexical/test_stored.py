"""An index that was saved in parts and loaded equals one that was made anew."""

from __future__ import annotations

import zlib
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.errors import Refused
from chatsite.history.lexical import stored
from chatsite.history.lexical.index import Index, Line
from chatsite.history.lexical.ranking import question_in_chat, recall_messages
from chatsite.history.lexical.stored import RULES, dump_part, load_part, part_ends

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TEXTS = (
    "My sister Ana keeps a petrel.",
    "Which train leaves on 3 March?",
    "Das Flugzeug nach K\u00f6ln, \u6771\u4eac\u3078",
    "",
    "The petrel sleeps. " * 100,
)
# Each step: a text with the hours since the message before, a saved part (None), or a cut to a
# share of the messages.
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(TEXTS), st.integers(0, 6)),
        st.none(),
        st.floats(0, 1),
    ),
    max_size=30,
)


def loaded(parts: list[bytes]) -> Index:
    index = Index()
    for part in parts:
        load_part(index, part)
    return index


@given(STEPS)
def test_saved_loaded_and_continued_it_equals_one_made_anew(steps: list[object]) -> None:
    index, lines, at = Index(), list[Line](), NOON
    parts: list[tuple[int, bytes]] = []
    seq = 0
    for step in steps:
        if step is None:
            first = parts[-1][0] if parts else 0
            for end in part_ends(index, first):
                parts.append((end, dump_part(index, first, end)))
                first = end
            index = loaded([part for _, part in parts])
        elif isinstance(step, float):
            del lines[int(step * len(lines)) :]
            index.cut(lines[-1].seq if lines else 0)
            parts = [part for part in parts if part[0] <= len(index)]
        elif isinstance(step, tuple):
            text, hours = step
            seq, at = seq + 1, at + timedelta(hours=hours)
            lines.append(Line(seq=seq, author="ua"[seq % 2], text=text, at=at))
            index.extend(lines[-1:])
    anew = Index()
    anew.extend(lines)
    assert {**vars(index), "widths": None, "width": None} == {
        **vars(anew),
        "widths": None,
        "width": None,
    }
    assert list(index.widths) == pytest.approx(list(anew.widths), abs=1e-3)
    assert index.width == pytest.approx(anew.width, abs=1e-2)


def talk(count: int) -> Index:
    index = Index()
    index.extend(
        Line(seq=n + 1, author="ua"[n % 2], text=TEXTS[n % 5] + f" Number {n}", at=NOON)
        for n in range(count)
    )
    return index


def test_a_loaded_index_gives_the_same_hits_and_scores_to_the_last_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stored, "PART", 30)
    index = talk(300)
    ends = list(part_ends(index, 0))
    parts = [dump_part(index, a, b) for a, b in zip([0, *ends], ends, strict=False)]
    assert len(parts) > 5
    for question in ("What does my sister keep?", "petrel number 17", "3 March"):
        asked = question_in_chat(question)
        hits = recall_messages(index, asked, before=301)
        assert hits
        assert recall_messages(loaded(parts), asked, before=301) == hits


def test_a_part_ends_behind_a_whole_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "PART", 1)
    index = talk(20)
    for end in list(part_ends(index, 0))[:-1]:
        assert index.seqs[end - 1] != index.seqs[end]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"\0" * len(RULES) + data[len(RULES) :],
        lambda data: data[:-9],
        lambda data: data[:60] + bytes([data[60] ^ 1]) + data[61:],
        lambda data: RULES + zlib.compress(zlib.decompress(data[len(RULES) :])[:-3]),
        lambda data: RULES + zlib.compress(b""),
        lambda data: b"",
    ],
)
def test_a_damaged_part_or_one_of_other_rules_is_refused(damage: object) -> None:
    assert callable(damage)
    index = talk(10)
    whole = Index()
    with pytest.raises(Refused):
        load_part(whole, damage(dump_part(index, 0, len(index))))
    assert len(whole) == 0


def test_a_part_doesnt_follow_a_gap() -> None:
    index = talk(10)
    with pytest.raises(Refused, match="missing"):
        load_part(Index(), dump_part(index, 3, len(index)))
