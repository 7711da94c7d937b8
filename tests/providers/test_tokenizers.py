from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
import tiktoken

from chatsite.history import estimate
from chatsite.messages import Message, TokenCount, ToolCall
from chatsite.providers.tokens.tokenizers import O200K_FILE, TOKENS_FOLDER, Estimate, O200k

SCRIPTS = {
    "English": (
        "The meeting was postponed to Thursday because the client fell ill, so please send the "
        "report now and tell everyone who had planned to travel."
    ),
    "English capitals": "THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG",
    "German": (
        "Die Besprechung wurde auf Donnerstag verschoben, weil der Kunde krank geworden ist; "
        "bitte schicken Sie den Geschwindigkeitsbericht trotzdem überall hin."
    ),
    "Russian": (
        "Встреча перенесена на четверг, потому что клиент заболел, поэтому пришлите отчёт сейчас "
        "и предупредите всех, кто собирался приехать."
    ),
    "Greek": "Η συνάντηση αναβλήθηκε για την Πέμπτη επειδή ο πελάτης αρρώστησε.",
    "Hebrew": "הפגישה נדחתה ליום חמישי כי הלקוח חלה, אז בבקשה שלחו את הדוח עכשיו.",
    "Arabic": "تم تأجيل الاجتماع إلى يوم الخميس لأن العميل مريض، لذا يرجى إرسال التقرير الآن.",
    "Hindi": "बैठक गुरुवार तक स्थगित कर दी गई क्योंकि ग्राहक बीमार पड़ गया, कृपया रिपोर्ट अभी भेजें।",
    "Thai": "การประชุมถูกเลื่อนออกไปเป็นวันพฤหัสบดีเพราะลูกค้าป่วย กรุณาส่งรายงานตอนนี้",
    "Chinese": "会议推迟到星期四,因为客户生病了,所以请现在就把报告发给我,并通知所有打算出差的人。",
    "Japanese": "お客様が病気になったため、会議は木曜日に延期されました。報告書を送って。",
    "Korean": "고객이 아파서 회의가 목요일로 연기되었으니 지금 보고서를 보내 주시기 바랍니다.",
    "Python": (
        "def cut(messages, *, length=20):\n    users = [i for i, m in enumerate(messages) if m."
        'role == "user"]\n    if len(users) <= length:\n        return messages\n'
        "    return messages[users[-length]:]\n"
    ),
    "JSON": '{"id": "a81b-22", "items": [{"n": 1, "price": 12.50, "tags": ["x", "y"]}], "ok": 1}',
    "dense JSON": '{"a":[1,2,3],"b":{"c":"d","e":[{"f":0.5},{"f":0.25}]}}',
    "emoji": "🍎🍊😀👩‍👩‍👧‍👦🇩🇪🚀✨🎉🤖❤️👍🏽🧪🛠️🔥",
    "a list": "- one\n- two\n- three\n",
    "numbers": "3.14159265358979 2026-11-21 17:22:45 1,234,567",
}


def user(text: str) -> Message:
    return Message.user(text, id="u")


@pytest.fixture(scope="module")
def o200k() -> O200k:
    found = O200k.find()
    assert found is not None
    return found


@pytest.mark.parametrize("script", SCRIPTS)
async def test_an_estimate_is_never_far_below_the_truth(o200k: O200k, script: str) -> None:
    [counted] = await o200k.count([user(SCRIPTS[script])])
    [estimated] = await Estimate().count([user(SCRIPTS[script])])
    assert (estimated.count - 4) / (counted.count - 4) >= 0.97


async def test_it_counts_like_tiktoken_and_adds_the_frame(o200k: O200k) -> None:
    texts = [*SCRIPTS.values(), "", "a <|endoftext|> typed by hand", "a lone \ud800 surrogate"]
    counts = await o200k.count([user(text) for text in texts])
    encoding = tiktoken.get_encoding("o200k_base")
    exact = [len(encoding.encode_ordinary(text)) + 4 for text in texts]
    assert counts == [TokenCount(count=n, tokenizer="o200k_base", basis="counted") for n in exact]
    assert (o200k.name, o200k.basis) == ("o200k_base", "counted")


async def test_calls_cost_tokens_too(o200k: O200k) -> None:
    calls = (ToolCall(id="1", name="weather", arguments={"city": "Lisbon"}),)
    for tokenizer in (o200k, Estimate()):
        plain, calling = await tokenizer.count(
            [Message.assistant(None, id="a"), Message.assistant(None, id="b", calls=calls)]
        )
        assert plain.count == 4 and calling.count > 8


@pytest.mark.parametrize("kind", [O200k, Estimate])
async def test_counting_megabytes_leaves_the_loop_free(kind: type, o200k: O200k) -> None:
    tokenizer = o200k if kind is O200k else Estimate()
    await o200k.warm()
    counting = asyncio.create_task(tokenizer.count([user("word " * 600_000)]))
    turns = 0
    while not counting.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 3
    assert counting.result()[0].count > 600_000


def test_missing_or_damaged_ranks_are_not_used_and_not_touched(tmp_path: Path) -> None:
    assert O200k.find(folder=tmp_path) is None
    copy = shutil.copy(TOKENS_FOLDER / O200K_FILE, tmp_path)
    with open(copy, "ab") as file:
        file.write(b"x")
    assert O200k.find(folder=tmp_path) is None
    assert Path(copy).exists()


def test_nothing_costs_nothing() -> None:
    assert estimate("") == 0
    assert estimate("ok") == 2


@pytest.mark.parametrize("run", [" ", "\t", " \t", "\u3000", "a", "^", "-", "漢", "\n", "😀"])
async def test_what_cannot_be_counted_in_time_is_estimated_and_marked_so(
    o200k: O200k, run: str
) -> None:
    texts = ["word " + run * 1_100_000 + "b", "Hello."]
    [endless, short] = await o200k.count([user(text) for text in texts])
    assert endless == TokenCount(
        count=estimate(texts[0]) + 4, tokenizer="o200k_base", basis="estimated"
    )
    assert short.basis == "counted"


async def test_a_text_longer_than_any_window_is_estimated(o200k: O200k) -> None:
    [count] = await o200k.count([user("word " * 1_000_001)])
    assert count.basis == "estimated"


async def test_a_panic_of_the_tokenizer_is_an_estimate_too(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the bound on runs, as if another kind of text overflowed tiktoken's stack."""
    found = O200k.find()
    assert found is not None
    monkeypatch.setattr("chatsite.providers.tokens.tokenizers.LONGEST_RUN", 10_000_000)
    [count] = await found.count([user(" " * 1_000_000 + "x")])
    assert (count.tokenizer, count.basis) == ("o200k_base", "estimated")
    assert "panicked over 1000001 characters" in caplog.text
