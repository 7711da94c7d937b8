"""Builds requests for Anthropic's messages API."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatsite.errors import NotFound
from chatsite.messages import Attachment, Message
from chatsite.providers.anthropic.parameters import (
    NO_THINKING,
    SAMPLING,
    ThinkingParams,
    choose_parameters,
    decide_thinking,
    find_family,
)
from chatsite.providers.anthropic.thinking import THINKING
from chatsite.providers.anthropic.wire import (
    Block,
    MessageBuilder,
    Sources,
    wire_system,
    wire_tool_name,
)
from chatsite.providers.base.files import UPLOAD_LIFETIME, Files
from chatsite.providers.base.provider import Request, ToolSpec
from chatsite.providers.base.role_order import order_roles
from chatsite.providers.http.refusals import A_TOOL
from chatsite.providers.known.models import ModelFacts

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic


async def file_sources(
    messages: Sequence[Message], files: Files, *, client: AsyncAnthropic, at: str | None
) -> dict[str, Mapping[str, Any]]:
    """Return the source of each file's block, by the file's id. `at` is the account that stores
    uploads, None where files are sent with each request. A deleted file is left out: the text of
    its message has its name."""
    sources: dict[str, Mapping[str, Any]] = {}
    for file in sent_files(messages):
        try:
            if at is None:
                content = await files.content(file)
                data, mime_type = await content.base64(), content.mime_type
                sources[file.id] = {"type": "base64", "media_type": mime_type, "data": data}
                continue
            reference = await files.reference(file, at=at)
            if reference is None:
                content = await files.content(file)
                # Without the file's name, which the message has: what isn't sent can't be read by
                # others.
                upload = ("file", content.data, content.mime_type)
                uploaded = await client.files.upload(
                    file=upload, expires_in_seconds=UPLOAD_LIFETIME
                )
                reference = uploaded.id
                await files.remember(file, at=at, reference=reference)
            sources[file.id] = {"type": "file", "file_id": reference}
        except NotFound:
            continue
    return sources


def sent_files(messages: Sequence[Message]) -> list[Attachment]:
    """Return the pictures and PDFs of the user's messages, each once."""
    asked = [message for message in messages if message.role == "user"]
    files = {file.id: file for message in asked for file in message.attachments}
    return [
        file
        for file in files.values()
        if file.modality == "image" or file.mime_type == "application/pdf"
    ]


# The SDK asks for the newest version of the API, which refuses every sampling value. The version
# before differs in nothing else for us, and some models still take values there:
# https://platform.claude.com/docs/en/api/versioning
SAMPLING_VERSION = "2023-06-01"
_EPHEMERAL = {"type": "ephemeral"}


@dataclass(frozen=True, slots=True)
class MessagesRequest:
    """`by` and `prefix` become a part of the answer's metadata. `version`: of the API, None for the
    SDK's own."""

    body: dict[str, Any]
    by: str
    prefix: str
    version: str | None = None


def build_request(
    request: Request,
    *,
    server: str,
    facts: ModelFacts | None,
    sources: Sources,
    official: bool,
) -> MessagesRequest:
    """`official`: Anthropic's own address, with features that compatible servers may lack."""
    family = find_family(request.model)
    longest = facts.longest if facts else None
    thinking = decide_thinking(request, facts)
    sent = choose_parameters(request, facts).sent
    tools, choice = _tools(request, official=official)
    order = order_roles(request.messages, results_as="user")
    system = wire_system(order)
    by = f"{server}:{request.model}"

    def build(thinking: ThinkingParams) -> MessageBuilder:
        head = [tools, system]
        builder = MessageBuilder(
            by=by, head=head, sources=sources, bound=thinking.on and family.bound
        )
        builder.add_all(order, thinking=thinking.on)
        return builder

    built = build(thinking)
    if family.thinks == "budget" and thinking.on and not _begins_with_thinking(built.messages):
        # With a budget, thinking can't begin in the middle of a turn that began without it.
        thinking = NO_THINKING
        built = build(thinking)
    prefix = built.digest()
    _mark_cache(tools, system, built.messages, built.current)
    bound = request.max_tokens + thinking.room
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": min(bound, longest) if longest else bound,
        "messages": built.messages,
        "stream": True,
    }
    if official:
        # The answer then says where this request parts from the one before:
        # https://platform.claude.com/docs/en/build-with-claude/cache-diagnostics
        body["diagnostics"] = {"previous_message_id": request.after or None}
    body |= {"system": system} if system else {}
    body |= {"tools": tools} if tools else {}
    body |= choice | dict(thinking.params)
    body |= {"stop_sequences": sent["stop"]} if "stop" in sent else {}
    sampling = {name: value for name, value in sent.items() if name in SAMPLING}
    return MessagesRequest(body | sampling, by, prefix, SAMPLING_VERSION if sampling else None)


