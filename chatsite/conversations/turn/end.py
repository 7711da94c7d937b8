"""Ends a turn, once: its answer, its receipt and its problem are stored together."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Q
from django.utils import timezone

from chatsite.conversations.database.columns import execute, fetch, key, moment
from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.rows import message_of, view_of
from chatsite.conversations.database.statements import (
    ADD_TO_TOTALS,
    ANSWER_END,
    MESSAGES_OF_TURN,
    RUNNING_TURN,
    RUNNING_TURNS,
    TURN_END,
    TURN_END_WITH_RECEIPT,
)
from chatsite.conversations.files.uploads import characters_of_texts
from chatsite.conversations.models import UNANSWERED, Message, Server, Turn
from chatsite.conversations.ownership import messages_on_path
from chatsite.conversations.path.active_path import estimated_tokens
from chatsite.conversations.path.queries import message_views
from chatsite.conversations.path.tree import (
    model_label,
    user_message_of,
    versions_beside,
    versions_of,
)
from chatsite.conversations.records import FinishedTurn
from chatsite.conversations.versions.versions import (
    finish_branches,
    restore_previous_answer,
)
from chatsite.history import BACKGROUND
from chatsite.messages import TokenCount
from chatsite.storage import Pieces, at_once, in_pieces, takes_long, writing
from chatsite.views import MessageView, Problem, State
from chatsite.wording import say


@at_once
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
    checkpoint. An empty answer is deleted, and what it would have replaced is put back on the path.
    Where there is none and nobody stopped the turn, the user message is unanswered. Tool calls that
    haven't ended keep their preliminary result.
    """
    hold(turn=turn)
    row, messages = _running(turn)
    if row is None:
        return None
    receipt = _store_turn_end(row, state, receipt, problem)
    results = [one for one in messages if one.role == "tool"]
    _close_calls(results, "stopped" if state == "stopped" else "interrupted")
    finished, changed = [*results], [view_of(one) for one in results]
    view, restored = None, None
    for answer in (one for one in messages if one.role == "assistant"):
        _set_text(answer, text, reasoning, metadata)
        if answer.content or answer.reasoning:
            if receipt is not None:
                # With every version of an answer: each has quotes of its own.
                answer.quoted = list(receipt.get("quoted", ()))
            _finish_answer(answer, state, tokens, finish_reason)
            finished.append(answer)
            label = model_label((receipt or {}).get("provider")) if not answer.calls else ""
            view = view_of(answer, versions=versions_beside(answer), model=label)
        else:
            if row.mode == "again":
                takes_long()  # a branch of any length may come back
            answer.delete()
            restored = restore_previous_answer(row)
            changed += restored.views if restored else ()
    if view is None or row.mode == "again":
        changed += _mark_unanswered(row, state)
    if row.mode == "edit":
        changed += _asked_with_versions(row)
    # Where the former answer is back, the path's last receipt is that of its newest one.
    _add_to_totals(row, finished, has_receipt=receipt is not None and restored is None)
    return FinishedTurn(
        turn=turn,
        state=state,
        message=view,
        problem=problem,
        messages=tuple(changed),
        below=restored.below if restored else None,
    )


def _store_turn_end(
    row: Turn, state: State, receipt: Mapping[str, Any] | None, problem: Problem | None
) -> Mapping[str, Any] | None:
    """The turn's receipt: the given one, or the one that a checkpoint stored."""
    row.state, row.ended = state, timezone.now()
    if problem is not None:
        row.problem_code, row.problem = problem.code, problem.message
    if receipt is None:
        TURN_END.update(row)
        stored: Mapping[str, Any] | None = row.receipt
        return stored
    row.receipt, row.cost = receipt, receipt.get("reported", {}).get("cost")
    TURN_END_WITH_RECEIPT.update(row)
    return receipt


