"""Reads a conversation for a decision, as far back as its policy's reach and no further."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from chatsite.conversations.database.columns import fetch, in_batches, key, placeholders
from chatsite.conversations.database.rows import entry_of, sent_last
from chatsite.conversations.database.statements import (
    ENTRIES,
    FINISHED,
    FINISHED_BETWEEN,
    IN_TURNS_OF,
    NEWEST_SIZES,
    NTH_LAST_USER,
)
from chatsite.conversations.models import MARKED, UNANSWERED, Conversation, Message
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import free_or_owned, messages_on_path, totals_of_owned
from chatsite.conversations.path.entry_cache import EntryCache
from chatsite.conversations.path.looked_back import without_lost_quotes
from chatsite.conversations.records import LoadedPath
from chatsite.conversations.summaries.queries import compaction_of
from chatsite.errors import NotFound
from chatsite.history import (
    BACKGROUND,
    Entry,
    Everything,
    NotLoaded,
    Reach,
    Tokens,
    Transcript,
    Users,
)
from chatsite.history.path.giving_way import LEAST_RESULT
from chatsite.history.path.marks import recallable
from chatsite.history.path.own_lines import RECALL
from chatsite.kv_cache.books import LOADED
from chatsite.storage import at_once, reading, takes_long
from chatsite.wording import say

_cache = EntryCache()
# More messages than that are read on a thread: these take 2 ms, which hold everybody up.
SHORT = 300
SHORT_TOKENS = 200_000
# A budget of 4,000 tokens ends within so many.
SIZES_AT_ONCE = 100


@at_once
@reading
def load_path(
    *,
    owner: Owner,
    conversation: str,
    reach: Reach,
    ahead: int = 0,
    reply_to: str | None = None,
) -> LoadedPath:
    """The part of the path that a policy of this reach needs: two or three queries, and three
    more where messages are marked or replied to.

    The running answer is left out. `ahead` is 1 where the current message isn't stored yet (a
    draft), and so takes one of the reach's places. `reply_to` is the message that it replies to.
    """
    row = free_or_owned(owner, conversation)
    if row is None:
        return LoadedPath(agent="", transcript=Transcript(entries=()), next_seq=1, receipt=None)
    if _is_long(row, reach):
        takes_long()
    return load_stored_path(row, reach, ahead=ahead, reply_to=reply_to)


def load_stored_path(
    row: Conversation,
    reach: Reach,
    *,
    ahead: int = 0,
    reply_to: str | None = None,
    whole: Sequence[Message] = (),
) -> LoadedPath:
    """The same for a conversation whose row was read in this transaction. `whole` is its whole
    path where the caller has stored it just now."""
    cut = first_wanted(row, reach, ahead=ahead)
    compaction = compaction_of(row) if row.compacted else None
    if whole and not cut:
        entries = _without_lost_quotes(row, [entry_of(one) for one in whole])
    else:
        # Messages stored since the row was read aren't part of its totals.
        between = (key(row.id), True, cut, row.next_seq)
        entries = _entries(row, FINISHED_BETWEEN, *between, is_path=True)
    if cut:
        # A query of their own: joined by OR, SQLite would read the whole conversation.
        kept = {seq for seq in compaction.kept if seq < cut} if compaction else set()
        entries = (*_turns(row, _marked_turns(row, cut, reply_to) | kept), *entries)
    last = row.last_turn
    return LoadedPath(
        agent=row.agent,
        transcript=Transcript(
            entries=entries, not_loaded=_not_loaded(row, entries, cut), compaction=compaction
        ),
        next_seq=row.next_seq,
        receipt=last.receipt if last else None,
        sent=sent_last(last) if last else 0.0,
        forgets_all=row.forget_above == row.next_seq,
    )


def load_at_once(
    row: Conversation, reach: Reach, *, reply_to: str | None, whole: Sequence[Message] = ()
) -> LoadedPath | None:
    """The same for a turn that begins; None where it may take long: its turn asks for it then."""
    if _is_long(row, reach):
        return None
    return load_stored_path(row, reach, reply_to=reply_to, whole=whole)


def _is_long(row: Conversation, reach: Reach) -> bool:
    """Whether much may have to be read: marked turns may be anywhere above the reach."""
    share = 1.0
    if isinstance(reach, Users) and not row.marked:
        share = min(1.0, reach.users / max(row.path_users, 1))
    return row.path_messages * share > SHORT or row.path_tokens * share > SHORT_TOKENS


@at_once
@reading
def load_turns(*, owner: Owner, conversation: str, seqs: Sequence[int]) -> tuple[Entry, ...]:
    """The whole turns of these messages of the path, in path order."""
    if len(seqs) > SHORT:
        takes_long()
    row = totals_of_owned(owner, conversation)
    if row is None:
        raise NotFound(say("There is no such conversation."))
    entries: dict[int, Entry] = {}
    for some in in_batches(seqs):
        condition = f"{IN_TURNS_OF} ({placeholders(some)}))"
        found = _entries(row, condition, key(row.id), True, key(row.id), True, *some)
        entries.update((entry.seq, entry) for entry in found)
    return tuple(entries[seq] for seq in sorted(entries))


@reading
def load_recallable(*, owner: Owner, conversation: str, seqs: Sequence[int]) -> tuple[Entry, ...]:
    """Of the turns of these messages of the path what a model may look at again, in path order.
    Raises NotFound for another owner's."""
    row = totals_of_owned(owner, conversation)
    if row is None:
        raise NotFound(say("There is no such conversation."))
    return _recallable(row, seqs)


