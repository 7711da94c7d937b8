"""Every read. Each object is found through its owner; what isn't theirs is not there."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Q, QuerySet

from chatsite.conversations.coverage import standing_of
from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.owners import Owner
from chatsite.conversations.records import Loaded, Opened
from chatsite.conversations.rows import (
    ENTRY,
    conversation_of,
    entry_of,
    message_of,
    quote_of,
    view_of,
)
from chatsite.errors import NotFound
from chatsite.events import ConversationView, MessageView
from chatsite.history import (
    BACKGROUND,
    Entry,
    Everything,
    Reach,
    Tokens,
    Transcript,
    Unloaded,
)
from chatsite.messages import Message as Said

PAGE = 60
LISTED = 200


def owned(owner: Owner, id: str, *, deleted: bool = False) -> Conversation:
    """The conversation, if it is this owner's. NotFound is the same for none and another's."""
    try:
        key = uuid.UUID(id)
    except ValueError:
        raise NotFound("There is no such conversation.") from None
    row = (
        Conversation.objects.select_related("last_turn")
        .filter(owner.filter(), id=key, deleted__isnull=not deleted)
        .first()
    )
    if row is None:
        raise NotFound("There is no such conversation.")
    return row


def free_or_owned(owner: Owner, id: str) -> Conversation | None:
    """None where no conversation has this id yet; NotFound where it is another owner's."""
    try:
        return owned(owner, id)
    except NotFound:
        if Conversation.objects.filter(id=id).exists():
            raise
        return None


def agent_of(*, owner: Owner, conversation: str) -> str:
    """The conversation's agent. Raises NotFound unless it is this owner's."""
    return owned(owner, conversation).agent


def path(row: Conversation) -> QuerySet[Message]:
    return Message.objects.filter(conversation=row, on_path=True)


def turn_messages(turn: uuid.UUID) -> QuerySet[Message]:
    return Message.objects.filter(turn=turn).select_related("turn").order_by("seq")


def load(
    *,
    owner: Owner,
    conversation: str,
    reach: Reach,
    ahead: int = 0,
    reply_to: str | None = None,
) -> Loaded:
    """What a policy of this reach needs of the path: three queries, rarely one or two more.

    The running answer is left out. `ahead` is 1 where a message not yet stored (a draft) will be
    the current one, and so takes one of the reach's places. `reply_to` is what the current one
    replies to.
    """
    row = free_or_owned(owner, conversation)
    if row is None:
        nothing = Transcript(entries=())
        return Loaded(agent="", transcript=nothing, next_seq=1, receipt=None)
    cut = first_wanted(row, reach, ahead=ahead)
    # What has been stored since the row was read belongs to other totals.
    entries = _entries(row, _wanted(row, cut, reply_to) & Q(seq__lt=row.next_seq))
    return Loaded(
        agent=row.agent,
        transcript=Transcript(entries=entries, unloaded=_unloaded(row, entries, cut)),
        next_seq=row.next_seq,
        receipt=row.last_turn.receipt if row.last_turn else None,
    )


def turns_with(*, owner: Owner, conversation: str, seqs: Sequence[int]) -> tuple[Entry, ...]:
    """The whole turns of the path in which these messages stand, in path order."""
    row = owned(owner, conversation)
    found: dict[int, Entry] = {}
    # SQLite takes a few hundred values at once.
    for start in range(0, len(seqs), 300):
        some = path(row).filter(seq__in=seqs[start : start + 300])
        turns = Q(turn_seq__in=some.values_list("turn_seq", flat=True))
        found |= {entry.seq: entry for entry in _entries(row, turns)}
    return tuple(found[seq] for seq in sorted(found))


def _entries(row: Conversation, wanted: Q) -> tuple[Entry, ...]:
    rows = path(row).exclude(state="running").filter(wanted).order_by("seq").only(*ENTRY)
    return tuple(entry_of(message, forget_above=row.forget_above) for message in rows)


def _wanted(row: Conversation, cut: int, reply_to: str | None) -> Q:
    """From the cut on, and above it the turns with a mark and the one that is replied to."""
    inside = Q(seq__gte=cut)
    if cut and (row.marked or row.forget_above):
        inside |= Q(turn_seq__in=_marked_turns(row))
    if cut and reply_to:
        inside |= Q(turn_seq__in=path(row).filter(id=reply_to).values("turn_seq"))
    return inside


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
    newest = path(row).filter(role="user").exclude(source__in=BACKGROUND).order_by("-seq")
    found = newest.values_list("seq", flat=True)[users - 1 : users]
    return next(iter(found), 0)


