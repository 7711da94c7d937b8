"""Finds the turns that answered a user message: its own, and later retries or continuations."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from chatsite.conversations.models import ON_PATH, Message, Turn


def user_message_of(turn: Turn) -> Message | None:
    """The user message that a turn answers."""
    rows = Message.objects.select_related("turn")
    if turn.asked_id is not None:
        return rows.filter(id=turn.asked_id).first()
    return rows.filter(turn=turn, role="user").first()


def versions_of(rows: Iterable[Message]) -> dict[str, tuple[str, ...]]:
    """The versions of the answers that begin with some of these messages, by the id of each
    version, in one query. Answers with a single version are left out."""
    parents = {row.parent_id for row in rows if row.role == "assistant" and row.parent_id}
    if not parents:
        return {}
    beside = Message.objects.filter(parent__in=parents, role="assistant", parent__role="user")
    versions: dict[uuid.UUID | None, list[str]] = {}
    for parent, id in beside.order_by("seq").values_list("parent_id", "id"):
        versions.setdefault(parent, []).append(str(id))
    return {id: tuple(ids) for ids in versions.values() if len(ids) > 1 for id in ids}


def answering_turns(asked: Iterable[tuple[uuid.UUID, int]]) -> dict[uuid.UUID, uuid.UUID]:
    """By user message of one path (id and seq): the turn that wrote the last message of its
    answer, or the newest attempt where there is no answer.

    Messages that only their own turn answered are left out, after one query for all.
    """
    places = dict(asked)
    # Sorted in Python: SQLite would read the whole rows, with their receipts.
    tries = Turn.objects.filter(asked__in=places).values_list("asked_id", "number", "id")
    ordered = sorted(tries, key=lambda one: one[1])
    found: dict[uuid.UUID, uuid.UUID] = {asked: id for asked, _, id in ordered}
    if not found:
        return {}
    by_place = {places[id]: id for id in found}
    conversation = Message.objects.filter(id__in=found).values("conversation")[:1]
    answers = Message.objects.filter(
        ON_PATH, conversation=conversation, turn_seq__in=by_place, role="assistant"
    ).exclude(turn=None)
    newest: dict[int, int] = {}
    for place, seq, turn in answers.values_list("turn_seq", "seq", "turn_id"):
        if seq > newest.get(place, 0):
            newest[place] = seq
            found[by_place[place]] = turn
    return found
