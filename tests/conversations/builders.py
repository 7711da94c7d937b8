"""Builders of conversations for tests of storage. They call the store as running turns do."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType
from typing import Literal, TypeVar

from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from chatsite.conversations.models import Conversation, Message
from chatsite.conversations.owners import Owner
from chatsite.conversations.path import queries
from chatsite.conversations.records import FinishedTurn, NewTurn, StartedTurn
from chatsite.conversations.turn.begin import begin_turn
from chatsite.conversations.turn.end import end_turn
from chatsite.conversations.turn.retry import begin_edit, begin_retry
from chatsite.conversations.turn.rounds import begin_calls
from chatsite.conversations.versions import deletions
from chatsite.history import Everything, Reach
from chatsite.messages import Message as DomainMessage
from chatsite.messages import TokenCount, ToolCall
from chatsite.views import MessageView, State

T = TypeVar("T")
ADA = Owner(guest="ada")
BOB = Owner(guest="bob")
EVERYTHING = Everything()


def new_id() -> str:
    return str(uuid.uuid4())


def token_count(count: int) -> TokenCount:
    return TokenCount(count=count, tokenizer="words", basis="counted")


def user_message(text: str, *, tokens: int = 3) -> DomainMessage:
    return DomainMessage(id=new_id(), role="user", content=text, tokens=token_count(tokens))


def begin(
    conversation: str,
    text: str = "Hello there",
    *,
    owner: Owner = ADA,
    agent: str = "demo",
    client_id: str = "",
    greeting: Sequence[DomainMessage] = (),
    history: Mapping[str, str] = MappingProxyType({}),
    reach: Reach = EVERYTHING,
) -> StartedTurn:
    new = NewTurn(
        owner=owner,
        conversation=conversation,
        agent=agent,
        client_id=client_id or new_id(),
        answer=new_id(),
        reach=reach,
    )
    user = user_message(text)
    return begin_turn.here(new, user=user, greeting=greeting, history=history)


def end(
    begun: StartedTurn,
    text: str | None = "An answer.",
    *,
    state: State = "complete",
    tokens: int = 5,
) -> FinishedTurn | None:
    return end_turn.here(
        turn=begun.turn,
        state=state,
        text=text,
        tokens=token_count(tokens),
        receipt={"turn": begun.turn},
    )


def talk(conversation: str, turns: int, *, owner: Owner = ADA) -> None:
    """Store complete turns: user messages "question 1", "question 2" ..., each with an answer."""
    for number in range(1, turns + 1):
        end(begin(conversation, f"question {number}", owner=owner), f"answer {number}")


def tool_call_message(*names: str, text: str | None = None, tokens: int = 4) -> DomainMessage:
    """An assistant message that calls the tools `names`. `StartedTurn.answer` gives the id."""
    calls = tuple(ToolCall(id=new_id(), name=name, arguments={"n": 1}) for name in names)
    found = DomainMessage.assistant(
        text, id=new_id(), calls=calls, reasoning="I should look it up."
    )
    return replace(found, tokens=token_count(tokens))


NEVER_RAN = '{"error": {"name": "NeverRan", "message": "This call never ran."}}'


def begin_round(
    turn: str, message: DomainMessage, *, id: str, answer: str
) -> tuple[tuple[DomainMessage, ...], tuple[MessageView, ...] | None]:
    """Begin a round with `message` as the answer so far. Returns its tool results and the views."""
    results = tuple(
        DomainMessage.tool(NEVER_RAN, id=new_id(), call_id=call.id) for call in message.calls
    )
    views = begin_calls.here(
        turn=turn, message=replace(message, id=id), results=results, answer=answer
    )
    return results, views


def tool_result(
    marked: DomainMessage, text: str = '"high at noon"', *, tokens: int = 6
) -> DomainMessage:
    return replace(marked, content=text, tokens=token_count(tokens))


def retry(
    conversation: str,
    message: str,
    *,
    mode: Literal["again", "continue"] = "again",
    owner: Owner = ADA,
    client_id: str = "",
    agent: str = "demo",
) -> StartedTurn:
    new = NewTurn(
        owner=owner,
        conversation=conversation,
        agent=agent,
        client_id=client_id or new_id(),
        answer=new_id(),
        reach=Everything(),
    )
    return begin_retry.here(new, message=message, mode=mode)


def delete(message: str, *, owner: Owner = ADA) -> None:
    """Delete a message and remove it for good, as an hour later."""
    deletions.delete_message.here(owner=owner, message=message)
    deletions.purge_messages.here(now=timezone.now() + timedelta(hours=2))


def edit(
    conversation: str, message: str, text: str, *, owner: Owner = ADA, client_id: str = ""
) -> StartedTurn:
    new = NewTurn(
        owner=owner,
        conversation=conversation,
        agent="demo",
        client_id=client_id or new_id(),
        answer=new_id(),
        reach=Everything(),
    )
    return begin_edit.here(new, message=message, user=user_message(text))


def shown_messages(conversation: str) -> list[tuple[str, str | None]]:
    """Role and text of each message that a freshly loaded page shows."""
    opened = queries.open_conversation.here(owner=ADA, conversation=conversation)
    return [(view.message.role, view.message.content) for view in opened.messages]


def row(conversation: str) -> Conversation:
    return Conversation.objects.get(id=conversation)


def messages(conversation: str) -> QuerySet[Message]:
    return Message.objects.filter(conversation=row(conversation))


def counted_totals(conversation: str) -> tuple[int, int, int]:
    """Messages, user messages and tokens of the active path, counted from its messages."""
    on_path = messages(conversation).filter(on_path=True).exclude(state="running")
    found = list(on_path.values_list("role", "tokens"))
    return len(found), sum(r == "user" for r, _ in found), sum(t for _, t in found)


def stored_totals(conversation: str) -> tuple[int, int, int]:
    found = row(conversation)
    return found.path_messages, found.path_users, found.path_tokens


def run_in_threads(count: int, work: Callable[[], T]) -> list[T | Exception]:
    """Run `work` in `count` threads, each with its own database connection, and close those."""

    def run_once(_: int) -> T | Exception:
        try:
            return work()
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run_once, range(count)))
