"""The agents as they are here and now: who answers for each, with which tools, and how the page
shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from chatsite.agents.catalogue import Catalogue
from chatsite.agents.strategy.file import describe_strategy_fault
from chatsite.agents.template import EMBEDDED, OWN_PREFIX, BrokenTemplate, Template
from chatsite.agents.template_file import parse_template
from chatsite.conversations.owners import Owner
from chatsite.errors import Refused
from chatsite.own_agents.known import OwnAgents
from chatsite.own_agents.parsing import named_model, with_models_of
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


# Where the folder has no agent that can answer.
NO_MODELS = parse_template("none", {"name": "None", "personality": ""})
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
    own: OwnAgents
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
        if agent.startswith(OWN_PREFIX) and self.own.is_own(agent):
            model = model or named_model(template)
            template = with_models_of(template, self._usual())
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

    def _usual(self) -> Template:
        """The agent whose models answer for those that people make: the first of the folder."""
        usable = (one for one in self.catalogue.all() if isinstance(one, Template) and one.enabled)
        return next(usable, NO_MODELS)

    def choices(self, agent: str, *, staff: bool) -> dict[str, Any]:
        """Return what may be chosen in the page for the agent. Raises NotFound."""
        own = self.resolve_without_start(agent)
        found = self.model_choice.choices(own, self.providers(), staff=staff)
        return found | {"looking": self.remote.discovery.looking}

    # ---- as the page shows them --------------------------------------------------------------
    def describe(self, slug: str, *, staff: bool) -> dict[str, Any] | None:
        """Return the agent as the page shows it, broken or not; None where there is none. Whoever
        asks may use it (`OwnAgents.may_use`)."""
        agent = self.catalogue.find(slug)
        return None if agent is None else self._described(agent, details=staff or self.debug)

    def is_there(self, slug: str, owner: Owner) -> bool:
        """Say whether there is such an agent for this owner, broken or not."""
        return self.own.may_use(owner, slug) and self.catalogue.find(slug) is not None

    def all(self, *, staff: bool, owner: Owner | None = None) -> list[dict[str, Any]]:
        """Those that are offered, and the broken ones; with those that the owner may use, each
        with `own`."""
        shown = [
            self._described(agent, details=staff or self.debug)
            for agent in self.catalogue.all()
            if isinstance(agent, BrokenTemplate) or agent.enabled
        ]
        if owner is None:
            return shown
        own = sorted(self.own.offered(owner), key=lambda one: getattr(one, "name", "").casefold())
        return shown + [
            self._described(agent, details=True) | {"own": self.own.facts(owner, agent.slug)}
            for agent in own
        ]

    def own_tools(self) -> tuple[str, ...]:
        """Return the nodes that people may give their agents: the server's own tools, and those
        that an agent of the folder has, which everybody can use there."""
        used = (one.tools for one in self.catalogue.all() if isinstance(one, Template))
        named = dict.fromkeys((*self.tools.builtin, *(node for nodes in used for node in nodes)))
        return tuple(node for node in named if not self.tools.for_nodes([node], {}).missing)

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
            "mark": agent.mark,
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
