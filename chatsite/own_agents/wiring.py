"""What the program asks of own agents beside the page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from chatsite.conversations.owners import Owner
from chatsite.own_agents.models import OwnAgent
from chatsite.own_agents.queries import agents_of, own_instructions
from chatsite.wiring.feature import Feature


class OwnAgentsFeature(Feature):
    """Own agents and instructions in the download of an account, and the removal of old ones."""

    def ageing_rows(self) -> Iterable[tuple[QuerySet[Any, Any], str]]:
        yield OwnAgent.objects.filter(deleted__isnull=False), "deleted"

    async def account_data(self, *, user: int) -> dict[str, Any]:
        owner = Owner(user=user)
        text, on = await own_instructions(owner=owner)
        return {
            "agents": await agents_of(owner=owner),
            "instructions": {"text": text, "on": on},
        }
