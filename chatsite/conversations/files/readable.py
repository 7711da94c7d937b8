"""A conversation for reading elsewhere: as Markdown or plain text. It can't be imported again."""

from __future__ import annotations

from collections.abc import Iterator

from chatsite.conversations.records import WholePath
from chatsite.history import Entry, show_receipt
from chatsite.wording import say


def write_readable(whole: WholePath, *, marked: bool, agent: str) -> str:
    """The messages of the active path, oldest first, with the model and the memory of the last
    answer at the top, so that a reader knows what the model had seen. Of tools only the names of
    their calls are told. `marked`: as Markdown; `agent` is its name."""
    title = whole.conversation.title or say("Conversation")
    parts = [f"# {title}" if marked else title]
    parts.append(say("A conversation with {agent}, {time} UTC.", agent=agent, time=_started(whole)))
    receipt = show_receipt(whole.receipt or {})
    if model := receipt.get("asked", {}).get("model"):
        memory = receipt.get("in_words", "")
        parts.append(say("At the last answer {model} saw: {memory}.", model=model, memory=memory))
    for entry in whole.entries:
        parts += _readable_message(entry, agent=agent, marked=marked)
    return "\n\n".join(parts) + "\n"


def _started(whole: WholePath) -> str:
    return whole.conversation.created[:16].replace("T", " ")


def _readable_message(entry: Entry, *, agent: str, marked: bool) -> Iterator[str]:
    message = entry.message
    if message.role == "tool" or message.role == "system":
        return
    who = say("You") if message.role == "user" else agent
    yield f"## {who}" if marked else f"{who}:"
    if message.calls:
        names = ", ".join(call.name for call in message.calls)
        words = say("Used {tools}", tools=names)
        yield f"*{words}*" if marked else f"[{words}]"
    if message.content:
        yield message.content
    for attachment in message.attachments:
        yield say("File: {name}", name=attachment.name)
