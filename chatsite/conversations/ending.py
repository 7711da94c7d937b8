"""A turn ends, once and for all: its answer, its receipt and what went wrong, together."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.path import count, estimated
from chatsite.conversations.records import Ended
from chatsite.conversations.rows import message_of, view_of
from chatsite.conversations.versions import bring_back, versions_beside
from chatsite.events import MessageView, Problem, State
from chatsite.messages import TokenCount

ANSWER = (
    *("content", "reasoning", "metadata", "state", "finish_reason"),
    *("tokens", "tokenizer", "basis"),
)
TURN = ("state", "ended", "receipt", "problem_code", "problem")


@transaction.atomic
def end_turn(
    *,
    turn: str,
    state: State,
    text: str | None = None,
    reasoning: str | None = None,
    tokens: TokenCount | None = None,
    finish_reason: str = "",
    metadata: str = "",
    receipt: Mapping[str, Any] | None = None,
    problem: Problem | None = None,
) -> Ended | None:
    """End a running turn, once: None where it has ended already.

    Answer, receipt and usage are stored together. `text` and `reasoning` None keep the last
    checkpoint. An answer that says nothing leaves no message behind, and what it was to take the
    place of comes back. Calls that haven't ended keep the result that they have.
    """
    rows = list(
        Message.objects.select_for_update()
        .select_related("turn__conversation")
        .filter(turn_id=turn, state="running", turn__state="running")
        .order_by("seq")
    )
    row = rows[0].turn if rows else _running(turn)
    if row is None:
        return None
    conversation, now = row.conversation, timezone.now()
    results = [one for one in rows if one.role == "tool"]
    _close(conversation, results, "stopped" if state == "stopped" else "interrupted")
    answer = next((one for one in rows if one.role == "assistant"), None)
    if answer is not None:
        answer.turn = row
        _say(answer, text, reasoning, metadata)
    row.state, row.ended = state, now
    row.receipt = receipt = row.receipt if receipt is None else receipt
    row.problem_code, row.problem = (problem.code, problem.message) if problem else ("", "")
    row.save(update_fields=TURN)
    closed: Sequence[MessageView] = [view_of(one) for one in results]
    view = None
    if answer is not None and (answer.content or answer.reasoning):
        _finish(conversation, answer, state, tokens, finish_reason)
        view = view_of(answer, versions=versions_beside(answer))
    elif answer is not None:
        answer.delete()
        closed = [*closed, *bring_back(conversation, row)]
    if receipt is not None:
        conversation.last_turn = row
    conversation.updated = now
    conversation.save()
    return Ended(
        turn=turn,
        state=state,
        message=view,
        receipt=receipt,
        problem=problem,
        messages=tuple(closed),
    )


def _running(turn: str) -> Turn | None:
    """Where nothing of it is being written: no unit of work leaves it so."""
    rows = Turn.objects.select_for_update().select_related("conversation")
    return rows.filter(id=turn, state="running").first()


def _close(conversation: Conversation, results: Sequence[Message], state: State) -> None:
    """Calls that haven't ended are over, with the results that they have."""
    if not results:
        return
    Message.objects.filter(id__in=[one.id for one in results]).update(state=state)
    for one in results:
        one.state = state
        count(conversation, one)


def _say(answer: Message, text: str | None, reasoning: str | None, metadata: str) -> None:
    """What the answer says at its end; one that was written further keeps what it said before."""
    further = answer.turn is not None and answer.turn.mode == "continue"
    if text is not None and (text or not further):
        answer.content = text
    if reasoning is not None and (reasoning or not further):
        answer.reasoning = reasoning or None
    if metadata or not further:
        answer.metadata = metadata


def _finish(
    conversation: Conversation,
    answer: Message,
    state: State,
    tokens: TokenCount | None,
    finish_reason: str,
) -> None:
    answer.state, answer.finish_reason = state, finish_reason
    tokens = tokens or estimated(message_of(answer))
    answer.tokens, answer.tokenizer, answer.basis = tokens.count, tokens.tokenizer, tokens.basis
    answer.save(update_fields=ANSWER)
    count(conversation, answer)


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
