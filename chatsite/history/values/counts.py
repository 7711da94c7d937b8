"""Token counts: sums of them, and an estimate where there is no count."""

from __future__ import annotations

import json
import string
from collections.abc import Iterable

from chatsite.messages import Basis, Message, Modality, TokenCount

# The frame that chat formats put around a message: OpenAI's recipe has three, and one for the role.
TOKENS_PER_MESSAGE = 4

# Roughly what providers charge for a file of this kind; they don't count it for us beforehand.
TOKENS_PER_FILE: dict[Modality, int] = {
    "document": 1_500,
    "image": 1_200,
    "audio": 1_500,
    "video": 2_500,
}

# (bytes of a kind, tokens for each), measured against o200k_base on prose, code and data and set
# so that none came out below 0.9 of the true count; English prose comes out about a fifth too
# high. In UTF-8 the first byte of a character shows the script: 0xC2-0xDF Latin with accents,
# Greek, Cyrillic, Hebrew, Arabic; 0xE0 Indic and Thai; 0xE1-0xEF Chinese, Japanese, Korean,
# symbols; 0xF0 and above emoji. Continuation bytes count nothing.
_ASCII_REST = bytes(
    c for c in range(0x21, 0x7F) if chr(c) not in string.ascii_letters + string.digits
)
_KINDS: tuple[tuple[bytes, float], ...] = (
    (string.ascii_lowercase.encode(), 0.25),
    (string.ascii_uppercase.encode(), 0.45),
    (string.digits.encode(), 0.6),
    (_ASCII_REST, 0.75),
    (b" \t", 0.1),
    (b"\n\r", 0.9),
    (bytes(range(0xC2, 0xE0)), 0.47),
    (b"\xe0", 0.45),
    (bytes(range(0xE1, 0xF0)), 0.82),
    (bytes(range(0xF0, 0xF5)), 2.2),
)


def estimate(text: str) -> int:
    """Tokens of `text`, rounded up. `bytes.translate` keeps it at a few ns a byte."""
    data = text.encode("utf-8", "replace")
    size = len(data)
    tokens = sum((size - len(data.translate(None, kind))) * cost for kind, cost in _KINDS)
    return int(tokens) + 1 if data else 0


def estimate_message(message: Message) -> int:
    """Tokens of a whole message: text, reasoning, calls and files; never 0."""
    called = "".join(
        call.name + json.dumps(dict(call.arguments), ensure_ascii=False, default=str)
        for call in message.calls
    )
    files = sum(
        TOKENS_PER_FILE[file.modality] + estimate(file.name) for file in message.attachments
    )
    texts = (message.as_read().content, message.reasoning, called)
    return TOKENS_PER_MESSAGE + files + sum(estimate(text) for text in texts if text)


def tokens_of(message: Message) -> int:
    """The count that the message carries, else an estimate."""
    return message.tokens.count if message.tokens else estimate_message(message)


def known_tokens(message: Message) -> TokenCount:
    """The count that a message must carry before a decision; ValueError where there is none."""
    if message.tokens is None:
        raise ValueError(f"message {message.id} has no token count")
    return message.tokens


def sum_tokens(messages: Iterable[Message]) -> int:
    """The sum of their counts; ValueError where a message has none."""
    return sum(known_tokens(message).count for message in messages)


def sum_counts(messages: Iterable[Message]) -> tuple[int, Basis]:
    """The sum of their counts and its basis; ValueError where a message has none."""
    counts = [known_tokens(message) for message in messages]
    return sum(one.count for one in counts), weakest(one.basis for one in counts)


def weakest(bases: Iterable[Basis]) -> Basis:
    """A sum is only as good as its weakest part."""
    found = set(bases)
    if "estimated" in found:
        return "estimated"
    return "reported" if found == {"reported"} else "counted"
