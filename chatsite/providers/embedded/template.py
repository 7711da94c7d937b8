"""How a model's own template frames messages, found by rendering known words with it.

A template is additive where it frames a conversation message by message.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeVar

from chatsite.kv_cache.books import Book, Span
from chatsite.providers.embedded.client import EngineClient, EngineRefused

Speaker = Literal["system", "user", "assistant"]
Ids = Sequence[int]

# All orders of two speakers that a conversation can have, in forms that a template may allow.
_SAMPLES: tuple[tuple[Speaker, ...], ...] = (
    ("user",),
    ("user", "assistant", "user"),
    ("system", "user"),
    ("system", "user", "assistant", "user"),
    ("system", "user", "assistant", "user", "assistant", "user"),
    ("user", "user"),
    ("user", "assistant", "assistant", "user"),
    ("system", "system", "user"),
    ("system", "assistant", "user"),
    ("assistant", "user"),
)
_NEEDED = 2

K = TypeVar("K", bound=Hashable)


class NotAdditive(Exception):
    """The template doesn't frame such a conversation message by message."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What the template adds to texts: before the first, between two, and after the last (with the
    reply's head), each by the speakers."""

    start: Mapping[Speaker, Ids]
    joints: Mapping[tuple[Speaker, Speaker], Ids]
    end: Mapping[Speaker, Ids]

    def around(self, speaker: Speaker) -> int:
        """At most how many tokens of the frame one more message costs."""
        joints = [len(ids) for (_, after), ids in self.joints.items() if after == speaker]
        return max(joints or [len(self.start.get(speaker, ()))])

    def join(self, spoken: Sequence[tuple[Speaker, str, Ids]], *, answer: str) -> Book:
        """Return the whole prompt, from speaker, key and ids of each message. The tokens between
        two messages belong to the second, the reply's head to `answer`. Raises NotAdditive for an
        unknown order of speakers."""
        prompt: list[int] = []
        spans: list[Span] = []

        def add(key: str, *parts: Ids) -> None:
            before = len(prompt)
            for part in parts:
                prompt.extend(part)
            if len(prompt) > before:
                spans.append(Span(key, len(prompt) - before))

        try:
            speaker, key, ids = spoken[0]
            add(key, self.start[speaker], ids)
            for (before, _, _), (after, key, ids) in pairwise(spoken):
                add(key, self.joints[before, after], ids)
            add(answer, self.end[spoken[-1][0]])
        except (KeyError, IndexError):
            raise NotAdditive from None
        return Book(tuple(prompt), tuple(spans))


async def chatml_frame(client: EngineClient) -> Frame:
    """Return the bundled model's template, without the system prompt that it adds where there is
    none."""
    speakers: tuple[Speaker, ...] = ("system", "user", "assistant")
    heads = await client.tokenize([f"<|im_start|>{s}\n" for s in speakers], special=True)
    head = dict(zip(speakers, heads, strict=True))
    [tail] = await client.tokenize(["<|im_end|>\n"], special=True)
    return Frame(
        start=head,
        joints={(a, b): tail + head[b] for a in speakers for b in speakers},
        end=dict.fromkeys(speakers, tail + head["assistant"]),
    )


class _Conflict(Exception):
    """The template frames the same place differently in two conversations."""


async def discover_frame(client: EngineClient) -> Frame | None:
    """None where the template isn't additive: the engine then has to render each prompt whole."""
    start: dict[Speaker, str] = {}
    joints: dict[tuple[Speaker, Speaker], str] = {}
    end: dict[Speaker, str] = {}
    try:
        for number, sample in enumerate(_SAMPLES):
            pieces = await _pieces(client, sample)
            if pieces is None:
                if number < _NEEDED:
                    return None
                continue
            _agree(start, sample[0], pieces[0])
            for pair, piece in zip(
                zip(sample, sample[1:], strict=False), pieces[1:-1], strict=True
            ):
                _agree(joints, pair, piece)
            _agree(end, sample[-1], pieces[-1])
    except _Conflict:
        return None
    return Frame(
        start=await _tokenized(client, start, first=True),
        joints=await _tokenized(client, joints),
        end=await _tokenized(client, end),
    )


async def _pieces(client: EngineClient, sample: Sequence[Speaker]) -> list[str] | None:
    """The frame before, between and after the texts; None where the template refuses them."""
    words = [f"Zq{number}w{number}Qz" for number in range(len(sample))]
    messages = [{"role": s, "content": w} for s, w in zip(sample, words, strict=True)]
    try:
        rest = await client.render(messages)
    except EngineRefused:
        return None
    pieces = []
    for word in words:
        piece, found, rest = rest.partition(word)
        if not found or word in rest:
            return None
        pieces.append(piece)
    return [*pieces, rest]


def _agree(known: dict[K, str], place: K, piece: str) -> None:
    if known.setdefault(place, piece) != piece:
        raise _Conflict


async def _tokenized(
    client: EngineClient, pieces: Mapping[K, str], *, first: bool = False
) -> dict[K, Ids]:
    return {
        place: (await client.tokenize([piece], special=True, first=first))[0]
        for place, piece in pieces.items()
    }
