"""OpenAI's own rules for a request of chat completions, asked of a recorded body.

Only what OpenAI really refuses. Fields and forms: https://platform.openai.com/docs/api-reference/
chat/create. Calls and results: its error texts "An assistant message with 'tool_calls' must be
followed by tool messages responding to each 'tool_call_id'" and "messages with role 'tool' must be
a response to a preceding message with 'tool_calls'". Ids of at most 40 characters: "Invalid
'messages[2].tool_calls[0].id': string too long". Pictures and files:
https://platform.openai.com/docs/guides/images-vision and .../guides/pdf-files.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_DATA_URL = re.compile(r"data:([a-z]+/[a-z0-9.+-]+);base64,(.*)", re.DOTALL)
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_FIELDS = frozenset(
    "model messages stream stream_options max_tokens max_completion_tokens temperature top_p seed "
    "stop frequency_penalty presence_penalty reasoning_effort tools tool_choice "
    "parallel_tool_calls n user metadata store response_format".split()
)
_OF_ROLE = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal", "audio"},
    "tool": {"role", "content", "tool_call_id"},
}
_PARTS = {"user": ("text", "image_url", "input_audio", "file"), "assistant": ("text", "refusal")}


def problems(body: Mapping[str, Any], *, extra: Collection[str] = ()) -> list[str]:
    """Why OpenAI would refuse the request, a sentence for each reason; none for a valid request.
    `extra` are fields of messages and calls, and kinds of parts, that another server takes too."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["messages must be a list with at least one message"]
    found = [f"{field} is not a field of requests" for field in set(body) - _FIELDS]
    found += _of_bounds(body)
    for place, message in enumerate(messages):
        found += [f"messages[{place}]: {what}" for what in _of_message(message, extra)]
    return [*found, *_of_pairs(messages), *_of_tools(body)]


def template_problem(messages: Sequence[Mapping[str, Any]]) -> str:
    """The words in which strict chat templates refuse an order of roles, "" where they take it:
    Gemma's and Mistral's own, and those of Mistral's API."""
    said = list(messages)
    if said and said[0]["role"] == "system":
        said = said[1:]
    before = ""
    for message in said:
        role = message["role"]
        if role == "system":
            return "Only user, assistant and tool roles are supported after the system message"
        if (role, before) == ("user", "tool"):
            return "Unexpected role 'user' after role 'tool'"
        if role == "tool" and before not in ("calls", "tool"):
            return f"Unexpected role 'tool' after role {before!r}"
        allowed: dict[str, tuple[str, ...]] = {
            "": ("user",),
            "user": ("assistant",),
            "assistant": ("user",),
        }
        allowed |= {"calls": ("tool",), "tool": ("tool", "assistant")}
        if role not in allowed[before]:
            return "Conversation roles must alternate user/assistant/user/assistant/..."
        before = "calls" if message.get("tool_calls") else role
    return "" if before in ("user", "tool") else "Expected last role User or Tool"


