"""The instructions that a person keeps in force: one message of ours with every request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chatsite.history.path.transcript import Entry
from chatsite.history.token_estimate import estimate_message
from chatsite.messages import Message, TokenCount

_IN_FORCE = "Standing instructions of the user, in force until they end them:"


def instructions_message(kept: Sequence[Entry]) -> Message:
    """One system message with their sentences, a line each; its tokens are estimated."""
    said = [line.lstrip("-*• ") for entry in kept for line in entry.in_force.splitlines()]
    message = Message.system("\n- ".join([_IN_FORCE, *said]), id="instructions")
    count = TokenCount(count=estimate_message(message), tokenizer="estimate", basis="estimated")
    return replace(message, tokens=count)
