"""Which older messages the lexical search finds for a question, and which it doesn't."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chatsite.history.evidence import Hit
from chatsite.history.lexical.index import LONG, Index, Line, passages
from chatsite.history.lexical.ranking import (
    SearchQuestion,
    question_in_chat,
    rank_messages,
    recall_messages,
)
from chatsite.history.lexical.scoring import SPREAD
from chatsite.history.lexical.words import (
    asks_only,
    asks_when,
    author_meant,
    is_question,
    spelled,
    tells_time,
    terms,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SMALL_TALK = (
    ("How was your morning?", "Quiet. The coffee machine broke again, so tea it was."),
    ("Can you shorten this paragraph?", "Gladly: three sentences are enough for it."),
    ("Which train leaves first?", "The one from platform four, at a quarter past."),
    ("Is the report finished?", "Nearly; two charts are missing their captions."),
    ("What is a monad?", "A way to chain computations that carry something extra."),
)


def lines(turns: Iterable[tuple[str, str]], *, first: int = 1, at: datetime = NOON) -> list[Line]:
    """Questions and answers in turn, a minute apart."""
    return [
        Line(seq=first + place, author="ua"[place % 2], text=text, at=at + timedelta(minutes=place))
        for place, text in enumerate(text for turn in turns for text in turn)
    ]


def index_of(*groups: list[Line]) -> Index:
    index = Index()
    for group in groups:
        index.extend(group)
    return index


def find(index: Index, question: str, *, before: int = 10_000) -> tuple[Hit, ...]:
    return recall_messages(index, question_in_chat(question), before=before)


class TestSplitting:
    def test_english_words_match_without_their_endings(self) -> None:
        assert terms("She studied the harbours, walking") == terms("studies harbour walked")

    def test_function_words_are_no_terms(self) -> None:
        assert terms("What did you say about it? I don't know who's there") == ["say", "know"]

    def test_a_term_keeps_the_spelling_of_its_word(self) -> None:
        assert list(spelled("Lisbon's harbours"))[0] == ("Lisbon's", "lisbon")

    def test_other_languages_keep_their_words_whole(self) -> None:
        assert terms("Übermäßige Größe, naïveté") == ["übermässige", "grösse", "naïveté"]
        assert terms("मुझे हिन्दी पसंद है।") == ["मुझे", "हिन्दी", "पसंद", "है"]
        assert terms("שָׁלוֹם עולם") == ["שָׁלוֹם", "עולם"]

    @pytest.mark.parametrize(
        ("text", "question"),
        [
            ("我養了一隻貓，叫小白。", "我的貓叫什麼名字？"),
            ("先週、京都のお寺に行きました", "どの寺に行った？"),
            ("ฉันเลี้ยงแมวชื่อมะลิ", "แมวของฉันชื่ออะไร"),
            ("저는 부산에 살아요", "부산에 누가 살아요?"),
            ("ខ្ញុំរស់នៅភ្នំពេញ", "ភ្នំពេញ"),
        ],
    )
    def test_scripts_without_spaces_share_parts_of_words(self, text: str, question: str) -> None:
        assert set(terms(text)) & set(terms(question))

    def test_a_han_character_alone_is_found_inside_a_sentence(self) -> None:
        assert "貓" in terms("我的貓叫小白")
        assert terms("貓") == ["貓"]

    def test_full_width_letters_are_letters(self) -> None:
        assert terms("ＬＩＳＢＯＮ　港") == ["lisbon", "港"]

    def test_a_text_without_words_has_no_terms(self) -> None:
        assert terms("") == terms("... ?! \n") == terms("🙂🙂") == []


class TestCues:
    def test_a_question_can_point_at_an_author(self) -> None:
        assert author_meant("What did you suggest for dinner?") == "assistant"
        assert author_meant("What was your advice on my lease?") == "assistant"
        assert author_meant("Where does my sister live?") == "user"
        assert author_meant("Where is the harbour?") is None

    def test_other_languages_give_no_cue(self) -> None:
        assert author_meant("Wo wohnt meine Schwester?") is None
        assert not asks_when("Wann war das?")

    def test_times_are_recognised(self) -> None:
        assert asks_when("When did we sail?") and asks_when("What day was it?")
        assert tells_time("We sailed last Friday") and tells_time("in 2024")
        assert not tells_time("We sailed far")

    @pytest.mark.parametrize(
        "text",
        ["Where did Ana live?", "And now?", "Have I ever sailed?", "Can you remind me of it?"],
    )
    def test_a_plain_question_asks_for_something_that_was_said(self, text: str) -> None:
        assert asks_only(text)

    @pytest.mark.parametrize(
        "text",
        [
            "I've set it to 5, what is next?",
            "Hmm, which one is easier?",
            "How can I make it shorter?",
            "Can you shorten it?",
            "Do you think that’s enough?",
            "It broke. Why?",
            "It broke.",
        ],
    )
    def test_a_message_that_goes_on_with_work_is_no_plain_question(self, text: str) -> None:
        assert not asks_only(text)

    def test_questions_are_recognised_in_any_script(self) -> None:
        assert is_question("Really?") and is_question("本当？") and is_question("حقا؟")
        assert not is_question("Really.")


class TestPassages:
    def test_a_short_text_is_one_passage(self) -> None:
        assert passages("A short answer.") == ["A short answer."]
        assert passages("") == [""]

    def test_a_long_text_is_cut_at_its_paragraphs_and_nothing_is_lost(self) -> None:
        text = "\n\n".join(f"Paragraph {n}. " + "Some more words. " * 30 for n in range(12))
        parts = passages(text)
        assert "".join(parts) == text
        assert len(parts) > 4
        assert all(part.startswith("Paragraph") for part in parts)

    @pytest.mark.parametrize("text", ["x" * 9_000, "長い文。" * 2_000, "word " * 2_000])
    def test_any_long_text_is_cut(self, text: str) -> None:
        parts = passages(text)
        assert "".join(parts) == text
        assert max(map(len, parts)) <= LONG


class TestFinding:
    def test_the_message_with_the_words_comes_first_and_names_them(self) -> None:
        fact = [("My sister Ana moved to Lisbon, close to the harbour.", "How lovely for her!")]
        index = index_of(lines(fact), lines(SMALL_TALK * 5, first=3))
        [best, *_] = find(index, "Where in Lisbon does my sister live?")
        assert best.seq == 1
        assert best.why == 'it shares "Lisbon" and "sister" with your message'

    def test_messages_next_to_the_words_are_found_too(self) -> None:
        fact = [("What shall I call my new boat?", "How about a sea bird?"), ("Petrel!", "Good.")]
        index = index_of(lines(SMALL_TALK), lines(fact, first=11), lines(SMALL_TALK * 4, first=15))
        found = {hit.seq: hit.why for hit in find(index, "What is my boat's name?")}
        assert found[11] == 'it shares "boat\'s" with your message'
        assert found[13] == 'it stands close to where "boat\'s" was said'

    @pytest.mark.parametrize("text", ["Thanks!", "ok", "", "And you?", "謝謝", "Danke, das war's."])
    def test_a_question_without_shared_words_recalls_nothing(self, text: str) -> None:
        assert find(index_of(lines(SMALL_TALK * 3)), text) == ()

    def test_far_messages_are_not_recalled_to_fill_the_room(self) -> None:
        fact = [("Our harbour is deep.", "Noted.")]
        index = index_of(lines(SMALL_TALK * 4), lines(fact, first=41), lines(SMALL_TALK, first=43))
        assert all(abs(hit.seq - 41) <= 6 for hit in find(index, "How deep is the harbour?"))

    def test_words_that_are_everywhere_do_not_count(self) -> None:
        turns = [(f"Der Hund Nummer {n} und ich", f"Der Hund {n} und du") for n in range(20)]
        index = index_of(lines(turns), lines([("Ein Dackel und ein Pudel", "Aha")], first=41))
        assert find(index, "und der Hund") == ()
        assert find(index, "und der Dackel")[0].seq == 41

    def test_a_long_answer_is_found_by_one_of_its_parts(self) -> None:
        filler = "Boats need care, and care needs time, which sailors have. " * 12
        answer = f"{filler}\n\nThe spare anchor weighs nineteen kilograms.\n\n{filler}"
        talk = [("Tell me about boats", answer), ("And about sailors?", filler * 2)]
        index = index_of(lines(SMALL_TALK), lines(talk, first=11), lines(SMALL_TALK, first=15))
        assert len(index) == 24
        [best, *_] = find(index, "How heavy is the spare anchor in kilograms?")
        assert best.seq == 12
        assert len({hit.seq for hit in find(index, "spare anchor")}) == len(
            find(index, "spare anchor")
        )

    def test_you_said_prefers_the_answers(self) -> None:
        turn = [("A pasta with lemon and basil tonight", "A pasta with lemon and basil: good")]
        index = index_of(lines(SMALL_TALK * 2), lines(turn, first=21), lines(SMALL_TALK, first=23))
        assert find(index, "Which pasta did you suggest?")[0].seq == 22
        assert find(index, "What is my pasta?")[0].seq == 21

    def test_a_named_time_finds_the_messages_of_that_time(self) -> None:
        may = lines([("We bought the tent", "A good one")], at=datetime(2026, 5, 8, 9, tzinfo=UTC))
        others = [
            lines(SMALL_TALK, first=10 * month, at=datetime(2026, month, 3, 9, tzinfo=UTC))
            for month in range(6, 12)
        ]
        hits = find(index_of(may, *others), "What happened in May?")
        assert {hit.seq for hit in hits} == {1, 2}
        assert {hit.why for hit in hits} == {"it was said at a time that your message names"}

    def test_a_long_pause_ends_a_talk(self) -> None:
        fact = [("The password hint is a petrel", "Understood")]
        later = NOON + timedelta(hours=5)
        index = index_of(lines(fact), lines(SMALL_TALK * 3, first=3, at=later))
        assert {hit.seq for hit in find(index, "petrel")} == {1, 2}

    def test_only_messages_that_may_be_recalled_are_found(self) -> None:
        turns = [(f"Petrel number {n}", "Seen") for n in range(10)]
        index = index_of(lines(turns), lines(SMALL_TALK * 8, first=21))
        question = SearchQuestion(text="petrel")
        hits = recall_messages(index, question, before=15, after=4, without={7})
        assert hits
        assert all(4 < hit.seq < 15 and hit.seq != 7 for hit in hits)
        assert len(recall_messages(index, question, before=99, most=3)) == 3

    def test_an_empty_index_and_a_single_message(self) -> None:
        assert find(Index(), "petrel") == ()
        index = index_of(lines([("A petrel", "A tern")])[:1])
        assert [hit.seq for hit in find(index, "petrel")] == [1]
        assert find(index, "gannet") == ()


WORDS = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in ("lt", "rn", "mp", "x", "v")]


def random_lines(count: int, *, seed: int) -> list[Line]:
    """Messages of made-up words whose frequencies are as uneven as in a natural language."""
    pick = random.Random(seed)
    weights = [1 / (1 + place) for place in range(len(WORDS))]
    at = NOON
    found = []
    for place in range(count):
        at += timedelta(hours=8) if pick.random() < 0.05 else timedelta(minutes=1)
        text = " ".join(pick.choices(WORDS, weights, k=pick.randint(1, 20)))
        found.append(Line(seq=1 + 2 * place, author="ua"[place % 2], text=text, at=at))
    return found


class TestChatWithAnAssistant:
    """What holds between two people and not where one of them is an assistant."""

    STATES = "The petrel nests on the cliff. It is safe there"

    def test_a_message_that_states_and_asks_is_worth_as_much_as_one_that_states(self) -> None:
        asking, stating = (
            scores_of(index_of(lines([(text, "Rather.")])), question_in_chat("petrel"), 1)[0]
            for text in (f"{self.STATES}, is it?", f"{self.STATES}.")
        )
        assert asking == stating

    def test_between_two_people_a_question_tells_less(self) -> None:
        asking, stating = (
            scores_of(index_of(lines([(text, "Rather.")])), SearchQuestion(text="petrel"), 1)[0]
            for text in (f"{self.STATES}, is it?", f"{self.STATES}.")
        )
        assert asking == stating - 1

    def test_a_neighbour_counts_half_as_much_as_between_two_people(self) -> None:
        index = index_of(lines([("Where is the gannet now?", "Away."), *SMALL_TALK]))
        alone, in_chat, of_two = (
            scores_of(index, replace(question_in_chat("gannet"), neighbour=share), 2)[0]
            for share in (0.0, question_in_chat("gannet").neighbour, 0.2)
        )
        assert of_two - alone == pytest.approx(2 * (in_chat - alone))
        assert of_two > alone


def scores_of(index: Index, question: SearchQuestion, *seqs: int) -> list[float]:
    found = rank_messages(index, question)
    return [found[seq] for seq in seqs]


class TestGrowing:
    @pytest.mark.parametrize("seed", range(3))
    def test_after_a_cut_the_index_is_as_if_the_rest_had_never_been_added(self, seed: int) -> None:
        every = random_lines(300, seed=seed)
        kept = 60 * seed + 31
        other = [Line(seq=1000 + n, author="u", text=x.text, at=x.at) for n, x in enumerate(every)]
        cut = index_of(every)
        cut.cut(every[kept - 1].seq)
        cut.extend(other[kept:])
        fresh = index_of(every[:kept], other[kept:])
        for question in ("bax gern", "dimp kov fult", "1 march 2026"):
            found, expected = (
                rank_messages(index, SearchQuestion(text=question)) for index in (cut, fresh)
            )
            assert found == pytest.approx(expected)
        assert cut.size == fresh.size

    def test_the_whole_index_can_be_cut(self) -> None:
        index = index_of(random_lines(50, seed=1))
        index.cut(0)
        assert (len(index), index.last, find(index, "bax")) == (0, 0, ())
        index.extend(random_lines(3, seed=2))
        assert index.last == 5

    def test_adding_lines_one_by_one_is_the_same_as_at_once(self) -> None:
        every = random_lines(100, seed=5)
        assert rank_messages(
            index_of(*([line] for line in every)), SearchQuestion(text="bax kov")
        ) == rank_messages(index_of(every), SearchQuestion(text="bax kov"))

    def test_very_common_words_change_little_in_a_long_conversation(self) -> None:
        """They count only in messages that a rarer word found; the best hits stay the same."""
        every = random_lines(5_000, seed=3)
        rare = Line(seq=5_001, author="u", text="zanzibar fux bax balt", at=every[2500].at)
        index = index_of(every[:2500], [rare], every[2501:])
        assert len(index.postings["balt"]) > SPREAD
        hits = find(index, "bax balt zanzibar fux", before=10**6)
        assert hits[0].seq == 5_001
        assert hits[0].why == 'it shares "zanzibar" and "fux" with your message'
        assert find(index, "balt", before=10**6) == ()
