"""Reads what is still stored of an answered turn: its receipt and the parts of its request."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet, Sum

from chatsite.conversations.database.rows import choice_of, entry_of, sent_last
from chatsite.conversations.database.statements import ENTRY_FIELDS
from chatsite.conversations.models import Conversation, Message, Summary, Turn
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import messages_on_path, owned_conversation, owned_turn
from chatsite.conversations.path.cache_places import as_uuid
from chatsite.conversations.path.tree import user_message_of
from chatsite.conversations.records import LoadedPath, PastTurn, StoredConversation
from chatsite.conversations.summaries.queries import summary_of
from chatsite.errors import NotFound
from chatsite.history import AddedMessage, RunningSummary, StoredRun, Transcript, show_receipt
from chatsite.history.evidence import message_digest
from chatsite.history.path.added_messages import summary_message
from chatsite.history.policies.summary import SUMMARY
from chatsite.history.policies.table import needed_evidence
from chatsite.history.receipts.difference import SentRequest
from chatsite.history.receipts.replay import UNCOUNTED, StoredRequest, layout_of
from chatsite.storage import reading
from chatsite.wording import say

# SQLite takes an expression of about a thousand terms; a range of numbers has three.
RANGES = 100
USAGE = ("reported", "rounds", "provider", "parts", "prompt_tokens")


@reading
def request_parts(
    *, owner: Owner, turn: str, receipt: Mapping[str, Any] | None = None
) -> StoredRequest:
    """The parts from which a turn's request is built again, by `receipt` or by the stored one.

    Raises NotFound where the turn, its receipt or all of its messages are missing, ValueError for
    an invalid receipt.
    """
    row = owned_turn(owner, turn)
    receipt = receipt or row.receipt
    if receipt is None:
        raise NotFound(say("This answer has no receipt."))
    items = layout_of(receipt)
    runs = [(item.first, item.last) for item in items if isinstance(item, StoredRun)]
    added = [item for item in items if isinstance(item, AddedMessage)]
    digests = {item.id: item.digest for item in added if item.kind == "summary"}
    sources = [seq for item in added for seq in item.sources]
    lowest = _last_message(row, max([last for _, last in runs] + sources, default=0))
    if lowest is None:  # nothing tells any more which branch the older messages were on
        raise NotFound(say("The messages of this answer were deleted for good."))
    on_chain = _ids_above(lowest)
    rows = _messages_in(row, [*runs, *((seq, seq) for seq in sources)])
    return StoredRequest(
        agent=row.conversation.agent,
        receipt=receipt,
        entries=tuple(
            entry_of(message)
            for message in sorted(rows, key=lambda message: message.seq)
            if message.id in on_chain
        ),
        summaries={
            str(summary.id): _text_then(summary, digests.get(str(summary.id), ""))
            for summary in Summary.objects.filter(
                conversation=row.conversation_id, id__in=[id for id in map(as_uuid, digests) if id]
            )
        },
    )


def _text_then(summary: Summary, digest: str) -> str:
    """As it was sent: without the values that it lost, or with them."""
    texts = (summary.text, summary_of(summary).with_values().text)
    sent = (one for one in texts if message_digest(summary_message(one, UNCOUNTED)) == digest)
    return next(sent, summary.text)


@reading
def list_all_conversations(
    *, agent: str = "", conversation: str = "", limit: int | None = None
) -> tuple[StoredConversation, ...]:
    """All conversations with a user message that aren't deleted, the newest first."""
    rows = Conversation.objects.filter(deleted=None, path_users__gt=0)
    if agent:
        rows = rows.filter(agent=agent)
    if conversation:
        id = as_uuid(conversation)
        rows = rows.filter(id=id) if id is not None else rows.none()
    return tuple(
        StoredConversation(
            id=str(row.id),
            agent=row.agent,
            owner=Owner(user=row.user_id, guest=row.guest),
            history=choice_of(row),
        )
        for row in rows.order_by("-updated")[:limit]
    )


