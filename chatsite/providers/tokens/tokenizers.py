"""Counts tokens without asking a provider: exactly where the ranks are known, else estimated.

Whatever a text holds, it gets a count: what a tokenizer can't count in time is estimated.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import math
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from chatsite.history import TOKENS_PER_MESSAGE, estimate
from chatsite.messages import Attachment, Basis, Message, TokenCount, plain_text
from chatsite.providers.base.media import media_tokens
from chatsite.providers.base.provider_metadata import stored_reasoning

if TYPE_CHECKING:
    from tiktoken import Encoding


# Characters. About 3 ms of o200k_base; a text that isn't longer is one piece.
PIECE = 50_000
# Without a break for so long, nobody wrote it for people. tiktoken takes 20 ms for as many equal
# characters; a million of blanks overflow its regular expression, which is a panic of Rust and so
# no Exception (https://github.com/openai/tiktoken/issues/15), and in other versions the time grows
# with the square (https://github.com/openai/tiktoken/issues/195).
LONGEST_RUN = 100_000
# No window takes more: the largest that we know has a million tokens.
LONGEST = 5_000_000
# Between these two characters the pattern that splits a text for o200k_base begins anew, whatever
# is around them: before a blank after a word or mark, at a line's beginning, and before a mark
# after a word, unless that is the apostrophe of "it's".
_BREAK = re.compile(r"\S |\n[^\s/]|[^\W_][!-&(-/:-@\[-^`{-~]")


class Unbroken(ValueError):
    """The text is too long, or has no break for too long, to be counted in time."""


def pieces(text: str) -> Iterator[str]:
    """Yield the text in order, in pieces of at most LONGEST_RUN characters. Raises Unbroken."""
    if len(text) > LONGEST:
        raise Unbroken
    start = 0
    while len(text) - start > PIECE:
        found = _BREAK.search(text, start + PIECE - 1, start + LONGEST_RUN)
        if found is None:
            if len(text) - start > LONGEST_RUN:
                raise Unbroken
            break
        yield text[start : found.start() + 1]
        start = found.start() + 1
    yield text[start:]


def is_countable(text: str) -> bool:
    """Return whether it can be counted in time as one text."""
    try:
        return all(True for _ in pieces(text))
    except Unbroken:
        return False


logger = logging.getLogger("chatsite.providers")
TOKENS_FOLDER = Path(__file__).parent
O200K_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"
O200K_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

# Below these, counting takes about a millisecond, no longer than a switch to a thread.
_INLINE_CHARACTERS = 100_000
_INLINE_CHARACTERS_O200K = 4_000

# From Opus 4.7 on the same text takes up to 35 % more:
# https://platform.claude.com/docs/en/models/haiku-5-5/whats-new-haiku-5-5
_FINER = 1.3
# https://platform.claude.com/docs/en/build-with-claude/vision: a token for 750 pixels, and the
# most for one image, since larger ones are made smaller there.
_PIXELS = 750
_MOST, _MOST_FINER = 1_600, 4_784
# https://platform.claude.com/docs/en/build-with-claude/pdf-support: each page is read as text and
# as an image. The number of pages isn't known here; a page of prose has so many characters.
_PAGE = 3_000
_PER_CHARACTER = 0.3


def counted_text(message: Message) -> str:
    """Everything of a message that costs tokens as text: its text, its calls, and reasoning that
    is sent back with them."""
    parts = [plain_text(message)]
    parts += [f"{c.name}{json.dumps(dict(c.arguments), ensure_ascii=False)}" for c in message.calls]
    parts += stored_reasoning(message.metadata) if message.metadata else ()
    return "\n".join(part for part in parts if part)


class O200k:
    """tiktoken's `o200k_base`, from our own file and never from the network."""

    name = "o200k_base"
    basis: Basis = "counted"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._encoding: Encoding | None = None

    @classmethod
    def find(cls, *, folder: Path = TOKENS_FOLDER) -> O200k | None:
        """None where the ranks are missing or damaged. Takes about 10 ms, once at the start.

        tiktoken deletes a file whose hash is wrong and fetches another, so it is checked before
        tiktoken sees it.
        """
        try:
            digest = hashlib.sha256((folder / O200K_FILE).read_bytes()).hexdigest()
        except OSError:
            return None
        return cls(folder) if digest == O200K_SHA256 else None

    async def count(self, messages: Sequence[Message]) -> list[TokenCount]:
        most = _INLINE_CHARACTERS_O200K if self._encoding is not None else 0
        return await _counted(messages, self._count_each, inline=most)

    async def warm(self) -> None:
        """Load the ranks in a thread, which takes half a second, before the first count."""
        await asyncio.to_thread(self._load)

    def _count_each(self, texts: list[str]) -> list[TokenCount]:
        encoding = self._load()
        return [self._count_text(encoding, text) for text in texts]

    def _count_text(self, encoding: Encoding, text: str) -> TokenCount:
        try:
            count = sum(len(encoding.encode_ordinary(piece)) for piece in pieces(text))
        except Unbroken:
            return estimated_count(text, self.name)
        except BaseException as error:
            # A panic in Rust derives from BaseException, and its class can't be imported.
            if type(error).__name__ != "PanicException":
                raise
            logger.error("tiktoken panicked over %d characters; they are estimated", len(text))
            return estimated_count(text, self.name)
        return TokenCount(count=count + TOKENS_PER_MESSAGE, tokenizer=self.name, basis=self.basis)

    def _load(self) -> Encoding:
        with self._lock:
            if self._encoding is None:
                os.environ["TIKTOKEN_CACHE_DIR"] = str(self._folder)
                from tiktoken import Encoding
                from tiktoken_ext.openai_public import o200k_base

                made = o200k_base()
                self._encoding = Encoding(**made)
                # The encoding has a copy of its own; this one, which only pickling reads, takes
                # 26 MB.
                made["mergeable_ranks"].clear()
            return self._encoding


