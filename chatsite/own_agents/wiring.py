"""What the program asks of own agents beside the page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from chatsite.own_agents.models import OwnAgent
from chatsite.own_agents.queries import purge_agents
from chatsite.wiring.feature import Feature


class OwnAgentsFeature(Feature):
    def ageing_rows(self) -> Iterable[tuple[QuerySet[Any, Any], str]]:
        yield OwnAgent.objects.filter(deleted__isnull=False), "deleted"

    async def purge(self) -> None:
        await purge_agents()
