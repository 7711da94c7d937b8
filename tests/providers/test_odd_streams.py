"""One odd line never costs the answer, whatever a server or a gateway puts into its stream."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.errors import ProviderError
from chatsite.providers.anthropic.reader import AnthropicReader
from chatsite.providers.anthropic.request import MessagesRequest
from chatsite.providers.base.provider import Chunk, Finished, ReasoningPiece, TextPiece
from chatsite.providers.http.odd_lines import AnswerReader
from chatsite.providers.http.sse import SseParser
from chatsite.providers.openai.reader import ChatReader
from tests.providers.chunks import joined
from tests.providers.odd_streams import (
    AFTER,
    ANTHROPIC,
    DIALECTS,
    ENDS,
    ODD_LINES,
    OPENAI,
    answer,
    body,
    chat,
    chunk,
    claude,
    document,
    line,
)

GOOD = TextPiece("Good day, 東京 🍎")
WORDS = ("Good", " day", ", 東京", " 🍎")


def reader_of(dialect: str) -> AnswerReader:
    if dialect == OPENAI:
        return ChatReader(server="vllm", model="m")
    return AnthropicReader(MessagesRequest({"model": "m"}, "anthropic:m", "p"))


def read(dialect: str, pieces: Sequence[bytes]) -> list[Chunk]:
    """The chunks of a body that arrives in these pieces, and its end."""
    reader, parser = reader_of(dialect), SseParser()
    chunks: list[Chunk] = []
    for payloads in (*map(parser.feed, pieces), parser.end()):
        for payload in payloads:
            if not reader.done:
                chunks += reader.take(payload)
    return [*joined(chunks), reader.finished()]


def said(dialect: str, sent: bytes) -> list[Chunk]:
    *chunks, end = read(dialect, [sent])
    assert isinstance(end, Finished) and end.reason == "stop"
    return chunks


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("odd", ODD_LINES.values(), ids=ODD_LINES)
def test_an_odd_line_anywhere_costs_nothing(dialect: str, odd: bytes) -> None:
    lines = answer(dialect, *WORDS)
    for place in range(len(lines) + 1):
        sent = body([*lines[:place], odd, *lines[place:]])
        assert said(dialect, sent) == [GOOD], place


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("mark", ENDS.values(), ids=ENDS)
def test_an_end_mark_is_one_however_it_is_written(dialect: str, mark: bytes) -> None:
    for lines in (
        (chat(*WORDS, finish=None), chat(*WORDS))
        if dialect == OPENAI
        else (
            claude(*WORDS, done=False),
            claude(*WORDS, reason=None, done=False),
        )
    ):
        whole = lines[:-1] if lines[-1] == b"data: [DONE]" else lines
        assert said(dialect, body([*whole, mark])) == [GOOD]
        assert said(dialect, body([*whole, mark], last=b"")) == [GOOD]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("after", AFTER.values(), ids=AFTER)
def test_what_follows_the_end_is_ignored(dialect: str, after: bytes) -> None:
    assert said(dialect, body([*answer(dialect, *WORDS), after])) == [GOOD]
    assert said(dialect, body([*answer(dialect, *WORDS), after], last=b"")) == [GOOD]


@pytest.mark.parametrize("after", [AFTER[name] for name in AFTER if name != "more text"])
def test_what_follows_the_reason_but_has_no_text_is_ignored(after: bytes) -> None:
    assert said(OPENAI, body([*chat(*WORDS)[:-1], after])) == [GOOD]
    assert said(ANTHROPIC, body([*claude(*WORDS)[:-1], after])) == [GOOD]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("between", [b"\n", b"\r\n", b"\r", b"\n\r\n", b"\r\r\n", b"\n\n\n\n"])
@pytest.mark.parametrize("last", [b"", b"\n", b"\r\n", b"\r", b"\n\n"])
def test_lines_end_as_they_like(dialect: str, between: bytes, last: bytes) -> None:
    lines = answer(dialect, *WORDS)
    assert said(dialect, body(lines, between=between, last=last)) == [GOOD]
    assert said(dialect, b"\xef\xbb\xbf" + body(lines, between=between, last=last)) == [GOOD]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\n\n", b"\xef\xbb\xbf\r\n", b"  "])
def test_a_mark_before_the_first_byte_loses_nothing(dialect: str, mark: bytes) -> None:
    sent = mark + body(answer(dialect, *WORDS))
    for cut in range(8):
        *chunks, _ = read(dialect, [sent[:cut], sent[cut:]])
        assert chunks == [GOOD]


@given(data=st.data(), dialect=st.sampled_from(DIALECTS), seed=st.integers(0, 2**32))
def test_odd_lines_and_cuts_anywhere_change_nothing(
    data: st.DataObject, dialect: str, seed: int
) -> None:
    words = data.draw(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=5))
    chance = random.Random(seed)
    lines = answer(dialect, *words)
    plain = read(dialect, [body(lines)])
    for odd in data.draw(st.lists(st.sampled_from(sorted(ODD_LINES.values())), max_size=6)):
        lines.insert(chance.randrange(len(lines)), odd)
    ends = (b"\n\n", b"\r\n\r\n", b"\r\r", b"\n\n\n")
    sent = b"".join(one + chance.choice(ends) for one in lines)
    cuts = sorted(chance.randrange(len(sent) + 1) for _ in range(chance.randrange(20)))
    pieces = [sent[a:b] for a, b in zip([0, *cuts], [*cuts, len(sent)], strict=True)]
    assert read(dialect, pieces) == plain


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_of_nothing_but_nonsense_is_no_answer(
    dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    for lines in ([b"data: what"] * 5, [b"data: what", b"data: [DONE]"]):
        with pytest.raises(ProviderError) as told:
            read(dialect, [body(lines)])
        assert told.value.code == "malformed"
        assert "What you wrote is kept" in told.value.message
    assert len(caplog.records) == 2, "once an answer"
    assert "what" not in caplog.text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_body_that_merely_ends_has_been_cut(dialect: str) -> None:
    """A proxy closes properly when its own time is over; only an end mark or a reason ends an
    answer."""
    cut = chat(*WORDS, finish=None, done=False)
    lines = cut if dialect == OPENAI else claude(*WORDS, reason=None, done=False)
    with pytest.raises(ProviderError) as told:
        read(dialect, [body(lines)])
    assert told.value.code == "interrupted" and "part received is kept" in told.value.message


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("indent", [None, 2])
def test_one_document_in_place_of_a_stream_is_an_answer(dialect: str, indent: int | None) -> None:
    whole = document(dialect, GOOD.text)
    sent = json.dumps(whole, indent=indent, ensure_ascii=False).encode()
    for form in (sent, b"\xef\xbb\xbf" + sent, b"\n" + sent + b"\n", b"data: " + sent + b"\n\n"):
        if indent is None or not form.startswith(b"data"):
            assert said(dialect, form) == [GOOD]
    *chunks, end = read(dialect, [sent[n : n + 1] for n in range(len(sent))])
    assert chunks == [GOOD] and isinstance(end, Finished) and end.usage.prompt == 3
    with pytest.raises(ProviderError):
        read(dialect, [sent[:-4]])


def test_lines_of_json_without_a_field_are_events() -> None:
    events = [chunk({"content": word}) for word in WORDS]
    lines = [line(event).removeprefix(b"data: ") for event in (*events, chunk({}, "stop"))]
    assert said(OPENAI, b"\n".join(lines)) == [GOOD]


def bare(lines: Sequence[bytes]) -> list[bytes]:
    """Without the name of the field, and without those of the events."""
    return [one.rpartition(b"\n")[2].removeprefix(b"data: ") for one in lines]


def listed(between: bytes, dialect: str) -> bytes:
    events = [one for one in bare(answer(dialect, *WORDS)) if one != b"[DONE]"]
    return b"[" + between.join(events) + b"]"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("between", [b",", b", ", b",\n", b"\n,\n", b",\r\n", b"\n,"])
def test_a_list_of_events_is_read_one_by_one(dialect: str, between: bytes) -> None:
    sent = listed(between, dialect)
    for form in (sent, b"\xef\xbb\xbf\n" + sent + b"\n"):
        assert said(dialect, form) == [GOOD]
    *chunks, _ = read(dialect, [sent[n : n + 1] for n in range(len(sent))])
    assert chunks == [GOOD]
    if b"\n" not in between:
        assert said(dialect, b"data: " + sent + b"\n\ndata: [DONE]\n\n") == [GOOD]
    with pytest.raises(ProviderError):
        read(dialect, [sent[: len(sent) // 2]])


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("indent", [None, 1])
def test_one_document_in_a_list_is_an_answer(dialect: str, indent: int | None) -> None:
    sent = json.dumps([document(dialect, GOOD.text)], indent=indent).encode()
    assert said(dialect, sent) == [GOOD]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "prefix",
    [
        b"Data: ",
        b"DATA:",
        b" data: ",
        b"data : ",
        b"\tdata:\t",
        b"data: data: ",
        b"data:data:",
        b"",
    ],
)
def test_a_field_may_be_written_otherwise(dialect: str, prefix: bytes) -> None:
    lines = [prefix + one for one in bare(answer(dialect, *WORDS))]
    assert said(dialect, body(lines)) == [GOOD]
    assert said(dialect, body(lines, between=b"\ndata:\ndata:\n\n")) == [GOOD]
    for place in range(len(lines)):  # a gateway that loses the name of some
        mixed = answer(dialect, *WORDS)
        mixed[place] = lines[place]
        assert said(dialect, body(mixed)) == [GOOD], place


PARTS = {
    "text parts": [{"type": "text", "text": "Good day, 東京 🍎"}],
    "several": [{"type": "text", "text": word} for word in WORDS],
    "output_text": [{"type": "output_text", "text": "Good day, 東京 🍎", "annotations": []}],
    "strings": list(WORDS),
    "no type": [{"text": "Good day, 東京 🍎"}],
    "one part": {"type": "text", "text": "Good day, 東京 🍎"},
    "references": [
        {"type": "text", "text": "Good day"},
        {"type": "reference", "reference_ids": [1, 2]},
        {"type": "text", "text": ", 東京 🍎"},
    ],
    "null inside": [None, {"type": "text", "text": "Good day, 東京 🍎"}, {"type": "text"}],
    "nested": [[{"type": "text", "text": "Good day"}], ", 東京 🍎"],
}


@pytest.mark.parametrize("content", PARTS.values(), ids=PARTS)
def test_text_may_come_as_parts(content: object) -> None:
    assert said(OPENAI, body(chat(content))) == [GOOD]
    assert said(OPENAI, body([line(chunk(None, "stop", message={"content": content}))])) == [GOOD]


def test_thinking_may_come_as_parts() -> None:
    """As Mistral's models that think send it."""
    thought = [{"type": "text", "text": "Hm"}, {"type": "text", "text": "."}]
    parts = [{"type": "thinking", "thinking": thought}, {"type": "text", "text": GOOD.text}]
    assert said(OPENAI, body(chat(parts))) == [ReasoningPiece("Hm."), GOOD]
    plain = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": GOOD.text}]
    assert said(OPENAI, body(chat(plain))) == [ReasoningPiece("Hm."), GOOD]


