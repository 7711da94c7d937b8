"""Starts a turn that answers a message of the path again, edited or as it was, or continues one."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Literal

from django.db.models import Max, Min, Q

from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.statements import MESSAGES
from chatsite.conversations.files import uploads
from chatsite.conversations.files.uploads import characters_of, require_words
from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.ownership import messages_on_path, owned_conversation
from chatsite.conversations.path.active_path import (
    place_at_end,
    reroute,
    subtract_from_totals,
)
from chatsite.conversations.path.cache_places import mark_loaded
from chatsite.conversations.path.queries import message_views
from chatsite.conversations.path.tree import versions_of
from chatsite.conversations.records import NewTurn, StartedTurn
from chatsite.conversations.search import stored_indexes as search_indexes
from chatsite.conversations.summaries.versions import mark_stale
from chatsite.conversations.titles import path_title
from chatsite.conversations.turn.begin import (
    new_turn,
    place_answer,
    require_agent,
    resent_turn,
    started_turn,
)
from chatsite.conversations.versions.versions import newest_answered
from chatsite.errors import NotFound, Refused
from chatsite.history import BACKGROUND
from chatsite.history.instructions import still_said
from chatsite.messages import Message as DomainMessage
from chatsite.storage import writing
from chatsite.wording import later, say


@writing
def begin_edit(new: NewTurn, *, message: str, user: DomainMessage) -> StartedTurn:
    """Store `user` in the place of the user message `message` of the path, and start its turn.

    The former message and all below it leave the path, and stay as a version of the new one, which
    replies to the same message. What the reach needs is read in the same transaction, unless that
    is long. The caller must call `Recaller.forget` afterwards. Raises as `begin_turn` does, and
    Refused where `message` isn't a person's.
    """
    hold(new.owner, conversation=new.conversation)
    row = owned_conversation(new.owner, new.conversation)
    require_agent(row, new.agent)
    if (resent := resent_turn(row, new.client_id)) is not None:
        return resent
    former = _changeable(row, message)
    require_words(new.owner, characters_of(user))
    row.characters += characters_of(user)
    user = replace(user, reply_to=str(former.reply_to) if former.reply_to else None)
    # A title that is still the beginning of the first message follows its edit.
    titled = row.title == path_title(row)
    turn = new_turn(row, new, mode="edit")
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
    rows.append(place_answer(row, turn, new.answer, rows[0]))
    rows[0].in_force = still_said(former.in_force, user.content or "")
    row.marked += rows[0].is_marked
    turn.save(force_insert=True)
    MESSAGES.insert(rows)
    if titled:
        row.title = path_title(row)
    row.save()
    uploads.claim_uploads(row, [attachment.id for attachment in user.attachments])
    return started_turn(
        row,
        turn,
        *rows,
        reach=new.reach,
        messages=message_views(rows[:1], versions=versions_of(rows[:1])),
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
    new: NewTurn, *, message: str, mode: Literal["again", "continue"], once: bool = False
) -> StartedTurn:
    """Start a turn that answers a user message of the path again, or continues the last answer.

    For "again" `message` is any message of the turn. Its answer and all below leave the path, what
    a background task wrote there too, and stay as a version beside the new answer. For "continue"
    it is the path's last message, an answer with text, which is extended: `StartedTurn.answer` is
    then its id, and that of the new turn is ignored. The model is kept with the conversation unless
    it answers `once`. What the reach needs is read in the same transaction, unless that is long.
    The caller must call `Recaller.forget` afterwards. Raises NotFound, BadCommand for another
    agent, Refused for any other message, TurnRunning while an answer is written.
    """
    hold(new.owner, conversation=new.conversation)
    row = owned_conversation(new.owner, new.conversation)
    require_agent(row, new.agent)
    if (resent := resent_turn(row, new.client_id)) is not None:
        return resent
    asked = _asked(row, message)
    continued = _continued(row, message) if mode == "continue" else None
    require_words(new.owner, 0)
    if mark_loaded(row, [asked.seq]):
        asked.refresh_from_db(fields=["kv_size", "kv_start_position", "kv_status"])
    kept = replace(new, model=row.model, tuning=None) if once else new
    turn = new_turn(row, kept, mode=mode, asked=asked)
    if continued is not None:
        turn.save(force_insert=True)
        written, gone_from = continued, continued.seq
        _resume_answer(row, written, turn)
    else:
        gone_from = _take_answer_off(row, asked, turn)
        turn.save(force_insert=True)
        written = place_answer(row, turn, new.answer, asked)
        written.save(force_insert=True)
    row.save()
    return started_turn(
        row,
        turn,
        asked,
        written,
        reach=new.reach,
        messages=message_views(
            [asked], answered_by={asked.id: turn}, versions=versions_of([asked])
        ),
        gone_from=gone_from,
    )


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


def _resume_answer(row: Conversation, written: Message, turn: Turn) -> None:
    """The answer is running again, and counts in the totals once it has ended."""
    mark_stale(row, written.seq)
    search_indexes.delete_index(row)
    subtract_from_totals(row, written)
    written.turn, written.state, written.finish_reason = turn, "running", ""
    written.save(update_fields=["turn", "state", "finish_reason"])
