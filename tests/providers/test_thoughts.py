"""Thoughts that a model writes between tags at an answer's beginning, cut anywhere."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.providers.base.provider import ReasoningPiece
from chatsite.providers.base.thoughts import ThoughtSplitter


def split(pieces: Sequence[str], reason: str = "stop") -> tuple[str, str]:
    """Thoughts and text, as they are at the answer's end."""
    splitter = ThoughtSplitter()
    found = [one for piece in pieces for one in splitter.take(piece)] + splitter.flush()
    thoughts = "".join(one.text for one in found if isinstance(one, ReasoningPiece))
    text = "".join(one.text for one in found if not isinstance(one, ReasoningPiece))
    return splitter.divided(reason) or (thoughts, text)


ANSWER = ("Hm.", "It is 4.")
PAIRS = [
    ("<think>", "</think>"),
    ("<THINK>", "</Think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<reason>", "</reason>"),
    ("<thought>", "</thought>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<seed:think>", "</seed:think>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought\n", "<channel|>"),
    *(
        (f"{before}<|channel|>analysis{blank}<|message|>", end)
        for before, blank in (("", ""), ("<|start|>assistant", ""), ("", " "))
        for end in (
            "<|end|><|start|>assistant<|channel|>final<|message|>",
            "<|end|>\n<|start|>assistant<|channel|>final <|message|>",
            "<|start|>assistant<|channel|>final<|message|>",
            "<|end|><|channel|>final<|message|>",
        )
    ),
    ("<think >", "</think>"),
    ("<think\n>", "</think >"),
    ("<THINK >", "</THINK\n>"),
    ("<seed:think >", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("[THINK ]", "[/THINK ]"),
    ("<antThinking>", "</antThinking>"),
    ("<REASONING_SCRATCHPAD>", "</REASONING_SCRATCHPAD>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<unused94>thought\n", "<unused95>"),
    ("\ufeff<think>", "</think>"),
    ("\u200b<think>", "</think>"),
]


@pytest.mark.parametrize(("begin", "end"), PAIRS, ids=[pair[0].strip() for pair in PAIRS])
def test_what_stands_between_the_tags_is_thought(begin: str, end: str) -> None:
    for thought in ("Hm.", "\nHm.\n", "\r\n Hm. \r\n\r\n"):
        for blanks in ("", "\n\n", " \r\n"):
            whole = f"{blanks}{begin}{thought}{end}{blanks}It is 4."
            assert split([whole]) == ANSWER
            assert split(whole) == ANSWER, "letter by letter"


@pytest.mark.parametrize(
    ("whole", "expected"),
    [
        ("<think>\n\n</think>\n\nIt is 4.", ("", "It is 4.")),
        ("<think></think>It is 4.", ("", "It is 4.")),
        ("</think>\n\nIt is 4.", ("", "It is 4.")),
        ("<think>a</think>\n<think>b</think>\nIt is 4.", ("ab", "It is 4.")),
        ("<think>Is `</think>` the tag?</think>Yes.", ("Is `</think>` the tag?", "Yes.")),
        ('<think>He said "yes"</think>Yes.', ('He said "yes"', "Yes.")),
        ("<think>a < b and </thin</think>Yes.", ("a < b and </thin", "Yes.")),
        (
            "<think>Hm.</think>Models write <think>x</think>.",
            ("Hm.", "Models write <think>x</think>."),
        ),
        ("<think>Hm.</think>\n\nIt is 4.\n\n", ("Hm.", "It is 4.\n\n")),
        # The template has the beginning of the thought, so the answer has its end alone.
        ("Hm.\n</think>\n\nIt is 4.", ANSWER),
        ("Hm.</think>\nIt is 4.", ANSWER),
        ("Hm.\n[/THINK]\r\nIt is 4.", ANSWER),
        ("Hm.\n</think >\nIt is 4.", ANSWER),
        # Of a thought that the server has taken out, the end may be left.
        ("</think>It is 4.", ("", "It is 4.")),
        ("</think>東京です。", ("", "東京です。")),
        ("</mm:think>\nIt is 4.", ("", "It is 4.")),
        ("<think/>\nIt is 4.", ("", "It is 4.")),
        ("<think />\n\nIt is 4.", ("", "It is 4.")),
        ("<think/>It is 4.", ("", "It is 4.")),
        ("<think>It says <reason>x</reason>.</think>Yes.", ("It says <reason>x</reason>.", "Yes.")),
        # The answer between tags, too.
        ("<think>Hm.</think><answer>It is 4.</answer>", ANSWER),
        ("<think>Hm.</think>\n\n<response>\nIt is 4.\n</response>\n", ANSWER),
        ("Hm.\n</think>\n\n<response>\nIt is 4.\n</response>\n", ANSWER),
        ("<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>It is 4.<|END_RESPONSE|>", ANSWER),
        (
            "<|begin_of_thought|>Hm.<|end_of_thought|>\n\n<|begin_of_solution|>It is 4."
            "<|end_of_solution|>",
            ANSWER,
        ),
        ("<think>Hm.</think><answer></answer>", ("Hm.", "<answer></answer>")),
        # Servers that leave the marks of gpt-oss out.
        ("analysisHm.assistantfinalIt is 4.", ANSWER),
        ("analysisHm.assistantcommentaryI look.assistantfinalIt is 4.", ANSWER),
    ],
)
def test_thoughts_of_other_forms(whole: str, expected: tuple[str, str]) -> None:
    assert split([whole]) == expected
    assert split(whole) == expected


@pytest.mark.parametrize(
    "text",
    [
        "It is 4.",
        " <b>It</b> is 4.",
        "\n\nIt is 4.",
        "   ",
        "<",
        "<thi",
        "<thin",
        "<thinker>x</thinker>",
        "<think",
        "< think>x</think>",
        "The tag <think>x</think> is written by models.",
        "`<think>` begins a thought, `</think>` ends it.",
        '"<think>x</think>"',
        "```\n<think>\nx\n</think>\n```\nThat is how it looks.",
        "```\nx\n</think>\n```\n",
        "Write this:\n\n    <think>\n    x\n    </think>\n",
        "The end is `\n</think>\n`, alone.",
        "The end is </think> and nothing else.",
        "</think> ends a thought.",
        "One\n</think>\ntwo\n</think>\nthree",
        "Nothing follows.\n</think>\n",
        "<think>…</think> is a pair of tags.",
        "<think> begins a thought, and it must be ended.",
        "[THINKING] about it",
        "<think-tank> is a word",
        "<think:x>",
        "<thinking about it",
        "<think attribute>",
        "<think/> is an empty tag.",
        "<think /> is an empty tag.",
        "</think>, </thinking> and others are ends.",
        "<reasonable>x</reasonable>",
        "<xs:reason>x</xs:reason>",
        "<answer>It is 4.</answer>",
        "<response>x</response>",
        "analysisParalysis is no word.",
        "analysis of what an assistantfinal is",
        "Analysis shows assistantfinalists",
        "<|channel|>",
        "<unused94>",
    ],
)
def test_an_answer_about_the_tags_keeps_them(text: str) -> None:
    assert split([text]) == split(text) == ("", text)


def test_a_thought_without_an_end_is_the_answer_only_where_the_model_stopped_by_itself() -> None:
    """People would have no answer otherwise. Where the limit cut it, it is a thought."""
    assert split(["<think>It ", "is 4."]) == ("", "<think>It is 4.")
    assert split(["<think>It ", "is 4."], "length") == ("It is 4.", "")


def test_the_answers_first_words_wait_for_nothing() -> None:
    splitter = ThoughtSplitter()
    assert [one.text for one in splitter.take("I")] == ["I"]
    splitter = ThoughtSplitter()
    assert splitter.take("<think>") == []
    assert splitter.take("Hm") == [ReasoningPiece("Hm")]


def test_blanks_without_end_are_not_kept_back_for_ever() -> None:
    splitter = ThoughtSplitter()
    assert sum(len(one.text) for _ in range(1000) for one in splitter.take("\n")) > 500
    splitter = ThoughtSplitter()
    splitter.take("<think")
    assert sum(len(one.text) for _ in range(1000) for one in splitter.take("\n")) > 500


WORDS = [
    "<think>",
    "</think>",
    "<think ",
    "<think/>",
    "<",
    "</",
    "think>",
    "Hm",
    "`",
    '"',
    "\n",
    " ",
    "</think>\n",
    "é",
]


@given(
    words=st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=4)), max_size=12),
    cuts=st.lists(st.integers(0, 80), max_size=8),
    begins=st.booleans(),
)
def test_it_does_not_matter_where_a_text_is_cut(
    words: list[str], cuts: list[int], begins: bool
) -> None:
    whole = ("<think>" if begins else "") + "".join(words)
    places = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    pieces = [whole[a:b] for a, b in zip(places, places[1:], strict=False)]
    assert split(pieces) == split([whole]) == split(whole), json.dumps(pieces)


@given(text=st.text(max_size=40).filter(lambda text: "<" not in text and "[" not in text))
def test_a_text_without_tags_is_left_as_it_is(text: str) -> None:
    if not any(mark in text for mark in "◁"):
        assert split([text]) == ("", text)
