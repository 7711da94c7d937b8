"""What servers say when they refuse a request, as found in bug reports and their sources."""

from __future__ import annotations

import pytest

from chatsite.providers.http.refusals import Sizes, is_too_long, refused_fields, sizes_in

# What a server said, what its model takes, what the prompt would have taken.
TOO_LONG: list[tuple[str, int | None, int | None]] = [
    # OpenAI
    (
        "context_length_exceeded This model's maximum context length is 8192 tokens. However, your "
        "messages resulted in 8227 tokens. Please reduce the length of the messages.",
        8192,
        8227,
    ),
    (
        "This model's maximum context length is 4096 tokens. However, you requested 4118 tokens "
        "(3118 in the messages, 1000 in the completion).",
        4096,
        3118,
    ),
    (
        "This model's maximum context length is 4097 tokens, however you requested 4116 tokens "
        "(3860 in your prompt; 256 for the completion).",
        4097,
        3860,
    ),
    (
        "This model's maximum context length is 128000 tokens. However, your messages resulted in "
        "130541 tokens (129000 in the messages, 1541 in the functions).",
        128000,
        129000,
    ),
    ("Your input exceeds the context window of this model. Please adjust your input.", None, None),
    # vLLM
    (
        "This model's maximum context length is 16384 tokens. However, your request has 18225 "
        "input tokens. Please reduce the length of the input messages. None",
        16384,
        18225,
    ),
    (
        "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context "
        "length is 4096 tokens and your request has 3500 input tokens (5000 > 4096 - 3500).",
        4096,
        3500,
    ),
    (
        "The prompt (total length 18225) is too long to fit into the model (context length 16384).",
        16384,
        18225,
    ),
    # llama-server
    (
        "request (4215 tokens) exceeds the available context size (4096 tokens), try increasing it "
        '{"code":400,"type":"exceed_context_size_error","n_prompt_tokens":4215,"n_ctx":4096}',
        4096,
        4215,
    ),
    ("the request exceeds the available context size. try increasing the context size", None, None),
    ("Prompt tokens (4215) exceeds context size (4096)", 4096, 4215),
    ("Requested tokens (4215) exceed context window of 4096", 4096, 4215),
    # Anthropic
    ("prompt is too long: 213462 tokens > 200000 maximum", 200000, 213462),
    (
        "input length and `max_tokens` exceed context limit: 90402 + 116650 > 204648, decrease "
        "input length or `max_tokens` and try again",
        204648,
        90402,
    ),
    # Gemini
    (
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
        1048575,
        1196265,
    ),
    # Mistral
    (
        "Prompt contains 41233 tokens and 0 draft tokens, too large for model with 32768 maximum "
        "context length",
        32768,
        41233,
    ),
    # Text Generation Inference
    (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3474 "
        "`inputs` tokens and 60 `max_new_tokens`",
        2048,
        3474,
    ),
    (
        "Input validation error: `inputs` must have less than 1024 tokens. Given: 1168",
        1024,
        1168,
    ),
    # OpenRouter
    (
        "This endpoint's maximum context length is 32768 tokens. However, you requested about "
        "42832 tokens (41832 of text input, 1000 in the output). Please reduce the length.",
        32768,
        41832,
    ),
    # xAI
    (
        "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
        131072,
        136973,
    ),
    # Groq
    ("context_length_exceeded Please reduce the length of the messages or completion.", None, None),
    # LM Studio
    (
        "Trying to keep the first 10136 tokens when context the overflows. However, the model is "
        "loaded with context length of only 7866 tokens, which is not enough.",
        7866,
        10136,
    ),
    ("Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)", 7424, 15028),
    # SGLang
    (
        "The input (160062 tokens) is longer than the model's context length (59862 tokens).",
        59862,
        160062,
    ),
    (
        "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).",
        59862,
        160062,
    ),
    # GitHub, Kimi, Cohere, Qwen, MiniMax, Zhipu, Bedrock
    (
        "model_max_prompt_tokens_exceeded prompt token count of 71234 exceeds the limit of 64000",
        64000,
        71234,
    ),
    (
        "Invalid request: Your request exceeded model token limit: 8192 (requested: 9011)",
        8192,
        9011,
    ),
    (
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5012.",
        4081,
        5012,
    ),
    (
        "InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
        30720,
        None,
    ),
    ("invalid params, context window exceeds limit (2013)", None, None),
    ("Prompt exceeds max length", None, None),
    ("ValidationException: Input is too long for requested model.", None, None),
    # grouped digits; a program between
    ("prompt is too long: 1,213,462 tokens > 1,000,000 maximum", 1000000, 1213462),
    ("Number of tokens (757) exceeded maximum context length (512).", 512, 757),
    ("prompt too long (570 tokens, max 508)", 508, 570),
    ("The request is too large: 9001 tokens, the context window is 8192.", 8192, 9001),
]

