"""Sentence vectors without a model call: the mean of static word vectors from a Python package.

The package wordllama has the vectors and their tokenizer; its own code is never imported, since it
would load its files from the network. The package is optional.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from chatsite.process_limits import return_freed_memory

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Tokenizer

    Matrix: TypeAlias = np.ndarray

_NEEDED = ("numpy", "tokenizers", "wordllama")
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_TABLE = "embedding.weight"
# Texts whose vectors are made in one step: 250 of 80 words take 5 MB meanwhile.
_AT_ONCE = 250
_FEW = 8
DIMENSIONS = 256
# Of a longer text the beginning counts: its tokenizer takes 0.6 s for a million characters.
_LONGEST = 50_000


class SentenceVectors:
    """256 numbers for a text. Loaded by `warm` or at the first use, 35 MB; best for English."""

    name = "wordllama"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: tuple[Tokenizer, Matrix] | None = None

    @classmethod
    def find(cls) -> SentenceVectors | None:
        """None unless requirements-embeddings.txt is installed. Imports nothing."""
        specs = [find_spec(name) for name in _NEEDED]
        if not all(specs):
            return None
        [*_, package] = specs
        places = package.submodule_search_locations if package else None
        for place in places or ():
            folder = Path(place)
            if (folder / _WEIGHTS).is_file() and (folder / _TOKENIZER).is_file():
                return cls(folder)
        return None

    @property
    def tokens(self) -> int:
        """The size of the vocabulary."""
        return len(self._load()[1])

    @property
    def is_loaded(self) -> bool:
        return self._loaded is not None

    @cached_property
    def rules(self) -> bytes:
        """Of what is stored as tokens: changes with the tokenizer and the order of bytes."""
        digest = hashlib.sha256((self._folder / _TOKENIZER).read_bytes())
        digest.update(f"{sys.byteorder} {_LONGEST}".encode())
        return digest.digest()[:16]

    def split(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token numbers of each text, or of its beginning."""
        tokenizer, _ = self._load()
        texts = [text[:_LONGEST] for text in texts]
        if len(texts) <= _FEW:  # a question, or a turn: without the threads of a batch
            return [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
        found = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [encoding.ids for encoding in found]

    def rows(self, texts: Sequence[Sequence[int]], weigh: Callable[[Matrix], Matrix]) -> Matrix:
        """One row of length 1 for each text, a row of zeros where it has no tokens: the mean of
        its tokens' vectors, each with its weight, which `weigh` gives."""
        import numpy as np

        _, table = self._load()
        found = np.zeros((len(texts), table.shape[1]), dtype=np.float32)
        for first in range(0, len(texts), _AT_ONCE):
            some = texts[first : first + _AT_ONCE]
            used, counts = _counted(some, len(table))
            # The sum instead of the mean: each row is scaled to length 1 anyway. As a product,
            # each token's vector is read once: 4 ms for 220 texts of 100 tokens, which added up
            # token by token take 33.
            counts *= weigh(used)
            found[first : first + len(some)] = counts @ table[used].astype(np.float32)
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)

    def warm(self) -> None:
        """Read the weights and the tokenizer, 0.2 s: before a turn needs them."""
        self._load()
        return_freed_memory()  # 12 MB that the tokenizer's file took while it was read

    def _load(self) -> tuple[Tokenizer, Matrix]:
        with self._lock:
            if self._loaded is None:
                # Threads of its own make a product of this size no sooner, and take the cores from
                # everybody's answers. Read once, when numpy is imported.
                os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
                import numpy  # noqa: F401
                from tokenizers import Tokenizer

                tokenizer = Tokenizer.from_file(str(self._folder / _TOKENIZER))
                self._loaded = tokenizer, _table(self._folder / _WEIGHTS)
            return self._loaded


def _counted(texts: Sequence[Sequence[int]], vocabulary: int) -> tuple[Matrix, Matrix]:
    """The tokens that occur in any of these texts, and how often each text has each of them."""
    import numpy as np

    tokens = np.concatenate([np.asarray(text, dtype=np.uint16) for text in texts])
    if len(texts) <= _FEW:  # sorted sooner than the vocabulary is gone through
        used, places = np.unique(tokens, return_inverse=True)
    else:
        found = np.zeros(vocabulary, dtype=np.int32)
        found[tokens] = 1
        used = np.flatnonzero(found)
        found[used] = np.arange(len(used))
        places = found[tokens]
    ends = np.repeat(np.arange(len(texts)) * len(used), [len(text) for text in texts])
    counts = np.zeros(len(texts) * len(used), dtype=np.float32)
    np.add.at(counts, ends + places, 1)
    return used, counts.reshape(len(texts), -1)


def describe_vectors(vectors: SentenceVectors | None) -> str:
    """For the administrator: how the selector `lexical` finds older messages here."""
    if vectors is None:
        return "by their words alone; `make embeddings` installs sentence vectors, 36 MB"
    return f"by their words and by sentence vectors ({vectors.name})"


def _table(path: Path) -> Matrix:
    """The one table of a safetensors file, left on disk until a row is read: 16-bit numbers."""
    import numpy as np

    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        about = json.loads(file.read(size))[_TABLE]
    assert about["dtype"] == "F16", about
    start = 8 + size + about["data_offsets"][0]
    table: Matrix = np.memmap(path, np.float16, "r", start, tuple(about["shape"]))
    return table