def messages(*texts: str) -> list[bytes]:
    said = [line(chunk(None, message={"role": "assistant", "content": text})) for text in texts]
    return [*said, line(chunk({}, "stop")), b"data: [DONE]"]


@pytest.mark.parametrize(
    "lines",
    [
        messages(*WORDS),
        messages("Good", "Good day", "Good day, 東京", "Good day, 東京 🍎"),
        messages("Good", "Good day", "Good day, 東京 🍎", "Good day, 東京 🍎"),
        [*chat(*WORDS, finish=None, done=False), *messages(GOOD.text)],
        [*chat(*WORDS[:2], finish=None, done=False), *messages(GOOD.text)],
        [*chat(*WORDS, finish=None, done=False), *messages(f" {GOOD.text} ")],
        [line({"choices": [{"text": word, "finish_reason": None}]}) for word in WORDS]
        + [b"data: [DONE]"],
    ],
    ids=["pieces", "growing", "growing, twice", "at the end", "the rest", "trimmed", "older"],
)
def test_a_message_in_place_of_a_delta_is_said_once(lines: list[bytes]) -> None:
    assert said(OPENAI, body(lines)) == [GOOD]


ERRORS = {
    "a number": ({"code": 429}, "rate_limited"),
    "in quotes": ({"code": "429"}, "rate_limited"),
    "a status": ({"status": 503}, "provider_down"),
    "a status in words": ({"code": 7, "status": "UNAVAILABLE"}, "provider_down"),
    "a word": ({"code": "rate_limit_exceeded"}, "rate_limited"),
    "a type": ({"type": "overloaded_error", "code": None}, "overloaded"),
    "a sentence": ("the maximum context length is 5", "too_large"),
    "another sentence": ("Rate limit reached, please slow down", "rate_limited"),
    "nothing": ({"message": "Something"}, "provider_down"),
    "within": ({"object": "error", "message": "No", "code": 400}, "bad_request"),
    "twice": ({"error": {"message": "No", "type": "invalid_api_key"}}, "key_refused"),
    "a list": ([{"code": 404, "message": "No such model"}], "model_unknown"),
    "full": ({"code": "server_error", "message": "the context window is full"}, "too_large"),
    "capitals": ({"code": "CONTEXT_LENGTH_EXCEEDED", "message": "No"}, "too_large"),
    "an exception": ({"message": "No", "type": "BadRequestError", "param": None}, "bad_request"),
    "a pause": ({"code": "Throttling.AllocationQuota", "message": "No"}, "rate_limited"),
}