def _recallable(
    row: Conversation, seqs: Collection[int], among: Collection[int] | None = None
) -> tuple[Entry, ...]:
    found = messages_on_path(row).filter(seq__in=seqs).values_list("turn_seq", flat=True)
    return tuple(recallable(_turns(row, set(found), among), marker=row.forget_above))


def _turns(
    row: Conversation, turn_seqs: Collection[int], among: Collection[int] | None = None
) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for some in in_batches(sorted(turn_seqs)):
        # Sorted here: with ORDER BY seq SQLite would walk through the whole conversation.
        condition = f"{FINISHED} AND turn_seq IN ({placeholders(some)})"
        found = _entries(row, condition, key(row.id), True, *some, among=among)
        entries += sorted(found, key=lambda entry: entry.seq)
    return tuple(entries)


def _entries(
    row: Conversation,
    condition: str,
    *values: object,
    is_path: bool = False,
    among: Collection[int] | None = None,
) -> tuple[Entry, ...]:
    """The messages that fulfil `condition`; `values` fill its `%s`. Only `among` these seqs is it
    asked whether what the tool that looks back quotes is still there, None: among all."""
    found = _cache.entries(
        str(row.id), lambda: ENTRIES.unconverted(condition, *values), is_path=is_path
    )
    if row.forget_above:
        found = [
            replace(entry, forgets_above=True) if entry.seq == row.forget_above else entry
            for entry in found
        ]
    return _without_lost_quotes(row, found, among)


def _without_lost_quotes(
    row: Conversation, entries: Sequence[Entry], among: Collection[int] | None = None
) -> tuple[Entry, ...]:
    if not any(call.name == RECALL for entry in entries for call in entry.message.calls):
        return tuple(entries)

    def still_there(seqs: Collection[int]) -> set[int]:
        # A result may quote another one. That has an end: a file may hold any chain of them.
        again = seqs if among is None else ()
        return {entry.seq for entry in _recallable(row, seqs, again)}

    return without_lost_quotes(entries, still_there, among)


def forget_entries(conversation: uuid.UUID) -> None:
    """Remove the conversation's texts from memory: call this where one is changed or deleted."""
    _cache.forget(str(conversation))


