"""Counts of tokens: adding them up, and an estimate where nobody has counted."""

from __future__ import annotations

from collections.abc import Iterable

from chatsite.messages import Basis, Message, TokenCount

ESTIMATOR = "estimate"


def known_tokens(message: Message) -> TokenCount:
    """The tokens a message must carry before a decision; ValueError when nobody counted them."""
    if message.tokens is None:
        raise ValueError(f"message {message.id} has no token count")
    return message.tokens


def weakest(bases: Iterable[Basis]) -> Basis:
    """A sum is only as good as its weakest part."""
    found = set(bases)
    if "estimated" in found:
        return "estimated"
    return "reported" if found == {"reported"} else "counted"
