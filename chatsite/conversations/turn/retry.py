"""Starts a turn that answers the last message again, or continues its answer."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Literal

from django.utils import timezone

from chatsite.conversations import search_indexes
from chatsite.conversations.active_path import (
    locked_conversation,
    place_at_end,
    reroute,
    subtract_from_totals,
)
from chatsite.conversations.cache.books import mark_loaded
from chatsite.conversations.database.rows import conversation_view
from chatsite.conversations.database.work import writing
from chatsite.conversations.files.quota import require_words
from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.reads import loading
from chatsite.conversations.reads.ownership import messages_on_path
from chatsite.conversations.reads.queries import message_views
from chatsite.conversations.summaries import mark_stale
from chatsite.conversations.turn.begin import known_turn, new_turn, require_agent, resent_turn
from chatsite.conversations.values.owners import Owner
from chatsite.conversations.values.records import StartedTurn
from chatsite.errors import NotFound, Refused
from chatsite.history import BACKGROUND, Reach
from chatsite.messages import Message as DomainMessage
from chatsite.wording import later, say

NOT_LAST = later(
    "Only the last message can be answered again. Open the conversation anew to see it."
)
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
) -> StartedTurn:
    """Start a turn that answers the path's last user message again, or continues its answer.

    `message` is any message of that turn; for "continue" it is the last one, an answer with text.
    "again" takes the former answer off the path and keeps it as a version. "continue" extends the
    same message: `StartedTurn.answer` is then its id, and `answer` is ignored. `model` is kept with
    the conversation unless it answers `once`. What `reach` needs
    is read in the same transaction, unless that is long. The caller must call `Recaller.forget`
    afterwards. Unique by (conversation, client_id). Raises NotFound, BadCommand for another agent,
    Refused for any other message and where a background task wrote below, TurnRunning while an
    answer is written.
    """
    row = locked_conversation(owner, conversation)
    require_agent(row, agent)
    known = known_turn(row, client_id)
    if known is not None:
        return resent_turn(row, known)
    asked, answers = _last_turn(row, message)
    require_words(owner, 0)
    if mode == "continue" and not _can_continue(answers, message):
        raise Refused(say(NO_TEXT), code="not_last")
    if mark_loaded(row, [asked.seq]):
        asked.refresh_from_db(fields=["kv_size", "kv_start_position", "kv_status"])
    turn = new_turn(
        row,
        client_id,
        now=timezone.now(),
        model=row.model if once else model,
        mode=mode,
        asked=asked,
    )
    turn.replaced = answers[0].id if mode == "again" and answers else None
    turn.save(force_insert=True)
    if mode == "continue":
        written, removed = answers[-1], answers[-1:]
        _resume_answer(row, written, turn)
    else:
        written, removed = _place_new_answer(row, asked, turn, answer), answers
    row.save()
    return _started_retry(row, turn, asked, written, removed, reach)


def _place_new_answer(row: Conversation, asked: Message, turn: Turn, id: str) -> Message:
    """The former answer leaves the path; an empty one takes its place."""
    reroute(row, below=asked.seq, through=())
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
    removed: Sequence[Message],
    reach: Reach,
) -> StartedTurn:
    """`removed` are the messages that the page takes away; a continued one comes back with text."""
    reply_to = str(asked.reply_to) if asked.reply_to else None
    return StartedTurn(
        turn=str(turn.id),
        number=turn.number,
        resent=False,
        conversation=conversation_view(row),
        messages=message_views([asked], answered_by={asked.id: turn}),
        answer=str(written.id),
        place=written.seq,
        asked=str(asked.id),
        reply_to=reply_to,
        loaded=loading.load_at_once(row, reach, reply_to=reply_to),
        gone_from=removed[0].seq if removed else 0,
        text=written.content or "",
        reasoning=written.reasoning or "",
        quoted=tuple(written.quoted),
    )


def _last_turn(row: Conversation, message: str) -> tuple[Message, list[Message]]:
    """The last user message of a person on the path and its answers; `message` is one of them.

    Refused where a background task reported below: its report is a child of the answer, and would
    leave the path with it.
    """
    users = messages_on_path(row).filter(role="user").exclude(source__in=BACKGROUND)
    asked = users.select_related("turn").order_by("-seq").first()
    answers = []
    if asked is not None:
        answers = list(messages_on_path(row).filter(seq__gt=asked.seq).order_by("seq"))
    id = uuid.UUID(message)
    if asked is not None and any(one.id == id for one in (asked, *answers)):
        if any(one.source in BACKGROUND for one in answers):
            raise Refused(say(BEHIND), code="not_last")
        return asked, answers
    if not Message.objects.filter(conversation=row, id=id).exists():
        raise NotFound(say("There is no such message."))
    raise Refused(say(NOT_LAST), code="not_last")


def _can_continue(answers: Sequence[Message], message: str) -> bool:
    last = answers[-1] if answers else None
    if last is None or last.role != "assistant" or last.id != uuid.UUID(message):
        return False
    return bool((last.content or "").strip()) and not last.calls


def _resume_answer(row: Conversation, written: Message, turn: Turn) -> None:
    """The answer is running again, and counts in the totals once it has ended."""
    mark_stale(row, written.seq)
    search_indexes.delete_index(row)
    subtract_from_totals(row, written)
    written.turn, written.state, written.finish_reason = turn, "running", ""
    written.save(update_fields=["turn", "state", "finish_reason"])
