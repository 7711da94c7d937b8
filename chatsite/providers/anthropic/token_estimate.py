"""A stated estimate of what Claude models count: nobody outside Anthropic has their tokenizer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from chatsite.messages import Attachment, Basis, Message
from chatsite.providers.tokens.tokenizers import Estimate

# From Opus 4.7 on the same text takes up to 35 % more:
# https://platform.claude.com/docs/en/models/haiku-5-5/whats-new-haiku-5-5
_FINER = 1.3
# https://platform.claude.com/docs/en/build-with-claude/vision: a token for 750 pixels, and the
# most that one image takes: larger ones are made smaller there.
_PIXELS = 750
_MOST, _MOST_FINER = 1_600, 4_784
# https://platform.claude.com/docs/en/build-with-claude/pdf-support: each page is read as text and
# as an image. How many there are isn't known here; a page of prose has so many characters.
_PAGE = 3_000
_PER_CHARACTER = 0.3


class ClaudeEstimate:
    """`finer`: by the tokenizer, and the sharper eyes, of Opus 4.7 and all that came after."""

    basis: Basis = "estimated"

    def __init__(self, *, finer: bool) -> None:
        # A count is kept under the name of who made it.
        self.name = "claude-estimate-2" if finer else "claude-estimate"
        self._factor = _FINER if finer else 1.0
        self._most = _MOST_FINER if finer else _MOST
        self._text = Estimate()

    async def count(self, messages: Sequence[Message]) -> list[int]:
        # Files are counted by Anthropic's own rules instead; what it thought goes back only within
        # a turn, which was decided on before.
        bare = [_bare(said) if said.attachments or said.metadata else said for said in messages]
        texts = await self._text.count(bare)
        pairs = zip(texts, messages, strict=True)
        return [math.ceil(text * self._factor) + self._files(said) for text, said in pairs]

    def _files(self, message: Message) -> int:
        return sum(self._file(file) for file in message.attachments)

    def _file(self, file: Attachment) -> int:
        if file.modality == "image":
            pixels = file.width * file.height
            return min(math.ceil(pixels / _PIXELS), self._most) if pixels else self._most
        pages = math.ceil(max(file.characters, 1) / _PAGE)
        return pages * _MOST + math.ceil(file.characters * _PER_CHARACTER * self._factor)


def _bare(message: Message) -> Message:
    return replace(message, attachments=(), metadata="")
