"""Every write, each a whole unit of work: one transaction, called from a thread of the executor."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.owners import Owner
from chatsite.conversations.path import append, count, estimated, placed
from chatsite.conversations.queries import owned, turn_messages, views
from chatsite.conversations.records import Begun, Ended
from chatsite.conversations.rows import conversation_of, message_of, view_of
from chatsite.errors import BadCommand, NotFound, Refused, TurnRunning
from chatsite.events import ConversationView, Problem, State
from chatsite.messages import Message as Said
from chatsite.messages import TokenCount

TITLE_LENGTH = 60


@transaction.atomic
def begin_turn(
    *,
    owner: Owner,
    conversation: str,
    agent: str,
    client_id: str,
    user: Said,
    answer: str,
    greeting: Sequence[Said],
) -> Begun:
    """Store a user message and open its turn; unique by (conversation, client_id).

    The conversation is created with its first turn, for this owner; `greeting` is stored before
    it where the path is empty. `answer` is the id that the answer will have.
    Raises NotFound for another owner's conversation, BadCommand for another agent than the
    conversation's, Refused where the message replied to isn't on the path, TurnRunning while an
    answer is written.
    """
    row = _conversation_for_turn(owner, conversation, agent, title=title_from(user.content or ""))
    found = Turn.objects.filter(Q(client_id=client_id) | Q(state="running"), conversation=row)
    turns = list(found) if row.turns else []
    known = next((turn for turn in turns if turn.client_id == client_id), None)
    if known is not None:
        stored = views(turn_messages(known.id))
        return Begun(
            turn=str(known.id),
            number=known.number,
            resent=True,
            conversation=conversation_of(row),
            messages=tuple(view for view in stored if view.message.role == "user"),
            answer=next((v.message.id for v in stored if v.message.role == "assistant"), ""),
        )
    if turns:
        raise TurnRunning("An answer is still being written here. Your text is kept.")
    if user.reply_to is not None:
        _require_replied(row, user.reply_to)
    now = timezone.now()
    turn = Turn.objects.create(
        conversation=row, client_id=client_id, number=row.turns + 1, started=now
    )
    messages = [] if row.path_messages else placed(row, greeting, now=now)
    messages += placed(row, [user], now=now, turn=turn, after=messages)
    empty = [Said.assistant("", id=answer)]
    written = placed(row, empty, now=now, turn=turn, after=messages, state="running")
    Message.objects.bulk_create([*messages, *written])
    row.turns = turn.number
    row.updated = now
    row.save()
    return Begun(
        turn=str(turn.id),
        number=turn.number,
        resent=False,
        conversation=conversation_of(row),
        messages=views(messages),
        answer=answer,
    )


def _require_replied(row: Conversation, id: str) -> None:
    """The same for an unknown message, another conversation's and one that is off the path."""
    stored = Message.objects.filter(conversation=row, on_path=True, id=uuid.UUID(id))
    if not stored.exclude(state="running").exists():
        raise Refused(
            "The message you reply to isn't in this conversation any more. Your text is kept; "
            "send it without the reply.",
            code="reply_gone",
        )


def _conversation_for_turn(owner: Owner, id: str, agent: str, *, title: str) -> Conversation:
    row = Conversation.objects.select_for_update().filter(id=id).first()
    if row is None:
        now = timezone.now()
        return Conversation.objects.create(
            id=id,
            user_id=owner.user,
            guest=owner.guest,
            agent=agent,
            title=title,
            created=now,
            updated=now,
        )
    if not owns(owner, row) or row.deleted is not None:
        raise NotFound("There is no such conversation.")
    if row.agent != agent:
        raise BadCommand("This conversation is with another agent. Your text is kept.")
    return row


def owns(owner: Owner, row: Conversation) -> bool:
    return row.user_id == owner.user and row.guest == owner.guest


def title_from(text: str) -> str:
    """The first words of the first message, cut at a word where that is possible."""
    line = " ".join(text.split())
    if len(line) <= TITLE_LENGTH:
        return line or "New chat"
    cut = line[:TITLE_LENGTH].rpartition(" ")[0] or line[:TITLE_LENGTH]
    return f"{cut}…"


def checkpoint(*, turn: str, text: str, receipt: Mapping[str, Any] | None = None) -> None:
    """Keep what has been written so far; without effect once the turn has ended.

    `receipt` is kept too where one is given: once a turn.
    """
    Message.objects.filter(turn_id=turn, state="running").update(content=text)
    if receipt is not None:
        Turn.objects.filter(id=turn, state="running").update(receipt=receipt)