class Estimate:
    """An estimate for tokenizers we don't have: by kinds of bytes, meant to be a little high.

    Too high a count costs some history; too low a count makes the request fail. See
    `history.estimate`.
    """

    name = "estimate"
    basis: Basis = "estimated"

    async def count(self, messages: Sequence[Message]) -> list[TokenCount]:
        return await _counted(messages, self._count_each, inline=_INLINE_CHARACTERS)

    def _count_each(self, texts: list[str]) -> list[TokenCount]:
        return [estimated_count(text, self.name) for text in texts]


def estimated_count(text: str, tokenizer: str) -> TokenCount:
    """Under the name of the tokenizer that was asked: it isn't asked for this text again."""
    count = estimate(text) + TOKENS_PER_MESSAGE
    return TokenCount(count=count, tokenizer=tokenizer, basis="estimated")


async def _counted(
    messages: Sequence[Message], count: Callable[[list[str]], list[TokenCount]], *, inline: int
) -> list[TokenCount]:
    """Texts and media of the messages, counted in a thread from `inline` characters on."""
    texts = [counted_text(message) for message in messages]
    in_thread = sum(map(len, texts)) >= inline
    counts = await asyncio.to_thread(count, texts) if in_thread else count(texts)
    return [
        replace(count, count=count.count + media_tokens(message)) if message.attachments else count
        for count, message in zip(counts, messages, strict=True)
    ]


class ClaudeEstimate:
    """An estimate of what Claude models count: nobody outside Anthropic has their tokenizer.

    `finer`: by the tokenizer, and the larger images, of Opus 4.7 and later models.
    """

    basis: Basis = "estimated"

    def __init__(self, *, finer: bool) -> None:
        # A count is stored under the name of its tokenizer.
        self.name = "claude-estimate-2" if finer else "claude-estimate"
        self._factor = _FINER if finer else 1.0
        self._most = _MOST_FINER if finer else _MOST
        self._text = Estimate()

    async def count(self, messages: Sequence[Message]) -> list[TokenCount]:
        # Files are counted by Anthropic's own rules instead; thinking is sent back only within a
        # turn, which was decided before.
        bare = [
            replace(message, attachments=(), metadata="")
            if message.attachments or message.metadata
            else message
            for message in messages
        ]
        texts = await self._text.count(bare)
        return [
            TokenCount(
                count=math.ceil(text.count * self._factor)
                + sum(self._file(file) for file in message.attachments),
                tokenizer=self.name,
                basis=self.basis,
            )
            for text, message in zip(texts, messages, strict=True)
        ]

    def _file(self, file: Attachment) -> int:
        if file.modality == "image":
            pixels = file.width * file.height
            return min(math.ceil(pixels / _PIXELS), self._most) if pixels else self._most
        pages = math.ceil(max(file.characters, 1) / _PAGE)
        return pages * _MOST + math.ceil(file.characters * _PER_CHARACTER * self._factor)