@reading
def is_begun(*, owner: Owner, conversation: str, client_id: str) -> bool:
    """Whether this client id began a turn in this conversation of the owner's."""
    turns = Turn.objects.filter(owner.filter("conversation__"), client_id=client_id)
    return turns.filter(conversation=as_uuid(conversation)).exists()


@reading
def cost_since(*, owner: Owner, since: datetime) -> float:
    """US dollars of the owner's answers that ended since then, as far as prices are known."""
    ended = Turn.objects.filter(
        owner.filter("conversation__"),
        conversation__updated__gte=since,
        ended__gte=since,
        cost__isnull=False,
    )
    return float(ended.aggregate(sum=Sum("cost"))["sum"] or 0)


@reading
def past_turn(*, owner: Owner, turn: str) -> PastTurn:
    """A turn's user message and the path above it, with today's marks. Raises NotFound."""
    row = owned_turn(owner, turn)
    asked = user_message_of(row)
    if asked is None or asked.deleted is not None or row.whole_receipt is None:
        raise NotFound(say("Of this answer not enough is stored."))
    receipt = show_receipt(row.whole_receipt)
    chain = _ids_above(asked)
    conversation = row.conversation
    until = Message.objects.filter(conversation=conversation, seq__lte=asked.seq)
    shown = until.filter(deleted__isnull=True).order_by("seq")
    rows = [message for message in shown.only(*ENTRY_FIELDS) if message.id in chain]
    above = conversation.forget_above
    summary = _summary_then(row, receipt, asked, rows)
    loaded = LoadedPath(
        agent=conversation.agent,
        transcript=Transcript(
            entries=tuple(entry_of(m, forget_above=above) for m in rows),
            compaction=summary if summary and summary.compaction else None,
        ),
        next_seq=asked.seq + 1,
        receipt=before.receipt if (before := _turn_before(row, asked, chain)) else None,
    )
    return PastTurn(
        conversation=str(conversation.id),
        model=conversation.model,
        loaded=loaded,
        receipt=receipt,
        summary=summary,
    )


def _summary_then(
    turn: Turn, receipt: Mapping[str, Any], asked: Message, path: Sequence[Message]
) -> RunningSummary | None:
    """The version that the turn was sent; under another policy the newest one that was made before
    the turn and still holds for its path."""
    stored = Summary.objects.filter(conversation=asked.conversation_id).exclude(text="")
    report = receipt.get("reports", {}).get(SUMMARY.evidence, {})
    if needed_evidence(receipt) == SUMMARY.evidence or report:
        given = report.get("version")
        found = stored.filter(version=given).first() if isinstance(given, int) else None
        return summary_of(found) if found else None
    marker = asked.conversation.forget_above
    remembered = path[0].seq if marker > asked.seq else next(m.seq for m in path if m.seq >= marker)
    made = stored.filter(stale=False, created__lt=turn.started, first_seq=remembered)
    made = made.filter(compaction=None)
    places = {message.id for message in path[:-1]}
    versions = made.order_by("-version")
    return next((summary_of(row) for row in versions if row.last_id in places), None)


def _turn_before(turn: Turn, asked: Message, chain: set[uuid.UUID]) -> Turn | None:
    """The previous attempt at this message, or else the turn above, with a receipt."""
    tries = Turn.objects.filter(Q(asked=asked) | Q(id=asked.turn_id), number__lt=turn.number)
    for tried in tries.filter(receipt__isnull=False).order_by("-number")[:1]:
        return tried
    before = Message.objects.filter(
        conversation=asked.conversation_id, seq__lt=asked.seq, turn__receipt__isnull=False
    )
    for id, above in before.order_by("-seq").values_list("id", "turn_id").iterator(chunk_size=100):
        if id in chain:
            return Turn.objects.get(id=above)
    return None


