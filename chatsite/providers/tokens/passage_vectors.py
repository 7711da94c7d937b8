"""How close the passages of a conversation are to a question in meaning, by sentence vectors."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from chatsite.errors import Refused
from chatsite.history.lexical.index import Index
from chatsite.history.lexical.ranking import Closeness
from chatsite.providers.tokens.sentence_vectors import DIMENSIONS, SentenceVectors

if TYPE_CHECKING:
    import numpy as np

    Matrix: TypeAlias = np.ndarray

# A passage is scored by its own meaning, and less by that of three messages on either side, each by
# its closest passage. Set by hand on measured data, see docs/benchmarks.md.
_OWN, _AROUND = 1.0, 0.7
_NEAR = (0.6, 0.35, 0.2)
# A passage that is this close in meaning (a cosine, after subtracting the mean of all passages) is
# recalled although it shares no word with the question.
_CLOSE = 0.4
# From this number of passages on, the weights of tokens stay. Two thousand passages take 0.4 s.
SETTLED = 2_000
# Bytes of an array beside its numbers, with its place in a list.
_ARRAY = 120


class PassageVectors:
    """The vectors of an index's passages, in the same order. Not for two threads at once.

    A token weighs the more, the fewer passages have it, which finds more than the plain mean. The
    first passages give poor weights, so all vectors are computed again whenever the number of
    passages has doubled, up to SETTLED; after that the weights hardly change.
    """

    def __init__(self, vectors: SentenceVectors, index: Index) -> None:
        self._vectors = vectors
        self._index = index
        self._count = 0
        self._weighed = 0
        self._rows: Matrix | None = None
        self._holding: Matrix | None = None
        self._texts: list[Matrix] = []
        self._tokens = 0
        self._common: ScoringTable | None = None

    @property
    def size(self) -> int:
        """Bytes."""
        arrays: list[Matrix] = [self._rows, self._holding]
        tables = sum(int(array.nbytes) for array in arrays if array is not None)
        return tables + 2 * self._tokens + _ARRAY * len(self._texts)

    def add(self, texts: Sequence[str]) -> None:
        """Add the passages that the index has just taken. 0.2 ms a text."""
        import numpy as np

        split = self._vectors.split(texts) if texts else []
        self._put([np.array(tokens, dtype=np.uint16) for tokens in split])

    def dump(self, first: int, end: int) -> bytes:
        """Return the tokens of some passages, for `load`: a ninth of the bytes that their rows
        take."""
        import numpy as np

        texts = self._texts[first:end]
        lengths = np.array([len(tokens) for tokens in texts], dtype=np.uint32)
        body = b"".join([lengths.tobytes(), *(tokens.tobytes() for tokens in texts)])
        return self._vectors.rules + zlib.compress(body)

    def load(self, parts: Sequence[tuple[int, bytes]]) -> None:
        """Add stored passages, without their texts: how many, and what `dump` made of them.

        All at once, so that their rows are those of texts added at once. Raises Refused, and adds
        nothing, where a part is missing, broken or of another tokenizer.
        """
        rules, vocabulary = self._vectors.rules, self._vectors.tokens
        self._put([text for part in parts for text in _texts_of(*part, rules, vocabulary)])

    def _put(self, new: list[Matrix]) -> None:
        import numpy as np

        if not new:
            return
        if self._holding is None:
            self._holding = np.zeros(self._vectors.tokens, dtype=np.int32)
        self._holding += _holding(new, len(self._holding))
        self._tokens += sum(map(len, new))
        self._texts += new
        first, self._count, self._common = self._count, self._count + len(new), None
        if (self._count <= SETTLED or not first) and self._count >= 2 * self._weighed:
            first, new, self._weighed = 0, self._texts, self._count
        self._rows = _roomy(self._rows, self._count)
        self._rows[first : self._count] = self._vectors.rows(new, self._weigh)

    def _weigh(self, tokens: Matrix) -> Matrix:
        """The weight of each of these tokens. All of the vocabulary's would take 0.4 ms."""
        import numpy as np

        assert self._holding is not None
        return np.log1p((self._count + 1) / (self._holding[tokens] + 1)).astype(np.float32)

    def cut(self, passages: int) -> None:
        """Keep the first `passages`."""
        dropped = self._texts[passages:]
        self._count, self._common = passages, None
        if dropped:
            assert self._holding is not None
            self._holding -= _holding(dropped, len(self._holding))
            self._tokens -= sum(map(len, dropped))
            del self._texts[passages:]
        self._weighed = min(self._weighed, passages)

    def closeness(self, question: str, *, among: Collection[int], best: int) -> Closeness:
        """See `lexical.Meaning`. 5 ms for 50,000 passages."""
        import numpy as np

        if self._rows is None or not self._count:
            return Closeness(scores={}, close=frozenset())
        asked = self._vectors.rows(self._vectors.split([question]), self._weigh)[0]
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