@pytest.mark.parametrize(("error", "code"), ERRORS.values(), ids=ERRORS)
def test_an_error_instead_of_an_answer_says_that_nothing_came(error: object, code: str) -> None:
    for event in ({"error": error}, {"error": error, "choices": []}):
        with pytest.raises(ProviderError) as told:
            read(OPENAI, [body([line(event)])])
        assert told.value.code == code
        assert "part received" not in told.value.message and "kept" in told.value.message
        with pytest.raises(ProviderError) as told:
            read(OPENAI, [body([*chat("Good", finish=None, done=False), line(event)])])
        assert told.value.code == "failed_midway" and "part received" in told.value.message


def started(block: object, *deltas: object, index: object = 0) -> list[bytes]:
    begun = {"type": "content_block_start", "index": index, "content_block": block}
    grown = [{"type": "content_block_delta", "index": index, "delta": one} for one in deltas]
    events = [
        {key: value for key, value in event.items() if value is not None}
        for event in (begun, *grown)
        if event is not begun or block
    ]
    return [line(event) for event in events]


TEXT = {"type": "text", "text": ""}
SAID = {"type": "text_delta", "text": GOOD.text}
BLOCKS = {
    "no beginning": started(None, SAID),
    "no index": started(TEXT, SAID, index=None),
    "all at the beginning": started(TEXT | {"text": GOOD.text}),
    "no text at the beginning": started({"type": "text"}, SAID),
    "no types": started(TEXT, {"text": GOOD.text}),
    "nothing first": started(TEXT, {"type": "text_delta", "text": None}, SAID),
    "thoughts without a beginning": [
        *started(None, {"type": "thinking_delta", "thinking": "Hm."}),
        *started(TEXT, SAID, index=1),
    ],
    "thoughts": [
        *started({"type": "thinking"}, {"type": "thinking_delta", "thinking": "Hm."}),
        *started(TEXT, SAID, index=1),
    ],
    "another kind of block": [
        *started({"type": "server_tool_use", "id": "x"}, {"partial_json": "{}"}),
        *started(TEXT, SAID, {"type": "citations_delta", "citation": {}}, index=1),
    ],
    "a document of a text": [line({"type": "message", "content": GOOD.text})],
    "a document without a type": [
        line({"role": "assistant", "content": [TEXT | {"text": GOOD.text}]})
    ],
}


