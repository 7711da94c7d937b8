"""Counts of tokens: the estimate against recorded true counts, and sums."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsite.conformance.kit.cases import with_tokens
from chatsite.history import estimate, estimate_message, tokens_of
from chatsite.history.values.counts import known_tokens, weakest
from chatsite.messages import Attachment, Message, ToolCall

# A sentence in each script, and its number of tokens with o200k_base.
RECORDED = [
    (
        "English",
        "When the rain stopped we walked down to the harbour and watched the last ferry leave.",
        17,
    ),
    (
        "German",
        "Als der Regen aufhörte, gingen wir zum Hafen und sahen der letzten Fähre nach.",
        20,
    ),
    (
        "Russian",
        "Когда дождь прекратился, мы спустились к гавани и смотрели, как уходит последний паром.",
        25,
    ),
    (
        "Greek",
        "Όταν σταμάτησε η βροχή, κατεβήκαμε στο λιμάνι και είδαμε το τελευταίο πλοίο να φεύγει.",
        36,
    ),
    ("Arabic", "عندما توقف المطر نزلنا إلى الميناء وشاهدنا العبارة الأخيرة وهي تغادر.", 21),
    ("Hebrew", "כשהגשם פסק ירדנו אל הנמל וצפינו במעבורת האחרונה יוצאת.", 24),
    ("Hindi", "जब बारिश रुकी तो हम बंदरगाह तक गए और आखिरी नौका को जाते देखा।", 21),
    ("Thai", "เมื่อฝนหยุดตก เราเดินลงไปที่ท่าเรือและมองดูเรือเฟอร์รี่ลำสุดท้ายออกไป", 31),
    ("Chinese", "雨停了以后,我们走到港口,看着最后一班渡轮离开。", 21),
    (
        "Japanese",
        "雨が上がったので、私たちは港まで歩いて行き、最後のフェリーが出るのを見送った。",
        30,
    ),
    ("Korean", "비가 그친 뒤 우리는 항구로 내려가 마지막 배가 떠나는 것을 지켜보았다.", 22),
    ("emoji", "👩\u200d👩\u200d👧 👍🏽 🚢🌧️🌈", 18),
    (
        "Python",
        'def area(r: float) -> float:\n    """Of a circle."""\n    return math.pi * r ** 2\n',
        25,
    ),
    ("JSON", '{"id": 4711, "tags": ["sea", "rain"], "at": "2024-05-01T10:00:00Z", "ok": true}', 39),
    ("numbers", "3.14159265358979 2.71828182845904 1.41421356237309", 23),
]


@pytest.mark.parametrize(("script", "text", "true"), RECORDED)
def test_an_estimate_is_never_far_below_the_truth(script: str, text: str, true: int) -> None:
    assert 0.9 * true <= estimate(text) <= 2 * true, script


@settings(deadline=None, derandomize=True, database=None, max_examples=300)
@given(one=st.text(max_size=40), other=st.text(max_size=40))
def test_more_text_never_counts_less(one: str, other: str) -> None:
    assert estimate(one + other) >= estimate(one)
    assert estimate(one) > 0 or not one


def test_calls_reasoning_and_files_count() -> None:
    empty = estimate_message(Message.assistant(None, id="1"))
    assert empty > 0
    call = ToolCall(id="c", name="search", arguments={"q": "rain"})
    file = Attachment(id="f", name="a.png", size=1, modality="image")
    for message in (
        Message.assistant(None, id="1", calls=(call,)),
        Message.assistant(None, id="1", reasoning="Let me think."),
        Message.user(None, file, id="1"),
    ):
        assert estimate_message(message) > empty


def test_a_known_count_overrides_the_estimate() -> None:
    message = Message.user("word " * 100, id="1")
    assert tokens_of(message) == estimate_message(message)
    assert tokens_of(with_tokens(message, 7)) == known_tokens(with_tokens(message, 7)).count == 7
    with pytest.raises(ValueError, match="message 1 has no token count"):
        known_tokens(message)


def test_a_sum_has_the_basis_of_its_weakest_part() -> None:
    assert weakest([]) == "counted"
    assert weakest(["reported", "reported"]) == "reported"
    assert weakest(["reported", "counted"]) == "counted"
    assert weakest(["reported", "counted", "estimated"]) == "estimated"
