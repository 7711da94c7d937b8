"""How far back a conversation is read for a decision: as far as its policy looks, and no more."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter
from typing import Any

from django.db.models import Q

from chatsite.conversations.database.rows import ENTRY, entry_of
from chatsite.conversations.database.statements import Rows, fetched, key
from chatsite.conversations.models import Conversation, Message
from chatsite.conversations.reads.queries import free_or_owned, owned, path
from chatsite.conversations.values.owners import Owner
from chatsite.conversations.values.records import LoadedPath
from chatsite.history import (
    BACKGROUND,
    Entry,
    Everything,
    Reach,
    Tokens,
    Transcript,
    Unloaded,
)
from chatsite.kv import LOADED

ENTRIES = Rows(Message, *ENTRY)
# To make an entry takes 25 us, to find it here 2. At most some 10 MB.
KEPT = 2_048
KEPT_CHARACTERS = 4_000
TEXTS = itemgetter(*map(ENTRIES.place, ("content", "reasoning", "metadata", "calls")))
# SQLite uses its index for `on_path IN (...)`, and none for a bare `on_path`.
ON_PATH = "conversation_id = %s AND on_path IN (%s)"
ENDED = f"{ON_PATH} AND state <> 'running'"
# Both with the conversation's id and true, for the path.
FROM = f"{ENDED} AND seq >= %s AND seq < %s ORDER BY seq"
USERS = (
    f"SELECT seq FROM {ENTRIES.table} WHERE {ON_PATH} AND role = 'user' "
    f"AND source NOT IN ({', '.join(['%s'] * len(BACKGROUND))}) ORDER BY seq DESC "
    "LIMIT 1 OFFSET %s"
)


def load_path(
    *,
    owner: Owner,
    conversation: str,
    reach: Reach,
    ahead: int = 0,
    reply_to: str | None = None,
) -> LoadedPath:
    """What a policy of this reach needs of the path: two or three queries, and three more where
    something is marked or replied to.

    The running answer is left out. `ahead` is 1 where a message not yet stored (a draft) will be
    the current one, and so takes one of the reach's places. `reply_to` is what the current one
    replies to.
    """
    row = free_or_owned(owner, conversation)
    if row is None:
        nothing = Transcript(entries=())
        return LoadedPath(agent="", transcript=nothing, next_seq=1, receipt=None)
    return load_stored_path(row, reach, ahead=ahead, reply_to=reply_to)


def load_stored_path(
    row: Conversation, reach: Reach, *, ahead: int = 0, reply_to: str | None = None
) -> LoadedPath:
    """The same of a conversation that has been read."""
    cut = first_wanted(row, reach, ahead=ahead)
    # What has been stored since the row was read belongs to other totals.
    entries = _entries(row, FROM, key(row.id), True, cut, row.next_seq)
    if cut:
        # Asked for by themselves: joined by OR the whole conversation would be read.
        entries = (*_turns(row, _marked_turns(row, cut, reply_to)), *entries)
    return LoadedPath(
        agent=row.agent,
        transcript=Transcript(entries=entries, unloaded=_unloaded(row, entries, cut)),
        next_seq=row.next_seq,
        receipt=row.last_turn.receipt if row.last_turn else None,
    )


def load_turns(*, owner: Owner, conversation: str, seqs: Sequence[int]) -> tuple[Entry, ...]:
    """The whole turns of the path in which these messages stand, in path order."""
    row = owned(owner, conversation)
    found: set[int] = set()
    for some in few(seqs):
        found.update(path(row).filter(seq__in=some).values_list("turn_seq", flat=True))
    return _turns(row, found)


def _turns(row: Conversation, turn_seqs: Collection[int]) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for some in few(sorted(turn_seqs)):
        # In no order: asked for one by seq, SQLite would walk through the whole conversation.
        places = ", ".join(["%s"] * len(some))
        found = _entries(row, f"{ENDED} AND turn_seq IN ({places})", key(row.id), True, *some)
        entries += sorted(found, key=lambda entry: entry.seq)
    return tuple(entries)


def few(seqs: Sequence[int]) -> Iterator[Sequence[int]]:
    """SQLite takes a few hundred values at once."""
    return (seqs[start : start + 300] for start in range(0, len(seqs), 300))


def _entries(row: Conversation, condition: str, *values: object) -> tuple[Entry, ...]:
    """The SELECT's rest is `condition`, with `values` for each `%s`."""
    found = []
    for stored in ENTRIES.stored(condition, *values):
        short = sum(map(len, filter(None, TEXTS(stored)))) < KEPT_CHARACTERS
        entry = _kept(stored) if short else _entry(stored)
        if row.forget_above and entry.seq == row.forget_above:
            entry = replace(entry, forgets_above=True)
        found.append(entry)
    return tuple(found)