NOT_TOO_LONG = [
    "Request too large for model `llama-3.3-70b` in organization `o` on tokens per minute (TPM): "
    "Limit 12000, Requested 13560, please reduce your message size and try again.",
    "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 40.",
    "max_tokens is too large: 5000. This model supports at most 4096 completion tokens.",
    "Unknown field: stream_options",
    "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a maximum length of 40.",
]


@pytest.mark.parametrize(("said", "limit", "needed"), TOO_LONG)
def test_a_refusal_as_too_long_is_read(said: str, limit: int | None, needed: int | None) -> None:
    assert is_too_long(said)
    assert sizes_in(said) == Sizes(limit=limit, needed=needed)


@pytest.mark.parametrize("said", NOT_TOO_LONG)
def test_a_limit_of_something_else_is_none_of_the_window(said: str) -> None:
    assert not is_too_long(said)


SENT = ("stream_options", "max_tokens", "temperature", "top_p", "stop", "seed", "tools")
FIELDS: list[tuple[int, str, tuple[str, ...]]] = [
    (400, "Unknown field: stream_options", ("stream_options",)),
    (400, "Extra inputs are not permitted, field: 'stream_options'", ("stream_options",)),
    (
        400,
        "Validation error at #/stream_options: Extra inputs are not permitted",
        ("stream_options",),
    ),
    (
        422,
        '[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not '
        'permitted","input":{"include_usage":true}}]',
        ("stream_options",),
    ),
    (
        400,
        "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are "
        "not permitted', 'input': {}}]",
        ("stream_options",),
    ),
    (
        422,
        '[{"loc":["body","stream_options"],"msg":"extra fields not permitted"},{"loc":["body",'
        '"seed"],"msg":"extra fields not permitted"}]',
        ("stream_options", "seed"),
    ),
    (400, "Unrecognized request argument supplied: stream_options", ("stream_options",)),
    (400, "Unrecognized request arguments supplied: seed, top_p", ("top_p", "seed")),
    (400, 'json: unknown field "stream_options"', ("stream_options",)),
    (400, "stream_options", ("stream_options",)),
    (400, "stream_options.include_usage: Extra inputs are not permitted", ("stream_options",)),
    (
        400,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
        "'max_completion_tokens' instead.",
        ("max_tokens",),
    ),
    (
        400,
        "Unsupported value: 'temperature' does not support 0.16 with this model. Only the default "
        "(1) value is supported.",
        ("temperature",),
    ),
    (
        400,
        "`temperature` and `top_p` cannot both be specified for this model.",
        ("temperature", "top_p"),
    ),
    (400, "Argument not supported on this model: stop", ("stop",)),
    (400, "tools is not supported in this model. For a list of supported models, ...", ("tools",)),
    (400, "tools is not supported with this model", ("tools",)),
    (400, "registry.ollama.ai/library/gemma:2b does not support tools", ("tools",)),
    (404, "No endpoints found that support tool use.", ("tools",)),
    (
        400,
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        ("tools",),
    ),
    (500, "tools param requires --jinja flag, which isn't supported here", ("tools",)),
    (500, "Unsupported param: tools", ("tools",)),
    (405, "Tool calling is not supported for model: m", ("tools",)),
    (400, "Function calling is not enabled for models/gemma-3-27b-it", ("tools",)),
    (400, '{"message": "model features function calling not support"}', ("tools",)),
    # Not about fields
    (400, "max_tokens is too large: 5000. This model supports at most 4096 completion tokens.", ()),
    (400, "The request was blocked by our content policy: carpenters' tools", ()),
    (400, "Your message asks to stop the seed of doubt", ()),
    (400, "Invalid 'messages[2].tool_calls[0].id': string too long.", ()),
    (400, "tools.0.input_schema: JSON schema is invalid", ()),
    (400, "parallel_tool_calls is not supported", ()),
    (500, "Internal error near stream_options", ()),
    (401, "Invalid key for tools", ()),
]


@pytest.mark.parametrize(("status", "said", "expected"), FIELDS)
def test_the_fields_that_a_refusal_names(status: int, said: str, expected: tuple[str, ...]) -> None:
    assert refused_fields(status, said, sent=SENT) == expected


def test_a_field_that_was_not_sent_is_not_refused() -> None:
    assert refused_fields(400, "Unknown field: stream_options", sent=("tools",)) == ()
    assert refused_fields(400, "m does not support tools", sent=("stream_options",)) == ()