def _cut_by_tokens(row: Conversation, tokens: int) -> int:
    """Where the newest whole turns exceed `tokens`; 0 where all of them together don't.

    Turns that a mark or a background task may keep out are not counted: more is read, never less.
    """
    if row.path_tokens <= tokens:
        return 0
    columns = ("turn_seq", "tokens", "excluded", "source")
    newest = path(row).exclude(state="running").order_by("-seq").values_list(*columns)
    left, size, counts = tokens, 0, True
    turn: int | None = None
    for turn_seq, count, excluded, source in newest.iterator(chunk_size=500):
        if turn is not None and turn_seq != turn:
            left -= size if counts else 0
            if left < 0:
                return turn
            size, counts = 0, True
        turn, size = turn_seq, size + count
        counts = counts and not excluded and source not in BACKGROUND
    return 0


def _before_background(row: Conversation, cut: int) -> int:
    """The cut, moved up over what background tasks wrote to the turn that they follow."""
    above = path(row).exclude(state="running").filter(seq__lt=cut).order_by("-seq")
    newest = above.values_list("source", flat=True).first()
    if newest not in BACKGROUND:
        return cut
    said = above.exclude(source__in=BACKGROUND).values_list("turn_seq", flat=True).first()
    return said or 0


def _marked_turns(row: Conversation) -> QuerySet[Message, int]:
    """With the marker's own turn: a pinned one above the marker must be seen to be above it."""
    marked = path(row).filter(Q(pinned=True) | Q(excluded=True) | Q(seq=row.forget_above))
    return marked.values_list("turn_seq", flat=True)


def open_conversation(*, owner: Owner, conversation: str) -> Opened:
    """The newest messages of the path and the turn under way, for a fresh page."""
    row = free_or_owned(owner, conversation)
    if row is None:
        return Opened(
            conversation=None,
            messages=(),
            earlier=False,
            running=None,
            running_user=None,
            receipt=None,
        )
    running = Turn.objects.filter(conversation=row, state="running").first()
    messages, earlier = _page(row, before=None)
    user = next((v.message.id for v in reversed(messages) if v.message.role == "user"), None)
    return Opened(
        conversation=conversation_of(row),
        messages=messages,
        earlier=earlier,
        running=str(running.id) if running else None,
        running_user=user if running else None,
        receipt=row.last_turn.receipt if row.last_turn else None,
        forget_above=row.forget_above,
        summary=standing_of(row).view,
    )


def views(rows: Iterable[Message]) -> tuple[MessageView, ...]:
    """As the page shows them; what some of them reply to is read in one query more."""
    rows = list(rows)
    wanted = {row.reply_to: row.conversation_id for row in rows if row.reply_to}
    found = {}
    if wanted:
        same = Message.objects.filter(conversation__in=set(wanted.values()), id__in=wanted)
        some = same.only("id", "seq", "role", "content")
        found = {one.id: quote_of(one) for one in some}
    return tuple(
        view_of(row, reply=found.get(row.reply_to) if row.reply_to else None) for row in rows
    )


def _page(row: Conversation, *, before: int | None) -> tuple[tuple[MessageView, ...], bool]:
    wanted = path(row).exclude(state="running").select_related("turn").order_by("-seq")
    if before is not None:
        wanted = wanted.filter(seq__lt=before)
    rows = list(wanted[: PAGE + 1])
    return views(reversed(rows[:PAGE])), len(rows) > PAGE


def earlier_messages(
    *, owner: Owner, conversation: str, before: int
) -> tuple[tuple[MessageView, ...], bool]:
    """The messages above seq `before`, and whether there are more above those."""
    return _page(owned(owner, conversation), before=before)


def listed(*, owner: Owner, text: str = "") -> list[ConversationView]:
    """The owner's conversations, newest first; `text` is looked for in titles and messages."""
    rows = Conversation.objects.filter(owner.filter(), deleted=None)
    if text:
        said = Message.objects.filter(
            owner.filter("conversation__"), on_path=True, content__icontains=text
        )
        rows = rows.filter(Q(title__icontains=text) | Q(id__in=said.values("conversation")))
    return [conversation_of(row) for row in rows.order_by("-updated")[:LISTED]]


def whole_path(*, owner: Owner, conversation: str) -> tuple[ConversationView, list[Said]]:
    """Every finished message of the path, for saving to a file."""
    row = owned(owner, conversation)
    rows = path(row).exclude(state="running").order_by("seq").iterator(chunk_size=500)
    return conversation_of(row), [message_of(message) for message in rows]


def owned_turn(owner: Owner, id: str) -> Turn:
    try:
        key = uuid.UUID(id)
    except ValueError:
        raise NotFound("There is no such answer.") from None
    turn = (
        Turn.objects.select_related("conversation")
        .filter(owner.filter("conversation__"), id=key, conversation__deleted=None)
        .first()
    )
    if turn is None:
        raise NotFound("There is no such answer.")
    return turn


def receipt_of(*, owner: Owner, turn: str) -> Mapping[str, Any] | None:
    receipt: Mapping[str, Any] | None = owned_turn(owner, turn).receipt
    return receipt
