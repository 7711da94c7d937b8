"""Converts rows to values: to `Message`, `Entry`, `MessageView` and their parts, and back."""

from __future__ import annotations

import uuid
from typing import Any

from chatsite.conversations import models
from chatsite.history import Entry
from chatsite.history.instructions import standing_instructions
from chatsite.messages import Attachment, Message, TokenCount, ToolCall
from chatsite.views import ConversationView, MessageView, Problem, Quote, Version


def message_of(row: models.Message) -> Message:
    tokens = None
    if row.tokenizer:
        tokens = TokenCount(count=row.tokens, tokenizer=row.tokenizer, basis=row.basis)  # type: ignore[arg-type]
    return Message(
        id=str(row.id),
        role=row.role,  # type: ignore[arg-type]
        content=row.content,
        attachments=tuple([Attachment(**item) for item in row.attachments]),
        reasoning=row.reasoning,
        calls=tuple([ToolCall(**item) for item in row.calls]),
        call_id=row.call_id,
        metadata=row.metadata,
        source=row.source,  # type: ignore[arg-type]
        speaker=row.speaker,
        reply_to=str(row.reply_to) if row.reply_to else None,
        tokens=tokens,
        kv_size=row.kv_size,
        kv_start_position=row.kv_start_position,
        kv_status=row.kv_status,
    )


QUOTED = 200


def is_unanswered(row: models.Message) -> bool:
    """Whether its answer failed, with nothing of it stored."""
    return row.role == "user" and row.state in models.UNANSWERED


def entry_of(row: models.Message, *, forget_above: int = 0) -> Entry:
    return Entry(
        message=message_of(row),
        seq=row.seq,
        pinned=row.pinned,
        excluded=row.excluded,
        forgets_above=bool(forget_above) and row.seq == forget_above,
        unanswered=is_unanswered(row),
        at=row.created,
        quoted=tuple(row.quoted),
        kept_whole=bool(row.kept_whole),
        in_force=row.in_force or "",
        anchors=row.anchors or "",
    )


def view_of(
    row: models.Message,
    *,
    reply: Quote | None = None,
    versions: tuple[Version, ...] = (),
    answered_by: models.Turn | None = None,
    model: str = "",
) -> MessageView:
    """Fetch the row's turn with it. `reply` quotes the message that it replies to; `answered_by` is
    the newest turn of a user message that was answered again or continued; `model` wrote it."""
    turn = answered_by or row.turn
    return MessageView(
        message=message_of(row),
        seq=row.seq,
        state=row.state,  # type: ignore[arg-type]
        created=row.created.isoformat(),
        turn=str(row.turn_id) if row.role == "assistant" and row.turn_id else None,
        finish_reason=row.finish_reason,
        pinned=row.pinned,
        excluded=row.excluded,
        bookmarked=row.bookmarked,
        kept_whole=bool(row.kept_whole),
        in_force=row.in_force or "",
        offered=offered_instructions(row),
        reply=reply,
        problem=_problem(row, turn) if turn is not None and turn.problem else None,
        versions=versions,
        edited=row.edited is not None,
        model=model,
    )


def offered_instructions(row: models.Message, *, anew: bool = False) -> str:
    """The standing instructions, a line each, that the page offers to keep; "" for none, and where
    the person has answered the offer, unless it is made `anew`. Only the owner's own words, written
    in the page, make one."""
    own = row.role == "user" and row.source == "web" and not row.speaker
    if not own or (row.in_force is not None and not anew):
        return ""
    return "\n".join(standing_instructions(row.content or ""))


def _problem(row: models.Message, turn: models.Turn) -> Problem | None:
    """A failed turn's problem is shown at its user message, a complete turn's at its last answer,
    the only assistant message that didn't call tools."""
    last_answer = row.role == "assistant" and not row.calls
    of_this = last_answer if turn.state == "complete" else row.role == "user"
    return Problem(code=turn.problem_code, message=turn.problem) if of_this else None


def quote_of(row: models.Message) -> Quote:
    """The beginning of a message, shown above a reply to it."""
    return Quote(
        id=str(row.id),
        seq=row.seq,
        role=row.role,  # type: ignore[arg-type]
        text=excerpt(row.content or "", QUOTED),
    )


def excerpt(text: str, length: int) -> str:
    """The beginning of a text on one line, with at most `length` characters."""
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"


def conversation_view(row: models.Conversation) -> ConversationView:
    return ConversationView(
        id=str(row.id),
        agent=row.agent,
        title=row.title,
        created=row.created.isoformat(),
        updated=row.updated.isoformat(),
        model=row.model,
        history=choice_of(row),
        pinned=row.pinned.isoformat() if row.pinned else None,
        archived=row.archived.isoformat() if row.archived else None,
        folder=row.folder,
        temporary=bool(row.temporary),
        tuning=dict(row.tuning or {}),
    )


def choice_of(row: models.Conversation) -> dict[str, str]:
    """What was chosen in the page of the policy and its settings, by name."""
    return {str(name): str(value) for name, value in row.history.items()}


def sent_last(turn: models.Turn) -> float:
    """When the request of the turn's receipt was sent, in seconds: of several the last, near the
    end."""
    several = bool(turn.receipt and turn.receipt.get("rounds"))
    return float(((several and turn.ended) or turn.started).timestamp())


def message_columns(message: Message) -> dict[str, Any]:
    """The columns of a new row that hold the message itself."""
    tokens = message.tokens
    return {
        "id": uuid.UUID(message.id),
        "role": message.role,
        "content": message.content,
        "reasoning": message.reasoning,
        "attachments": [
            {name: getattr(item, name) for name in Attachment.__slots__}
            for item in message.attachments
        ],
        "calls": [
            {"id": call.id, "name": call.name, "arguments": dict(call.arguments)}
            for call in message.calls
        ],
        "call_id": message.call_id,
        "metadata": message.metadata,
        "source": message.source,
        "speaker": message.speaker,
        "reply_to": uuid.UUID(message.reply_to) if message.reply_to else None,
        "tokens": tokens.count if tokens else 0,
        "tokenizer": tokens.tokenizer if tokens else "",
        "basis": tokens.basis if tokens else "",
        "kv_size": message.kv_size,
        "kv_start_position": message.kv_start_position,
        "kv_status": message.kv_status,
    }