def _entry(stored: tuple[Any, ...]) -> Entry:
    return entry_of(ENTRIES.bare(stored))


# A row that is as it was makes the same entry: a turn reads what the one before it has read. One
# that was changed in any column isn't found here.
_kept = lru_cache(maxsize=KEPT)(_entry)


def forget() -> None:
    """Let all that was read leave the memory: for whoever takes a text away."""
    _kept.cache_clear()


def _marked_turns(row: Conversation, cut: int, reply_to: str | None) -> set[int]:
    """The turns above the cut that are wanted all the same: with a mark, with what is replied to,
    and the marker's own: a pinned one above it must be seen to be above it."""
    found: set[int] = set()
    if row.marked:
        marked = path(row).filter(Q(pinned=True) | Q(excluded=True), turn_seq__lt=cut)
        found.update(marked.values_list("turn_seq", flat=True))
    if row.forget_above:
        found.update(path(row).filter(seq=row.forget_above).values_list("turn_seq", flat=True))
    if reply_to:
        found.update(path(row).filter(id=reply_to).values_list("turn_seq", flat=True))
    return {seq for seq in found if seq < cut}


def _unloaded(row: Conversation, entries: Sequence[Entry], cut: int) -> Unloaded:
    messages = [entry.message for entry in entries]
    left = row.path_messages - len(messages)
    if not cut or left <= 0:
        return Unloaded()
    asked = [message for message in messages if message.role == "user"]
    tokens = sum(message.tokens.count for message in messages if message.tokens)
    background = sum(message.source in BACKGROUND for message in asked)
    return Unloaded(
        messages=left,
        users=row.path_users - len(asked),
        background=row.path_background - background,
        tokens=max(row.path_tokens - tokens, 0),
        first=1,
        last=cut - 1,
    )


def first_wanted(row: Conversation, reach: Reach, *, ahead: int) -> int:
    """The seq from which this reach wants everything; 0 where it wants the whole path."""
    if isinstance(reach, Everything):
        return 0
    if isinstance(reach, Tokens):
        return _cut_by_tokens(row, reach.tokens)
    users = max(reach.users, 1) - ahead
    cut = _cut_by_users(row, users) if users > 0 else row.next_seq
    # Only then may what a background task wrote directly before the message lie above the cut.
    if cut and reach.users <= 1 and row.last_background:
        return _before_background(row, cut)
    return cut


def _cut_by_users(row: Conversation, users: int) -> int:
    """The seq from which the last `users` user messages stand; 0 where there are no more."""
    if row.path_users - row.path_background < users:
        return 0
    found = fetched(USERS, key(row.id), True, *BACKGROUND, users - 1)
    return int(found[0][0]) if found else 0


def _cut_by_tokens(row: Conversation, tokens: int) -> int:
    """Where the newest whole turns exceed `tokens`; 0 where all of them together don't.

    Turns that a mark, a cleanup or a background task may keep out are not counted: more is read,
    never less.
    """
    if row.path_tokens <= tokens:
        return 0
    columns = ("turn_seq", "tokens", "excluded", "kv_status", "source")
    newest = path(row).exclude(state="running").order_by("-seq").values_list(*columns)
    left, size, counts = tokens, 0, True
    turn: int | None = None
    for turn_seq, count, excluded, kv_status, source in newest.iterator(chunk_size=500):
        if turn is not None and turn_seq != turn:
            left -= size if counts else 0
            if left < 0:
                return turn
            size, counts = 0, True
        turn, size = turn_seq, size + count
        kept_out = excluded or kv_status != LOADED or source in BACKGROUND
        counts = counts and not kept_out
    return 0


def _before_background(row: Conversation, cut: int) -> int:
    """The cut, moved up over what background tasks wrote to the turn that they follow."""
    above = path(row).exclude(state="running").filter(seq__lt=cut).order_by("-seq")
    newest = above.values_list("source", flat=True).first()
    if newest not in BACKGROUND:
        return cut
    said = above.exclude(source__in=BACKGROUND).values_list("turn_seq", flat=True).first()
    return said or 0
