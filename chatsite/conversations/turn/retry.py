"""Starts a turn that answers a message of the path again, edited or as it was, or continues one."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Literal

from django.db.models import Max, Min, Q
from django.utils import timezone

from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.rows import conversation_view
from chatsite.conversations.database.statements import MESSAGES
from chatsite.conversations.files import uploads
from chatsite.conversations.files.uploads import characters_of, require_words
from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import messages_on_path, owned_conversation
from chatsite.conversations.path import loading
from chatsite.conversations.path.active_path import (
    place_at_end,
    reroute,
    subtract_from_totals,
)
from chatsite.conversations.path.cache_places import mark_loaded
from chatsite.conversations.path.queries import message_views
from chatsite.conversations.path.tree import versions_of
from chatsite.conversations.records import StartedTurn, WrittenBy
from chatsite.conversations.search import stored_indexes as search_indexes
from chatsite.conversations.summaries.versions import mark_stale
from chatsite.conversations.titles import path_title
from chatsite.conversations.turn.begin import known_turn, new_turn, require_agent, resent_turn
from chatsite.conversations.versions.versions import newest_answered
from chatsite.errors import NotFound, Refused
from chatsite.history import BACKGROUND, Reach
from chatsite.messages import Message as DomainMessage
from chatsite.storage import writing
from chatsite.wording import later, say


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
    by: WrittenBy | None = None,
) -> StartedTurn:
    """Store `user` in the place of the user message `message` of the path, and start its turn.

    The former message and all below it leave the path, and stay as a version of the new one, which
    replies to the same message; `by` says who writes the answer. Unique by (conversation,
    client_id). What `reach` needs is read in the same transaction, unless that is long. The caller
    must call `Recaller.forget` afterwards. Raises as `begin_turn` does, and Refused where `message`
    isn't a person's.
    """
    hold(owner, conversation=conversation)
    row = owned_conversation(owner, conversation)
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
    turn = new_turn(row, client_id, now=timezone.now(), model=model, mode="edit", by=by)
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


GONE = later("This message isn't shown here any more. Open the conversation anew to see it.")
NOT_YOURS = later("Only a message of yours can be answered again.")
BEHIND = later(
    "A background task has written below this answer. What it wrote stays where it stands, so the "
    "answer stays as it is, too. Send a message to go on."
)
NO_TEXT = later("Only the last answer, and only one with text, can be written further.")


@writing
def begin_retry(
    *,
    owner: Owner,
    conversation: str,
    agent: str,
    client_id: str,
    message: str,
    mode: Literal["again", "continue"],
    answer: str,
    reach: Reach,
    model: str = "",
    once: bool = False,
    by: WrittenBy | None = None,
) -> StartedTurn:
    """Start a turn that answers a user message of the path again, or continues the last answer.

    For "again" `message` is any message of the turn. Its answer and all below leave the path, what
    a background task wrote there too, and stay as a version beside the new answer. For "continue"
    it is the path's last message, an answer with text, which is extended: `StartedTurn.answer` is
    then its id, and `answer` is ignored. `model` is kept with the conversation unless it answers
    `once`; `by` says who writes the answer. What `reach` needs is read in the same transaction,
    unless that is long. The caller must call `Recaller.forget` afterwards. Unique by (conversation,
    client_id). Raises NotFound, BadCommand for another agent, Refused for any other message,
    TurnRunning while an answer is written.
    """
    hold(owner, conversation=conversation)
    row = owned_conversation(owner, conversation)
    require_agent(row, agent)
    known = known_turn(row, client_id)
    if known is not None:
        return resent_turn(row, known)
    asked = _asked(row, message)
    continued = _continued(row, message) if mode == "continue" else None
    require_words(owner, 0)
    if mark_loaded(row, [asked.seq]):
        asked.refresh_from_db(fields=["kv_size", "kv_start_position", "kv_status"])
    turn = new_turn(
        row,
        client_id,
        now=timezone.now(),
        model=row.model if once else model,
        mode=mode,
        asked=asked,
        by=by,
    )
    if continued is not None:
        turn.save(force_insert=True)
        written, gone_from = continued, continued.seq
        _resume_answer(row, written, turn)
    else:
        gone_from = _take_answer_off(row, asked, turn)
        turn.save(force_insert=True)
        written = _place_new_answer(row, asked, turn, answer)
    row.save()
    return _started_retry(row, turn, asked, written, gone_from, reach)


def _asked(row: Conversation, message: str) -> Message:
    """The user message of the turn on the path that `message` belongs to."""
    tree = Message.objects.filter(conversation=row).only("on_path", "turn_seq", "source")
    found = tree.filter(id=uuid.UUID(message)).first()
    if found is None:
        raise NotFound(say("There is no such message."))
    if not found.on_path:
        raise Refused(say(GONE), code="not_on_path")
    users = messages_on_path(row).filter(role="user").exclude(source__in=BACKGROUND)
    asked = users.select_related("turn").filter(seq=found.turn_seq).first()
    if asked is None or found.source in BACKGROUND:
        raise Refused(say(NOT_YOURS), code="not_yours")
    return asked


def _continued(row: Conversation, message: str) -> Message:
    """The answer `message` that is to be written further: the path's last message."""
    last = messages_on_path(row).order_by("-seq").first()
    assert last is not None
    if last.source in BACKGROUND:
        raise Refused(say(BEHIND), code="not_last")
    is_answer = last.id == uuid.UUID(message) and last.role == "assistant" and not last.calls
    if not is_answer or not (last.content or "").strip():
        raise Refused(say(NO_TEXT), code="not_last")
    return last