def _tools(request: Request, *, official: bool) -> tuple[list[Block], dict[str, Any]]:
    """The definitions, and whether they may be used. Where the history has calls, the API needs
    definitions for an agent without tools, too: empty ones by the names that were called."""
    none = {"tool_choice": {"type": "none"}}
    if request.tools:
        tools = [_tool(spec, official=official) for spec in request.tools]
        return tools, {} if request.may_call else none
    called = {wire_tool_name(call.name) for each in request.messages for call in each.calls}
    schema = {"type": "object"}
    return [
        {"name": name, "input_schema": schema} for name in sorted(called)
    ], none if called else {}


def _tool(spec: ToolSpec, *, official: bool) -> Block:
    tool: Block = {"name": spec.name, "input_schema": dict(spec.parameters)}
    if spec.description:
        tool["description"] = spec.description
    if official:
        # Otherwise a long call is held back until it is whole, and would exceed our timeouts.
        tool["eager_input_streaming"] = True
    return tool


def _begins_with_thinking(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the model was thinking when it made the calls that are answered now, if any."""
    if messages[-1]["content"][0]["type"] != "tool_result":
        return True
    return messages[-2]["content"][0]["type"] in THINKING


def _mark_cache(
    tools: list[Block], system: list[Block], messages: Sequence[Mapping[str, Any]], current: int
) -> None:
    """Mark where the provider caches the request's beginning: at three places of the four allowed.

    Cached tokens cost a quarter more when written and a tenth when read, within five minutes of
    their last use: a beginning that is sent twice has paid. A mark itself is free, and has no
    effect behind too few tokens (`least_cached` in models.toml).
    https://platform.claude.com/docs/en/build-with-claude/prompt-caching

    The places: after the instructions, which all conversations of an agent share; after the
    history, which stays while recalled messages change; at the end, for the next round or turn.
    """
    places = [system or tools]
    if current:
        places.append(messages[current - 1]["content"])
    places.append(messages[-1]["content"])
    for blocks in places:
        for block in reversed(blocks):
            if block.get("type") not in THINKING:
                block["cache_control"] = _EPHEMERAL
                break


# ---- fields that a server which speaks this API may not take -------------------------------
_REQUIRED = frozenset({"model", "messages", "max_tokens", "stream"})
# Within tools and blocks: what speeds a call up, and marks for the cache.
_BLOCKS = ("tools", "system", "messages")
_NESTED = ("cache_control", "eager_input_streaming")
# What means nothing without the first.
_WITH = {"tools": ("tool_choice",), "thinking": ("output_config",)}


def optional_fields(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Those that the request has, nested ones too."""
    nested = (name for name in _NESTED if _holds(body, name))
    tools = (A_TOOL + tool["name"] for tool in body.get("tools", ()))
    return (*(name for name in body if name not in _REQUIRED), *nested, *tools)


def without_fields(body: dict[str, Any], refused: Collection[str]) -> dict[str, Any]:
    if not refused:
        return body
    gone = set(refused)
    if tools := body.get("tools"):
        kept_tools = [tool for tool in tools if A_TOOL + tool["name"] not in gone]
        body = {**body, "tools": kept_tools}
        gone |= set() if kept_tools else {"tools"}
    # In the receipts and settings of all dialects they are called so.
    gone |= {"stop_sequences"} if "stop" in gone else set()
    for name, others in _WITH.items():
        gone |= set(others) if name in gone else set()
    kept = {name: value for name, value in body.items() if name not in gone}
    if nested := gone & set(_NESTED):
        kept |= {name: _pruned(kept[name], nested) for name in _BLOCKS if name in kept}
    return kept


def _pruned(value: Any, nested: Collection[str]) -> Any:
    """Tools, blocks or messages without these keys."""
    if isinstance(value, list):
        return [_pruned(one, nested) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {name: one for name, one in value.items() if name not in nested}
    return kept | ({"content": _pruned(kept["content"], nested)} if "content" in kept else {})


def _holds(body: Mapping[str, Any], name: str) -> bool:
    blocks = [*body.get("tools", ()), *body.get("system", ())]
    for message in body["messages"]:
        blocks += message["content"] if isinstance(message["content"], list) else ()
    return any(name in block for block in blocks)
