"""Answers cut to a number of characters: what the setting `context_truncation` asks for."""

from __future__ import annotations

from dataclasses import replace

from chatsite.history.values.counts import estimate_message
from chatsite.history.values.transcript import Entry
from chatsite.messages import TokenCount

SHORTENED = " […shortened]"


def shorten(text: str, characters: int) -> str:
    """The beginning of a text, marked as such; 0 is no limit."""
    if not 0 < characters < len(text):
        return text
    return text[:characters] + SHORTENED


def shorten_answer(entry: Entry, characters: int) -> Entry:
    """An answer with its text cut; every other message, and a short answer, unchanged.

    The tokens of a shortened answer are estimated. Its metadata, which the provider kept for the
    whole text, is dropped.
    """
    message = entry.message
    text = message.content or ""
    if message.role != "assistant" or (cut := shorten(text, characters)) == text:
        return entry
    new = replace(message, content=cut, metadata="")
    known = message.tokens.count if message.tokens else estimate_message(message)
    count = min(known, estimate_message(new))
    tokens = TokenCount(count=count, tokenizer="estimate", basis="estimated")
    return replace(entry, message=replace(new, tokens=tokens))
