"""What servers say when they refuse a request, as found in bug reports and their sources."""

from __future__ import annotations

import pytest

from chatsite.providers.http.refusals import Sizes, is_too_long, read_sizes, refused_fields

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
    # LiteLLM, Cerebras, Ollama, Azure, Zhipu and others
    (
        "This model's maximum context length is 262144 tokens. However, you "
        "requested 0 output tokens and your prompt contains at least 262145 input "
        "tokens, for a total of at least 262145 tokens. Please reduce the length "
        "of the input prompt or the number of requested output tokens. "
        "(parameter=input_tokens, value=262145)",
        262144,
        262145,
    ),
    ("prompt too long; exceeded max context length by 1234 tokens", None, None),
    (
        "litellm.ContextWindowExceededError: litellm.BadRequestError: "
        'Hosted_vllmException - {"object":"error","message":"The input (1492905 '
        "tokens) is longer than the\n model's context length (1048576 "
        'tokens).","type":"BadRequestError","param":null,"code":400}',
        1048576,
        1492905,
    ),
    (
        "Requested token count exceeds the model's maximum context length of "
        "131072 tokens. You requested a total of 140000 tokens: 135000 tokens from "
        "the input messages and 5000 tokens for the completion. Please reduce the "
        "number of tokens in the input messages or the completion to fit within "
        "the limit.",
        131072,
        135000,
    ),
    (
        "Input tokens exceed the configured limit of 272000 tokens. Your messages "
        "resulted in 300123 tokens. Please reduce the length of the messages.",
        272000,
        300123,
    ),
    ("Context size has been exceeded.", None, None),
    (
        "The number of tokens to keep from the initial prompt is greater than the "
        "context length. Try to load the model with a larger context length, or "
        "provide a shorter input",
        None,
        None,
    ),
    (
        "decoder prompt (length 5120) is longer than the maximum model length of "
        "4096. Make sure that `max_model_len` is no smaller than the number of "
        "text tokens.",
        4096,
        5120,
    ),
    (
        "The decoder prompt (length 5120) is longer than the maximum model length of 4096.",
        4096,
        5120,
    ),
    (
        "This model's maximum context length is 128000 tokens. Please reduce the "
        "length of the messages.",
        128000,
        None,
    ),
    ("prompt length 9000 exceeds limit 8192", 8192, 9000),
    (
        "Please reduce the length of the messages or completion. Current length is "
        "9001 while limit is 8192",
        8192,
        9001,
    ),
    ("Input is too long for requested model. Input: 210000 tokens, limit 200000", 200000, 210000),
    (
        "start-slot: imc decode: unable to process request: the context window is "
        "full. Please reduce the input size or increase the context window",
        None,
        None,
    ),
    ("Your prompt is too long. Please reduce the number of images or the length", None, None),
    (
        "ValidationException: The model returned the following errors: input "
        "length and `max_tokens` exceed context limit: 198000 + 8192 > 200000, "
        "decrease input length or `max_tokens` and try again",
        200000,
        198000,
    ),
    ("tokens in request more than max tokens allowed", None, None),
    ("The total number of tokens 9000 exceeds the model limit 8192", 8192, 9000),
    ("Request too large: 50000 tokens. Maximum 32768.", 32768, 50000),
    (
        "This endpoint's maximum context length is 131072 tokens. However, you "
        "requested about 150000 tokens (140000 of text input, 2000 of tool input, "
        "8000 in the output).",
        131072,
        140000,
    ),
    ("输入长度超过模型最大上下文 8192", None, None),
    ("exceeds maximum number of tokens: 8192, got 9000", 8192, 9000),
    ("Input prompt (9000 tokens) is too long and exceeds limit of 8192", 8192, 9000),
    ("ERROR: prompt_tokens 9000 > n_ctx_train 8192", 8192, 9000),
    ("the sequence length (9000) exceeds max_seq_len (8192)", 8192, 9000),
    ("Context window exceeded: 9000/8192 tokens", 8192, 9000),
    ("Token limit exceeded: 9000 > 8192", 8192, 9000),
    ("max sequence length exceeded", None, None),
    ("The prompt is longer than the model's context of 8192 tokens (9000 given).", 8192, 9000),
    ("This request would exceed the model's context window (8192 tokens).", 8192, None),
    ("prompt_too_long", None, None),
    ("ContextWindowExceededError: too long", None, None),
    ("The message you submitted was too long, please submit something shorter.", None, None),
    (
        "tokens_limit_reached Request body too large for gpt-4o model. Max size: 8000 tokens.",
        8000,
        None,
    ),
    ("input is over the limit of 8192 tokens: 9000", 8192, 9000),
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
    "ThrottlingException: Too many tokens, please wait before trying again.",
    "max_tokens (100000) exceeds the maximum allowed 8192",
    "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for m",
    "Invalid 'stop': array too long. Expected an array with maximum length 4.",
    "Request body is too large: 30 MB",
    "The input image is too large: 9000 x 9000",
    "Invalid 'tools': array too long. Expected an array with maximum length 128.",
    "input contains an invalid image",
    "Timeout: the request took too long",
    "The request took longer than 60 seconds",
    "Generating the next token took longer than 30 seconds",
    "Request limit exceeded",
    "Daily token limit exceeded",
    "Token limit exceeded for your plan",
    "The number of requests exceeds the limit",
    "function name too long: 70 > 64",
    "string_above_max_length Invalid 'tools[0].function.description': string too long.",
    "Unknown field: stream_options",
    "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a maximum length of 40.",
]


