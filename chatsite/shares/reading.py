"""What a link shows, found through its token alone: nobody's session counts here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models.functions import Coalesce, Length

from chatsite.conversations.database.rows import message_of
from chatsite.conversations.models import ON_PATH, Message
from chatsite.conversations.owners import Owner
from chatsite.conversations.path.queries import message_views
from chatsite.errors import NotFound
from chatsite.messages import Attachment
from chatsite.shares.links import GONE, live_shares
from chatsite.shares.models import Share, id_of
from chatsite.storage import reading
from chatsite.views import MessageView
from chatsite.wording import say

# Of characters a page has more where it is one message. The worst text takes a second of CPU, and
# anybody can ask again.
PAGE, PAGE_CHARACTERS = 100, 120_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPage:
    """One page of what a link shows. `receipts` are those of answers, by the id of the last message
    of their turn, `last` that of the newest answer of all; nothing where they aren't shown."""

    share: Share
    page: int
    pages: int
    messages: tuple[MessageView, ...]
    receipts: Mapping[str, Mapping[str, Any] | None]
    last: Mapping[str, Any] | None


@reading
def shared_page(token: str, page: int) -> SharedPage:
    """Raises the same NotFound for what never was a link, for what isn't one any more, and for a
    page that there isn't."""
    share = _live_share(token)
    pages = _pages(_shown(share)) or [[]]
    if not 1 <= page <= len(pages):
        raise NotFound(say(GONE))
    tree = Message.objects.filter(conversation=share.conversation).select_related("turn")
    here = tree.filter(seq__in=pages[page - 1]).order_by("seq")
    rows = list(here if share.receipts else here.defer("turn__receipt"))
    ends = {row.turn: row for row in rows if row.turn and row.role == "assistant"}
    # The newest answer is on the last page, or that holds a question alone.
    newest = tree.filter(seq__in=[*pages[-1], *pages[-2:][0]], role="assistant", turn__isnull=False)
    answer = newest.order_by("-seq").first() if share.receipts else None
    return SharedPage(
        share=share,
        page=page,
        pages=len(pages),
        messages=message_views(rows),
        receipts={str(row.id): turn.whole_receipt for turn, row in ends.items() if share.receipts},
        last=answer.turn.whole_receipt if answer and answer.turn else None,
    )


@reading
def shared_file(token: str, seq: int, number: int) -> tuple[Owner, Attachment]:
    """Return whose file it is, and which: the one of that number, from 0, of a message that the
    link shows. Raises NotFound."""
    share = _live_share(token)
    chat = share.conversation
    row = Message.objects.filter(conversation=chat, seq=seq).first()
    files = message_of(row).attachments if row else ()
    if not (share.files and number < len(files) and seq in dict(_shown(share))):
        raise NotFound(say(GONE))
    return Owner(user=chat.user_id, guest=chat.guest), files[number]


def _live_share(token: str) -> Share:
    id = id_of(token)
    share = live_shares().filter(id=id).first() if id is not None else None
    if share is None:
        raise NotFound(say(GONE))
    return share


def _shown(share: Share) -> list[tuple[int, int]]:
    """Numbers and sizes of the messages that the link shows, in order. A message that its owner
    deleted is gone; one that a new version replaced is still in what was shared as of then."""
    roles = ("user", "assistant", *(["tool"] if share.tools else []))
    rows = Message.objects.filter(conversation=share.conversation, deleted=None, role__in=roles)
    if share.following:
        rows = rows.filter(ON_PATH).exclude(state="running")
    sizes = rows.annotate(size=Coalesce(Length("content"), 0)).order_by("seq")
    then = {seq for first, last in share.runs for seq in range(first, last + 1)}
    found = sizes.values_list("seq", "size")
    return [(seq, size) for seq, size in found if share.following or seq in then]


def _pages(shown: Sequence[tuple[int, int]]) -> list[list[int]]:
    pages: list[list[int]] = []
    room = 0
    for seq, size in shown:
        if not pages or len(pages[-1]) == PAGE or size > room:
            pages.append([])
            room = PAGE_CHARACTERS
        pages[-1].append(seq)
        room -= size
    return pages
