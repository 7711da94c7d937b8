"""What became of a turn, for a channel that carries its answer to where it was asked."""

from __future__ import annotations

import uuid

from chatsite.conversations.models import Message, Turn
from chatsite.conversations.owners import Owner
from chatsite.conversations.path.tree import user_message_of
from chatsite.conversations.records import Answer
from chatsite.storage import reading
from chatsite.views import Problem


@reading
def answer_of(*, owner: Owner, conversation: str, client_id: str) -> Answer | None:
    """The turn that this client id began, as far as it has come; None where it began none."""
    turn = Turn.objects.filter(
        owner.filter("conversation__"),
        conversation=uuid.UUID(conversation),
        client_id=client_id,
        conversation__deleted=None,
    ).first()
    if turn is None:
        return None
    answers = Message.objects.filter(turn=turn, role="assistant").order_by("-seq")
    last = answers.only("id", "content").first()
    asked = user_message_of(turn)
    return Answer(
        turn=str(turn.id),
        state=turn.state,  # type: ignore[arg-type]
        text=(last.content or "").strip() if last is not None else "",
        problem=Problem(code=turn.problem_code, message=turn.problem) if turn.problem else None,
        receipt=turn.whole_receipt,
        message=str(last.id) if last is not None else "",
        asked=str(asked.id) if asked is not None else "",
    )
