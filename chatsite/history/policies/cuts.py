"""The policies that only cut, `none`, `lastN`, `all` and `tokens`, and how they cut.

`apply_history_policy` cuts a list of messages; policies that send the newest turns choose by it.
What a turn sends under `none`, `lastN` and `all` is its result, with the marks and the limit
applied afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import index

from chatsite.history.path.overflow import cut_oldest
from chatsite.history.path.turn_verdicts import PolicyChoice, TurnRule
from chatsite.history.policies.base import DecisionContext, Everything, Policy, Terms, Tokens, Users
from chatsite.history.reasons import Reason
from chatsite.messages import Message
from chatsite.wording import later, say, say_count

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


# ---- `none`: the current turn alone ---------------------------------------------------------
WHY_SWITCHED_OFF = later(
    "The memory of this agent's conversations is switched off (conversation.enabled is false): "
    "whatever the policy, only this message is sent."
)
choose_current = choose_by_cut("none", sent="within_length", left_out="over_length")

NONE = Policy(
    name="none",
    title=later("Only your new message"),
    about=later("Nothing earlier is sent."),
    label="none",
    offered_first=True,
    words=lambda terms: say("only your new message"),
    scope=lambda terms: say("your new message"),
    reach=lambda terms: Users(1),
    choose=choose_current,
    beyond_reach="over_length",
    only_current=True,
)


def unknown_policy(name: str) -> Policy:
    """A policy that this version doesn't have any more; an old receipt still names it."""
    return replace(
        NONE,
        name=name,
        words=lambda terms: name,
        scope=lambda terms: say("what the policy sends"),
    )


# Acts in place of the chosen policy where `enabled` of the conversation's settings is false.
SWITCHED_OFF = replace(
    NONE, choose=lambda context: replace(choose_current(context), notes=(WHY_SWITCHED_OFF,))
)


# ---- `lastN`: the last turns that the user began --------------------------------------------
def _last_exchanges(terms: Terms) -> str:
    """The newest is the one of the current message."""
    count = acting_length(terms.length)
    return say_count("this exchange", "your last {count} exchanges", count)


def _words(terms: Terms) -> str:
    most = acting_length(terms.length)
    if most == 1:
        return say("only this exchange")
    step = min(terms.step, most)
    if step == 1:
        return _last_exchanges(terms)
    return say("{exchanges}, moving {step} at a time", exchanges=_last_exchanges(terms), step=step)


LAST_N = Policy(
    name="lastN",
    title=later("Your last exchanges"),
    about=later("Each a message and its answer, the new one included."),
    label="lastN",
    offered_first=True,
    words=_words,
    scope=_last_exchanges,
    reach=lambda terms: Users(acting_length(terms.length)),
    choose=choose_by_cut("lastN", sent="within_length", left_out="over_length"),
    beyond_reach="over_length",
    own_settings=frozenset({"step"}),
    uses_length=True,
)


# ---- `all`: everything, as far as the model has room; `tokens`: as far as the budget, too ---
ALL = Policy(
    name="all",
    title=later("Everything"),
    about=later("The whole chat, as far as the model has room."),
    label="all",
    offered_first=True,
    words=lambda terms: say("everything"),
    scope=lambda terms: say("everything"),
    reach=lambda terms: Everything(),
    choose=choose_by_cut("all", sent="within_budget", left_out="not_read"),
    beyond_reach="not_read",
)

TOKENS = Policy(
    name="tokens",
    title=later("As much recent history as fits"),
    about=later("The newest exchanges, up to the limit below; the oldest drop out."),
    label="tokens",
    words=lambda terms: say("as much recent history as fits"),
    scope=lambda terms: say("the newest turns"),
    reach=lambda terms: Tokens(),
    choose=choose_every_turn(sent="within_budget"),
    beyond_reach="over_budget",
    make_room=cut_oldest,
)
