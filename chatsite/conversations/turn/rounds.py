"""Writes while a turn runs: checkpoints of the text, tool calls and their results."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.db.models import F
from django.utils import timezone

from chatsite.conversations.database.columns import execute_many, key, to_json
from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.rows import message_columns, view_of
from chatsite.conversations.database.statements import SAVE_RECEIPT, SAVE_TEXT
from chatsite.conversations.files.uploads import characters_of, require_words
from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import owned_conversation
from chatsite.conversations.path.active_path import add_to_totals, place_at_end, with_token_count
from chatsite.conversations.path.tree import user_message_of, versions_beside
from chatsite.conversations.records import Answer, Checkpoint, Saved, WrittenSoFar
from chatsite.errors import Refused
from chatsite.messages import Message as DomainMessage
from chatsite.storage import reading, writing
from chatsite.views import MessageView, Problem

# Of an answer with so many characters it is asked whether there is room for more.
LOOKED_AT = 20_000
# The fields that change with a call's result, and with the message that contains the calls.
RESULT = ("content", "tokens", "tokenizer", "basis", "state")
ROUND = (*RESULT, "reasoning", "calls", "metadata", "finish_reason")


@writing
def begin_calls(
    *,
    turn: str,
    message: DomainMessage,
    results: Sequence[DomainMessage],
    answer: str,
    quoted: Sequence[int] = (),
) -> tuple[MessageView, ...] | None:
    """Store a finished `message` with tool calls, a preliminary result for each, and an empty row
    with the id `answer` for the text that follows. `quoted` are the sequence numbers of the
    messages that were quoted before the question: the next round sends the same.

    Returns the views of the message and of the results; None where the turn has ended already.
    """
    hold(turn=turn)
    row = running_answer(turn)
    if row is None:
        return None
    conversation = row.turn.conversation  # type: ignore[union-attr]
    now = timezone.now()
    _fill(row, message, ROUND)
    row.state, row.finish_reason, row.quoted = "complete", "tool_calls", list(quoted)
    row.save(update_fields=(*ROUND, "quoted"))
    add_to_totals(conversation, row)
    conversation.characters += characters_of(message)
    marked = place_at_end(
        conversation,
        [with_token_count(result) for result in results],
        now=now,
        turn=row.turn,
        after=[row],
        state="running",
    )
    empty = [DomainMessage.assistant("", id=answer)]
    next_answer = place_at_end(
        conversation, empty, now=now, turn=row.turn, after=[row, *marked], state="running"
    )
    Message.objects.bulk_create([*marked, *next_answer])
    conversation.save(update_fields=["next_seq", "path_messages", "path_tokens", "characters"])
    first = view_of(row, versions=versions_beside(row))
    return (first, *(view_of(result) for result in marked))


@writing
def end_call(*, turn: str, message: DomainMessage, anchors: str = "") -> MessageView | None:
    """Store a call's result, with exact values of it. None, and nothing is stored, where the call
    or the turn has ended already, for example by Stop."""
    hold(turn=turn)
    row = (
        Message.objects.select_related("turn")
        .filter(id=message.id, turn_id=turn, role="tool", state="running", turn__state="running")
        .defer("turn__receipt")
        .first()
    )
    if row is None:
        return None
    _fill(row, message, RESULT)
    row.state = "complete"
    row.anchors = anchors
    row.save(update_fields=(*RESULT, "anchors"))
    Conversation.objects.filter(id=row.conversation_id).update(
        path_messages=F("path_messages") + 1,
        path_tokens=F("path_tokens") + row.tokens,
        characters=F("characters") + characters_of(message),
    )
    return view_of(row)


@writing
def save_checkpoints(written: Sequence[Checkpoint]) -> Saved:
    """Save the text so far of some running answers; finished answers and turns stay unchanged.
    Comes back: which turns have to end.

    In plain SQL: all running answers are saved about once a second, and building these two
    statements in Django takes fifty times as long as running them.

    Holds nothing, or 400 conversations would wait for each other: each statement asks whether the
    turn still runs. Turns come in one order, and before messages, as where a turn ends.
    """
    written = sorted(written, key=lambda one: one.turn)
    texts = [(one.text, one.reasoning or None, key(one.answer), key(one.turn)) for one in written]
    receipts = [(to_json(one.receipt), key(one.turn)) for one in written if one.receipt is not None]
    if receipts:
        execute_many(SAVE_RECEIPT, receipts)
    changed = execute_many(SAVE_TEXT, texts)
    long = [one for one in written if len(one.text) + len(one.reasoning) > LOOKED_AT]
    turns = [one.turn for one in written] if changed < len(texts) else []
    return Saved(
        full={one.turn: refused for one in long if (refused := _without_room(one)) is not None},
        ended=frozenset(turns) - running_turns.here(turns=turns).keys() if turns else frozenset(),
    )


@reading
def running_turns(*, turns: Sequence[str]) -> dict[str, str]:
    """Those of the turns that still run, each with its server."""
    running = Turn.objects.filter(id__in=turns, state="running").values_list("id", "server")
    return {str(id): str(server) for id, server in running}


def _without_room(written: Checkpoint) -> Refused | None:
    row = Conversation.objects.filter(all_turns__id=written.turn).only("user_id", "guest").first()
    try:
        if row is not None:
            owner = Owner(user=row.user_id, guest=row.guest)
            require_words(owner, len(written.text) + len(written.reasoning))
    except Refused as refused:
        return refused
    return None


def running_answer(turn: str) -> Message | None:
    """The running answer, with its turn and conversation."""
    return (
        Message.objects.select_related("turn__conversation")
        .filter(turn_id=turn, role="assistant", state="running", turn__state="running")
        .defer("turn__receipt")
        .first()
    )


def _fill(row: Message, message: DomainMessage, names: Sequence[str]) -> None:
    columns = message_columns(with_token_count(message))
    for name in names:
        if name in columns:
            setattr(row, name, columns[name])


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


@reading
def is_running(*, conversation: str, client_id: str = "") -> bool:
    """Whether an answer is being written there, by any server: one that the client id began, if one
    is given."""
    running = Turn.objects.filter(conversation=uuid.UUID(conversation), state="running")
    return (running.filter(client_id=client_id) if client_id else running).exists()


@reading
def written_so_far(*, turn: str) -> WrittenSoFar | None:
    """What has been saved of an answer that another server writes; None where it has ended."""
    row = Turn.objects.filter(id=turn, state="running").first()
    if row is None:
        return None
    written = Message.objects.filter(turn=row, role="assistant", state="running").first()
    return WrittenSoFar(
        text=(written.content or "") if written else "",
        reasoning=(written.reasoning or "") if written else "",
        receipt=row.whole_receipt,
    )


@writing
def ask_to_stop(*, owner: Owner, conversation: str) -> str | None:
    """Note that the answer being written there is to be stopped: the server that writes it, None
    where none is. Raises NotFound for another owner's conversation."""
    hold(conversation=conversation)
    row = owned_conversation(owner, conversation)
    running = Turn.objects.filter(conversation=row, state="running")
    running.update(stop="stopped")
    server = running.values_list("server", flat=True).first()
    return str(server) if server else None


@reading
def turns_of(*, server: str) -> list[tuple[str, str, bool]]:
    """The turns that this server writes: conversation, id, and whether somebody wants it
    stopped."""
    rows = Turn.objects.filter(state="running", server=server)
    found = rows.values_list("conversation", "id", "stop")
    return [(str(conversation), str(id), bool(stop)) for conversation, id, stop in found]
