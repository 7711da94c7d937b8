"""Two well-known trimmers against the properties of a history policy.

    python -m tests.bench.trimmers

The libraries come with requirements-bench.txt. Both get exact counts of tokens, those that the
properties use: what is tried is how they choose.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    trim_messages,
)
from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.core.memory import ChatMemoryBuffer

from chatsite.messages import Message, Role, ToolCall
from conformance_kit.conversations import plain_cases
from conformance_kit.functions import Adapter, TrimFunction
from conformance_kit.properties import PROPERTIES, checks_of_function
from conformance_kit.search import rates, smallest

EXAMPLES = 5_000
ROLES: dict[str, Role] = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}


class LangChain:
    """langchain-core's `trim_messages` with its defaults."""

    options: dict[str, Any] = {}

    def __init__(self) -> None:
        self._tokens: dict[str, int] = {}

    def theirs(self, message: Message) -> Any:
        self._tokens[message.id] = message.tokens.count if message.tokens else 0
        fields: dict[str, Any] = {"content": message.content or "", "id": message.id}
        if message.role == "tool":
            return ToolMessage(**fields, tool_call_id=message.call_id or "")
        if message.role == "assistant":
            calls = [
                {"id": call.id, "name": call.name, "args": dict(call.arguments)}
                for call in message.calls
            ]
            return AIMessage(**fields, tool_calls=calls)
        return (SystemMessage if message.role == "system" else HumanMessage)(**fields)

    def trim(self, messages: list[Any], *, tokens: int) -> list[Any]:
        return list(
            trim_messages(messages, max_tokens=tokens, token_counter=self._count, **self.options)
        )

    def ours(self, message: Any) -> Message:
        calls = getattr(message, "tool_calls", [])
        return Message(
            id=message.id,
            role=ROLES[message.type],
            content=message.content,
            calls=tuple(ToolCall(id=c["id"], name=c["name"], arguments=c["args"]) for c in calls),
            call_id=getattr(message, "tool_call_id", None),
        )

    def _count(self, messages: Sequence[Any]) -> int:
        return sum(self._tokens[message.id] for message in messages)


class LangChainAdvised(LangChain):
    """`trim_messages` with the options that its documentation advises for a chat."""

    options = {"strategy": "last", "start_on": "human", "include_system": True}


class LangChainAdvisedEnd(LangChain):
    """`trim_messages` with all options that its documentation advises for a chat with tools."""

    options = {**LangChainAdvised.options, "end_on": ("human", "tool")}


class LlamaIndex:
    """llama-index-core's `ChatMemoryBuffer`, used as its chat engines do.

    The instructions are placed before the buffer's messages, and their tokens are passed as
    `initial_token_count`. The tokenizer gets one joined text, so every message's text ends with
    its number of tokens.
    """

    def theirs(self, message: Message) -> Any:
        count = message.tokens.count if message.tokens else 0
        known = {"id": message.id, "call_id": message.call_id, "calls": message.calls}
        content = f"{message.content or ''}\x1e{count}\x1f"
        return ChatMessage(role=MessageRole(message.role), content=content, additional_kwargs=known)

    def trim(self, messages: list[Any], *, tokens: int) -> list[Any]:
        first = [message for message in messages[:1] if message.role == MessageRole.SYSTEM]
        buffer = ChatMemoryBuffer.from_defaults(
            chat_history=messages[len(first) :], token_limit=tokens, tokenizer_fn=_tokens
        )
        taken = sum(len(_tokens(message.content)) for message in first)
        return [*first, *buffer.get(initial_token_count=taken)]

    def ours(self, message: Any) -> Message:
        known = message.additional_kwargs
        return Message(
            id=known["id"],
            role=message.role.value,
            content=message.content.partition("\x1e")[0],
            calls=known["calls"],
            call_id=known["call_id"],
        )


def _tokens(text: str) -> list[int]:
    """As many tokens as the numbers in the text add up to."""
    return [0] * sum(int(count) for count in re.findall("\x1e(\\d+)\x1f", text))


LANGCHAIN, LLAMA_INDEX = "langchain-core", "llama-index-core"
TRIMMERS: tuple[tuple[str, str, type[Adapter]], ...] = (
    (LANGCHAIN, "trim_messages, defaults", LangChain),
    (LANGCHAIN, "trim_messages, start_on human, include_system", LangChainAdvised),
    (LANGCHAIN, "the same, end_on human or tool", LangChainAdvisedEnd),
    (LLAMA_INDEX, "ChatMemoryBuffer", LlamaIndex),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.trimmers", description=__doc__)
    parser.add_argument("--examples", type=int, default=EXAMPLES, help="conversations for each")
    examples = parser.parse_args().examples
    for broken in (False, True):
        print(f"\n## {'Broken conversations too' if broken else 'Valid conversations'}\n")
        for package, how, adapter in TRIMMERS:
            print(f"### {package} {version(package)}: {how}\n")
            print(
                report(TrimFunction(how, adapter()), broken=broken, examples=examples), flush=True
            )


def report(trimmer: TrimFunction, *, broken: bool, examples: int) -> str:
    """Lines for each property that the trimmer breaks: how often, and the smallest example."""
    cases, checks = plain_cases(broken=broken), checks_of_function()
    tally = rates(trimmer, checks, cases, examples=examples)
    lines = [
        f"{tally.cases:,} conversations; in {tally.roomy:,} of them instructions and current turn "
        f"fit. Holds: {', '.join(name for name in checks if not tally.broken[name])}."
    ]
    for name in checks:
        if tally.broken[name]:
            share, roomy = tally.broken[name] / tally.cases, tally.broken_roomy[name] / tally.roomy
            lines.append(f"\n{name}, {PROPERTIES[name].sentence}: broken in {share:.1%} of all,")
            lines.append(f"in {roomy:.1%} of those in which they fit. The smallest found:\n")
            found = smallest(trimmer, checks[name], cases, examples=examples)
            lines.append(found.describe() if found else "none")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