@pytest.mark.parametrize(("said", "limit", "needed"), TOO_LONG)
def test_a_refusal_as_too_long_is_read(said: str, limit: int | None, needed: int | None) -> None:
    assert is_too_long(said)
    assert read_sizes(said) == Sizes(limit=limit, needed=needed)


@pytest.mark.parametrize("said", NOT_TOO_LONG)
def test_a_limit_of_something_else_is_none_of_the_window(said: str) -> None:
    assert not is_too_long(said)


SENT = (
    *("stream_options", "max_tokens", "temperature", "top_p", "stop", "seed", "tools"),
    *("tool_choice", "presence_penalty", "reasoning_effort"),
)
BOUNDS = ("max_tokens", "max_completion_tokens")
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
    (400, "`temperature` and `top_p` cannot both be specified for this model.", ("top_p",)),
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
    # LiteLLM, Google, Bedrock, Groq, xAI and others
    (
        400,
        "litellm.UnsupportedParamsError: bedrock does not support parameters: "
        "['temperature'], for model=deepseek.r1-v1:0. To drop these, set "
        "`litellm.drop_params=True` or for proxy:\n`litellm_settings:\n "
        "drop_params: true`\n. \n If you want to use these params dynamically send "
        "allowed_openai_params=['temperature'] in your request.",
        ("temperature",),
    ),
    (
        400,
        "The model returned the following errors: `temperature` and `top_p` cannot "
        "both be specified for this model. Please use only one.",
        ("top_p",),
    ),
    (
        400,
        'Invalid JSON payload received. Unknown name "stream_options": Cannot find field.',
        ("stream_options",),
    ),
    (
        400,
        'Invalid JSON payload received. Unknown name "seed" at '
        "'generation_config': Cannot find field.",
        ("seed",),
    ),
    (
        400,
        "Malformed input request: #: extraneous key [top_p] is not permitted, "
        "please reformat your input and try again.",
        ("top_p",),
    ),
    (
        422,
        '{"object":"Error","detail":[{"type":"extra_forbidden","loc":["body","tools"],"msg":"Extra '
        'inputs are not permitted","input":[]}],"type":"invalid_request_error","code":3001}',
        ("tools",),
    ),
    (400, "`temperature` is deprecated for this model.", ("temperature",)),
    (400, "Argument 'seed' is not supported for this model", ("seed",)),
    (400, "This model does not support the 'stop' parameter", ("stop",)),
    (400, "presence_penalty is not supported by grok-4", ("presence_penalty",)),
    (400, "Model grok-4 does not support parameter presencePenalty.", ("presence_penalty",)),
    (400, "Model grok-4-0709 does not support parameter reasoningEffort.", ("reasoning_effort",)),
    (400, "Thinking mode does not support this tool_choice", ("tool_choice",)),
    (400, "property 'reasoning_effort' is unsupported", ("reasoning_effort",)),
    (400, "`reasoning_effort` is not supported with this model", ("reasoning_effort",)),
    (400, "reasoning_effort must be one of `none`, `default`", ("reasoning_effort",)),
    (400, "only one of temperature and top_p can be set", ("top_p",)),
    (400, "temperature and top_p are mutually exclusive", ("top_p",)),
    (400, "top_p and temperature cannot be used together", ("top_p",)),
    (400, "You may only specify one of temperature, top_p", ("top_p",)),
    (400, "invalid temperature: only 1 is allowed for this model", ("temperature",)),
    (400, "temperature must be 1 when thinking is enabled", ("temperature",)),
    (
        400,
        "Function tools with reasoning_effort are not supported for gpt-5 in /v1/chat/completions",
        ("reasoning_effort",),
    ),
    (501, "Not Implemented: stream_options is not supported", ("stream_options",)),
    (400, "parameter top_p not supported", ("top_p",)),
    (400, "`stop` is not supported by this model", ("stop",)),
    (
        404,
        "No endpoints found that support the requested parameters: tools, tool_choice",
        ("tools", "tool_choice"),
    ),
    (400, "Value error, Unrecognized field 'stream_options'", ("stream_options",)),
    (
        400,
        "Additional properties are not allowed ('stream_options' was unexpected)",
        ("stream_options",),
    ),
    (
        400,
        "json: cannot unmarshal object into Go struct field .stream_options of type bool",
        ("stream_options",),
    ),
    (
        400,
        "Failed to deserialize the JSON body into the target type: unknown field "
        "`stream_options`, expected one of `model`, `messages`, `temperature`, "
        "`top_p`, `stop`, `seed`, `tools`",
        ("stream_options",),
    ),
    (
        422,
        "Failed to deserialize the JSON body into the target type: tool_choice: "
        "unknown variant `none`, expected `auto`",
        ("tool_choice",),
    ),
    (
        400,
        "Unknown parameter: 'seed'. Supported parameters: temperature, top_p, max_tokens, tools.",
        ("seed",),
    ),
    (400, "stop is not a valid field", ("stop",)),
    (400, "Invalid value for 'temperature': expected a number in range [0, 1]", ("temperature",)),
    (400, "The parameter seed is forbidden", ("seed",)),
    (
        400,
        "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for m",
        BOUNDS,
    ),
    (400, "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", BOUNDS),
    (
        400,
        "max_tokens is too large: 5000. This model supports at most 4096 completion tokens.",
        BOUNDS,
    ),
    (
        400,
        "'max_tokens' must be less than or equal to 8192, the maximum value for "
        "`max_tokens` is less than the `context_window` for this model",
        BOUNDS,
    ),
    # Not about fields
    (400, "Malformed input request: #/stop_sequences: expected maximum item count: 0", ()),
    (400, '"think" is not supported; m does not support thinking', ()),
    (400, "Unsupported value: 'stream' does not support true", ()),
    (400, "Your organization must be verified to stream this model", ()),
    (400, "We do not allow temperature in requests about the weather: Seed oil user", ()),
    (400, "Content policy: do not accept questions about stop signs", ()),
    (400, "Invalid image: unsupported image format", ()),
    (400, "Invalid role 'tool' in messages", ()),
    (
        400,
        "messages.0.content.0: Input tag 'image_url' found using 'type' does not "
        "match any of the expected tags",
        (),
    ),
    (
        400,
        "Invalid schema for function 'calculator': 'expresion' is not valid under "
        "any of the given schemas",
        (),
    ),
    (400, "tool_call_id is not found in messages", ()),
    (
        400,
        "An assistant message with 'tool_calls' must be followed by tool messages "
        "responding to each 'tool_call_id'.",
        (),
    ),
    (400, "Model not supported: m", ()),
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


