"""Counting tokens without asking a provider: exactly where the ranks are known, else estimated."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import string
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from chatsite.messages import Basis, Message
from chatsite.providers.text import plain_text

if TYPE_CHECKING:
    from tiktoken import Encoding

TOKENS_FOLDER = Path(__file__).parent / "tokens"
O200K_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"
O200K_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

# OpenAI's recipe for chat messages: three tokens of frame around each, one for its role.
TOKENS_PER_MESSAGE = 4

# Below these, counting takes about a millisecond, no more than a thread's turn would.
_INLINE_CHARACTERS = 100_000
_INLINE_CHARACTERS_O200K = 4_000


def counted_text(message: Message) -> str:
    """Everything of a message that costs tokens: its text and the calls in it."""
    parts = [plain_text(message)]
    parts += [f"{c.name}{json.dumps(dict(c.arguments), ensure_ascii=False)}" for c in message.calls]
    return "\n".join(part for part in parts if part)


class O200k:
    """tiktoken's `o200k_base`, from a file of ours: never from the network."""

    name = "o200k_base"
    basis: Basis = "counted"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._encoding: Encoding | None = None

    @classmethod
    def find(cls, *, folder: Path = TOKENS_FOLDER) -> O200k | None:
        """None where the ranks are missing or damaged; about 10 ms, for the start.

        tiktoken deletes a file whose hash is wrong and fetches another, so it is checked before
        tiktoken sees it.
        """
        try:
            digest = hashlib.sha256((folder / O200K_FILE).read_bytes()).hexdigest()
        except OSError:
            return None
        return cls(folder) if digest == O200K_SHA256 else None

    async def count(self, messages: Sequence[Message]) -> list[int]:
        texts = [counted_text(message) for message in messages]
        if self._encoding is not None and sum(map(len, texts)) < _INLINE_CHARACTERS_O200K:
            return self._count(texts)
        return await asyncio.to_thread(self._count, texts)

    async def warm(self) -> None:
        """Load now (about half a second, in a thread), so that the first count is quick."""
        await asyncio.to_thread(self._load)

    def _count(self, texts: list[str]) -> list[int]:
        encode = self._load().encode_ordinary
        return [len(encode(text)) + TOKENS_PER_MESSAGE for text in texts]

    def _load(self) -> Encoding:
        # Two threads may load at once; the second one finds tiktoken's own registry filled.
        if self._encoding is None:
            os.environ["TIKTOKEN_CACHE_DIR"] = str(self._folder)
            import tiktoken

            self._encoding = tiktoken.get_encoding(self.name)
        return self._encoding


class Estimate:
    """A stated estimate for tokenizers we don't have: by kinds of bytes, meant to be a little high.

    Too high costs some history; too low fails the request. See `estimate`.
    """

    name = "estimate"
    basis: Basis = "estimated"

    async def count(self, messages: Sequence[Message]) -> list[int]:
        texts = [counted_text(message) for message in messages]
        if sum(map(len, texts)) < _INLINE_CHARACTERS:
            return self._count(texts)
        return await asyncio.to_thread(self._count, texts)

    @staticmethod
    def _count(texts: list[str]) -> list[int]:
        return [estimate(text) + TOKENS_PER_MESSAGE for text in texts]


# (bytes of a kind, tokens for each), measured against o200k_base on prose, code and data and set
# so that none came out below 0.9 of the true count; English prose comes out about a fifth too
# high. In UTF-8 the first byte of a character tells the script: 0xC2-0xDF Latin with accents,
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
