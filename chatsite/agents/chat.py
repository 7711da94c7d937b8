"""What a template's `chatSettings` put into the chat: texts that are shown, and example turns."""

from __future__ import annotations

from collections.abc import Mapping

from chatsite.agents.reading import join, mapping, text, texts
from chatsite.errors import BadTemplate
from chatsite.messages import Message, Role


def spoken(chat: Mapping[str, object], key: str) -> tuple[str, ...]:
    """Texts that are shown; a blank one would be an empty bubble or button."""
    return tuple(said for said in texts(chat.get(key), f"chatSettings.{key}") if said.strip())


def prefilled(chat: Mapping[str, object]) -> tuple[Message, ...]:
    """Example turns, user and assistant in turn: they stand whole before every request."""
    place = "chatSettings.history"
    said = chat.get("history")
    if said is None:
        return ()
    if not isinstance(said, list):
        raise BadTemplate("must be a list of messages with role and content", key=place)
    found: list[Message] = []
    for index, value in enumerate(said):
        here = join(place, index)
        message = mapping(value, here)
        role: Role = "assistant" if index % 2 else "user"
        if message.get("role") != role:
            raise BadTemplate(
                f'must be "{role}": user and assistant take turns, user first',
                key=join(here, "role"),
            )
        content = text(message.get("content"), join(here, "content"))
        if not content.strip():
            raise BadTemplate("is empty", key=join(here, "content"))
        found.append(Message(id=f"prefilled-{index}", role=role, content=content))
    if len(found) % 2:
        raise BadTemplate("must end with an assistant message", key=place)
    return tuple(found)
