"""`apply_history_policy` cuts a list of messages; policies that send the newest turns choose by it.

What a turn sends under `none`, `lastN` and `all` is its result, with the marks and the limit
applied afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index

from chatsite.history.path.policy_choice import PolicyChoice, TurnRule
from chatsite.history.policies.base import DecisionContext
from chatsite.history.values.reasons import Reason
from chatsite.messages import Message

Choose = Callable[[DecisionContext], PolicyChoice]


def acting_length(length: int) -> int:
    """The number of user messages that `length` means: 0 and below act as 1."""
    return max(1, length)


def apply_history_policy(
    messages: Sequence[Message],
    *,
    policy: str = "lastN",
    length: int = 20,
    preserve_system: bool = True,
    step: int = 1,
    users_above: int = 0,
) -> list[Message]:
    """The messages that a policy keeps, oldest first, without marks, budget or repair.

    `none` keeps a last user message that nobody has answered, `lastN` the last `length` user
    messages with everything after the first of them, `all` its input unchanged. The others put
    system messages first, or leave them out without `preserve_system`. With a `step` the cut of
    `lastN` moves that many user messages at a time, counted from the conversation's beginning:
    `users_above` is how many more are above the list.

    Raises ValueError for a policy that needs a budget or evidence and for one that isn't known:
    neither means "all". Raises TypeError for a length that isn't a whole number.
    """
    most = acting_length(index(length))
    if policy == "all":
        return list(messages)
    rest = [message for message in messages if message.role != "system"]
    if policy == "none":
        kept = rest[-1:] if rest and rest[-1].role == "user" else []
    elif policy == "lastN":
        kept = rest[_start_of_last(rest, most, step, users_above) :]
    else:
        raise ValueError(f"policy {policy!r} is not one of none, lastN, all")
    if preserve_system and len(rest) < len(messages):
        return [message for message in messages if message.role == "system"] + kept
    return kept


def _start_of_last(messages: Sequence[Message], most: int, step: int, users_above: int) -> int:
    """Where the last user messages begin; 0 when there are no more than `most`.

    Counting from the conversation's beginning, the cut needs to know nothing of earlier requests.
    """
    starts = [place for place, message in enumerate(messages) if message.role == "user"]
    users = users_above + len(starts)
    if users <= most:
        return 0
    step = min(max(1, step), most)
    dropped = -(-(users - most) // step) * step
    return starts[-min(users - dropped, len(starts))] if starts else 0


def choose_by_cut(policy: str, *, sent: Reason, left_out: Reason) -> Choose:
    """The choice of a policy that `apply_history_policy` knows: what that keeps is sent."""
    is_sent, is_left_out = TurnRule(reason=sent), TurnRule(reason=left_out)

    def choose(context: DecisionContext) -> PolicyChoice:
        entries = [entry for turn in context.counted for entry in turn.entries]
        kept = apply_history_policy(
            [entry.message for entry in entries],
            policy=policy,
            length=context.terms.length,
            step=context.terms.step,
            users_above=context.users_not_loaded,
        )
        # The current turn is sent whatever the policy; after its first round `none` keeps nothing.
        first = entries[-len(kept)] if kept else context.path.current.entries[0]
        return PolicyChoice(
            rule=lambda turn: is_sent if turn.entries[0].seq >= first.seq else is_left_out,
            tail=first.seq,
            reached=context.reached,
        )

    return choose


def choose_every_turn(*, sent: Reason) -> Choose:
    """The choice of a policy that would send everything; the limit decides what is left out."""
    is_sent = TurnRule(reason=sent)

    def choose(context: DecisionContext) -> PolicyChoice:
        first = context.counted[0].entries[0].seq
        return PolicyChoice(rule=lambda turn: is_sent, tail=first, reached=context.reached)

    return choose
