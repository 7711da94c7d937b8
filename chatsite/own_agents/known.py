"""Own agents and instructions as this server knows them.

Rows are the truth: what another server changed is read at most a second later, by the time of the
change. So a template is found without waiting, like one of a file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime

from chatsite.agents.template import BrokenTemplate, Template
from chatsite.conversations.owners import Owner
from chatsite.own_agents.queries import KnownAgent, changed_since

LOOK_EVERY = 1.0  # Seconds.


class OwnAgents:
    """Built once. `clock` gives seconds that only grow."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._agents: dict[str, KnownAgent] = {}
        # What owners tell every agent, by their key; "" where nothing is sent.
        self.instructions: dict[str, str] = {}
        self._since: datetime | None = None
        self._looked: float | None = None

    async def look(self, *, now: bool = False) -> None:
        """Read what was changed, unless that was done within the last second; `now`: in any
        case."""
        at = self._clock()
        if not now and self._looked is not None and at - self._looked < LOOK_EVERY:
            return
        if self._looked is not None:
            self._looked = at
        changed = await changed_since(self._since)
        self._looked, self._since = at, changed.until
        for agent in changed.agents:
            if self._agents.get(agent.slug) != agent:  # one that is the same keeps its template
                self._agents[agent.slug] = agent
        self.instructions.update(changed.instructions)

    def expire(self) -> None:
        """Have the next look read what was just changed here."""
        self._looked = None

    def find(self, slug: str) -> Template | BrokenTemplate | None:
        """The template of whoever's; `may_use` says who may ask for it."""
        known = self._agents.get(slug)
        return None if known is None or known.deleted else known.template

    def is_own(self, slug: str) -> bool:
        return slug in self._agents

    def may_use(self, owner: Owner, slug: str) -> bool:
        """Whether the agent isn't somebody else's. One of a folder may be used by everybody."""
        known = self._agents.get(slug)
        return known is None or known.is_for(owner)

    def offered(self, owner: Owner) -> Iterator[Template | BrokenTemplate]:
        """Those that this owner may use."""
        return (one.template for one in self._agents.values() if one.is_for(owner))

    def facts(self, owner: Owner, slug: str) -> dict[str, bool] | None:
        """Whether it is the owner's and shared; None for an agent of a folder."""
        known = self._agents.get(slug)
        if known is None:
            return None
        return {"mine": known.owner == owner.key, "shared": known.shared}
