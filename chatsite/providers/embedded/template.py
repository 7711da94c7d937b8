"""Finds how a model's own template frames messages, by having it render known words."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from chatsite.providers.embedded.client import EngineClient, EngineRefused
from chatsite.providers.embedded.prompt import Frame, Ids, Speaker

# Every order of two speakers that a conversation can have, in conversations a template may allow.
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


class _Conflict(Exception):
    """The same place in two conversations is framed differently."""


async def discover(client: EngineClient) -> Frame | None:
    """None where the template isn't additive: then the engine has to render each prompt whole."""
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
    """What stands before, between and after the texts; None where the template refuses."""
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