def _of_bounds(body: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model must be a name"
    if "max_tokens" in body and "max_completion_tokens" in body:
        yield "max_tokens and max_completion_tokens exclude each other"
    for bound in ("max_tokens", "max_completion_tokens"):
        if bound in body and (not isinstance(body[bound], int) or body[bound] < 1):
            yield f"{bound} must be a whole number from 1"
    if "stream_options" in body and not body.get("stream"):
        yield "stream_options is for streams only"
    for name, high in (("temperature", 2), ("top_p", 1)):
        if name in body and not 0 <= body[name] <= high:
            yield f"{name} must be from 0 to {high}"


def _of_message(message: Mapping[str, Any], extra: Collection[str]) -> Iterator[str]:
    role = message.get("role")
    if role not in _OF_ROLE:
        yield f"role {role!r} is not known"
        return
    for field in set(message) - _OF_ROLE[role] - set(extra):
        yield f"{field} is not a field of a message with role {role}"
    content, calls = message.get("content"), message.get("tool_calls")
    if content is None and not (role == "assistant" and calls):
        yield "content must be a text or parts"
    elif isinstance(content, list):
        yield from _of_parts(content, (*_PARTS.get(role, ("text",)), *extra))
    elif content is not None and not isinstance(content, str):
        yield "content must be a text or parts"
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        yield "tool_call_id is missing"
    if "tool_calls" in message:
        yield from _of_calls(calls, extra)


def _of_parts(parts: Sequence[Mapping[str, Any]], allowed: Collection[str]) -> Iterator[str]:
    if not parts:
        yield "content has no parts"
    for number, part in enumerate(parts):
        kind = str(part.get("type"))
        if kind not in allowed:
            yield f"part {number} of type {kind!r} is not allowed here"
        elif kind not in part or set(part) != {"type", kind}:
            yield f"part {number} must hold {kind} and nothing else"
        elif why := _FORMS[kind](part[kind]):
            yield f"part {number}: {why}"


def _text(text: Any) -> str:
    return "" if isinstance(text, str) else "text must be a text"


def _image(image: Mapping[str, Any]) -> str:
    url = image.get("url", "")
    if url.startswith("https://"):
        return ""
    return _data(url, _IMAGES)


def _video(video: Mapping[str, Any]) -> str:
    return "" if video["url"].startswith("https://") else _data(video["url"], ())


def _audio(audio: Mapping[str, Any]) -> str:
    if audio.get("format") not in ("wav", "mp3"):
        return f"format {audio.get('format')!r} is not wav or mp3"
    return _encoded(audio.get("data"))


def _file(file: Mapping[str, Any]) -> str:
    if "file_id" in file:
        return "" if set(file) == {"file_id"} else "file_id stands alone"
    if not file.get("filename"):
        return "file_data needs a filename"
    return _data(file.get("file_data", ""), ("application/pdf",))


_FORMS: dict[str, Callable[[Any], str]] = {
    "text": _text,
    "refusal": _text,
    "image_url": _image,
    "video_url": _video,
    "input_audio": _audio,
    "file": _file,
}


def _data(url: str, kinds: Collection[str]) -> str:
    found = _DATA_URL.fullmatch(url)
    if not found:
        return "not a data URL in base64"
    if kinds and found[1] not in kinds:
        return f"{found[1]} is not one of {', '.join(kinds)}"
    return _encoded(found[2])


def _encoded(data: Any) -> str:
    try:
        return "" if base64.b64decode(data, validate=True) else "no data"
    except (binascii.Error, TypeError, ValueError):
        return "the data is not base64"


def _of_calls(calls: Any, extra: Collection[str]) -> Iterator[str]:
    if not isinstance(calls, list) or not calls:
        yield "tool_calls must hold a call"
        return
    ids = [call.get("id") for call in calls]
    if len(set(ids)) < len(ids):
        yield "two calls have one id"
    for number, call in enumerate(calls):
        id, function = call.get("id"), call.get("function") or {}
        if not isinstance(id, str) or not 0 < len(id) <= 40:
            yield f"call {number} has no id of 1 to 40 characters"
        if set(call) - {"id", "type", "function", *extra} or call.get("type") != "function":
            yield f"call {number} is not of type function, or holds more"
        if not NAME.fullmatch(function.get("name") or ""):
            yield f"call {number} has a name that isn't allowed: {function.get('name')!r}"
        if not _is_object(function.get("arguments")):
            yield f"call {number} has arguments that are not the text of a JSON object"


def _is_object(text: Any) -> bool:
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _of_pairs(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Results follow their calls directly, one for each, before anything else."""
    open_ids: set[str] = set()
    for place, message in enumerate(messages):
        if message.get("role") == "tool":
            id = message.get("tool_call_id")
            if id not in open_ids:
                yield f"messages[{place}]: a tool message must answer a call before it: {id!r}"
            open_ids.discard(str(id))
            continue
        if open_ids:
            yield f"messages[{place}]: calls without a result stand before it: {sorted(open_ids)}"
        open_ids = {str(call.get("id")) for call in message.get("tool_calls") or ()}
    if open_ids:
        yield f"calls without a result at the end: {sorted(open_ids)}"


def _of_tools(body: Mapping[str, Any]) -> Iterator[str]:
    if "tools" not in body:
        for field in ("tool_choice", "parallel_tool_calls"):
            if field in body:
                yield f"{field} is only allowed with tools"
        return
    tools = body["tools"]
    if not isinstance(tools, list) or not 1 <= len(tools) <= 128:
        yield "tools must hold 1 to 128 tools"
        return
    for number, tool in enumerate(tools):
        function = tool.get("function") or {}
        if tool.get("type") != "function" or not NAME.fullmatch(function.get("name") or ""):
            yield f"tools[{number}] is not a function with a name that is allowed"
        schema = function.get("parameters", {"type": "object"})
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield f"tools[{number}] has parameters that are not a schema of type object"
