"""Entries that were made from rows are kept in memory: by conversation, and bounded by bytes."""

from __future__ import annotations

import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Sequence
from operator import itemgetter
from threading import Lock
from typing import Any

from chatsite.conversations.database.rows import entry_of
from chatsite.conversations.database.statements import ENTRIES
from chatsite.history import Entry

Row = tuple[Any, ...]

# A hundred conversations of 220 messages of 80 tokens: with room for fewer, when so many people
# take turns under `all`, each of them finds nothing and makes 220 entries, 3 to 6 ms.
MOST_BYTES = 40 * 1024 * 1024
# Of one conversation. Of a longer one the newest messages are kept.
SHARE_BYTES = MOST_BYTES // 10
# Making an entry takes 9 us, finding it again 0.3: so few of them aren't worth their memory, and
# conversations that have just begun are most of those that a server sees.
FEW = 20
# A policy may quote or recall what is above the part of the path that it reads: so much is kept
# for each entry of that part before all but the part goes. With 2, `relevant` at 4,000 tokens made
# what it quotes of 220 messages anew at every turn, which was a tenth of it.
LEFT_ABOVE = 8
# Row and entry without their texts.
_EMPTY_BYTES = 1_200
_ID = ENTRIES.place("id")
_texts = itemgetter(*map(ENTRIES.place, ("content", "reasoning", "metadata")))
# Their parts are kept a second time, as objects.
_lists = itemgetter(*map(ENTRIES.place, ("attachments", "calls")))
# Of a column with so few characters most rows have the same value.
_SHORT = 24


class _Conversation:
    """The entries of one conversation with their rows, by the message's id, and their bytes."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[Row, Entry]] = {}
        self.bytes = 0

    def add(self, row: Row, entry: Entry) -> None:
        if row[_ID] in self.kept:
            self.bytes -= _bytes(self.kept[row[_ID]][0])
        self.kept[row[_ID]] = row, entry
        self.bytes += _bytes(row)


class EntryCache:
    """A turn reads mostly the rows that the turn before it read. The rows are read each time, and
    compared: one that was changed in any column is made again.

    A conversation goes as a whole, the one that was read the longest ago first. A cache of single
    entries, as there was before, lost them all at every turn as soon as 50 people took turns.
    """

    def __init__(self, *, most: int = MOST_BYTES, share: int = SHARE_BYTES) -> None:
        self._most = most
        self._share = share
        self._conversations: OrderedDict[str, _Conversation] = OrderedDict()
        self._bytes = 0
        self._times_forgotten = 0
        # For keeping and forgetting: several threads read.
        self._lock = Lock()

    def holds(self, conversation: str) -> int:
        """How many entries of the conversation are kept."""
        one = self._conversations.get(conversation)
        return len(one.kept) if one is not None else 0

    @property
    def bytes(self) -> int:
        """What all of them take, estimated."""
        return self._bytes

    def entries(
        self, conversation: str, read: Callable[[], Sequence[Row]], *, is_path: bool = False
    ) -> list[Entry]:
        """The entries of the rows of this conversation that `read` gives. `is_path`: they are the
        path, as far as its policy reaches; what was left above it isn't kept for long."""
        before = self._times_forgotten
        known = self._conversations.get(conversation)
        kept = known.kept if known is not None else {}
        rows = list(reversed(read()))
        count, wanted, found = len(rows), set(), []
        # No more of them are ever kept.
        made: deque[tuple[Row, Entry]] = deque(maxlen=self._share // _EMPTY_BYTES)
        while rows:
            # Each row goes as soon as its entry is there: 20,000 of them take 10 MB.
            row = rows.pop()
            wanted.add(row[_ID])
            row_and_entry = kept.get(row[_ID])
            if row_and_entry is None or row_and_entry[0] != row:
                row_and_entry = _made(row)
                made.append(row_and_entry)
            found.append(row_and_entry[1])
        with self._lock:
            # What was read before somebody removed it isn't kept.
            if before == self._times_forgotten:
                most = LEFT_ABOVE * count if is_path else 0
                self._keep(conversation, made, wanted, most)
        return found

    def forget(self, conversation: str) -> None:
        """Call this where a text of the conversation was changed or removed."""
        with self._lock:
            self._times_forgotten += 1
            self._drop(conversation)

    def _keep(
        self, conversation: str, made: Collection[tuple[Row, Entry]], wanted: set[str], most: int
    ) -> None:
        """The newest are kept where not all of them have room, `wanted` ones before others. Where
        there are more than `most` (0: no bound), only those."""
        one = self._conversations.pop(conversation, None) or _Conversation()
        self._bytes -= one.bytes
        if len(one.kept) + len(made) < FEW:
            return
        too_many = 0 < most < len(one.kept) + len(made)
        if too_many or (made and one.bytes + sum(_bytes(row) for row, _ in made) > self._share):
            former, one = one, _Conversation()
            for id, (row, entry) in former.kept.items():
                if id in wanted:
                    one.add(row, entry)
        for row, entry in reversed(list(made)):
            if one.bytes + _bytes(row) <= self._share:
                one.add(row, entry)
        self._conversations[conversation] = one
        self._bytes += one.bytes
        while self._bytes > self._most:
            self._drop(next(iter(self._conversations)))

    def _drop(self, conversation: str) -> None:
        dropped = self._conversations.pop(conversation, None)
        self._bytes -= dropped.bytes if dropped is not None else 0


def _made(row: Row) -> tuple[Row, Entry]:
    """Short values are one object for all rows: this halves what an entry takes."""
    row = tuple([sys.intern(one) if type(one) is str and len(one) < _SHORT else one for one in row])
    return row, entry_of(ENTRIES.to_tuple(row))


def _bytes(row: Row) -> int:
    texts = sum(sys.getsizeof(text) for text in _texts(row) if text)
    return _EMPTY_BYTES + texts + 4 * sum(map(len, _lists(row)))