TOOLS = ("tools.calculator", "tools.crude__one", "tools.crude__one_two")


@pytest.mark.parametrize(
    ("said", "faulty"),
    [
        (
            "Invalid schema for function 'crude__one': schema must have type 'object' and not have "
            "'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
            "crude__one",
        ),
        ("tools.1.custom.input_schema: input_schema does not support oneOf", "crude__one"),
        ("tools.0.input_schema: JSON schema is invalid", "calculator"),
        (
            'Unknown name "additionalProperties" at '
            "'tools[0].function_declarations[1].parameters'",
            "crude__one",
        ),
        (
            "* GenerateContentRequest.tools[0].function_declarations[2].parameters.properties: "
            "should be non-empty for OBJECT type",
            "crude__one_two",
        ),
        (
            "Invalid schema for function 'crude__one_two': In context=('properties', 'x'), array "
            "schema missing items. invalid_function_parameters tools[2].function.parameters",
            "crude__one_two",
        ),
        ("Function crude__one: parameters must be an object", "crude__one"),
        ("Invalid arguments of function 'crude__one' in messages", ""),
        ("tools is not supported with this model", ""),
    ],
)
def test_a_tool_whose_schema_is_refused_is_named_alone(said: str, faulty: str) -> None:
    expected = (f"tools.{faulty}",) if faulty else ()
    found = refused_fields(400, said, sent=("stream_options", *TOOLS))
    assert found == expected
