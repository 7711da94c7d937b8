"""Mail as a feature: the mailbox that the environment names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import QuerySet

from chatsite.channels.channel import Channel
from chatsite.conversations.owners import Owner
from chatsite.mail.addresses import addresses_of
from chatsite.mail.arrivals import Arrivals
from chatsite.mail.attached import AttachedFiles
from chatsite.mail.channel import MailChannel
from chatsite.mail.incoming.contents_reader import ContentsReader
from chatsite.mail.models import Mail
from chatsite.mail.outgoing.sending import UNSAFE_PYTHON, folds_safely
from chatsite.mail.purge import mail_folder, purge_mails
from chatsite.turns.context.turn_context import PageRequest
from chatsite.wiring.feature import Feature

if TYPE_CHECKING:
    from chatsite.wiring.site import Site


class MailFeature(Feature):
    """The mailbox of the environment, where it names one."""

    account_section = "accounts/mail_section.html" if settings.MAIL else ""

    def check_start(self) -> str:
        return UNSAFE_PYTHON if settings.MAIL and not folds_safely() else ""

    def channels(self, site: Site) -> Iterator[Channel[Any]]:
        account = settings.MAIL
        if account is None:
            return
        folder, reader = mail_folder(), ContentsReader()

        def ask(*, user: int, conversation: str, agent: str) -> PageRequest:
            owner = Owner(user=user)
            return site.page_request(
                owner=owner, staff=False, conversation=conversation, agent=agent, query=""
            )

        yield MailChannel(
            account=account,
            arrivals=Arrivals(account=account, folder=folder, reader=reader),
            attached=AttachedFiles(intake=site.intake, folder=folder, reader=reader),
            ask=ask,
        )

    def ageing_rows(self) -> Iterator[tuple[QuerySet[Any, Any], str]]:
        yield Mail.objects.filter(conversation=None), "received"

    async def account_data(self, *, user: int) -> dict[str, Any]:
        addresses = await addresses_of(user=user)
        return {"mail_addresses": [one.address for one in addresses]}

    async def purge(self) -> None:
        await purge_mails()
