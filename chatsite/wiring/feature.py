"""What the program asks of a feature that can be taken out with its folder."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import QuerySet

from chatsite.channels.channel import Channel
from chatsite.errors import BadSetting

if TYPE_CHECKING:
    from chatsite.wiring.site import Site


def require_kept_chats(variable: str) -> None:
    """Raise BadSetting where no chat may be kept: the conversations of `variable` have to be."""
    if settings.TEMPORARY_CHATS == "always":
        raise BadSetting(
            f"{variable} and TEMPORARY_CHATS='always' exclude each other, since conversations "
            f"there have to be kept. Unset {variable}, or set TEMPORARY_CHATS=allowed."
        )


class Feature:
    """A feature answers these questions; what it leaves out has the answer "nothing" here. Each
    feature has its line in `wiring.features.FEATURES`."""

    # The template of its part on the page of an account, "" for none.
    account_section = ""

    def check_start(self) -> str:
        """A warning for whoever starts the server. Raises BadSetting where it can't start."""
        return ""

    def channels(self, site: Site) -> Iterable[Channel[Any]]:
        """The ways to an agent beside the page."""
        return ()

    def ageing_rows(self) -> Iterable[tuple[QuerySet[Any, Any], str]]:
        """Rows that are removed by the date in the field named."""
        return ()

    async def account_data(self, *, user: int) -> dict[str, Any]:
        """What the download of an account says of it."""
        return {}

    async def purge(self) -> None:
        """Removes what nobody needs any more; called every hour."""
