"""A request's body for Anthropic's messages API, and what its answer has to be told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chatsite.providers.anthropic.families import (
    NO_THINKING,
    ThinkingParams,
    choose_thinking,
    claude_name,
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
from chatsite.providers.base.provider import Request, ToolSpec
from chatsite.providers.known.facts import ModelFacts

# The SDK sends the newest version of the API, which refuses every sampling value. The one before
# differs for us in nothing else, and some models still take values there:
# https://platform.claude.com/docs/en/api/versioning
SAMPLING_VERSION = "2023-06-01"
_EPHEMERAL = {"type": "ephemeral"}


@dataclass(frozen=True, slots=True)
class MessagesRequest:
    """`by` and `prefix` go into the metadata of the answer; `version` is the API's, None for the
    SDK's own."""

    value: dict[str, Any]
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
    """`official`: Anthropic's own address, which knows what compatible servers may not."""
    family = find_family(request.model)
    longest = facts.longest if facts else None
    wish = request.options.get("reasoning_effort")
    thinking = choose_thinking(family, wish, reply=request.max_tokens, longest=longest)
    tools, choice = _tools(request, official=official)
    system = wire_system(request.messages)
    by = f"{server}:{request.model}"

    def written(thinking: ThinkingParams) -> MessageBuilder:
        head = [tools, system]
        wire = MessageBuilder(by=by, head=head, sources=sources, bound=thinking.on and family.bound)
        wire.add_all(request.messages, thinking=thinking.on)
        return wire

    wire = written(thinking)
    if family.thinks == "budget" and thinking.on and not _begins_with_thinking(wire.messages):
        # With a budget, a round that the model didn't think in can't be answered with thinking.
        thinking = NO_THINKING
        wire = written(thinking)
    prefix = wire.digest()
    _mark(tools, system, wire.messages, wire.current)
    bound = request.max_tokens + thinking.room
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": min(bound, longest) if longest else bound,
        "messages": wire.messages,
        "stream": True,
    }
    body |= {"system": system} if system else {}
    body |= {"tools": tools} if tools else {}
    body |= choice | dict(thinking.params)
    stop = [text for text in _stops(request) if text.strip()]
    body |= {"stop_sequences": stop} if stop else {}
    sampling = _sampling(request, facts, thinking)
    return MessagesRequest(body | sampling, by, prefix, SAMPLING_VERSION if sampling else None)


def _tools(request: Request, *, official: bool) -> tuple[list[Block], dict[str, Any]]:
    """The definitions, and whether they may be used. A request whose history holds calls needs
    definitions also of an agent without tools: of the names that stand there, then."""
    none = {"tool_choice": {"type": "none"}}
    if request.tools:
        tools = [_tool(spec, official=official) for spec in request.tools]
        return tools, {} if request.may_call else none
    called = {wire_tool_name(call.name) for said in request.messages for call in said.calls}
    schema = {"type": "object"}
    return [
        {"name": name, "input_schema": schema} for name in sorted(called)
    ], none if called else {}


def _tool(spec: ToolSpec, *, official: bool) -> Block:
    tool: Block = {"name": spec.name, "input_schema": dict(spec.parameters)}
    if spec.description:
        tool["description"] = spec.description
    if official:
        # Otherwise a long call is held back until it is whole: a silence without end to our clocks.
        tool["eager_input_streaming"] = True
    return tool


def _begins_with_thinking(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the calls that are answered now, if any, were thought about."""
    if messages[-1]["content"][0]["type"] != "tool_result":
        return True
    return messages[-2]["content"][0]["type"] in THINKING


def _mark(
    tools: list[Block], system: list[Block], messages: Sequence[Mapping[str, Any]], current: int
) -> None:
    """Say where the provider shall keep what it has read; three marks of the four that it takes.

    What is kept costs a quarter more when it is written and a tenth when it is read, for five
    minutes from its last use: a beginning that comes twice has paid. A mark costs nothing by
    itself, nor where too little stands before it: 512 tokens for Opus, Fable and Mythos 5, 1,024
    for Opus 4.8 and Sonnet 4.5 to 5.5, 2,048 for Opus 4.7, 4,096 for Opus 4.5, 4.6 and Haiku.
    https://platform.claude.com/docs/en/build-with-claude/prompt-caching

    Behind the instructions, which all conversations of an agent share; behind the history, which
    stays when what is recalled for one question goes; and at the end, for the next round or turn.
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


def _stops(request: Request) -> Sequence[str]:
    said = request.options.get("stop")
    return [said] if isinstance(said, str) else said if isinstance(said, list) else []


def _sampling(
    request: Request, facts: ModelFacts | None, thinking: ThinkingParams
) -> dict[str, Any]:
    """From 0 to 1, never both, and neither with thinking; nothing for models that take none."""
    refuses = facts.reasoning if facts else bool(claude_name(request.model))
    if refuses or thinking.on:
        return {}
    if request.temperature is not None:
        return {"temperature": min(request.temperature, 1.0)}
    return {} if request.top_p is None else {"top_p": request.top_p}
