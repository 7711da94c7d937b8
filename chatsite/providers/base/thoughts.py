"""Takes the thoughts out of an answer's text, where a model writes them between tags.

Servers without a parser for their model's thoughts send them as text: people would read them as
the answer, and every later request would repeat them. Only what an answer begins with counts; tags
in the middle are what the answer is about.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Literal

from chatsite.errors import ProviderError
from chatsite.providers.base.provider import (
    CallBegun,
    Chunk,
    Divided,
    Finished,
    Provider,
    ReasoningPiece,
    Request,
    TextPiece,
)
from chatsite.providers.base.thought_tags import (
    BEGINS,
    BLANKS,
    ENDS_OF,
    LONGEST,
    MOST_BLANKS,
    QUOTES,
    SKIPPED,
    TAGS,
    divided_at_lone_end,
    divided_at_names,
    held_back,
    may_begin,
    unwrapped,
)

# A server that goes on without end would fill the disk, and every page that opens the conversation.
# So many characters are read of one answer, text and reasoning together. The text has a bound by
# the tokens that were asked for, too: a token of ordinary text has four characters, one of code
# with deep indents up to twenty. Reasoning has none: not every server counts it.
LONGEST_ANSWER = 1_000_000
LONGEST_TOKEN = 20
SHORTEST_BOUND = 10_000
# What stands between a pair of tags that is only shown.
_DOTS = frozenset(("...", "…"))

Piece = TextPiece | ReasoningPiece


class ThoughtSplitter:
    """Takes the text of one answer in pieces, cut anywhere, and gives text and thoughts."""

    def __init__(self) -> None:
        self._state: Literal["before", "inside", "answer"] = "before"
        self._ends: tuple[str, ...] = ()
        self._held = ""
        self._raw: list[str] = []
        self._reasoning: list[str] = []  # what the provider separated
        self._thought = ""  # its beginning
        self._thinks = False
        self._is_about = False

    def take_chunk(self, chunk: Chunk) -> Sequence[Chunk]:
        """What is known of the answer with this chunk."""
        if isinstance(chunk, TextPiece):
            return self.take(chunk.text)
        if isinstance(chunk, ReasoningPiece):
            self._reasoning.append(chunk.text)
        elif isinstance(chunk, CallBegun):
            return [*self.flush(), chunk]
        elif isinstance(chunk, Finished):
            held = self.flush()
            if parts := self.divided(chunk.reason):
                reasoning = "".join(self._reasoning) + parts[0]
                return [*held, Divided(text=parts[1], reasoning=reasoning), chunk]
            return [*held, chunk]
        return [chunk]

    def take(self, text: str) -> list[Piece]:
        self._raw.append(text)
        if self._state == "answer":
            return [TextPiece(text)]
        self._held += text
        found: list[Piece] = []
        while self._step(found):
            pass
        return found

    def flush(self) -> list[Piece]:
        """What was held back, where nothing follows that could complete it."""
        held, self._held = self._held, ""
        if self._state == "inside":
            return [ReasoningPiece(held)] if held.strip() else []
        if self._state == "before" and held and not (self._thinks and not held.strip()):
            self._state = "answer"
            return [TextPiece(held)]
        return []

    def divided(self, reason: str) -> tuple[str, str] | None:
        """The whole answer as thought and text, where its end shows that it was divided wrongly.

        A thought that never ends, of a model that stopped by itself, is the only answer there is.
        An end without a beginning is known when the text before it has been shown.
        """
        raw = "".join(self._raw)
        if self._is_about or (self._state == "inside" and reason == "stop"):
            return "", raw
        if self._thinks:
            return unwrapped(_split(raw)) if raw.rstrip().endswith(">") else None
        found = divided_at_lone_end(raw) or divided_at_names(raw)
        return found and (unwrapped(found) or found)

    def _step(self, found: list[Piece]) -> bool:
        """One change of state; whether another one may follow."""
        if self._state == "before":
            return self._begin(found)
        if self._state == "inside":
            return self._think(found)
        return False

    def _begin(self, found: list[Piece]) -> bool:
        blanks = BLANKS.match(self._held)
        start = blanks.end() if blanks else 0
        text = self._held[start:]
        head = text[: 2 * LONGEST] if start < MOST_BLANKS else "."
        for begin, pattern in BEGINS.items():
            if match := pattern.match(head):
                self._state, self._ends, self._thinks = "inside", TAGS[begin], True
                self._held, self._thought = text[match.end() :], ""
                return True
        if match := SKIPPED.match(head):
            self._held, self._thinks = text[match.end() :], True
            return True
        if may_begin(head):
            return False
        self._is_about = self._thought.strip() in _DOTS
        found.append(TextPiece(text if self._thinks else self._held))
        self._state, self._held = "answer", ""
        return False

    def _think(self, found: list[Piece]) -> bool:
        end = self._find_end()
        if end is None:
            held = held_back(self._held, self._ends)
            self._say(self._held[: len(self._held) - held], found)
            self._held = self._held[len(self._held) - held :]
            return False
        self._say(self._held[: end.start()].rstrip(), found)
        self._held = self._held[end.end() :]
        self._state = "before"
        return True

    def _find_end(self) -> re.Match[str] | None:
        """The tag that ends the thought. A thought about the tag quotes it."""
        for match in ENDS_OF[self._ends].finditer(self._held):
            before = self._held[match.start() - 1 : match.start()]
            after = self._held[match.end() : match.end() + 1]
            if before not in QUOTES or (after and after not in QUOTES and after not in "”’»"):
                return match
        return None

    def _say(self, thought: str, found: list[Piece]) -> None:
        thought = thought if self._thought else thought.lstrip()
        if thought:
            self._thought = (self._thought + thought)[:MOST_BLANKS]
            found.append(ReasoningPiece(thought))


def _split(raw: str) -> tuple[str, str]:
    """Thought and text of a whole answer."""
    splitter = ThoughtSplitter()
    found = splitter.take(raw) + splitter.flush()
    thoughts = [piece.text for piece in found if isinstance(piece, ReasoningPiece)]
    return "".join(thoughts), "".join(one.text for one in found if isinstance(one, TextPiece))


async def answer_of(provider: Provider, request: Request) -> AsyncGenerator[Chunk, None]:
    """A provider's answer with its thoughts apart, whoever separated them.

    An answer that is too long ends as one that reached its limit; the rest is left unread.
    """
    splitter = ThoughtSplitter()
    left, text_left = LONGEST_ANSWER, max(SHORTEST_BOUND, request.max_tokens * LONGEST_TOKEN)
    async with aclosing(provider.stream(request)) as chunks:
        try:
            async for chunk in chunks:
                for piece in splitter.take_chunk(chunk):
                    if isinstance(piece, TextPiece):
                        text_left -= len(piece.text)
                        left -= len(piece.text)
                    elif isinstance(piece, ReasoningPiece):
                        left -= len(piece.text)
                    if left < 0 or text_left < 0:
                        if fits := _beginning(piece, min(left, text_left)):
                            yield TextPiece(fits)
                        yield Finished(reason="length")
                        return
                    yield piece
        except ProviderError:
            for piece in splitter.flush():
                yield piece
            raise


def _beginning(piece: Chunk, over: int) -> str:
    """The text of a piece without what is over: so many characters, as a negative number."""
    return piece.text[:over] if isinstance(piece, TextPiece) else ""