@reading
def requests_to_compare(
    *, owner: Owner, turn: str, receipt: Mapping[str, Any]
) -> tuple[SentRequest | None, SentRequest] | None:
    """The request before the turn's, None where it isn't stored any more, and the turn's own by its
    `receipt`; None for a conversation's first. Raises NotFound."""
    row = owned_turn(owner, turn)
    asked, lowest = user_message_of(row), _last_message(row, 0)
    chain = _ids_above(lowest) if lowest else set()
    before = _turn_before(row, asked, chain) if asked else None
    if before is None and row.number == 1:
        return None
    first = min(_first_sent(receipt), _first_sent(before.receipt or {}) if before else 1 << 30)
    rows = Message.objects.filter(conversation=row.conversation_id, seq__gte=first).order_by("seq")
    fields = ("id", "seq", "tokens", "deleted", "edited")
    path = [one for one in rows.values_list(*fields) if one[0] in chain]

    def sent(by: Turn, receipt: Mapping[str, Any]) -> SentRequest:
        at = sent_last(by)
        changed = (seq for _, seq, *_, edited in path if edited and edited.timestamp() > at)
        return SentRequest(
            receipt=receipt,
            sizes={seq: size for _, seq, size, gone, _ in path if not gone or gone > by.started},
            at=at,
            server=str(by.server or ""),
            edited=frozenset(changed),
        )

    return sent(before, before.receipt or {}) if before else None, sent(row, receipt)


@reading
def answer_usages(*, owner: Owner, conversation: str) -> list[tuple[str, int, Mapping[str, Any]]]:
    """The turns of the answers on the path, oldest first, each with the seq of its last message and
    what its receipt says of `USAGE`, None for what an older one lacks. Raises NotFound."""
    path = messages_on_path(owned_conversation(owner, conversation))
    rows = path.filter(role="assistant", turn__receipt__isnull=False).order_by("-seq")
    values = rows.values_list("turn_id", "seq", *(f"turn__receipt__{name}" for name in USAGE))
    found: dict[str, tuple[str, int, Mapping[str, Any]]] = {}
    for turn, seq, *told in values:
        found.setdefault(str(turn), (str(turn), seq, dict(zip(USAGE, told, strict=True))))
    return list(found.values())[::-1]


def _first_sent(receipt: Mapping[str, Any]) -> int:
    """The first stored message in its request, in its place; 0 where that can't be read."""
    try:
        runs = [item.first for item in layout_of(receipt) if isinstance(item, StoredRun)]
    except (KeyError, TypeError, ValueError):
        return 0
    return min(runs, default=0)


def _last_message(turn: Turn, named: int) -> Message | None:
    """The lowest message of the turn's path: all messages of its request are above it.

    `named` is the last message in the receipt. It is needed because an answer that was continued
    since belongs to the later turn.
    """
    own = Q(turn=turn) | Q(id=turn.asked_id) | Q(seq=named)
    rows = Message.objects.filter(own, conversation=turn.conversation_id)
    return rows.order_by("-seq").only("id", "seq", "conversation").first()


def _ids_above(last: Message) -> set[uuid.UUID]:
    """The ids of a message and all above it, on whatever path. Reads two columns of every message:
    0.1 s for 100,000."""
    above = Message.objects.filter(conversation=last.conversation_id, seq__lte=last.seq)
    parents = dict(above.values_list("id", "parent_id"))
    chain: set[uuid.UUID] = set()
    place: uuid.UUID | None = last.id
    while place is not None:
        chain.add(place)
        place = parents.get(place)
    return chain


def _messages_in(turn: Turn, ranges: Sequence[tuple[int, int]]) -> list[Message]:
    """The messages in these ranges of sequence numbers, each once, in no particular order."""
    found: dict[uuid.UUID, Message] = {}
    of_turn: QuerySet[Message] = Message.objects.filter(
        conversation=turn.conversation_id, deleted__isnull=True
    )
    for start in range(0, len(ranges), RANGES):
        inside = Q(pk__in=[])
        for pair in ranges[start : start + RANGES]:
            inside |= Q(seq__range=pair)
        found |= {row.id: row for row in of_turn.filter(inside).only(*ENTRY_FIELDS)}
    return list(found.values())
