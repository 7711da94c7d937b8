"""The agents as they are here and now: who answers for each, with which tools, and how the page
shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from chatsite.agents.catalogue import Catalogue
from chatsite.agents.strategy.file import describe_strategy_fault
from chatsite.agents.template import EMBEDDED, BrokenTemplate, Template
from chatsite.errors import Refused
from chatsite.providers.base.provider import Provider
from chatsite.providers.echo import EchoProvider
from chatsite.providers.embedded.provider import TRAINED_SYSTEM, EmbeddedProvider
from chatsite.providers.reachable import Providers
from chatsite.tools.toolbox import Toolbox
from chatsite.turns.agents.model_choice import ModelChoice
from chatsite.turns.agents.resolved_agent import ResolvedAgent, missing_agent, resolve_agent
from chatsite.wording import later, say

SWITCHED_OFF = later(
    "This agent is switched off here: it takes no new messages. Its conversations can be read and "
    "saved to a file."
)


# For everybody but staff: a reason names files of the server.
BROKEN = later(
    "This agent can't answer now: a file of it is broken. Its administrator finds the reason here "
    "after signing in, or with `manage.py check`."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    """`start_engine` is called for the first agent that the model on this machine answers for;
    None where that one isn't to be used. With `debug` everybody sees what staff see."""

    catalogue: Catalogue
    remote: Providers
    embedded: EmbeddedProvider
    echo: EchoProvider
    tools: Toolbox
    model_choice: ModelChoice
    start_engine: Callable[[], object] | None
    debug: bool = False

    def providers(self) -> dict[str, Provider]:
        """Those that can be reached now; the engine while it is ready, loading or coming back."""
        found: dict[str, Provider] = {"echo": self.echo}
        if self.start_engine is not None and self.embedded.status().state != "unavailable":
            found[EMBEDDED] = self.embedded
        return found | self.remote.reachable()

    # ---- who answers -------------------------------------------------------------------------
    def resolve(self, agent: str, model: str = "", *, staff: bool = False) -> ResolvedAgent:
        """Who answers for the agent; the engine is started for the first who needs it. `model` is
        the one chosen in the page, by somebody who may be `staff`. Raises NotFound, and Refused for
        an agent that is switched off."""
        found = self.resolve_without_start(agent, model, staff=staff)
        if not found.template.enabled:
            raise Refused(say(SWITCHED_OFF), code="agent_off")
        if found.provider is self.embedded and self.start_engine is not None:
            self.start_engine()
        return found

    def resolve_without_start(
        self, agent: str, model: str = "", *, staff: bool = False
    ) -> ResolvedAgent:
        """Find who answers, and start nothing: to read what an agent has answered, also one that is
        switched off. Raises NotFound."""
        template, providers = self.catalogue.get(agent), self.providers()
        refused = ""
        if model:
            refused = self.model_choice.refused(model, template, providers, staff=staff)
        found = resolve_agent(
            template,
            providers,
            chat_model=self.remote.chat_model,
            chosen=model,
            refused=refused,
            trained_system=TRAINED_SYSTEM if self.embedded.bundled else "",
        )
        if not found.model.tools:
            return found.without_tools()
        agent_tools = self.tools.for_nodes(template.tools, template.configurations)
        return replace(found, tools=agent_tools.tools)

    def choices(self, agent: str, *, staff: bool) -> dict[str, Any]:
        """Return what may be chosen in the page for the agent. Raises NotFound."""
        own = self.resolve_without_start(agent)
        found = self.model_choice.choices(own, self.providers(), staff=staff)
        return found | {"looking": self.remote.discovery.looking}

    # ---- as the page shows them --------------------------------------------------------------
    def describe(self, slug: str, *, staff: bool) -> dict[str, Any] | None:
        """Return the agent as the page shows it, broken or not; None where there is none."""
        for agent in self.catalogue.all():
            if agent.slug == slug:
                return self._described(agent, details=staff or self.debug)
        return None

    def all(self, *, staff: bool) -> list[dict[str, Any]]:
        """Those that are offered, and the broken ones."""
        return [
            self._described(agent, details=staff or self.debug)
            for agent in self.catalogue.all()
            if isinstance(agent, BrokenTemplate) or agent.enabled
        ]

    def _described(self, agent: Template | BrokenTemplate, *, details: bool) -> dict[str, Any]:
        if isinstance(agent, BrokenTemplate):
            broken = {"file": agent.file, "key": agent.key, "reason": agent.reason}
            if not details:
                broken = {"file": "", "key": "", "reason": say(BROKEN)}
            return missing_agent(agent.slug) | {"broken": broken}
        if not agent.enabled:
            return _switched_off(agent)
        try:
            who = self.resolve(agent.slug)
            chosen = self.tools.for_nodes(agent.tools, agent.configurations)
        except Refused:
            # Its file was changed since it was listed, a moment ago.
            return _switched_off(agent)
        return {
            "slug": agent.slug,
            "name": agent.name,
            "description": agent.description,
            "greeting": list(agent.greeting),
            "prompts": list(agent.prompts),
            "placeholder": agent.placeholder,
            "notes": list(agent.notes),
            "version": agent.version,
            "tags": list(agent.tags),
            "provider": {
                "kind": who.model.provider,
                "model": who.model.name,
                "label": who.model.label,
                "note": self._note(who, details=details),
                "tools": who.model.tools,
                "demonstration": who.model.demonstration,
                "takes": sorted(who.model.takes),
            },
            "tools": [tool.name for tool in chosen.tools],
            "missing": [{"name": gone.name, "reason": gone.reason} for gone in chosen.missing],
            "unused": [{"key": key.place, "sentence": key.sentence} for key in agent.unused],
            "broken": None,
        }

    def _note(self, who: ResolvedAgent, *, details: bool) -> str:
        """Why it is this provider, where that isn't the one the agent asks for; and what is wrong
        with the agent's strategy."""
        notes = [who.note]
        if who.provider is self.echo and self.start_engine is not None:
            status = self.embedded.status().sentence
            notes.append(say(status) if status else "")
        strategy = self.catalogue.strategy(who.slug)
        notes.append(describe_strategy_fault(who.template, strategy, details=details))
        return " ".join(note for note in notes if note)


def _switched_off(agent: Template) -> dict[str, Any]:
    off = {"file": "", "key": "", "reason": say(SWITCHED_OFF)}
    shown = {"name": agent.name, "description": agent.description, "broken": off}
    return missing_agent(agent.slug) | shown
