"""Which token counts show that a server dropped the beginning of a prompt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chatsite.messages import Attachment, Basis, Message, TokenCount
from chatsite.providers.base.provider import Model
from chatsite.providers.tokens.tokenizers import Estimate, O200k
from chatsite.turns.answer.server_cuts import ReportedPrompt, server_cut, unsure_of
from chatsite.turns.context.file_forms import has_media
from tests.providers.test_tokenizers import SCRIPTS

ROOT = Path(__file__).resolve().parents[2]


def is_cut(
    sent: int,
    reported: int | None,
    basis: Basis = "estimated",
    *,
    before: tuple[int, int] | None = None,
    leading: int = 0,
    head: int = 0,
    unsure: int = 0,
) -> bool:
    """Whether a cut is detected. `before`: tokens sent and reported for the previous request."""
    cut = server_cut(
        sent=sent,
        sent_basis=basis,
        reported=reported,
        before=ReportedPrompt(sent=before[0], reported=before[1]) if before else None,
        leading=leading,
        head=head,
        unsure=unsure,
    )
    return cut is not None


class TestFound:
    @pytest.mark.parametrize(
        ("sent", "reported"),
        [
            (6_000, 2_050),  # Ollama with 4,096: it keeps half of them
            (3_200, 2_050),  # exactly its size, although an estimate alone would allow it
            (5_000, 2_048),  # a server that keeps the newest 2,048
            (20_000, 4_090),
            (500, 200),
        ],
    )
    def test_a_prompt_that_is_far_too_short(self, sent: int, reported: int) -> None:
        assert is_cut(sent, reported)

    def test_a_small_cut_where_our_own_count_is_the_models(self) -> None:
        assert is_cut(9_000, 8_192, "counted")
        assert not is_cut(9_000, 8_700, "counted")

    def test_a_small_cut_where_the_same_beginning_was_longer_before(self) -> None:
        # The last request of 4,000 was reported as 3,400; 300 were added, 3,000 came back.
        assert is_cut(4_300, 3_000, before=(4_000, 3_400), leading=4_000)
        assert not is_cut(4_300, 3_000)
        assert not is_cut(4_300, 3_400, before=(4_000, 3_400), leading=4_000)

    def test_the_sentence_about_a_cut(self) -> None:
        cut = server_cut(
            sent=7_000,
            sent_basis="estimated",
            reported=2_050,
            before=ReportedPrompt(sent=6_700, reported=6_030),
            leading=6_700,
            server="Ollama",
            model="llama3.2",
        )
        assert cut is not None
        assert (cut.sent, cut.reported, cut.missing) == (6_285, 2_050, 4_235)
        for part in (
            "Ollama, not the history policy, cut this prompt",
            "about 6,300 tokens llama3.2 read 2,050",
            "about 4,200 from the beginning",
            "OLLAMA_CONTEXT_LENGTH",
            "MODELS_FILE",
        ):
            assert part in cut.sentence


class TestNoAlarm:
    async def test_an_honest_count_of_any_script_raises_no_alarm_against_our_estimate(self) -> None:
        o200k = O200k.find()
        assert o200k is not None
        code = (ROOT / "chatsite" / "turns" / "answer" / "server_cuts.py").read_text()
        for text in (*SCRIPTS.values(), code):
            messages = [Message.user(text, id=f"m{n}") for n in range(1 + 4_000 // len(text))]
            counts = await Estimate().count(messages)
            sent = sum(each.count for each in counts)
            reported = sum(each.count for each in await o200k.count(messages))
            model = Model(provider="p", name="m", label="m", window=9)
            counted = [replace(m, tokens=n) for m, n in zip(messages, counts, strict=True)]
            assert not is_cut(sent, reported, unsure=unsure_of(counted, model)), text

    def test_a_tokenizer_that_needs_half_as_much_again_or_a_third_less(self) -> None:
        assert not is_cut(8_000, 12_000)
        assert not is_cut(8_000, 12_000, "counted")
        assert not is_cut(8_000, 5_300)

    def test_content_of_another_language_than_before(self) -> None:
        # English at 0.9 until now, then as much Arabic at 0.62.
        assert not is_cut(8_000, 6_080, before=(4_000, 3_600), leading=4_000)
        # A greeting above which a template has put its own words, then something long.
        assert not is_cut(2_040, 1_750, before=(40, 68), leading=40)
        assert not is_cut(2_040, 1_900, before=(40, 100), leading=40)
        assert not is_cut(2_500, 2_300, before=(420, 900), leading=300)

    def test_a_removed_message_that_was_larger_than_estimated(self) -> None:
        # A PDF that was estimated at 3,000 and took 20,000; thinking that nobody counted.
        assert not is_cut(1_500, 1_450, before=(3_500, 21_000), leading=200)
        assert not is_cut(900, 860, before=(685, 1_700), leading=100)
        assert not is_cut(600, 520, before=(500, 3_500), leading=500)
        # A large part of another script, above a moving window.
        assert not is_cut(3_000, 1_700, before=(4_000, 4_800), leading=2_000)

    @pytest.mark.parametrize("reported", [None, 0, 1, 60])
    def test_a_server_that_reports_nothing_of_use(self, reported: int | None) -> None:
        assert not is_cut(5_000, reported)

    def test_a_server_that_counts_only_tokens_outside_its_cache(self) -> None:
        assert not is_cut(6_000, 420, before=(5_500, 4_950), leading=5_500)
        assert is_cut(6_000, 2_050, before=(5_500, 4_950), leading=5_500)
        assert is_cut(4_700, 2_048, leading=3_100), "a context that is full to its end"
        assert not is_cut(4_700, 1_400, before=(3_100, 2_800), leading=3_100)
        assert not is_cut(2_000, 800, before=(900, 800), leading=900)
        assert not is_cut(1_700, 200, head=1_500), "the agent's head, of another chat"

    def test_content_that_may_have_taken_no_tokens(self) -> None:
        assert not is_cut(3_000, 900, unsure=2_400)
        assert not is_cut(3_100, 700, before=(3_000, 2_900), leading=3_000, unsure=2_400)
        assert is_cut(8_000, 2_050, unsure=2_400)

    def test_content_of_unknown_size(self) -> None:
        picture = Attachment(id="f", name="a.png", modality="image", size=9)
        count = TokenCount(count=100, tokenizer="t", basis="counted")
        said = [
            Message.user("Hi", picture, id="0"),
            Message.assistant("So.", id="1", metadata='{"ollama": {"reasoning": "Hm."}}'),
            Message.assistant("<think>Hm.</think>So.", id="2"),
            Message.assistant("So.", id="3"),
            Message.user("</think>", id="4"),
        ]
        counted = [replace(message, tokens=count) for message in said]
        sees = Model(provider="p", name="m", label="m", window=9, takes=frozenset({"image"}))
        reads = replace(sees, takes=frozenset())
        assert (unsure_of(counted, sees), unsure_of(counted, reads)) == (300, 200)
        assert (has_media(counted, sees), has_media(counted, reads)) == (True, False)

    def test_a_short_prompt(self) -> None:
        assert not is_cut(390, 150)
