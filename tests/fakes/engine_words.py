"""The fake engine's vocabulary and its model: a token for each letter, and a random next token that
is the same for the same cells."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

SPECIAL = {"<|endoftext|>": 0, "<|im_start|>": 1, "<|im_end|>": 2}
END = 2
_NAMES = {id: name for name, id in SPECIAL.items()}
# As in a real vocabulary, some characters take two tokens.
HALVES = {"ü": (300, 301), "🌊": (302, 303)}
_FIRST_HALF = {halves[0]: halves[1] for halves in HALVES.values()}
_WHOLE = {halves[1]: letter for letter, halves in HALVES.items()}
_LETTERS = 1000
_SAID = "aeinst .ü"


def tokenized(text: str, *, special: bool) -> list[int]:
    ids: list[int] = []
    while text:
        name = next((n for n in SPECIAL if special and text.startswith(n)), None)
        if name is not None:
            ids.append(SPECIAL[name])
            text = text[len(name) :]
        else:
            ids += HALVES.get(text[0], (_LETTERS + ord(text[0]),))
            text = text[1:]
    return ids


def spelled(ids: Iterable[int]) -> str:
    return "".join(_spelled(id) for id in ids)


def _spelled(id: int) -> str:
    if id in _NAMES:
        return _NAMES[id]
    if id >= _LETTERS:
        return chr(id - _LETTERS)
    return _WHOLE.get(id, "")


def is_first_half(id: int) -> bool:
    return id in _FIRST_HALF


def next_token(cells: Sequence[int]) -> int:
    """The token that the model predicts after these cells; END about once in twelve tokens."""
    if cells[-1] in _FIRST_HALF:
        return _FIRST_HALF[cells[-1]]
    chance = hashlib.blake2b(repr(list(cells)).encode(), digest_size=4).digest()
    if chance[0] % 12 == 0:
        return END
    letter = _SAID[chance[1] % len(_SAID)]
    return tokenized(letter, special=False)[0]


def framed(messages: Iterable[dict[str, str]]) -> str:
    """ChatML, with the reply's head."""
    said = "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages)
    return f"{said}<|im_start|>assistant\n"
