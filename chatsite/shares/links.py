"""The links of a person's conversations: made, listed, changed, taken back."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import timedelta
from itertools import groupby
from typing import Any

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from chatsite.conversations.database.locks import hold
from chatsite.conversations.models import Conversation
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import messages_on_path, owned_conversation
from chatsite.errors import NotFound, Refused
from chatsite.shares.models import Share, token_of
from chatsite.storage import reading, writing
from chatsite.wording import later, say

DAYS = (1, 7, 30, 90)
MOST = 20
TICKS = ("following", "receipts", "tools", "files")
GONE = later("There is no such link.")


# `days` from now that a link lasts, and those of TICKS that are said; what isn't stays as it is.
Wish = Mapping[str, Any]


def live_shares() -> QuerySet[Share]:
    """Select the links that open something now, with their conversations. Rows alone decide: every
    server answers the same, and nobody has to tell of a chat or an account that goes."""
    rows = Share.objects.select_related("conversation").exclude(conversation__temporary=True)
    found = rows.filter(
        Q(conversation__user=None) | Q(conversation__user__is_active=True),
        ends__gt=timezone.now(),
        conversation__deleted=None,
        conversation__cleared=F("cleared"),
    )
    if settings.SHARES == "off":
        return found.none()
    return found if settings.SHARES == "everyone" else found.exclude(conversation__user=None)


def _refusal(owner: Owner, row: Conversation) -> str:
    if settings.SHARES == "off":
        return say("Links to chats are turned off on this server.")
    if owner.guest and settings.SHARES != "everyone":
        return say("Sign in to share a chat: a guest who loses the session can't take it back.")
    return say("A temporary chat can't be shared.") if row.temporary else ""


@reading
def shares_any(owner: Owner) -> bool:
    """Whether any link of this owner is live: only then a page asks for those of a chat."""
    return live_shares().filter(owner.filter("conversation__")).exists()


@reading
def shares_of(owner: Owner, *, conversation: str) -> dict[str, Any]:
    """The conversation's live links, newest first, why none can be made, and whether an account
    would help. Raises NotFound."""
    row = owned_conversation(owner, conversation)
    found = live_shares().filter(conversation=row).order_by("-created")
    return {
        "shares": [_show(one) for one in found],
        "why_not": _refusal(owner, row),
        "sign_in": bool(owner.guest) and settings.SHARES == "accounts",
    }


@writing
def make_share(owner: Owner, *, conversation: str, wish: Wish) -> dict[str, Any]:
    """Raises NotFound, Refused where it isn't allowed, is empty or has MOST links already."""
    hold(owner)
    row = owned_conversation(owner, conversation)
    if why_not := _refusal(owner, row):
        raise Refused(why_not)
    Share.objects.filter(conversation=row, ends__lt=timezone.now()).delete()
    if live_shares().filter(conversation=row).count() >= MOST:
        raise Refused(
            say("A chat has at most {most} links. Take one back, then make this one.", most=MOST)
        )
    share = Share(conversation=row, created=timezone.now(), cleared=row.cleared)
    return _save(share, wish)


@writing
def change_share(owner: Owner, *, id: uuid.UUID, wish: Wish) -> dict[str, Any]:
    """Change how long a live link lasts, and what it shows. Raises NotFound."""
    hold(owner)
    return _save(_owned_share(owner, id), wish)


@writing
def take_back(owner: Owner, *, id: uuid.UUID) -> None:
    """Delete the link: it opens nothing from now on, and can't come back. Raises NotFound."""
    hold(owner)
    _owned_share(owner, id).delete()


def _owned_share(owner: Owner, id: uuid.UUID) -> Share:
    found = live_shares().filter(owner.filter("conversation__"), id=id).first()
    if found is None:
        raise NotFound(say(GONE))
    return found


def _save(share: Share, wish: Wish) -> dict[str, Any]:
    """With the messages that are there when "as of now" is chosen. Raises Refused for none."""
    for name in TICKS:
        setattr(share, name, wish.get(name, getattr(share, name)))
    if "days" in wish:
        share.ends = timezone.now() + timedelta(days=wish["days"])
    if "following" in wish or not share.runs:
        path = messages_on_path(share.conversation).exclude(state="running").order_by("seq")
        seqs = enumerate(path.values_list("seq", flat=True))
        runs = [list(run) for _, run in groupby(seqs, key=lambda one: one[1] - one[0])]
        share.runs = [(run[0][1], run[-1][1]) for run in runs]
    if not share.runs:
        raise Refused(say("There is nothing to share yet."))
    share.save()
    return _show(share)


def _show(share: Share) -> dict[str, Any]:
    times = {"created": share.created.isoformat(), "ends": share.ends.isoformat()}
    ticks = {name: getattr(share, name) for name in TICKS}
    return {"id": str(share.id), "path": f"/shared/{token_of(share.id)}", **times, **ticks}
