"""A turn ends, once and for all: its answer, its receipt and what went wrong, together."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone

from chatsite.conversations.active_path import estimated_tokens
from chatsite.conversations.database.columns import execute, for_update, key, moment
from chatsite.conversations.database.rows import message_of, view_of
from chatsite.conversations.database.statements import (
    ADD_TO_TOTALS,
    ANSWER_END,
    MESSAGES_OF_TURN,
    RUNNING_IN_TURN,
    RUNNING_TURNS,
    STILL_RUNNING,
    TURN_END,
    TURN_END_WITH_RECEIPT,
)
from chatsite.conversations.database.work import writing
from chatsite.conversations.models import Message, Turn
from chatsite.conversations.turn.versions import restore_previous_answer, versions_beside
from chatsite.conversations.values.records import FinishedTurn
from chatsite.messages import TokenCount
from chatsite.views import MessageView, Problem, State


@writing
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
) -> FinishedTurn | None:
    """End a running turn, once: None where it has ended already.

    Answer, receipt and usage are stored together. `text` and `reasoning` None keep the last
    checkpoint. An answer that says nothing leaves no message behind, and what it was to take the
    place of comes back. Calls that haven't ended keep the result that they have.
    """
    row = RUNNING_TURNS.first(STILL_RUNNING + for_update(RUNNING_TURNS.table), key(turn))
    if row is None:
        return None
    row.state, row.ended = state, timezone.now()
    if problem is not None:
        row.problem_code, row.problem = problem.code, problem.message
    if receipt is not None:
        row.receipt = receipt
        TURN_END_WITH_RECEIPT.update(row)
    else:
        TURN_END.update(row)
        receipt = row.receipt
    rows = _running_messages(row)
    results = [one for one in rows if one.role == "tool"]
    _close_calls(results, "stopped" if state == "stopped" else "interrupted")
    ended = [*results]
    closed: Sequence[MessageView] = [view_of(one) for one in results]
    view = None
    for answer in (one for one in rows if one.role == "assistant"):
        _set_text(answer, text, reasoning, metadata)
        if answer.content or answer.reasoning:
            _finish_answer(answer, state, tokens, finish_reason)
            ended.append(answer)
            view = view_of(answer, versions=versions_beside(answer))
        else:
            answer.delete()
            closed = [*closed, *restore_previous_answer(row)]
    execute(
        ADD_TO_TOTALS,
        len(ended),
        sum(one.tokens for one in ended),
        moment(row.ended),
        key(turn) if receipt is not None else None,
        key(row.conversation_id),
    )
    return FinishedTurn(
        turn=turn,
        state=state,
        message=view,
        receipt=receipt,
        problem=problem,
        messages=tuple(closed),
    )


def _running_messages(turn: Turn) -> Sequence[Message]:
    """What of it is being written, in order: an answer and calls."""
    rows = MESSAGES_OF_TURN.where(RUNNING_IN_TURN, key(turn.id))
    for one in rows:
        one.turn = turn
    return sorted(rows, key=lambda one: one.seq)


def _close_calls(results: Sequence[Message], state: State) -> None:
    """Calls that haven't ended are over, with the results that they have."""
    if not results:
        return
    Message.objects.filter(id__in=[one.id for one in results]).update(state=state)
    for one in results:
        one.state = state


def _set_text(answer: Message, text: str | None, reasoning: str | None, metadata: str) -> None:
    """What the answer says at its end; one that was written further keeps what it said before."""
    further = answer.turn is not None and answer.turn.mode == "continue"
    if text is not None and (text or not further):
        answer.content = text
    if reasoning is not None and (reasoning or not further):
        answer.reasoning = reasoning or None
    if metadata or not further:
        answer.metadata = metadata


def _finish_answer(
    answer: Message, state: State, tokens: TokenCount | None, finish_reason: str
) -> None:
    answer.state, answer.finish_reason = state, finish_reason
    tokens = tokens or estimated_tokens(message_of(answer))
    answer.tokens, answer.tokenizer, answer.basis = tokens.count, tokens.tokenizer, tokens.basis
    ANSWER_END.update(answer)


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
