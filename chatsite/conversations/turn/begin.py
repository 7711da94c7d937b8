"""Starts a turn: the user's message is stored once, with an empty row for its answer."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from django.utils import timezone

from chatsite.conversations.database.columns import key, new_row
from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.rows import choice_of, conversation_view
from chatsite.conversations.database.statements import (
    CONVERSATION_TOTALS,
    CONVERSATIONS,
    MESSAGES,
    SAME_OR_RUNNING_TURN,
    TURN_KEYS,
    TURNS,
)
from chatsite.conversations.files import uploads
from chatsite.conversations.files.uploads import characters_of, require_words
from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import free_or_owned
from chatsite.conversations.path import loading
from chatsite.conversations.path.active_path import place_at_end
from chatsite.conversations.path.queries import message_views
from chatsite.conversations.path.tree import user_message_of
from chatsite.conversations.records import StartedTurn, WrittenBy
from chatsite.conversations.titles import message_title
from chatsite.errors import BadCommand, Refused, TooMany, TurnRunning
from chatsite.history import Reach
from chatsite.messages import Message as DomainMessage
from chatsite.storage import at_once, writing
from chatsite.wording import later, say

RUNNING = later("An answer is still being written here. Your text is kept.")


class AnotherChoice(Exception):
    """The conversation keeps another choice of the policy than its turn was prepared with."""


@at_once
@writing
def begin_turn(
    *,
    owner: Owner,
    conversation: str,
    agent: str,
    client_id: str,
    user: DomainMessage,
    answer: str,
    greeting: Sequence[DomainMessage],
    reach: Reach,
    model: str = "",
    history: Mapping[str, str] = MappingProxyType({}),
    by: WrittenBy | None = None,
) -> StartedTurn:
    """Store a user message and start its turn; unique by (conversation, client_id).

    The conversation is created with its first turn; `greeting` is stored before it where the path
    is empty. `answer` is the id of the coming answer; `model` is the page's choice, "" for the
    agent's own; `history` is the choice of the policy that the turn was prepared with, stored with
    a new conversation; `by` says who writes the answer. The same transaction reads what `reach`
    needs, unless that is long. Raises NotFound for another owner's conversation, BadCommand for
    another agent's, AnotherChoice, Refused where the message replied to isn't on the path, a file
    is missing or the owner's quota is full, TurnRunning while an answer is written, TooMany.
    """
    hold(owner, conversation=conversation)
    row = _conversation_for_turn(owner, conversation, agent, user)
    new = row._state.adding
    if new:
        row.history = dict(history)
    known = known_turn(row, client_id)
    if known is not None:
        return resent_turn(row, known)
    if choice_of(row) != history:
        raise AnotherChoice
    if user.reply_to is not None:
        _require_replied(row, user.reply_to)
    characters = characters_of(user)
    require_words(owner, characters)
    row.characters += characters
    turn = new_turn(row, client_id, now=timezone.now(), model=model, by=by)
    messages, answer_seq = _place_messages(row, turn, greeting, user, answer)
    if new:
        CONVERSATIONS.insert([row])
    else:
        CONVERSATION_TOTALS.update(row)
    TURNS.insert([turn])
    MESSAGES.insert(messages)
    if user.attachments:
        uploads.claim_uploads(row, [attachment.id for attachment in user.attachments])
    whole = messages[:-1] if new else ()
    return StartedTurn(
        turn=str(turn.id),
        number=turn.number,
        resent=False,
        conversation=conversation_view(row),
        messages=message_views(messages[:-1]),
        answer=answer,
        place=answer_seq,
        asked=user.id,
        reply_to=user.reply_to,
        loaded=loading.load_at_once(row, reach, reply_to=user.reply_to, whole=whole),
    )


def _place_messages(
    row: Conversation,
    turn: Turn,
    greeting: Sequence[DomainMessage],
    user: DomainMessage,
    answer: str,
) -> tuple[list[Message], int]:
    """New rows: the greeting where the path is empty, the user's message, and the empty answer,
    whose sequence number is returned too."""
    now = turn.started
    rows = [] if row.path_messages else place_at_end(row, greeting, now=now)
    rows += place_at_end(row, [user], now=now, turn=turn, after=rows)
    empty = [DomainMessage.assistant("", id=answer)]
    rows += place_at_end(row, empty, now=now, turn=turn, after=rows, state="running")
    return rows, rows[-1].seq


def known_turn(row: Conversation, client_id: str) -> Turn | None:
    """The turn that this client id started before. Raises TurnRunning where another one runs."""
    if not row.turns:
        return None
    turns = TURN_KEYS.where(SAME_OR_RUNNING_TURN, key(row.id), client_id)
    known = next((turn for turn in turns if turn.client_id == client_id), None)
    if turns and known is None:
        raise TurnRunning(say(RUNNING))
    return known


def new_turn(
    row: Conversation,
    client_id: str,
    *,
    now: datetime,
    model: str,
    mode: str = "",
    asked: Message | None = None,
    by: WrittenBy | None,
) -> Turn:
    """A new turn. The caller holds its owner, and saves it and the conversation's row, whose totals
    change. Raises TooMany where the owner has as many answers written already as `by` allows."""
    if by is not None and by.most is not None:
        _require_few_answers(row, by.most)
    row.turns += 1
    row.updated, row.model = now, model
    return new_row(
        Turn,
        conversation=row,
        client_id=client_id,
        number=row.turns,
        mode=mode,
        asked=asked,
        server=uuid.UUID(by.server) if by else None,
        started=now,
    )


def _require_few_answers(row: Conversation, most: int) -> None:
    """On all servers together; a server that is alone counts what it writes itself."""
    running = Turn.objects.filter(
        state="running", conversation__user=row.user_id, conversation__guest=row.guest
    )
    if running.count() >= most:
        raise too_many_answers(most)


def too_many_answers(per_owner: int) -> TooMany:
    return TooMany(
        say(
            "{per_owner} answers of yours are being written. Wait for one to end or "
            "stop one; your text is kept.",
            per_owner=per_owner,
        )
    )


def resent_turn(row: Conversation, turn: Turn) -> StartedTurn:
    """The turn that the same client id started before."""
    asked = user_message_of(turn)
    answers = Message.objects.filter(turn=turn, role="assistant").order_by("-seq")
    answer = answers.only("id", "seq").first()
    return StartedTurn(
        turn=str(turn.id),
        number=turn.number,
        resent=True,
        conversation=conversation_view(row),
        messages=message_views([asked] if asked is not None and asked.deleted is None else []),
        answer=str(answer.id) if answer is not None else "",
        place=answer.seq if answer is not None else 0,
        asked=str(asked.id) if asked is not None else "",
        reply_to=str(asked.reply_to) if asked is not None and asked.reply_to else None,
    )


def _require_replied(row: Conversation, id: str) -> None:
    """Raise Refused unless the message is on the path: unknown ones and others' are the same."""
    stored = Message.objects.filter(conversation=row, on_path=True, id=uuid.UUID(id))
    if not stored.exclude(state="running").exists():
        raise Refused(
            say(
                "The message you reply to isn't in this conversation any more. Your text is kept; "
                "send it without the reply."
            ),
            code="reply_gone",
        )


def _conversation_for_turn(owner: Owner, id: str, agent: str, user: DomainMessage) -> Conversation:
    """The stored conversation, or a new one, which the caller saves."""
    row = free_or_owned(owner, id)
    if row is None:
        now = timezone.now()
        return new_row(
            Conversation,
            id=uuid.UUID(id),
            user_id=owner.user,
            guest=owner.guest,
            agent=agent,
            title=message_title(user),
            created=now,
            updated=now,
        )
    require_agent(row, agent)
    return row


def require_agent(row: Conversation, agent: str) -> None:
    """Raise BadCommand for another agent: its tools and instructions aren't this conversation's."""
    if row.agent != agent:
        raise BadCommand(say("This conversation is with another agent. Your text is kept."))
