"""Starts a turn: the user's message is stored once, with an empty row for its answer."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
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
from chatsite.conversations.ownership import free_or_owned
from chatsite.conversations.path import loading
from chatsite.conversations.path.active_path import place_at_end
from chatsite.conversations.path.queries import message_views
from chatsite.conversations.path.tree import user_message_of
from chatsite.conversations.records import NewTurn, StartedTurn
from chatsite.conversations.titles import message_title
from chatsite.errors import BadCommand, Refused, TooMany, TurnRunning
from chatsite.history import Reach
from chatsite.messages import Message as DomainMessage
from chatsite.storage import at_once, writing
from chatsite.views import MessageView
from chatsite.wording import later, say

RUNNING = later("An answer is still being written here. Your text is kept.")


class AnotherChoice(Exception):
    """The conversation keeps another choice of the policy than its turn was prepared with, or one
    of the answers' temperature and length that the page didn't know."""


@at_once
@writing
def begin_turn(
    new: NewTurn,
    *,
    user: DomainMessage,
    greeting: Sequence[DomainMessage],
    history: Mapping[str, str] = MappingProxyType({}),
    once: bool = False,
) -> StartedTurn:
    """Store a user message and start its turn.

    The conversation is created with its first turn; `greeting` is stored before it where the path
    is empty. `history` is the choice of the policy that the turn was prepared with, stored with a
    new conversation; `once`: it was prepared with another one, for this answer alone. The same
    transaction reads what the reach needs, unless that is long. Raises NotFound for another owner's
    conversation, BadCommand for another agent's, AnotherChoice, Refused where the message replied
    to isn't on the path, a file is missing or the owner's quota is full, TurnRunning while an
    answer is written, TooMany.
    """
    hold(new.owner, conversation=new.conversation)
    row = _conversation_for_turn(new, user)
    is_first = row._state.adding
    if is_first:
        row.history = dict(history)
    if (resent := resent_turn(row, new.client_id)) is not None:
        return resent
    if choice_of(row) != history and not once or row.tuning and new.tuning is None:
        raise AnotherChoice
    if user.reply_to is not None:
        _require_replied(row, user.reply_to)
    characters = characters_of(user)
    require_words(new.owner, characters)
    row.characters += characters
    turn = new_turn(row, new)
    messages = _place_messages(row, turn, greeting, user, new.answer)
    if is_first:
        CONVERSATIONS.insert([row])
    else:
        CONVERSATION_TOTALS.update(row)
    TURNS.insert([turn])
    MESSAGES.insert(messages)
    if user.attachments:
        uploads.claim_uploads(row, [attachment.id for attachment in user.attachments])
    *shown, asked, answer = messages
    return started_turn(
        row,
        turn,
        asked,
        answer,
        reach=new.reach,
        messages=message_views([*shown, asked]),
        whole=messages[:-1] if is_first else (),
    )


def started_turn(
    row: Conversation,
    turn: Turn,
    asked: Message,
    answer: Message,
    *,
    reach: Reach,
    messages: tuple[MessageView, ...],
    whole: Sequence[Message] = (),
    gone_from: int = 0,
) -> StartedTurn:
    """A turn that was stored with its empty answer, or one that is continued and has its text; for
    `whole` see `load_at_once`."""
    reply_to = str(asked.reply_to) if asked.reply_to else None
    return StartedTurn(
        turn=str(turn.id),
        number=turn.number,
        resent=False,
        conversation=conversation_view(row),
        messages=messages,
        answer=str(answer.id),
        place=answer.seq,
        asked=str(asked.id),
        reply_to=reply_to,
        loaded=loading.load_at_once(row, reach, reply_to=reply_to, whole=whole),
        gone_from=gone_from,
        text=answer.content or "",
        reasoning=answer.reasoning or "",
        quoted=tuple(answer.quoted),
    )


def _place_messages(
    row: Conversation,
    turn: Turn,
    greeting: Sequence[DomainMessage],
    user: DomainMessage,
    answer: str,
) -> list[Message]:
    """New rows: the greeting where the path is empty, the user's message, and the empty answer."""
    now = turn.started
    rows = [] if row.path_messages else place_at_end(row, greeting, now=now)
    rows += place_at_end(row, [user], now=now, turn=turn, after=rows)
    return [*rows, place_answer(row, turn, answer, rows[-1])]


def place_answer(row: Conversation, turn: Turn, id: str, asked: Message) -> Message:
    """The empty answer below `asked`; neither needs to be stored yet."""
    empty = [DomainMessage.assistant("", id=id)]
    return place_at_end(row, empty, now=turn.started, turn=turn, after=[asked], state="running")[0]


def new_turn(
    row: Conversation, new: NewTurn, *, mode: str = "", asked: Message | None = None
) -> Turn:
    """A new turn. The caller holds its owner, and saves it and the conversation's row, whose totals
    change. Raises TooMany where the owner has as many answers written already as are allowed."""
    if new.most is not None:
        running = Turn.objects.filter(
            state="running", conversation__user=row.user_id, conversation__guest=row.guest
        )
        if running.count() >= new.most:
            raise too_many_answers(new.most)
    now = timezone.now()
    row.turns += 1
    row.updated, row.model = now, new.model
    if new.tuning is not None:
        row.tuning = dict(new.tuning) or None
    return new_row(
        Turn,
        conversation=row,
        client_id=new.client_id,
        number=row.turns,
        mode=mode,
        asked=asked,
        server=uuid.UUID(new.server) if new.server else None,
        started=now,
    )


def too_many_answers(per_owner: int) -> TooMany:
    return TooMany(
        say(
            "{per_owner} answers of yours are being written. Wait for one to end or "
            "stop one; your text is kept.",
            per_owner=per_owner,
        )
    )


def resent_turn(row: Conversation, client_id: str) -> StartedTurn | None:
    """The turn that this client id started before. Raises TurnRunning where another one runs."""
    if not row.turns:
        return None
    turns = TURN_KEYS.where(SAME_OR_RUNNING_TURN, key(row.id), client_id)
    turn = next((turn for turn in turns if turn.client_id == client_id), None)
    if turn is None:
        if turns:
            raise TurnRunning(say(RUNNING))
        return None
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


def _conversation_for_turn(new: NewTurn, user: DomainMessage) -> Conversation:
    """The stored conversation, or a new one, which the caller saves."""
    row = free_or_owned(new.owner, new.conversation)
    if row is None:
        now = timezone.now()
        return new_row(
            Conversation,
            id=uuid.UUID(new.conversation),
            user_id=new.owner.user,
            guest=new.owner.guest,
            agent=new.agent,
            title=message_title(user),
            created=now,
            updated=now,
            temporary=new.temporary or None,
        )
    require_agent(row, new.agent)
    return row


def require_agent(row: Conversation, agent: str) -> None:
    """Raise BadCommand for another agent: its tools and instructions aren't this conversation's."""
    if row.agent != agent:
        raise BadCommand(say("This conversation is with another agent. Your text is kept."))
