"""Takes the thoughts out of an answer's text, where a model writes them between tags.

Servers without a parser for their model's thoughts send them as text: people would read them as
the answer, and every later request would repeat them. Only what an answer begins with counts; tags
in the middle are what the answer is about.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
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

# What begins a thought, and what ends it, in lower case. After the names the tags of models: of
# Mistral, Kimi, Seed, Command, Gemma and gpt-oss.
_TAGS = {
    **{
        f"<{name}>": f"</{name}>"
        for name in ("think", "thinking", "thought", "thoughts", "reason", "reasoning")
    },
    "[think]": "[/think]",
    "◁think▷": "◁/think▷",
    "<seed:think>": "</seed:think>",
    "<|start_thinking|>": "<|end_thinking|>",
    "<|channel>thought\n": "<channel|>",
    "<|channel|>analysis<|message|>": "<|end|><|start|>assistant<|channel|>final<|message|>",
}
_LONGEST = max(map(len, _TAGS))
_ENDS = {end: re.compile(re.escape(end), re.IGNORECASE | re.ASCII) for end in _TAGS.values()}
# An end without a beginning, on a line's end: some templates write the beginning into the prompt.
_LONE = re.compile(
    f"(?:{'|'.join(re.escape(end) for end in _TAGS.values())})(?=[ \\t]*\\r?\\n)", re.IGNORECASE
)
_QUOTES = frozenset("`\"'“‘«")
# What stands between a pair of tags that is only shown.
_DOTS = frozenset(("...", "…"))
# Blanks are held back until what follows them is known, but no more of them than this.
_MOST_BLANKS = 256

Piece = TextPiece | ReasoningPiece


class ThoughtSplitter:
    """Takes the text of one answer in pieces, cut anywhere, and gives text and thoughts."""

    def __init__(self) -> None:
        self._state: Literal["before", "inside", "answer"] = "before"
        self._end = ""
        self._held = ""
        self._raw: list[str] = []
        self._thought = ""  # its beginning
        self._thinks = False
        self._is_about = False

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
        if self._thinks or not _LONE.search(raw):
            return None
        return _divided_at_lone_end(raw)

    def _step(self, found: list[Piece]) -> bool:
        """One change of state; whether another one may follow."""
        if self._state == "before":
            return self._begin(found)
        if self._state == "inside":
            return self._think(found)
        return False

    def _begin(self, found: list[Piece]) -> bool:
        text = self._held.lstrip()
        has_room = len(self._held) - len(text) < _MOST_BLANKS
        low = text[: 2 * _LONGEST].lower() if has_room else "."
        for begin, end in _TAGS.items():
            if low.startswith(begin):
                self._state, self._end, self._thinks = "inside", end, True
                self._held, self._thought = text[len(begin) :], ""
                return True
            if low.startswith(f"{end}\n"):
                self._held, self._thinks = text[len(end) :], True
                return True
        if _may_begin(low):
            return False
        self._is_about = self._thought.strip() in _DOTS
        found.append(TextPiece(text if self._thinks else self._held))
        self._state, self._held = "answer", ""
        return False

    def _think(self, found: list[Piece]) -> bool:
        place = self._place_of_end()
        if place is None:
            held = _held_back(self._held, self._end)
            self._say(self._held[: len(self._held) - held], found)
            self._held = self._held[len(self._held) - held :]
            return False
        self._say(self._held[:place].rstrip(), found)
        self._held = self._held[place + len(self._end) :]
        self._state = "before"
        return True

    def _place_of_end(self) -> int | None:
        """Where the thought ends. A thought about the tag quotes it."""
        for match in _ENDS[self._end].finditer(self._held):
            before = self._held[match.start() - 1 : match.start()]
            after = self._held[match.end() : match.end() + 1]
            if before not in _QUOTES or (after and after not in _QUOTES and after not in "”’»"):
                return match.start()
        return None

    def _say(self, thought: str, found: list[Piece]) -> None:
        thought = thought if self._thought else thought.lstrip()
        if thought:
            self._thought = (self._thought + thought)[:_MOST_BLANKS]
            found.append(ReasoningPiece(thought))


def _may_begin(low: str) -> bool:
    """Whether a tag may still come of it."""
    return any(begin.startswith(low) or f"{end}\n".startswith(low) for begin, end in _TAGS.items())


def _held_back(text: str, end: str) -> int:
    """How many characters at the end of a thought may belong to what ends it: a part of the tag,
    a quoted one, and the blanks before."""
    tail = text[-len(end) - 1 :].lower()
    starts = (at for at in range(len(tail)) if end.startswith(tail[at:]))
    part = len(tail) if tail.endswith(end) else len(tail) - next(starts, len(tail))
    if text[len(text) - part - 1 : len(text) - part] in _QUOTES:
        part += 1
    head = text[: len(text) - part]
    blanks = len(head) - len(head.rstrip())
    return part + (blanks if blanks < _MOST_BLANKS else 0)


def _divided_at_lone_end(raw: str) -> tuple[str, str] | None:
    """Thought and answer on both sides of the only tag in the text. None where it is in code or in
    quotes, or where one side is empty."""
    found = list(_LONE.finditer(raw))
    low = raw.lower()
    if len(found) != 1 or any(begin in low for begin in _TAGS):
        return None
    thought, text = raw[: found[0].start()], raw[found[0].end() :].lstrip()
    in_code = thought.count("`") % 2 or thought[-1:] in _QUOTES
    if in_code or not thought.strip() or not text:
        return None
    return thought.strip(), text


async def answer_of(provider: Provider, request: Request) -> AsyncGenerator[Chunk, None]:
    """A provider's answer with its thoughts apart, whoever separated them."""
    splitter = ThoughtSplitter()
    reasoning: list[str] = []
    async with aclosing(provider.stream(request)) as chunks:
        try:
            async for chunk in chunks:
                if isinstance(chunk, TextPiece):
                    for piece in splitter.take(chunk.text):
                        yield piece
                    continue
                if isinstance(chunk, ReasoningPiece):
                    reasoning.append(chunk.text)
                elif isinstance(chunk, CallBegun | Finished):
                    for piece in splitter.flush():
                        yield piece
                if isinstance(chunk, Finished) and (parts := splitter.divided(chunk.reason)):
                    yield Divided(text=parts[1], reasoning="".join(reasoning) + parts[0])
                yield chunk
        except ProviderError:
            for piece in splitter.flush():
                yield piece
            raise
