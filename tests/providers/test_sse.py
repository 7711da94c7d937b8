from __future__ import annotations

import pytest

from chatsite.providers.http.sse import MAX_EVENT_BYTES, SseParser

RECORDED = (
    ': ping\r\n\r\nevent: x\nid: 7\ndata: {"t":"né 日本 🍎"}\n\n'
    "data:no space\r\rdata: two\r\ndata: lines\r\n\r\n\n\ndata: [DONE]\n\n"
).encode()
PAYLOADS = ['{"t":"né 日本 🍎"}'.encode(), b"no space", b"two\nlines", b"[DONE]"]


def test_a_stream_may_be_cut_in_two_at_any_byte() -> None:
    for cut in range(len(RECORDED) + 1):
        parser = SseParser()
        assert parser.feed(RECORDED[:cut]) + parser.feed(RECORDED[cut:]) == PAYLOADS, cut


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_stream_may_arrive_in_crumbs(size: int) -> None:
    parser = SseParser()
    found: list[bytes] = []
    for start in range(0, len(RECORDED), size):
        found += parser.feed(b"") + parser.feed(RECORDED[start : start + size])
    assert found == PAYLOADS


def test_an_event_without_its_blank_line_is_not_whole() -> None:
    assert SseParser().feed(b"data: almost\n") == []


@pytest.mark.parametrize("flood", [b"x" * 4096, b"data: " + b"x" * 4096 + b"\n"])
def test_an_event_that_never_ends_is_refused(flood: bytes) -> None:
    parser = SseParser()
    with pytest.raises(ValueError, match="larger"):
        for _ in range(MAX_EVENT_BYTES // 4096 + 2):
            parser.feed(flood)


def test_many_events_are_not_mistaken_for_a_large_one() -> None:
    parser = SseParser()
    one = b"data: " + b"x" * 4090 + b"\n\n"
    assert sum(len(parser.feed(one * 8)) for _ in range(64)) == 512
