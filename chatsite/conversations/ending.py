"""A turn ends, once and for all: its answer, its receipt and what went wrong, together."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.path import estimated
from chatsite.conversations.records import Ended
from chatsite.conversations.rows import ENTRY, message_of, view_of
from chatsite.conversations.versions import bring_back, versions_beside
from chatsite.events import MessageView, Problem, State
from chatsite.messages import TokenCount

ANSWER = (
    *("content", "reasoning", "metadata", "state", "finish_reason"),
    *("tokens", "tokenizer", "basis"),
)
# What is read of them: a turn and its conversation whole would take three times as long.
READ = (
    *ENTRY,
    *("state", "finish_reason", "conversation", "parent", "turn"),
    *("turn__mode", "turn__asked", "turn__conversation"),
)


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
    now = timezone.now()
    changed: dict[str, Any] = {"state": state, "ended": now}
    if problem is not None:
        changed |= {"problem_code": problem.code, "problem": problem.message}
    if receipt is not None:
        changed["receipt"] = receipt
    if not Turn.objects.filter(id=turn, state="running").update(**changed):
        return None
    row, rows = _written(turn)
    for name in ("state", "problem_code", "problem"):
        setattr(row, name, changed.get(name, ""))
    if receipt is None:
        receipt = Turn.objects.values_list("receipt", flat=True).get(id=turn)
    results = [one for one in rows if one.role == "tool"]
    _close(results, "stopped" if state == "stopped" else "interrupted")
    ended = [*results]
    closed: Sequence[MessageView] = [view_of(one) for one in results]
    view = None
    for answer in (one for one in rows if one.role == "assistant"):
        _say(answer, text, reasoning, metadata)
        if answer.content or answer.reasoning:
            _finish(answer, state, tokens, finish_reason)
            ended.append(answer)
            view = view_of(answer, versions=versions_beside(answer))
        else:
            answer.delete()
            closed = [*closed, *bring_back(row)]
    Conversation.objects.filter(id=row.conversation_id).update(
        path_messages=F("path_messages") + len(ended),
        path_tokens=F("path_tokens") + sum(one.tokens for one in ended),
        updated=now,
        **({"last_turn": turn} if receipt is not None else {}),
    )
    return Ended(
        turn=turn,
        state=state,
        message=view,
        receipt=receipt,
        problem=problem,
        messages=tuple(closed),
    )


def _written(turn: str) -> tuple[Turn, Sequence[Message]]:
    """The turn, and what of it is being written, in order: an answer and calls."""
    running = Message.objects.filter(turn_id=turn, state="running").select_related("turn")
    rows = sorted(running.only(*READ), key=lambda one: one.seq)
    row = rows[0].turn if rows else None
    for one in rows:
        one.turn = row
    return row or Turn.objects.get(id=turn), rows


def _close(results: Sequence[Message], state: State) -> None:
    """Calls that haven't ended are over, with the results that they have."""
    if not results:
        return
    Message.objects.filter(id__in=[one.id for one in results]).update(state=state)
    for one in results:
        one.state = state


def _say(answer: Message, text: str | None, reasoning: str | None, metadata: str) -> None:
    """What the answer says at its end; one that was written further keeps what it said before."""
    further = answer.turn is not None and answer.turn.mode == "continue"
    if text is not None and (text or not further):
        answer.content = text
    if reasoning is not None and (reasoning or not further):
        answer.reasoning = reasoning or None
    if metadata or not further:
        answer.metadata = metadata


def _finish(answer: Message, state: State, tokens: TokenCount | None, finish_reason: str) -> None:
    answer.state, answer.finish_reason = state, finish_reason
    tokens = tokens or estimated(message_of(answer))
    answer.tokens, answer.tokenizer, answer.basis = tokens.count, tokens.tokenizer, tokens.basis
    answer.save(update_fields=ANSWER)


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
