"""What a page offers to choose: asked for with every preview, and almost always the same."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from chatsite.agents.template import Template
from chatsite.history import first_values
from chatsite.history.settings.offers import SettingSources, offers
from chatsite.turns.agents.resolved_agent import ResolvedAgent
from chatsite.turns.context.turn_context import PageRequest

# Some 5 ms each to make: every offer is tried by resolving all settings. Kept by address and agent.
KEPT = 256


class Offering:
    """Built once; keeps the offers that were made last."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self._offers = lru_cache(maxsize=KEPT)(self._made)

    def sources(self, asking: PageRequest, answering: ResolvedAgent) -> SettingSources:
        """What decides the settings of this page."""
        return self._sources(asking.query, asking.url_allowed, answering.template)

    def offers(self, asking: PageRequest, answering: ResolvedAgent) -> dict[str, Any]:
        """`history.settings.offers` as the page gets them; not to be changed."""
        return self._offers(asking.query, asking.url_allowed, answering.template)

    def _made(self, query: str, url_allowed: bool, template: Template) -> dict[str, Any]:
        sources = self._sources(query, url_allowed, template)
        return offers(sources, sources.resolve()).to_dict()

    def _sources(self, query: str, url_allowed: bool, template: Template) -> SettingSources:
        return SettingSources(
            environment=self.environment,
            url=first_values(query),
            template=template.chat_settings,
            url_allowed=url_allowed,
        )
