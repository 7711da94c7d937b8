"""Edits the text of single messages, with everything that was made from it.

The caller must call `Recaller.forget` and the engine's `Cache.drop` afterwards: an index in memory
and a slot still hold the old text.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from django.db import transaction
from django.utils import timezone

from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.rows import message_of
from chatsite.conversations.files.uploads import characters_of, require_words
from chatsite.conversations.models import Conversation, Message
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import owned_message
from chatsite.conversations.path import loading
from chatsite.conversations.path.active_path import estimated_tokens
from chatsite.conversations.path.queries import path_views
from chatsite.conversations.path.tree import branch_below
from chatsite.conversations.search import stored_indexes as search_indexes
from chatsite.conversations.signals import text_changed
from chatsite.conversations.summaries import versions as summaries
from chatsite.conversations.titles import title_from
from chatsite.conversations.versions.versions import GONE, require_idle
from chatsite.encoding import Record
from chatsite.errors import BadCommand, NotFound, Refused
from chatsite.events import MessagesChanged
from chatsite.history.instructions import still_said
from chatsite.kv_cache.books import LOADED, UNLOADED
from chatsite.messages import TokenCount
from chatsite.storage import reading, writing
from chatsite.wording import say

# How many rows with their texts are read and written at once.
CHUNK = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class TextChange:
    """Holds what pages are told: `changed`; and where the path goes another way since, the seq
    below which it does (`below`)."""

    conversation: str
    changed: MessagesChanged
    below: int | None = None


@writing
def edit_message(
    *, owner: Owner, message: str, text: str, tokens: TokenCount | None = None
) -> TextChange:
    """Replace a message's text in its place; what is below it stays there.

    The former text of an answer is kept as a version beside it, with its receipt's turn and all
    that its provider said. Summaries that cover the message become stale. Raises NotFound unless
    the message is in a conversation of this owner, Refused for a call's result, for an answer that
    calls tools and where the owner's quota is full, BadCommand for an empty text, TurnRunning while
    an answer is written.
    """
    hold(owner, message=message)
    row, stored = changeable(owner, message)
    if stored.role not in ("user", "assistant") or stored.calls:
        raise Refused(say("This part of an answer belongs to a tool call, and can't be changed."))
    if not text.strip() and not stored.attachments:
        raise BadCommand(say("The text is empty. Delete the message if nothing of it should stay."))
    before = stored.content or ""
    added = len(text) if stored.role == "assistant" else max(len(text) - len(before), 0)
    require_words(owner, added)
    summaries.mark_stale(row, stored.seq)
    drop_quotes(row, stored)
    if stored.role == "assistant":
        _keep_version(row, stored)
    row.characters = max(row.characters - characters_of(message_of(stored)), 0)
    stored.content, stored.reasoning, stored.edited = text, None, timezone.now()
    row.marked -= stored.is_marked
    stored.in_force = still_said(stored.in_force, text)
    row.marked += stored.is_marked
    # The provider's metadata and the cells of the engine's cache belong to the old text.
    stored.metadata = ""
    stored.kv_size, stored.kv_start_position = -1, -1
    # An unloaded turn stays unloaded.
    stored.kv_status = LOADED if stored.kv_status == LOADED else UNLOADED
    count = tokens or estimated_tokens(message_of(stored))
    if stored.on_path:
        row.path_tokens += count.count - stored.tokens
    stored.tokens, stored.tokenizer, stored.basis = count.count, count.tokenizer, count.basis
    stored.save()
    row.characters += characters_of(message_of(stored))
    if row.title == title_from(before):
        row.title = title_from(text)
    forget_path(row)
    row.last_turn = None  # the next request begins differently, and isn't compared with it
    row.save()
    changed = MessagesChanged(
        messages=path_views([stored]) if stored.on_path else (),
        gone=(),
        forget_above=row.forget_above,
    )
    return TextChange(conversation=str(row.id), changed=changed)


def _keep_version(row: Conversation, stored: Message) -> None:
    """Store the message as it was in another row, off the path. The message keeps its own row and
    its place, so that what is below it stays below it."""
    former = Message.objects.get(id=stored.id)
    former.id, former._state.adding = uuid.uuid4(), True
    former.seq, former.on_path, former.words_row = row.next_seq, False, None
    former.kv_size, former.kv_start_position, former.kv_status = -1, -1, LOADED
    former.pinned = former.excluded = former.bookmarked = False
    former.in_force = None
    former.save(force_insert=True)
    row.next_seq += 1
    row.characters += characters_of(message_of(former))


def forget_path(row: Conversation) -> None:
    """Delete what was made from the path. Call this in the transaction that changes or hides text,
    and save the row then."""
    text_changed.send(Conversation, conversations=[row.id])
    search_indexes.delete_index(row)
    transaction.on_commit(partial(loading.forget_entries, row.id))


def changeable(owner: Owner, id: str) -> tuple[Conversation, Message]:
    """Return the conversation and its message, with the one above and its turn. Raises NotFound,
    or TurnRunning while an answer is written."""
    message = owned_message(owner, id, "parent", "turn", deleted__isnull=True)
    require_idle(message.conversation)
    return message.conversation, message


def drop_quotes(row: Conversation, message: Message) -> None:
    """Let no later request quote the message, whatever that costs a provider's cache: what was
    quoted was its old text."""
    below = Message.objects.filter(conversation=row, seq__gt=message.seq, role="assistant")
    changed = [
        one for one in below.exclude(quoted=[]).only("id", "quoted") if message.seq in one.quoted
    ]
    for one in changed:
        one.quoted = [seq for seq in one.quoted if seq != message.seq]
    Message.objects.bulk_update(changed, ["quoted"], batch_size=CHUNK)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangePart(Record):
    """Holds a question, or all that an answer says. `id` is that of its first message, `turn` the
    last one that wrote it, None for what no turn wrote; `files` are the names of those attached."""

    id: str
    turn: str | None
    text: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionText(Record):
    """Holds the texts of one version; None where nobody asked, or nothing was answered."""

    question: ExchangePart | None
    answer: ExchangePart | None


@reading
def version_text(*, owner: Owner, message: str) -> VersionText:
    """Return the question and the answer that a message belongs to, as they stand on the branch
    that would be shown with it. Reads four columns of all newer messages off the path.

    Raises NotFound unless it is a message of this owner that was neither deleted nor cleared away.
    """
    version = owned_message(owner, message, gone=GONE, deleted__isnull=True)
    if version.seq < version.conversation.cleared:
        raise NotFound(say(GONE))
    ids = _exchange_of(version.conversation, version)
    by_id = Message.objects.only("role", "content", "turn", "attachments").in_bulk(ids)
    messages = [by_id[id] for id in ids if id in by_id]
    return VersionText(
        question=_join([one for one in messages if one.role == "user"]),
        answer=_join([one for one in messages if one.role == "assistant"]),
    )


def _exchange_of(row: Conversation, message: Message) -> list[uuid.UUID]:
    """Return the messages of one exchange on the branch through `message`, from the question on."""
    # All versions of the exchange have this number; the index begins with `on_path`.
    versions = Message.objects.filter(
        conversation=row, on_path__in=(True, False), turn_seq=message.turn_seq
    )
    by_id = {one.id: one for one in versions.only("parent", "seq", "on_path", "deleted")}
    above: list[uuid.UUID] = []
    place = message.parent_id
    while place in by_id:
        above += [place] if by_id[place].deleted is None else []
        place = by_id[place].parent_id
    shown = [one for one in by_id.values() if one.seq > message.seq and one.deleted is None]
    if message.on_path:
        below = [one for one in shown if one.on_path]
    else:
        branch = set(branch_below(row, message))
        below = [one for one in shown if one.seq in branch]
    below.sort(key=lambda one: one.seq)
    return [*reversed(above), message.id, *(one.id for one in below)]


def _join(messages: Sequence[Message]) -> ExchangePart | None:
    if not messages:
        return None
    turns = [str(one.turn_id) for one in messages if one.turn_id]
    return ExchangePart(
        id=str(messages[0].id),
        turn=turns[-1] if turns else None,
        text="\n\n".join(one.content for one in messages if one.content),
        files=tuple(item["name"] for one in messages for item in one.attachments),
    )
