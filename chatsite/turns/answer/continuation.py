"""The request of an answer that is written further: it ends with what there is, and a wish."""

from __future__ import annotations

from dataclasses import replace

from chatsite.history import AddedMessage, Decision, StoredRun
from chatsite.history.values.added_messages import continue_message


def continued(decision: Decision, *, place: int, above: int) -> Decision:
    """`decision` was made of a path that ends with the answer so far, at the seq `place`; `above`
    is the seq of the message before it.

    The answer is stored as a whole later, so the layout keeps how much of it there was.
    """
    wish, answer = continue_message(), decision.request[-1]
    last = decision.layout[-1]
    assert isinstance(last, StoredRun) and last.last == place
    stored = [StoredRun(last.first, above)] if last.first < place else []
    so_far = AddedMessage.of(answer, "continue", id=str(len(answer.content or "")), sources=[place])
    return replace(
        decision,
        request=(*decision.request, wish),
        layout=(*decision.layout[:-1], *stored, so_far, AddedMessage.of(wish, "continue")),
    )
