"""Sentence vectors without a model call: the mean of static word vectors that arrive by pip.

wordllama's package holds the vectors and their tokenizer; its own code is never imported, since
it looks for its files on the network. Without the package all else works as well.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from chatsite.history.index import Index
from chatsite.history.lexical import Closeness

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Tokenizer

    Matrix: TypeAlias = np.ndarray

_NEEDED = ("numpy", "tokenizers", "wordllama")
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_TABLE = "embedding.weight"
# A passage counts by its own meaning, and less by that of the talk around it: three passages each
# way. Set by hand on measured data, see docs/benchmarks.md.
_OWN, _AROUND = 1.0, 0.7
_NEAR = (0.6, 0.35, 0.2)
# As close in meaning as this (a cosine, what all passages have in common taken out) a passage is
# recalled though it shares no word.
_CLOSE = 0.4


# Texts whose words' vectors are added up in one step: 100 texts of 40 words take 4 MB meanwhile.
_AT_ONCE = 100


class SentenceVectors:
    """256 numbers a text. Loaded at the first use, 0.1 s and 35 MB; English above all."""

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

    def of(self, texts: Sequence[str]) -> Matrix:
        """One row of length 1 for each text; a row of zeros where it has no words."""
        import numpy as np

        tokenizer, table = self._load()
        found = np.zeros((len(texts), table.shape[1]), dtype=np.float32)
        if len(texts) == 1:  # a question: without the threads of a batch
            encodings = [tokenizer.encode(texts[0], add_special_tokens=False)]
        else:
            encodings = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        ids = [encoding.ids for encoding in encodings]
        # One text's sum is its mean but for the length, which becomes 1 anyway.
        full = [row for row, some in enumerate(ids) if some]
        starts = np.cumsum([0, *(len(ids[row]) for row in full)])[:-1]
        for first in range(0, len(full), _AT_ONCE):
            rows = full[first : first + _AT_ONCE]
            words = table[[id for row in rows for id in ids[row]]].astype(np.float32)
            places = starts[first : first + _AT_ONCE] - starts[first]
            found[rows] = np.add.reduceat(words, places)
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)

    def _load(self) -> tuple[Tokenizer, Matrix]:
        with self._lock:
            if self._loaded is None:
                from tokenizers import Tokenizer

                tokenizer = Tokenizer.from_file(str(self._folder / _TOKENIZER))
                self._loaded = tokenizer, _table(self._folder / _WEIGHTS)
            return self._loaded


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


class PassageVectors:
    """The vectors of an index's passages, in the same order. Not for two threads at once."""

    def __init__(self, vectors: SentenceVectors, index: Index) -> None:
        self._vectors = vectors
        self._index = index
        self._count = 0
        self._rows: Matrix | None = None
        self._common: Common | None = None

    @property
    def size(self) -> int:
        """Bytes."""
        return int(self._rows.nbytes) if self._rows is not None else 0

    def add(self, texts: Sequence[str]) -> None:
        """The vectors of passages that the index just took. 0.2 ms a text."""
        import numpy as np

        if not texts:
            return
        new = self._vectors.of(texts)
        wanted = self._count + len(new)
        if self._rows is None:
            self._rows = np.zeros((max(wanted, 64), new.shape[1]), dtype=np.float32)
        elif wanted > len(self._rows):
            more = np.zeros((max(wanted, len(self._rows) * 3 // 2), new.shape[1]), np.float32)
            more[: self._count] = self._rows[: self._count]
            self._rows = more
        self._rows[self._count : wanted] = new
        self._count, self._common = wanted, None

    def cut(self, passages: int) -> None:
        self._count, self._common = passages, None

    def closeness(self, question: str, *, among: Collection[int], best: int) -> Closeness:
        """See `lexical.Meaning`. 5 ms for 50,000 passages."""
        import numpy as np

        asked = self._vectors.of([question])[0]
        if self._rows is None or not self._count or not asked.any():
            return Closeness(scores={}, close=frozenset())
        rows = self._rows[: self._count]
        if self._common is None:
            self._common = _common(rows, self._index)
        cosines = _cosines(rows, asked, self._common)
        scores = _OWN * _z(cosines) + _AROUND * _z(_around(cosines, self._common))
        if len(scores) > best:
            places = np.argpartition(-scores, best)[:best]
            places = np.union1d(places, np.fromiter(among, np.intp, len(among)))
        else:
            places = np.arange(len(scores))
        return Closeness(
            scores=dict(zip(places.tolist(), scores[places].tolist(), strict=True)),
            close=frozenset(places[cosines[places] >= _CLOSE].tolist()),
        )


@dataclass(frozen=True, slots=True)
class Common:
    """What every question needs of the rows: worked out once after each change of them.

    `mean` is what all sentences of this conversation have in common, which says nothing;
    `lengths` are the rows' without it; `near` is how much each row counts for the one so many
    places behind it, 0 in another talk.
    """

    mean: Matrix
    lengths: Matrix
    near: tuple[Matrix, ...]


def _common(rows: Matrix, index: Index) -> Common:
    import numpy as np

    mean = rows.mean(axis=0)
    square = 1 - 2 * (rows @ mean) + float(mean @ mean)
    starts = np.array(index.starts, dtype=np.intp)
    talks = np.searchsorted(starts, np.arange(len(rows)), side="right")
    near = [
        weight * (talks[distance:] == talks[:-distance])
        for distance, weight in enumerate(_NEAR, 1)
        if distance < len(rows)
    ]
    return Common(mean, np.sqrt(np.maximum(square, 1e-6)), tuple(near))


def _cosines(rows: Matrix, asked: Matrix, common: Common) -> Matrix:
    """Between rows and question, the mean taken out of both without a second table."""
    import numpy as np

    wanted = asked - common.mean
    wanted /= max(float(np.linalg.norm(wanted)), 1e-9)
    cosines: Matrix = (rows @ wanted - float(wanted @ common.mean)) / common.lengths
    return cosines


def _around(cosines: Matrix, common: Common) -> Matrix:
    """Each with its neighbours' in the same talk added, the further the less."""
    found: Matrix = cosines.copy()
    for distance, weights in enumerate(common.near, 1):
        found[distance:] += weights * cosines[:-distance]
        found[:-distance] += weights * cosines[distance:]
    return found


def _z(values: Matrix) -> Matrix:
    deviation = float(values.std())
    scores: Matrix = (values - values.mean()) / deviation if deviation > 1e-6 else values * 0
    return scores