@transaction.atomic
def end_turn(
    *,
    turn: str,
    state: State,
    text: str | None = None,
    tokens: TokenCount | None = None,
    finish_reason: str = "",
    metadata: str = "",
    receipt: Mapping[str, Any] | None = None,
    problem: Problem | None = None,
) -> Ended | None:
    """End a running turn, once: None where it has ended already.

    Answer, receipt and usage are stored together. `text` None keeps the last checkpoint. An
    answer without text leaves no message behind.
    """
    row = Turn.objects.select_for_update().filter(id=turn, state="running").first()
    if row is None:
        return None
    now = timezone.now()
    answer = Message.objects.filter(turn=row, state="running").first()
    stored = None
    if answer is not None:
        answer.content = answer.content if text is None else text
        if answer.content:
            stored = _finish(answer, state, tokens, finish_reason, metadata)
        else:
            answer.delete()
    row.state, row.ended = state, now
    row.receipt = receipt = row.receipt if receipt is None else receipt
    row.problem_code, row.problem = (problem.code, problem.message) if problem else ("", "")
    row.save()
    conversation = Conversation.objects.select_for_update().get(id=row.conversation_id)
    if stored is not None:
        count(conversation, stored)
    if receipt is not None:
        conversation.last_turn = row
    conversation.updated = now
    conversation.save()
    view = view_of(stored) if stored is not None else None
    return Ended(turn=turn, state=state, message=view, receipt=receipt, problem=problem)


def _finish(
    answer: Message, state: State, tokens: TokenCount | None, finish_reason: str, metadata: str
) -> Message:
    answer.state, answer.finish_reason, answer.metadata = state, finish_reason, metadata
    tokens = tokens or estimated(message_of(answer))
    answer.tokens, answer.tokenizer, answer.basis = tokens.count, tokens.tokenizer, tokens.basis
    answer.save()
    return answer


def end_interrupted(*, conversation: str | None = None, turn: str | None = None) -> int:
    """Mark what nobody writes any more, everywhere or in one place; how many turns there were.

    Run before the first turn, for what a killed process left, and where an end couldn't be stored.
    """
    rows = Turn.objects.filter(state="running")
    if conversation is not None:
        rows = rows.filter(conversation_id=uuid.UUID(conversation))
    if turn is not None:
        rows = rows.filter(id=uuid.UUID(turn))
    left = list(rows.values_list("id", flat=True))
    problem = Problem(
        code="interrupted",
        message="The server stopped while this answer was written. What was written is kept.",
    )
    for id in left:
        end_turn(turn=str(id), state="interrupted", problem=problem)
    return len(left)


@transaction.atomic
def save_counts(*, conversation: str, counts: Mapping[str, TokenCount]) -> None:
    """Store token counts by message id, and keep the path's total true."""
    Conversation.objects.select_for_update().filter(id=conversation).first()
    rows = Message.objects.in_bulk([uuid.UUID(id) for id in counts])
    change = 0
    for id, row in rows.items():
        count = counts[str(id)]
        change += (count.count - row.tokens) * row.on_path
        row.tokens, row.tokenizer, row.basis = count.count, count.tokenizer, count.basis
    Message.objects.bulk_update(rows.values(), ["tokens", "tokenizer", "basis"], batch_size=300)
    Conversation.objects.filter(id=conversation).update(path_tokens=F("path_tokens") + change)


def rename(*, owner: Owner, conversation: str, title: str) -> ConversationView:
    row = owned(owner, conversation)
    row.title = title[:200]
    row.save(update_fields=["title"])
    return conversation_of(row)


def delete(*, owner: Owner, conversation: str) -> None:
    """Out of sight at once; `undelete` brings it back."""
    row = owned(owner, conversation)
    row.deleted = timezone.now()
    row.save(update_fields=["deleted"])


def undelete(*, owner: Owner, conversation: str) -> ConversationView:
    row = owned(owner, conversation, deleted=True)
    row.deleted = None
    row.save(update_fields=["deleted"])
    return conversation_of(row)


@transaction.atomic
def clear(*, owner: Owner, conversation: str) -> None:
    """Start a new, empty path. What was said stays stored, off the path."""
    row = owned(owner, conversation)
    if Turn.objects.filter(conversation=row, state="running").exists():
        raise TurnRunning("An answer is still being written here. Stop it first.")
    Message.objects.filter(conversation=row, on_path=True).update(on_path=False)
    row.path_messages = row.path_users = row.path_background = row.path_tokens = 0
    row.marked = row.forget_above = row.last_background = 0
    row.last_turn = None
    row.updated = timezone.now()
    row.save()


@transaction.atomic
def import_conversation(
    *, owner: Owner, agent: str, title: str, messages: Sequence[Said]
) -> ConversationView:
    """A new conversation of this owner with these messages, which `History` has checked."""
    now = timezone.now()
    row = Conversation.objects.create(
        id=uuid.uuid4(),
        user_id=owner.user,
        guest=owner.guest,
        agent=agent,
        title=title[:200],
        created=now,
        updated=now,
    )
    append(row, [replace(said, tokens=estimated(said)) for said in messages], now=now)
    row.save()
    return conversation_of(row)


def move_to_account(*, guest: str, user: int) -> int:
    """What a guest wrote becomes the account's at sign-in; how many conversations moved."""
    return Conversation.objects.filter(user=None, guest=guest).update(user_id=user, guest="")
