"""Who asks where, and what stands in a conversation before anything is stored of it."""

from __future__ import annotations

from dataclasses import dataclass

from chatsite.messages import Message
from chatsite.turns.agents.resolved_agent import ResolvedAgent
from chatsite.turns.ports import TurnOwner

DRAFT = "draft"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """Who asks where. `query` is the page's; `url_allowed`: its history settings may apply.
    `model` is the one chosen in the page, as `provider:name`, "" for the agent's own; `staff` may
    choose where others may not."""

    owner: TurnOwner
    conversation: str
    agent: str
    query: str
    url_allowed: bool = True
    model: str = ""
    staff: bool = False


def greeting_messages(answering: ResolvedAgent) -> list[Message]:
    """The agent's greetings as they will be stored with the first message."""
    said = enumerate(answering.template.greeting)
    return [Message.assistant(text, id=f"{DRAFT}-greeting-{index}") for index, text in said]
