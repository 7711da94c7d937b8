"""`ctx`: the argument of a strategy's `build(ctx)`, with its input and its slots."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from chatsite.agents.strategy.protocol import StrategyInput
from chatsite.history import Selection, estimate
from chatsite.history.values.evidence import TEXT_ROLES
from chatsite.messages import Message

LONGEST_NAME = 80

Content = str | Message | Iterable[Message] | None


class SlotError(ValueError):
    """A wrong call of `ctx.slots.add`. The message names the slot and what is allowed, never text
    of a conversation."""


class Budget(int):
    """Tokens that the prompt may take besides its head and the current message.

    An integer. `limit` is how many tokens the whole prompt may take.
    """

    limit: int

    @classmethod
    def of(cls, tokens: int, *, limit: int) -> Budget:
        made = cls(tokens)
        made.limit = limit
        return made

    def estimate(self, text: str) -> int:
        """About how many tokens a text takes, rather too many than too few."""
        return estimate(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """Whose strategy it is."""

    slug: str
    name: str
    personality: str


class SlotBuilder:
    """Collects the slots that the strategy adds, in their order."""

    def __init__(self, given: StrategyInput) -> None:
        self._input = given.input.strip()
        self._stored = {message.id: (seq, message) for seq, message in given.history}
        self._added: list[dict[str, object]] = []

    def add(
        self, name: str, content: Content, priority: float = 0, role: str | None = None
    ) -> None:
        """Put a text, a message or a list of messages into the context.

        None, an empty list and a blank text add nothing; two calls with one name make two slots.
        Over budget, the slot with the lowest `priority` is dropped first. `role` is the role of a
        text: by default "system" in the slot called "system", else "user". A message whose role
        differs from `role`, or that was changed, is sent as a text. The current message is always
        sent last, once: adding its text adds nothing. Raises SlotError.
        """
        shown = _checked_name(name, priority, role)
        default = role or ("system" if name == "system" else "user")
        items = [self._encode_item(item, default, role) for item in _contents(shown, content)]
        kept = [item for item in items if item is not None]
        if kept:
            self._added.append({"name": name, "priority": priority, "items": kept})

    def to_list(self) -> list[dict[str, object]]:
        return self._added

    def _encode_item(
        self, item: str | Message, default: str, role: str | None
    ) -> int | dict[str, str] | None:
        """A stored message's number, or a text; None where the item adds nothing."""
        if isinstance(item, Message):
            seq, stored = self._stored.get(item.id, (0, None))
            if item == stored and role in (None, item.role):
                return seq
            default = role or ("assistant" if item.role == "tool" else item.role)
            read = item.as_read()
            lines = [read.content] if read.content else []
            item = "\n".join([*lines, *(f"File: {file.name}" for file in item.attachments)])
        if not item.strip() or (default == "user" and item.strip() == self._input):
            return None
        return {"role": default, "text": item}


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """`history` holds the messages before the current one, whose text is `input`."""

    history: Selection
    slots: SlotBuilder
    budget: Budget
    input: str
    agent: Agent

    @classmethod
    def of(cls, given: StrategyInput) -> Context:
        return cls(
            history=Selection([message for _, message in given.history]),
            slots=SlotBuilder(given),
            budget=Budget.of(given.budget, limit=given.limit),
            input=given.input,
            agent=Agent(slug=given.slug, name=given.name, personality=given.personality),
        )


def _checked_name(name: object, priority: object, role: object) -> str:
    """The slot as an error names it. Raises SlotError."""
    if not isinstance(name, str):
        raise SlotError(f"a slot's name must be text, not {_type_name(name)}")
    if not name.strip() or len(name) > LONGEST_NAME:
        raise SlotError(f"a slot's name must have 1 to {LONGEST_NAME} characters")
    shown = f'slot "{name}"'
    if isinstance(priority, bool) or not isinstance(priority, int | float):
        raise SlotError(f"{shown}: priority must be a number, not {_type_name(priority)}")
    if not math.isfinite(priority):
        raise SlotError(f"{shown}: priority must be a finite number")
    if role is not None and role not in TEXT_ROLES:
        raise SlotError(f"{shown}: role must be one of {', '.join(TEXT_ROLES)}, or left out")
    return shown


def _contents(shown: str, content: object) -> list[str | Message]:
    """The content as a list. Raises SlotError, which names the slot as `shown`."""
    if content is None:
        return []
    if isinstance(content, str | Message):
        return [content]
    allowed = "content must be a text, a message, a list of messages or None"
    if not isinstance(content, Iterable):
        raise SlotError(f"{shown}: {allowed}, not {_type_name(content)}")
    contents: list[str | Message] = []
    for place, message in enumerate(content):
        if not isinstance(message, Message):
            raise SlotError(f"{shown}: {allowed}; item {place} of it is {_type_name(message)}")
        contents.append(message)
    return contents


def _type_name(value: object) -> str:
    """The type of a value, in words."""
    return "None" if value is None else f"a {type(value).__name__}"
