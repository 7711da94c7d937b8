"""Mail as a channel: the mailbox that the environment names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from django.conf import settings

from chatsite.channels.channel import Channel
from chatsite.channels.mail.arrivals import Arrivals
from chatsite.channels.mail.attached import AttachedFiles
from chatsite.channels.mail.incoming.contents_reader import ContentsReader
from chatsite.channels.mail.mail_channel import MailChannel
from chatsite.conversations.outside.mail_upkeep import mail_folder
from chatsite.conversations.values.owners import Owner
from chatsite.files.intake import Intake
from chatsite.turns.context.turn_context import PageRequest


class Request(Protocol):
    """Makes the request of somebody in a conversation: `Site.page_request`."""

    def __call__(
        self, *, owner: Owner, staff: bool, conversation: str, agent: str, query: str
    ) -> PageRequest: ...


def mail_channels(intake: Intake, request: Request) -> Iterator[Channel[Any]]:
    """The mailbox of the environment, where it names one."""
    account = settings.MAIL
    if account is None:
        return
    folder, reader = mail_folder(), ContentsReader()

    def ask(*, user: int, conversation: str, agent: str) -> PageRequest:
        return request(
            owner=Owner(user=user), staff=False, conversation=conversation, agent=agent, query=""
        )

    yield MailChannel(
        account=account,
        arrivals=Arrivals(account=account, folder=folder, reader=reader),
        attached=AttachedFiles(intake=intake, folder=folder, reader=reader),
        ask=ask,
    )