def _marked_turns(row: Conversation, cut: int, reply_to: str | None) -> set[int]:
    """The turns above the cut that are needed all the same: with a mark, with the message replied
    to, and the turn at the marker, which shows that a pinned turn is above the marker."""
    found: set[int] = set()
    if row.marked:
        marked = messages_on_path(row).filter(MARKED, turn_seq__lt=cut)
        found.update(marked.values_list("turn_seq", flat=True))
    if row.forget_above:
        found.update(
            messages_on_path(row).filter(seq=row.forget_above).values_list("turn_seq", flat=True)
        )
    if reply_to:
        found.update(messages_on_path(row).filter(id=reply_to).values_list("turn_seq", flat=True))
    return {seq for seq in found if seq < cut}


def _not_loaded(row: Conversation, entries: Sequence[Entry], cut: int) -> NotLoaded:
    messages = [entry.message for entry in entries]
    left = row.path_messages - len(messages)
    if not cut or left <= 0:
        return NotLoaded()
    asked = [message for message in messages if message.role == "user"]
    tokens = sum(message.tokens.count for message in messages if message.tokens)
    background = sum(message.source in BACKGROUND for message in asked)
    return NotLoaded(
        messages=left,
        users=row.path_users - len(asked),
        background=row.path_background - background,
        tokens=max(row.path_tokens - tokens, 0),
        first=1,
        last=cut - 1,
    )


def first_wanted(row: Conversation, reach: Reach, *, ahead: int) -> int:
    """The first seq that this reach needs; 0 where it needs the whole path."""
    if isinstance(reach, Everything):
        return 0
    if isinstance(reach, Tokens):
        return _cut_by_tokens(row, reach.tokens)
    users = max(reach.users, 1) - ahead
    cut = _cut_by_users(row, users) if users > 0 else row.next_seq
    # Only with such a short reach can the cut hide a background task's message that directly
    # precedes the current one.
    if cut and reach.users <= 1 and row.last_background:
        return _before_background(row, cut)
    return cut


def _cut_by_users(row: Conversation, users: int) -> int:
    """The seq of the first of the last `users` user messages; 0 where there are no others."""
    if row.path_users - row.path_background < users:
        return 0
    found = fetch(NTH_LAST_USER, key(row.id), True, *BACKGROUND, users - 1)
    return int(found[0][0]) if found else 0


def _cut_by_tokens(row: Conversation, tokens: int) -> int:
    """The seq of the turn at which the newest whole turns exceed `tokens`; 0 where they don't.

    Turns that a mark, a cleanup, a background task or a failed answer may leave out aren't counted,
    and results of tools as if they gave way, so that rather too much is read than too little.
    """
    if row.path_tokens <= tokens:
        return 0
    left, size, counts = tokens, 0, True
    turn: int | None = None
    for turn_seq, count, excluded, kv_status, source, *kind in _newest_sizes(row):
        if turn is not None and turn_seq != turn:
            left -= size if counts else 0
            if left < 0:
                return turn
            size, counts = 0, True
        turn, size = turn_seq, size + (min(count, LEAST_RESULT) if kind[0] == "tool" else count)
        kept_out = excluded or kv_status != LOADED or source in BACKGROUND
        kept_out = kept_out or (kind[0] == "user" and kind[1] in UNANSWERED)
        counts = counts and not kept_out
    return 0


def _newest_sizes(row: Conversation) -> Iterator[tuple[Any, ...]]:
    """The columns of NEWEST_SIZES after the first, of the path's messages, newest first."""
    below = row.next_seq
    while rows := fetch(NEWEST_SIZES, key(row.id), True, below, SIZES_AT_ONCE):
        yield from (values[1:] for values in rows)
        below = rows[-1][0]


def _before_background(row: Conversation, cut: int) -> int:
    """The cut, moved up over messages of background tasks to the turn that they follow."""
    above = messages_on_path(row).exclude(state="running").filter(seq__lt=cut).order_by("-seq")
    newest = above.values_list("source", flat=True).first()
    if newest not in BACKGROUND:
        return cut
    turn = above.exclude(source__in=BACKGROUND).values_list("turn_seq", flat=True).first()
    return turn or 0