@pytest.mark.parametrize("lines", BLOCKS.values(), ids=BLOCKS)
def test_blocks_of_the_other_dialect_in_other_forms(lines: list[bytes]) -> None:
    for sent in (lines, [claude()[0], *lines]):
        found = said(ANTHROPIC, body([*sent, line({"type": "message_stop"})]))
        assert found[-1] == GOOD and found[:-1] in ([], [ReasoningPiece("Hm.")])
        assert bool(found[:-1]) == ("Hm." in str(lines))


def test_calls_of_the_other_dialect_have_ids_of_their_own() -> None:
    use = {"type": "tool_use", "name": "clock", "input": {}}
    grown = {"type": "input_json_delta", "partial_json": "{}"}
    none = {"type": "input_json_delta", "partial_json": None}
    lines = [
        *started(use, grown),
        *started(use | {"id": "toolu_same0001"}, none, index=1),
        *started(use | {"id": "toolu_same0001"}, index=2),
        *started(use | {"id": "1"}, index=3),
        line({"type": "message_stop"}),
    ]
    *_, end = read(ANTHROPIC, [body(lines)])
    assert isinstance(end, Finished) and end.reason == "tool_calls"
    assert [(call.name, call.arguments) for call in end.calls] == [("clock", "{}")] * 4
    assert len({call.id for call in end.calls}) == 4 and end.calls[1].id == "toolu_same0001"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_text_with_bytes_that_it_should_not_have_is_kept(dialect: str) -> None:
    lines = answer(dialect, "Good", " d_y", ", 東京")
    for odd, shown in (
        (b"\t", "\t"),
        (b"\x01", "\x01"),
        (b"\xe4", "\ufffd"),
        (b"\xe6\x9d", "\ufffd"),
    ):
        sent = body([one.replace(b"d_y", b"d%by" % odd) for one in lines])
        assert said(dialect, sent) == [TextPiece(f"Good d{shown}y, 東京")]


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("Rate limit reached. Please try again in 1.5s.", 1.5),
        ("Rate limit reached, try again in 20 seconds", 20.0),
        ("Rate limit reached, try again in 6m0s", None),
        ("Rate limit reached, try again later", None),
    ],
)
def test_the_wait_that_an_error_in_the_stream_asks_for_is_read(
    words: str, seconds: float | None
) -> None:
    with pytest.raises(ProviderError) as told:
        read(OPENAI, [body([line({"error": {"message": words}})])])
    assert (told.value.code, told.value.retry_after) == ("rate_limited", seconds)