def _holding(texts: Sequence[Matrix], vocabulary: int) -> Matrix:
    """How many of the texts have each token. 1 ms for 220 texts of 100 tokens."""
    import numpy as np

    numbers = np.repeat(np.arange(len(texts), dtype=np.int64), [len(text) for text in texts])
    pairs = np.unique(numbers << 16 | np.concatenate(texts))
    return np.bincount(pairs & 0xFFFF, minlength=vocabulary).astype(np.int32)


def _texts_of(count: int, data: bytes, rules: bytes, vocabulary: int) -> list[Matrix]:
    import numpy as np

    if not data.startswith(rules):
        raise Refused("The stored tokens are missing, or another tokenizer made them.")
    try:
        body = zlib.decompress(data[len(rules) :])
        lengths = np.frombuffer(body, dtype=np.uint32, count=count)
        tokens = np.frombuffer(body, dtype=np.uint16, offset=lengths.nbytes)
    except (zlib.error, ValueError) as error:
        raise Refused("The stored tokens can't be read.") from error
    ends = np.cumsum(lengths, dtype=np.int64)
    whole = int(ends[-1]) if count else 0
    if whole != len(tokens) or (whole and int(tokens.max()) >= vocabulary):
        raise Refused("The stored tokens contradict themselves.")
    return [np.array(text) for text in np.split(tokens, ends[:-1])] if count else []


def _roomy(rows: Matrix | None, count: int) -> Matrix:
    """The rows in an array with room for at least `count`."""
    import numpy as np

    if rows is not None and count <= len(rows):
        return rows
    room = max(count, 64 if rows is None else len(rows) * 3 // 2)
    wider: Matrix = np.zeros((room, DIMENSIONS), dtype=np.float32)
    if rows is not None:
        wider[: len(rows)] = rows
    return wider


@dataclass(frozen=True, slots=True)
class ScoringTable:
    """What the scoring of every question needs, computed once after each change of the rows.

    `mean` is what all sentences of this conversation share; `lengths` are those of the rows without
    it. `firsts` has each message's first row, `messages` each row's message. `near` has, for each
    distance, how much a message counts for the one that far behind it: 0 in another talk.
    """

    mean: Matrix
    lengths: Matrix
    firsts: Matrix
    messages: Matrix
    near: tuple[Matrix, ...]


def _common(rows: Matrix, index: Index) -> ScoringTable:
    import numpy as np

    mean = rows.mean(axis=0)
    square = 1 - 2 * (rows @ mean) + float(mean @ mean)
    starts = np.array(index.starts, dtype=np.intp)
    begins = np.diff(np.array(index.seqs[: len(rows)]), prepend=-1) != 0
    firsts = np.flatnonzero(begins)
    talks = np.searchsorted(starts, firsts, side="right")
    near = [
        weight * (talks[distance:] == talks[:-distance])
        for distance, weight in enumerate(_NEAR, 1)
        if distance < len(firsts)
    ]
    lengths = np.sqrt(np.maximum(square, 1e-6))
    return ScoringTable(mean, lengths, firsts, np.cumsum(begins) - 1, tuple(near))


def _cosines(rows: Matrix, asked: Matrix, common: ScoringTable) -> Matrix:
    """Between rows and question, both without the mean, and without a second table."""
    import numpy as np

    wanted = asked - common.mean
    wanted /= max(float(np.linalg.norm(wanted)), 1e-9)
    cosines: Matrix = (rows @ wanted - float(wanted @ common.mean)) / common.lengths
    return cosines


def _around(cosines: Matrix, common: ScoringTable) -> Matrix:
    """Each cosine plus the best ones of the messages around in the same talk, by distance."""
    import numpy as np

    best: Matrix = np.maximum.reduceat(cosines, common.firsts)
    around = np.zeros_like(best)
    for distance, weights in enumerate(common.near, 1):
        around[distance:] += weights * best[:-distance]
        around[:-distance] += weights * best[distance:]
    found: Matrix = cosines + around[common.messages]
    return found


def _z(values: Matrix) -> Matrix:
    deviation = float(values.std())
    scores: Matrix = (values - values.mean()) / deviation if deviation > 1e-6 else values * 0
    return scores