def _take_answer_off(row: Conversation, asked: Message, turn: Turn) -> int:
    """The former answer and all below it leave the path. `turn` notes how to put them back; the
    seq of the first of them, 0 where there are none.

    The decision is made as that on the former answer was: after the receipt of the last attempt, or
    else of the turn above. Where a text changed since the last answer, after none.
    """
    under = messages_on_path(row).filter(seq__gt=asked.seq)
    ends = under.aggregate(first=Min("seq"), last=Max("seq"))
    if ends["last"]:
        turn.replaced = under.values_list("id", flat=True).get(seq=ends["last"])
    marker = row.forget_above
    reroute(row, below=asked.seq, through=())
    if marker > asked.seq:
        # Below the new answer it would stand nowhere. What was forgotten above stays forgotten.
        row.forget_above, turn.marker = asked.seq, marker
    if row.last_turn_id is not None:
        tries = Turn.objects.filter(Q(asked=asked) | Q(id=asked.turn_id), receipt__isnull=False)
        newest = tries.order_by("-number").values_list("id", flat=True).first()
        row.last_turn_id = newest or newest_answered(row)
    return ends["first"] or 0


def _place_new_answer(row: Conversation, asked: Message, turn: Turn, id: str) -> Message:
    empty = [DomainMessage.assistant("", id=id)]
    [written] = place_at_end(
        row, empty, now=turn.started, turn=turn, after=[asked], state="running"
    )
    written.save(force_insert=True)
    return written


def _started_retry(
    row: Conversation,
    turn: Turn,
    asked: Message,
    written: Message,
    gone_from: int,
    reach: Reach,
) -> StartedTurn:
    """From `gone_from` on the page takes messages away; a continued one comes back with text."""
    reply_to = str(asked.reply_to) if asked.reply_to else None
    return StartedTurn(
        turn=str(turn.id),
        number=turn.number,
        resent=False,
        conversation=conversation_view(row),
        messages=message_views(
            [asked], answered_by={asked.id: turn}, versions=versions_of([asked])
        ),
        answer=str(written.id),
        place=written.seq,
        asked=str(asked.id),
        reply_to=reply_to,
        loaded=loading.load_at_once(row, reach, reply_to=reply_to),
        gone_from=gone_from,
        text=written.content or "",
        reasoning=written.reasoning or "",
        quoted=tuple(written.quoted),
    )


def _resume_answer(row: Conversation, written: Message, turn: Turn) -> None:
    """The answer is running again, and counts in the totals once it has ended."""
    mark_stale(row, written.seq)
    search_indexes.delete_index(row)
    subtract_from_totals(row, written)
    written.turn, written.state, written.finish_reason = turn, "running", ""
    written.save(update_fields=["turn", "state", "finish_reason"])