LONG = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."
# Whole events, of which some don't say that they are errors.
TOLD: dict[str, tuple[bytes, str]] = {
    "object": (b'data: {"object":"error","message":"%b","code":400}', "too_large"),
    "Object": (b'data: {"object":"Error","message":"%b","type":"invalid_request"}', "too_large"),
    "type": (b'data: {"type":"error","message":"%b"}', "too_large"),
    "true": (b'data: {"error":true,"message":"%b"}', "too_large"),
    "detail": (b'data: {"detail":"%b"}', "too_large"),
    "details": (
        b'data: {"detail":[{"loc":["body"],"msg":"%b","type":"value_error"}]}',
        "too_large",
    ),
    "message": (b'data: {"message":"%b"}', "too_large"),
    "error_message": (
        b'data: {"error_type":"context_length_exceeded","error_message":"%b"}',
        "too_large",
    ),
    "error_msg": (b'data: {"error_code":336003,"error_msg":"%b"}', "too_large"),
    "errors": (b'data: {"success":false,"errors":[{"code":10000,"message":"%b"}]}', "too_large"),
    "a code": (b'data: {"code":"1261","message":"Prompt too long"}', "too_large"),
    "a base": (b'data: {"base_resp":{"status_code":2013,"status_msg":"%b"}}', "too_large"),
    "an event": (b'event: error\ndata: {"message":"%b"}', "too_large"),
    "an event of a text": (b"event: error\ndata: %b", "too_large"),
    "an event, its end": (b"event:error\n:HTTP_STATUS/400\ndata:%b", "too_large"),
    "an Event": (b"Event: Error\nData: %b", "too_large"),
    "a pause": (
        b'id:1\nevent:error\n:HTTP_STATUS/429\ndata:{"code":"Throttling.RateQuota"}',
        "rate_limited",
    ),
    "a field": (b'error: {"code":400,"message":"%b"}', "too_large"),
    "a text": (b"data: error: %b", "too_large"),
    "a text in quotes": (b'data: "%b"', "too_large"),
    "several lines": (b"data: Error\ndata: %b", "too_large"),
    "no field": (b'{"error":{"message":"%b"}}', "too_large"),
    "no field, after a comment": (b': wait\n\n{"error":{"message":"%b"}}', "too_large"),
    "a list": (b'[{"error":{"code":400,"message":"%b"}}]', "too_large"),
    "an indented list": (b'[{\n  "error": {\n    "message": "%b"\n  }\n}\n]', "too_large"),
    "the key": (b'data: {"code":401,"msg":"Invalid token"}', "key_refused"),
    "money": (b'data: {"message":"Insufficient balance","code":"1113"}', "quota"),
    "a page": (
        b"<html><title>429 Too Many Requests</title>\n<p>rate limit</p></html>",
        "rate_limited",
    ),
    "an error without a reason": (b"data: Error: it broke", "provider_down"),
    "the key in a text": (b"data: Incorrect API key provided", "key_refused"),
    "any page": (b"<!doctype html>\n<html>\n<body>Console</body>\n</html>", "malformed"),
    "any text": (b"data: Number of choices must be greater than 0.", "malformed"),
    "any message": (b'data: {"message":"Internal server error"}', "provider_down"),
    "nothing": (b": wait", "interrupted"),
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("form", "code"), TOLD.values(), ids=TOLD)
def test_what_comes_in_place_of_an_answer_says_why(dialect: str, form: bytes, code: str) -> None:
    told_of = form.replace(b"%b", LONG.encode())
    begun = [line(chunk({"role": "assistant", "content": ""}))]
    for sent in (
        [told_of],
        [told_of, b"data: [DONE]"],
        [*(begun if dialect == OPENAI else claude()[:2]), told_of],
    ):
        if code == "interrupted" and b"data: [DONE]" in sent:
            continue
        if sent[0] is not told_of and form.startswith((b"[{\n", b"[", b"<", b"{")):
            continue  # a body of its own
        with pytest.raises(ProviderError) as told:
            read(dialect, [body(sent)])
        assert told.value.code == code, sent
        assert "kept" in told.value.message and "part received" not in told.value.message
        assert "4096" not in f"{told.value.message} {told.value.detail} {told.value!r}"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "event",
    [
        b'{"message":"processing"}',
        b'{"detail":"queued","error":null}',
        b'{"type":"heartbeat","message":"still here"}',
        b'{"error":{},"message":"ok"}',
        b'{"error":{"code":null,"message":null}}',
        b'{"code":0,"msg":"success"}',
        b'{"base_resp":{"status_code":0,"status_msg":""}}',
        b"error: none",
        b"a context window of 8 tokens",
    ],
)
def test_what_only_looks_like_a_refusal_costs_no_answer(dialect: str, event: bytes) -> None:
    lines = answer(dialect, *WORDS)
    for place in range(len(lines)):
        sent = [*lines[:place], b"data: " + event, *lines[place:]]
        assert said(dialect, body(sent)) == [GOOD], place


