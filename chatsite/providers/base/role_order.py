"""The order of roles that every server takes: instructions first, then user and assistant in turn.

Chat templates of Gemma, Mistral and others raise an error for any other order ("Conversation roles
must alternate user/assistant/user/assistant/..."), and vLLM, TGI and llama.cpp pass it on. Mistral
also refuses a question directly after results ("Unexpected role 'user' after role 'tool'").
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from chatsite.history.path.added_messages import QUOTED_ID
from chatsite.messages import Message, Role

# The first message has to be a user's; a strategy may begin with an answer.
EARLIER = "(Earlier messages are left out.)"
# The last has to be a user's too: newer models refuse to continue an answer.
GO_ON = (
    "Your answer broke off there. Continue exactly where it ended; don't repeat anything and "
    "don't say that you continue."
)
# Between results and the next question, where somebody stopped the answer before its first word.
NO_ANSWER = "(No answer.)"

_GAP = "\n\n"
# The paragraphs of a quote would otherwise run on into the question that it was made for.
_RULE = "\n\n---\n\n"


@dataclass(frozen=True, slots=True)
class SameRole:
    """Neighbours of one role: one message of a request; of tool results one message each."""

    role: Role
    messages: list[Message]


def order_roles(
    messages: Iterable[Message], *, results_as: Literal["tool", "user"]
) -> list[SameRole]:
    """The instructions, if any, then the rest in turns: a user begins, and a user or results end
    it. `results_as` is the role in which the dialect sends results.

    Blank messages and results without a call are left out: they say nothing, or are refused.
    """
    instructions: list[Message] = []
    said: list[SameRole] = []
    called: set[str] = set()
    for message in messages:
        role = message.role
        if role == "tool":
            if message.call_id not in called:
                continue
            called.remove(message.call_id)
            role = results_as
        elif not _says_something(message):
            continue
        elif role == "system":
            instructions.append(message)
            continue
        else:
            called = {call.id for call in message.calls} if message.calls else set()
        if said and said[-1].role == role:
            said[-1].messages.append(message)
            continue
        if role == "assistant" and not said:
            said.append(_ours("user", EARLIER))
        elif role == "user" and said and said[-1].role == "tool":
            said.append(_ours("assistant", NO_ANSWER))
        said.append(SameRole(role, [message]))
    if not said or said[-1].role == "assistant":
        said.append(_ours("user", GO_ON if said else EARLIER))
    return [SameRole("system", instructions), *said] if instructions else said


def join_texts(said: Iterable[tuple[Message, str]]) -> str:
    """Neighbours, each with its text, as one text: an empty line between two, which takes fewer
    tokens than the frame of a message."""
    parts: list[str] = []
    gap = ""
    for message, text in said:
        if text:
            parts += (gap, text)
            gap = _RULE if message.id.startswith(f"{QUOTED_ID}-") else _GAP
    return "".join(parts)


def _says_something(message: Message) -> bool:
    return bool(
        message.calls
        or (message.attachments and message.role == "user")
        or (message.content and not message.content.isspace())
    )


def _ours(role: Literal["user", "assistant"], text: str) -> SameRole:
    return SameRole(role, [Message(id="", role=role, content=text)])
