"""Mail as a feature: the mailbox that the environment names."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from chatsite.channels.channel import Channel
from chatsite.conversations.database.locks import hold
from chatsite.conversations.models import Message
from chatsite.files.folder import Folder
from chatsite.mail.addresses import addresses_of
from chatsite.mail.arrivals import Arrivals
from chatsite.mail.attached import AttachedFiles
from chatsite.mail.channel import MailChannel
from chatsite.mail.incoming.contents_reader import ContentsReader
from chatsite.mail.models import UNFINISHED, Mail
from chatsite.mail.outgoing.sending import UNSAFE_PYTHON, folds_safely
from chatsite.storage import tidying
from chatsite.wiring.feature import Feature, require_kept_chats

if TYPE_CHECKING:
    from chatsite.wiring.site import Site


# A mail that is delivered again after so long is taken again.
RECORDS_KEPT = timedelta(days=90)
# Of a stranger's mail that no administrator released.
HELD_KEPT = timedelta(days=7)
# Younger bytes may belong to a mail that is being stored.
LEFT_OVER_SECONDS = 3600.0


def mail_folder() -> Folder:
    """Names the folder for the bytes of mails, as long as their files weren't looked at."""
    return Folder(settings.VAR_DIR / "mail")


@tidying
def purge_mails() -> int:
    """Removes old records, the whole text of mails whose message was removed for good, and bytes
    that no mail waits for. Returns how many rows."""
    now = timezone.now()
    old = Mail.objects.filter(conversation=None, received__lt=now - RECORDS_KEPT)
    has_message = Exists(Message.objects.filter(id=OuterRef("id")))
    ended = Mail.objects.exclude(state__in=(*UNFINISHED, "held")).exclude(text="")
    ended = ended.filter(~has_message, ended__lt=now - timedelta(hours=1))
    with transaction.atomic():
        hold(shared="mail")
        held = Mail.objects.filter(state="held", received__lt=now - HELD_KEPT)
        held.update(state="dropped", text="", subject="", ended=now)
        count = old.delete()[0] + ended.update(text="")
    folder = mail_folder()
    folder.discard_unfinished(older_than=LEFT_OVER_SECONDS)
    waiting = Mail.objects.filter(state__in=(*UNFINISHED, "held"), files__isnull=True)
    needed = {str(id) for id in waiting.values_list("id", flat=True)}
    for id in folder.ids(older_than=LEFT_OVER_SECONDS):
        if id not in needed:
            folder.remove(id)
    return count


class MailFeature(Feature):
    """The mailbox of the environment, where it names one."""

    account_section = "accounts/mail_section.html" if settings.MAIL else ""

    def check_start(self) -> str:
        if settings.MAIL:
            require_kept_chats("MAIL_ADDRESS")
        return UNSAFE_PYTHON if settings.MAIL and not folds_safely() else ""

    def channels(self, site: Site) -> Iterator[Channel[Any]]:
        account = settings.MAIL
        if account is None:
            return
        folder, reader = mail_folder(), ContentsReader()
        yield MailChannel(
            account=account,
            arrivals=Arrivals(account=account, folder=folder, reader=reader),
            attached=AttachedFiles(intake=site.intake, folder=folder, reader=reader),
            ask=partial(site.page_request, staff=False, query=""),
        )

    def ageing_rows(self) -> Iterator[tuple[QuerySet[Any, Any], str]]:
        yield Mail.objects.filter(conversation=None), "received"

    async def account_data(self, *, user: int) -> dict[str, Any]:
        addresses = await addresses_of(user=user)
        return {"mail_addresses": [one.address for one in addresses]}

    async def purge(self) -> None:
        await purge_mails()
