"""Reads requests for the fake provider: the newest text, the length, and the rest after a cut."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_JOIN = re.compile(r"\n\n(?!File: )(?!(?:(?!\[\[).)*\]\])", re.DOTALL)
# How the questions for a summary begin: one message each, whatever the text in them.
_SUMMARISE = ("Conversation:", "Summary so far", "This summary of a conversation")


def newest_user_text(body: Mapping[str, Any]) -> str:
    """Its text parts, where it has several; of neighbours that became one message the last one's.
    An empty line within a directive, or before the name of a file, doesn't divide messages."""
    for message in reversed(body.get("messages") or []):
        if message.get("role") == "user":
            text = text_of(message.get("content"))
            return text if text.startswith(_SUMMARISE) else _JOIN.split(text)[-1]
    return ""


def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content or []
    return "\n".join(str(part["text"]) for part in parts if part.get("type") == "text")


def prompt_tokens(body: Mapping[str, Any]) -> int:
    """Words, 4 for each message, 100 for each picture or file; long words count as several."""
    total = 0
    for message in body["messages"]:
        content = message.get("content")
        said = text_of(content) if isinstance(content, list) else str(content)
        said += "".join(json.dumps(call) for call in message.get("tool_calls") or ())
        words = len(said.split())
        total += 4 + (words if len(said) < 400 else max(words, len(said) // 4))
        total += 100 * sum(part["type"] != "text" for part in content) if _is_list(content) else 0
    return total + (len(json.dumps(body["tools"])) // 4 if body.get("tools") else 0)


def cut_silently(body: Mapping[str, Any], keep: int) -> Mapping[str, Any]:
    """The request at a server that uses only the last `keep` tokens of a prompt: the oldest
    remaining message loses the beginning of its text."""
    messages = list(body["messages"])
    while len(messages) > 1 and prompt_tokens({"messages": messages[1:]}) >= keep:
        del messages[0]
    over = prompt_tokens({"messages": messages}) - keep
    text = text_of(messages[0].get("content"))
    if over > 0 and text:
        share = 1 - over / max(prompt_tokens({"messages": messages[:1]}), 1)
        messages[0] = {**messages[0], "content": text[len(text) - int(len(text) * share) :]}
    return {**body, "messages": messages}


def _is_list(content: Any) -> bool:
    return isinstance(content, list)
