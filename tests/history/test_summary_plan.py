"""Which turns a summary folds in, the text it gets, and that no message is lost or repeated."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from chatsite.history import Entry, estimate, split_turns
from chatsite.history.summary_plan import (
    RequestLoad,
    cut_at_sentence,
    most_tokens,
    shorten_middle,
    shorter_question,
    split_into_pieces,
    summarised_entries,
    summary_question,
    turns_to_fold,
    words_for_tokens,
)
from chatsite.messages import Message, ToolCall
from conformance_kit.cases import with_tokens
from conformance_kit.conversations import paths
from conformance_kit.strategies.adapter import stored_entries


def make_entry(seq: int, role: str, text: str, *, tokens: int = 50, **more: object) -> Entry:
    message = Message(id=f"m{seq}", role=role, content=text)  # type: ignore[arg-type]
    return Entry(message=with_tokens(message, tokens), seq=seq, **more)  # type: ignore[arg-type]


def talk(count: int, *, first: int = 1) -> list[Entry]:
    """Turns of 100 tokens: "question 1", "answer 1" and so on."""
    entries = []
    for number in range(count):
        seq = first + 2 * number
        entries.append(make_entry(seq, "user", f"question {seq // 2 + 1}"))
        entries.append(make_entry(seq + 1, "assistant", f"answer {seq // 2 + 1}"))
    return entries


def load(limit: int, *, fixed: int = 0, summary: int = 0, low_water: int = 50) -> RequestLoad:
    return RequestLoad(fixed=fixed, summary=summary, limit=limit, low_water=low_water)


def firsts(entries: Sequence[Entry], request_load: RequestLoad) -> list[int]:
    return [turn.entries[0].seq for turn in turns_to_fold(entries, request_load)]


class TestTurnsToFold:
    def test_none_up_to_three_quarters_of_the_limit(self) -> None:
        assert firsts(talk(6), load(800)) == []
        assert firsts(talk(6), load(799)) != []
        assert firsts(talk(5), load(800, fixed=100)) == []
        assert firsts(talk(5), load(800, fixed=50, summary=51)) != []

    def test_the_oldest_until_the_rest_is_at_the_low_water_mark_of_the_room(self) -> None:
        """A head of 150 and a summary of at most 150 leave a room of 700 tokens: half of it holds
        three turns."""
        assert firsts(talk(7), load(1_000, fixed=150)) == [1, 3, 5, 7]
        assert firsts(talk(7), load(1_000, fixed=150, low_water=90)) == [1]

    def test_not_the_newest_two_turns_where_they_fit_and_never_the_newest(self) -> None:
        assert firsts(talk(5), load(600, low_water=1)) == [1, 3, 5]
        assert firsts(talk(5), load(500, fixed=200, low_water=1)) == [1, 3, 5]
        assert firsts(talk(5), load(500, fixed=226, low_water=1)) == [1, 3, 5, 7]
        assert firsts(talk(3), load(100, fixed=90)) == [1, 3]
        assert firsts(talk(1), load(100, fixed=90)) == []

    def test_no_turns_without_any_text_to_summarise(self) -> None:
        entries = [
            make_entry(1, "user", "Hidden", excluded=True),
            make_entry(2, "assistant", "Too"),
        ]
        assert firsts([*entries, *talk(1, first=3)], load(100)) == []

    @given(
        paths().map(stored_entries),
        st.integers(50, 5_000),
        st.integers(1, 100),
        st.integers(0, 500),
    )
    def test_covered_and_remaining_entries_are_the_whole_path_after_any_number_of_folds(
        self, entries: Sequence[Entry], limit: int, low_water: int, fixed: int
    ) -> None:
        """P17, and each message is summarised once."""
        path, covered, messages = list(entries), [], 0
        newest = split_turns([e for e in path if e.message.role != "system"])[-1].entries[0].seq
        while folded := turns_to_fold(path, load(limit, fixed=fixed, low_water=low_water)):
            pieces = split_into_pieces(path, folded, room=400, most=99)
            folded_entries = [entry for piece in pieces for entry in piece.entries]
            covered += folded_entries
            messages += sum(piece.messages for piece in pieces)
            path = [entry for entry in path if entry.seq > folded_entries[-1].seq]
            assert covered + path == list(entries)
            assert path[0].message.role in ("user", "system")
        assert newest in [entry.seq for entry in path]
        folded_turns = split_turns([entry for entry in covered if entry.message.role != "system"])
        assert messages == sum(len(summarised_entries(turn)) for turn in folded_turns)


class TestPieces:
    def test_the_text_names_speakers_and_tool_calls_but_no_tool_results(self) -> None:
        call = ToolCall(id="c1", name="search", arguments={"query": "tides"})
        entries = [
            make_entry(1, "user", "When is high water?"),
            Entry(message=with_tokens(Message.assistant(None, id="m2", calls=(call,))), seq=2),
            Entry(message=with_tokens(Message.tool("SECRET rows", id="m3", call_id="c1")), seq=3),
            make_entry(4, "assistant", "At six."),
            *talk(1, first=5),
        ]
        (piece,) = split_into_pieces(entries, split_turns(entries)[:1], room=500, most=99)
        assert piece.text == (
            "User: When is high water?\nAssistant: [Did: search (query: tides)]\nAssistant: At six."
        )
        assert (piece.messages, len(piece.entries)) == (4, 4)

    def test_messages_left_out_of_requests_are_covered_but_not_in_the_text(self) -> None:
        entries = [
            make_entry(1, "assistant", "A greeting"),
            make_entry(2, "system", "An instruction"),
            make_entry(3, "user", "Excluded question", excluded=True),
            make_entry(4, "assistant", "Its answer"),
            make_entry(5, "user", "Asked"),
            make_entry(6, "assistant", "Excluded answer", excluded=True),
            make_entry(7, "assistant", "Answered"),
            *talk(1, first=8),
        ]
        briefing = Message(id="b", role="user", content="A briefing", source="briefing")
        entries.insert(-2, Entry(message=with_tokens(briefing), seq=7_5))
        entries[-3:] = [
            Entry(message=entry.message, seq=8 + place) for place, entry in enumerate(entries[-3:])
        ]
        spoken = split_turns([entry for entry in entries if entry.message.role != "system"])
        (piece,) = split_into_pieces(entries, spoken[:-1], room=500, most=99)
        assert piece.text == "User: Asked\nAssistant: Answered"
        assert [entry.seq for entry in piece.entries] == list(range(1, 9))
        assert piece.messages == 2

    def test_a_long_conversation_is_split_into_pieces_that_each_fit(self) -> None:
        entries = [make_entry(seq, "user", "word " * 200) for seq in range(1, 21)]
        pieces = split_into_pieces(entries, split_turns(entries), room=600, most=99)
        assert len(pieces) > 5
        assert [entry for piece in pieces for entry in piece.entries] == entries
        assert all(estimate(piece.text) <= 600 for piece in pieces)

    def test_a_single_message_that_is_too_large_keeps_its_beginning_and_end(self) -> None:
        text = "BEGIN " + "漢字かな交じり文 " * 4_000 + "plain words " * 4_000 + " END"
        (piece,) = split_into_pieces(
            entries := [make_entry(1, "user", text)], split_turns(entries), room=300, most=99
        )
        assert estimate(piece.text) <= 300
        assert piece.text.startswith("User: BEGIN") and piece.text.endswith("END")
        assert "[...]" in piece.text

    @given(st.text(max_size=400), st.integers(1, 60))
    def test_a_shortened_text_fits_its_room_or_is_the_mark_alone(
        self, text: str, tokens: int
    ) -> None:
        short = shorten_middle(text, tokens=tokens)
        assert estimate(short) <= max(tokens, estimate("\n[...]\n"))


class TestQuestion:
    def test_the_summary_so_far_comes_before_the_new_messages(self) -> None:
        task, prompt = summary_question(
            summary="They like tea.", text="User: And coffee?", words=90
        )
        assert task.role == "system" and prompt.role == "user"
        assert prompt.content is not None
        assert prompt.content.index("They like tea.") < prompt.content.index("And coffee?")
        assert "at most 90 words" in prompt.content
        first = summary_question(summary="", text="User: Hello", words=90)[1]
        assert "Summary so far" not in (first.content or "")

    def test_a_summary_that_is_too_long_is_shortened_without_the_conversation(self) -> None:
        _, prompt = shorter_question("Very long notes.", words=30)
        assert "Very long notes." in (prompt.content or "")
        assert "at most 30 words" in (prompt.content or "")

    def test_the_bound_is_a_share_of_the_limit_with_a_minimum(self) -> None:
        assert [most_tokens(limit) for limit in (10_000, 1_000, 100)] == [1_500, 150, 64]
        assert words_for_tokens(150) < 150 * 3 / 4
        assert words_for_tokens(1) == 20

    def test_a_cut_falls_after_a_sentence_if_one_ends_late_enough(self) -> None:
        text = "They walk in May. They sleep in Porto. They have ninety euros a day."
        assert (
            cut_at_sentence(text, characters=45) == "They walk in May. They sleep in Porto. [...]"
        )
        assert (
            cut_at_sentence("They walk and walk and walk", characters=20)
            == "They walk and walk [...]"
        )
        assert cut_at_sentence("歩く。眠る。食べる。", characters=7) == "歩く。眠る。 [...]"
        assert cut_at_sentence(text, characters=500) == text


def test_at_most_the_requested_number_of_pieces_is_made() -> None:
    entries = [make_entry(seq, "user", "word " * 400) for seq in range(1, 60)]
    pieces = split_into_pieces(entries, split_turns(entries), room=600, most=3)
    assert len(pieces) == 3
    assert [entry.seq for piece in pieces for entry in piece.entries] == list(
        range(1, pieces[-1].entries[-1].seq + 1)
    )


def test_nothing_is_folded_as_long_as_results_can_give_way() -> None:
    call = ToolCall(id="c", name="search")
    messages = [
        Message.user("What is in the harbour?", id="u"),
        Message.assistant(None, id="called", calls=(call,)),
        Message.tool("quay " * 2_000, id="r", call_id="c"),
        Message.assistant("Two cranes.", id="a"),
    ] * 4
    path = [Entry(message=with_tokens(one), seq=seq) for seq, one in enumerate(messages, 1)]
    assert firsts(path, load(4_000)) == []
    assert firsts(path, load(300)) == [1, 5]
