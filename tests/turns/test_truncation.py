"""What shows that a server dropped the beginning of a prompt, and what doesn't."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatsite.messages import Basis, Message
from chatsite.providers.tokenizers import Estimate, O200k
from chatsite.turns.truncation import server_cut
from tests.providers.test_tokenizers import SCRIPTS

ROOT = Path(__file__).resolve().parents[2]


def found(
    sent: int,
    reported: int | None,
    basis: Basis = "estimated",
    *,
    usual: float | None = None,
    leading: int = 0,
    files: int = 0,
) -> bool:
    cut = server_cut(
        sent=sent, sent_basis=basis, reported=reported, usual=usual, leading=leading, files=files
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
        assert found(sent, reported)

    def test_a_small_cut_where_our_own_count_is_the_models(self) -> None:
        assert found(9_000, 8_192, "counted")
        assert not found(9_000, 8_700, "counted")

    def test_a_small_cut_where_the_same_beginning_was_longer_before(self) -> None:
        # The last request of 4,000 was reported as 3,400; 300 were added, 3,000 came back.
        assert found(4_300, 3_000, usual=0.85, leading=4_000)
        assert not found(4_300, 3_000)
        assert not found(4_300, 3_400, usual=0.85, leading=4_000)

    def test_what_is_said_of_it(self) -> None:
        cut = server_cut(
            sent=7_000,
            sent_basis="estimated",
            reported=2_050,
            usual=0.9,
            server="Ollama",
            model="llama3.2",
        )
        assert cut is not None
        assert (cut.sent, cut.reported, cut.missing) == (6_300, 2_050, 4_250)
        for part in (
            "Ollama, not the history policy, cut this prompt",
            "about 6,300 tokens llama3.2 read 2,050",
            "about 4,200 from the beginning",
            "OLLAMA_CONTEXT_LENGTH",
            "MODELS_FILE",
        ):
            assert part in cut.sentence


class TestNoAlarm:
    async def test_an_honest_count_of_any_script_stands_against_our_estimate(self) -> None:
        o200k = O200k.find()
        assert o200k is not None
        code = (ROOT / "chatsite" / "turns" / "truncation.py").read_text()
        for text in (*SCRIPTS.values(), code):
            messages = [Message.user(text, id=f"m{n}") for n in range(1 + 4_000 // len(text))]
            sent = sum(await Estimate().count(messages))
            reported = sum(await o200k.count(messages))
            assert not found(sent, reported), text

    def test_a_tokenizer_that_needs_half_as_much_again_or_a_third_less(self) -> None:
        assert not found(8_000, 12_000)
        assert not found(8_000, 12_000, "counted")
        assert not found(8_000, 5_300)

    def test_other_content_than_before(self) -> None:
        # English at 0.9 until now, then as much Arabic at 0.62.
        assert not found(8_000, 6_080, usual=0.9, leading=4_000)

    @pytest.mark.parametrize("reported", [None, 0, 1, 60])
    def test_a_server_that_reports_nothing_of_use(self, reported: int | None) -> None:
        assert not found(5_000, reported)

    def test_one_that_counts_only_what_it_had_not_kept(self) -> None:
        assert not found(6_000, 420, usual=0.9, leading=5_500)
        assert found(6_000, 2_050, usual=0.9, leading=5_500)
        assert found(4_700, 2_048, leading=3_100), "a context that is full to its end"
        assert not found(4_700, 1_400, usual=0.9, leading=3_100)

    def test_images_that_cost_less_than_we_feared(self) -> None:
        assert not found(3_000, 900, files=2_400)
        assert found(8_000, 2_050, files=2_400)

    def test_a_short_prompt(self) -> None:
        assert not found(390, 150)
