"""Starts a turn whose user message takes the place of another one: a new branch of the tree."""

from __future__ import annotations

import uuid
from dataclasses import replace

from django.utils import timezone

from chatsite.conversations.database.rows import conversation_view
from chatsite.conversations.database.statements import MESSAGES
from chatsite.conversations.files import uploads
from chatsite.conversations.files.uploads import characters_of, require_words
from chatsite.conversations.models import Conversation, Message
from chatsite.conversations.owners import Owner
from chatsite.conversations.path import loading
from chatsite.conversations.path.active_path import locked_conversation, place_at_end, reroute
from chatsite.conversations.path.queries import message_views
from chatsite.conversations.path.tree import versions_of
from chatsite.conversations.records import StartedTurn
from chatsite.conversations.titles import path_title
from chatsite.conversations.turn.begin import known_turn, new_turn, require_agent, resent_turn
from chatsite.errors import NotFound, Refused
from chatsite.history import BACKGROUND, Reach
from chatsite.messages import Message as DomainMessage
from chatsite.storage import writing
from chatsite.wording import say


@writing
def begin_edit(
    *,
    owner: Owner,
    conversation: str,
    agent: str,
    client_id: str,
    message: str,
    user: DomainMessage,
    answer: str,
    reach: Reach,
    model: str = "",
) -> StartedTurn:
    """Store `user` in the place of the user message `message` of the path, and start its turn.

    The former message and all below it leave the path, and stay as a version of the new one, which
    replies to the same message. Unique by (conversation, client_id). What `reach` needs is read in
    the same transaction, unless that is long. The caller must call `Recaller.forget` afterwards.
    Raises as `begin_turn` does, and Refused where `message` isn't a person's.
    """
    row = locked_conversation(owner, conversation)
    require_agent(row, agent)
    known = known_turn(row, client_id)
    if known is not None:
        return resent_turn(row, known)
    former = _changeable(row, message)
    require_words(owner, characters_of(user))
    row.characters += characters_of(user)
    user = replace(user, reply_to=str(former.reply_to) if former.reply_to else None)
    # A title that is still the beginning of the first message follows its edit.
    titled = row.title == path_title(row)
    turn = new_turn(row, client_id, now=timezone.now(), model=model, mode="edit")
    above = former.parent
    reroute(row, below=above.seq if above else 0, through=())
    rows = place_at_end(
        row,
        [user],
        now=turn.started,
        turn=turn,
        after=[above] if above else [],
        begins=above is None,
    )
    empty = [DomainMessage.assistant("", id=answer)]
    rows += place_at_end(row, empty, now=turn.started, turn=turn, after=rows, state="running")
    turn.save(force_insert=True)
    MESSAGES.insert(rows)
    if titled:
        row.title = path_title(row)
    row.save()
    uploads.claim_uploads(row, [attachment.id for attachment in user.attachments])
    return StartedTurn(
        turn=str(turn.id),
        number=turn.number,
        resent=False,
        conversation=conversation_view(row),
        messages=message_views(rows[:1], versions=versions_of(rows[:1])),
        answer=answer,
        place=rows[-1].seq,
        asked=user.id,
        reply_to=user.reply_to,
        loaded=loading.load_at_once(row, reach, reply_to=user.reply_to),
        gone_from=former.seq,
    )


def _changeable(row: Conversation, message: str) -> Message:
    """The user message of the path, with the message above it."""
    rows = Message.objects.filter(conversation=row, on_path=True).select_related("parent")
    found = rows.filter(id=uuid.UUID(message)).first()
    if found is None:
        raise NotFound(say("There is no such message here any more. Your text is kept."))
    if found.role != "user" or found.source in BACKGROUND:
        raise Refused(say("Only a message of yours can be asked otherwise. Your text is kept."))
    return found