FINISHES = {
    "stop": ("STOP", "eos", "eos_token", "end_turn", "stop_sequence", "null", "done", "complete"),
    "length": ("LENGTH", "MAX_TOKENS", "max_new_tokens", "model_context_window_exceeded"),
    "content_filter": ("SAFETY", "RECITATION", "PROHIBITED_CONTENT", "SPII", "sensitive", "refusal")
    + ("content_filter: BLOCKLIST", "IMAGE_SAFETY"),
    "failed_midway": ("abort", "error_finish", "network_error", "cancelled", "error")
    + ("function_call_filter: MALFORMED_FUNCTION_CALL", "insufficient_system_resource"),
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("reason", "finish"), [(one, each) for one, every in FINISHES.items() for each in every]
)
def test_an_answer_ends_for_the_reason_that_its_server_means(
    dialect: str, reason: str, finish: str
) -> None:
    of = chat(*WORDS, finish=finish) if dialect == OPENAI else claude(*WORDS, reason=finish)
    if reason == "failed_midway":
        with pytest.raises(ProviderError) as told:
            read(dialect, [body(of)])
        assert told.value.code == reason
    else:
        *chunks, end = read(dialect, [body(of)])
        assert isinstance(end, Finished) and (chunks, end.reason) == ([GOOD], reason)