def _mark_unanswered(row: Turn, state: State) -> Sequence[MessageView]:
    """The user message with its new state, where that changed: unanswered where nothing of an
    answer is stored, and complete again where something is. A stopped turn changes nothing: the
    person who stopped it may refer to the message."""
    asked = user_message_of(row)
    if asked is None:
        return ()
    below = messages_on_path(row.conversation).filter(seq__gt=asked.seq)
    if below.exclude(source__in=BACKGROUND).exists():
        now: State = "complete"
    elif state == "stopped":
        return ()
    else:
        now = state if state in UNANSWERED else "failed"
    if asked.state == now:
        return ()
    asked.state = now
    asked.save(update_fields=["state"])
    return message_views([asked], answered_by={asked.id: row})


def _asked_with_versions(row: Turn) -> Sequence[MessageView]:
    """The message that took another one's place: its version names its answer's model and cost."""
    asked = [one] if (one := user_message_of(row)) is not None else []
    return message_views(asked, versions=versions_of(asked))


def _add_to_totals(turn: Turn, finished: Sequence[Message], *, has_receipt: bool) -> None:
    """Count the finished messages in their conversation, and make this its last turn."""
    assert turn.ended is not None
    execute(
        ADD_TO_TOTALS,
        len(finished),
        sum(one.tokens for one in finished),
        sum(map(characters_of_texts, finished)),
        moment(turn.ended),
        key(turn.id) if has_receipt else None,
        key(turn.conversation_id),
    )


def _running(turn: str) -> tuple[Turn | None, Sequence[Message]]:
    """The turn, None where it has ended; and its messages that aren't finished, in order: results
    of calls and the answer."""
    found = fetch(RUNNING_TURN, key(turn))
    if not found:
        return None, ()
    width = len(RUNNING_TURNS)
    row = RUNNING_TURNS.to_model(found[0][:width])
    messages = [MESSAGES_OF_TURN.to_model(one[width:]) for one in found if one[width] is not None]
    for one in messages:
        one.turn = row
    return row, messages


def _close_calls(results: Sequence[Message], state: State) -> None:
    """End calls that haven't ended; they keep their preliminary results."""
    if not results:
        return
    Message.objects.filter(id__in=[one.id for one in results]).update(state=state)
    for one in results:
        one.state = state


def _set_text(answer: Message, text: str | None, reasoning: str | None, metadata: str) -> None:
    """Set the final text. A continued answer keeps its former text where nothing was added."""
    continued = answer.turn is not None and answer.turn.mode == "continue"
    if text is not None and (text or not continued):
        answer.content = text
    if reasoning is not None and (reasoning or not continued):
        answer.reasoning = reasoning or None
    if metadata or not continued:
        answer.metadata = metadata


def _finish_answer(
    answer: Message, state: State, tokens: TokenCount | None, finish_reason: str
) -> None:
    answer.state, answer.finish_reason = state, finish_reason
    tokens = tokens or estimated_tokens(message_of(answer))
    answer.tokens, answer.tokenizer, answer.basis = tokens.count, tokens.tokenizer, tokens.basis
    ANSWER_END.update(answer)


@in_pieces
def end_interrupted(
    *, conversation: str | None = None, turn: str | None = None, own: str | None = None
) -> Pieces[Sequence[str]]:
    """End turns that no server writes any more: all, those of one conversation, or one turn. Then
    put branches whole on the path of which a part is there. Returns the conversations.

    A turn whose server isn't among the rows of servers was left by one that was killed. `own` is
    the server that knows that it doesn't write the turns meant: their end couldn't be stored.
    """
    alive = Server.objects.values("id")
    rows = Turn.objects.filter(state="running").filter(
        Q(server=None) | Q(server=own) | ~Q(server__in=alive)
    )
    if conversation is not None:
        rows = rows.filter(conversation_id=uuid.UUID(conversation))
    if turn is not None:
        rows = rows.filter(id=uuid.UUID(turn))
    left = list(rows.values_list("id", "conversation"))
    problem = Problem(
        code="interrupted",
        message=say("The server stopped while this answer was written. What was written is kept."),
    )
    for id, _ in left:
        end_turn.here(turn=str(id), state="interrupted", problem=problem)
        yield
    ended = list(dict.fromkeys(str(of) for _, of in left))
    for of in ended if conversation or turn else (None,):
        yield from finish_branches.pieces(conversation=of)
    return ended
