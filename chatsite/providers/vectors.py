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
SETTLED = 2_000
DIMENSIONS = 256


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

    @property
    def tokens(self) -> int:
        """How many different tokens there are."""
        return len(self._load()[1])

    def split(self, texts: Sequence[str]) -> list[list[int]]:
        """Each text's tokens by number."""
        tokenizer, _ = self._load()
        if len(texts) == 1:  # a question: without the threads of a batch
            return [tokenizer.encode(texts[0], add_special_tokens=False).ids]
        found = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in found]

    def rows(self, texts: Sequence[Sequence[int]], weights: Matrix) -> Matrix:
        """One row of length 1 for each text, a row of zeros where it has no tokens: the mean of
        its tokens' vectors, each with its weight."""
        import numpy as np

        _, table = self._load()
        found = np.zeros((len(texts), table.shape[1]), dtype=np.float32)
        full = [row for row, tokens in enumerate(texts) if len(tokens)]
        for first in range(0, len(full), _AT_ONCE):
            rows = full[first : first + _AT_ONCE]
            tokens = np.concatenate([texts[row] for row in rows])
            starts = np.cumsum([0, *(len(texts[row]) for row in rows)])[:-1]
            # A sum is a mean but for its length, which becomes 1 anyway.
            found[rows] = np.add.reduceat(table[tokens] * weights[tokens, None], starts)
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
    """The vectors of an index's passages, in the same order. Not for two threads at once.

    A token counts the more, the fewer passages have it: that finds more than the plain mean. The
    first passages know little of that, so all are worked out again whenever there are twice as
    many, up to SETTLED of them; from then on what is common hardly changes.
    """

    def __init__(self, vectors: SentenceVectors, index: Index) -> None:
        self._vectors = vectors
        self._index = index
        self._count = 0
        self._weighed = 0
        self._rows: Matrix | None = None
        self._holding: Matrix | None = None
        self._texts: list[Matrix] = []
        self._common: Common | None = None

    @property
    def size(self) -> int:
        """Bytes."""
        arrays: list[Matrix] = [self._rows, self._holding, *self._texts]
        return sum(int(array.nbytes) for array in arrays if array is not None)

    def add(self, texts: Sequence[str]) -> None:
        """The vectors of passages that the index just took. 0.2 ms a text."""
        import numpy as np

        if not texts:
            return
        new = [np.array(tokens, dtype=np.uint16) for tokens in self._vectors.split(texts)]
        if self._holding is None:
            self._holding = np.zeros(self._vectors.tokens, dtype=np.int32)
        for tokens in new:
            self._holding[np.unique(tokens)] += 1
        first, self._count, self._common = self._count, self._count + len(new), None
        if self._count <= SETTLED or not first:
            self._texts += new
            if self._count >= 2 * self._weighed:
                first, new, self._weighed = 0, self._texts, self._count
        else:
            self._texts.clear()
        self._rows = _roomy(self._rows, self._count)
        self._rows[first : self._count] = self._vectors.rows(new, self._weights())

    def _weights(self) -> Matrix:
        import numpy as np

        assert self._holding is not None
        return np.log1p((self._count + 1) / (self._holding + 1)).astype(np.float32)

    def cut(self, passages: int) -> None:
        """Keep the first ones. How common tokens are is told anew where that is still known."""
        import numpy as np

        known = len(self._texts) == self._count
        self._count, self._common = passages, None
        del self._texts[passages:]
        if self._holding is not None and (known or not passages):
            self._holding[:] = 0
            for tokens in self._texts:
                self._holding[np.unique(tokens)] += 1
        self._weighed = min(self._weighed, passages)

    def closeness(self, question: str, *, among: Collection[int], best: int) -> Closeness:
        """See `lexical.Meaning`. 5 ms for 50,000 passages."""
        import numpy as np

        if self._rows is None or not self._count:
            return Closeness(scores={}, close=frozenset())
        asked = self._vectors.rows(self._vectors.split([question]), self._weights())[0]
        if not asked.any():
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


def _roomy(rows: Matrix | None, count: int) -> Matrix:
    """With room for so many rows at least."""
    import numpy as np

    if rows is not None and count <= len(rows):
        return rows
    room = max(count, 64 if rows is None else len(rows) * 3 // 2)
    wider: Matrix = np.zeros((room, DIMENSIONS), dtype=np.float32)
    if rows is not None:
        wider[: len(rows)] = rows
    return wider


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
