"""Which models people may choose from for an agent, and why they may not.

Offered are those that the agent names, what runs on this machine, and what hosted providers with a
key recommend; where an administrator's file says what is offered, exactly that and the agent's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chatsite.agents.template import Template
from chatsite.providers.base.provider import Provider
from chatsite.providers.known.models import ModelFacts
from chatsite.providers.known.servers import LOCAL
from chatsite.providers.reachable import Providers
from chatsite.turns.agents.resolved_agent import ResolvedAgent
from chatsite.wording import later, say

_HERE = "embedded"


_LOCKED = {
    "set": later("The administrator set the model for every agent."),
    "off": later("The administrator lets nobody choose a model."),
    "staff": later("The administrator lets only staff choose a model."),
}
_NOT_APPLIED = {
    "set": later(
        "{name} was chosen here, and doesn't apply: the administrator set the model for every "
        "agent."
    ),
    "off": later(
        "{name} was chosen here, and doesn't apply: the administrator lets nobody choose a model."
    ),
    "staff": later(
        "{name} was chosen here, and doesn't apply: the administrator lets only staff choose a "
        "model."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """`who` may choose: everyone, staff or off. `offered` is what an administrator's file offers,
    None where it doesn't say (`provider:model`, or `provider:*`)."""

    who: str
    offered: tuple[str, ...] | None
    remote: Providers

    def locked(self, *, staff: bool) -> str:
        """Return why nothing can be chosen, "" where something can."""
        locked = self._lock(staff=staff)
        return say(_LOCKED[locked]) if locked else ""

    def _lock(self, *, staff: bool) -> str:
        """A key of the sentences below, "" where something can be chosen."""
        if self.remote.chat_model:
            return "set"
        if self.who == "off":
            return "off"
        return "staff" if self.who == "staff" and not staff else ""

    def refused(
        self, name: str, template: Template, providers: Mapping[str, Provider], *, staff: bool
    ) -> str:
        """Why this model may not be taken for the agent, "" where it may or where none is named."""
        if not name:
            return ""
        if locked := self._lock(staff=staff):
            return say(_NOT_APPLIED[locked], name=name)
        if name in (*self._own(template, providers), *self._others(providers)):
            return ""
        return say("{name} was chosen here, and isn't offered any more.", name=name)

    def choices(
        self, answering: ResolvedAgent, providers: Mapping[str, Provider], *, staff: bool
    ) -> dict[str, Any]:
        """For the page. `answering` is who answers where nothing is chosen."""
        template = answering.template
        own = list(dict.fromkeys((answering.full_name, *self._own(template, providers))))
        mine = [self._entry(name, providers) | self._server(name) for name in own]
        groups = [(say("This agent's models"), mine)]
        groups[0][1].extend(self._missing(template, providers))
        by_label: dict[str, list[dict[str, Any]]] = {}
        for name in self._others(providers):
            if name not in own:
                label = self._group(name.partition(":")[0])
                by_label.setdefault(label, []).append(self._entry(name, providers))
        groups += by_label.items()
        locked = self.locked(staff=staff)
        shown = groups[:1] if locked else groups
        return {
            "locked": locked,
            "own": answering.full_name,
            "groups": [{"title": title, "note": "", "models": models} for title, models in shown],
        }

    def _own(self, template: Template, providers: Mapping[str, Provider]) -> Iterator[str]:
        for llm in template.llms:
            if llm in providers:
                yield _name(providers[llm], template.model_settings(llm).model)

    def _missing(
        self, template: Template, providers: Mapping[str, Provider]
    ) -> Iterator[dict[str, Any]]:
        """What the agent names and can't have here."""
        for llm in template.llms:
            server = self.remote.servers.get(llm)
            if llm not in providers and server is not None:
                model = template.model_settings(llm).model or server.default_model
                no_key = later("{server} needs an API key ({variable}).")
                out_of_reach = later("{server} can't be reached here.")
                values = {"server": server.label, "variable": server.key}
                why = say(no_key if server.key else out_of_reach, **values)
                entry = _described(f"{llm}:{model}", model, self.remote.table.facts(llm, model))
                yield entry | {"why_not": why}

    def _others(self, providers: Mapping[str, Provider]) -> Iterator[str]:
        """What is offered besides the agent's own, each once."""
        if self.offered is None:
            yield from dict.fromkeys(self._usual(providers))
            return
        for name in self.offered:
            provider, _, model = name.partition(":")
            if provider not in providers:
                continue
            if model != "*":
                yield name
            else:
                yield from dict.fromkeys(self._all_of(provider, providers[provider]))

    def _usual(self, providers: Mapping[str, Provider]) -> Iterator[str]:
        for name, provider in providers.items():
            server = self.remote.servers.get(name)
            if name == _HERE:
                yield _name(provider, None)
            elif server is not None and (server.local or name in LOCAL):
                yield from self._all_of(name, provider)
            elif server is not None:
                # What an administrator describes is there; of the rest only what is recommended.
                yield _name(provider, None)
                yield from (full for full in self.remote.table.own if _of(full, name))

    def _all_of(self, name: str, provider: Provider) -> Iterator[str]:
        listed = self.remote.discovery.found.get(name, {})
        yield from (f"{name}:{model}" for model in listed)
        yield from (full for full in self.remote.table.own if _of(full, name))
        if not listed:
            yield _name(provider, None)

    def _server(self, name: str) -> dict[str, str]:
        """Who has the model, where its group doesn't say so."""
        server = self.remote.servers.get(name.partition(":")[0])
        return {"server": say(server.label)} if server is not None else {}

    def _group(self, provider: str) -> str:
        server = self.remote.servers.get(provider)
        if server is None:
            return say("On this machine")
        if server.local:
            return say("{server}, on this machine", server=say(server.label))
        return say(server.label)

    def _entry(self, name: str, providers: Mapping[str, Provider]) -> dict[str, Any]:
        provider, _, asked = name.partition(":")
        model = providers[provider].model(asked)
        facts = self.remote.table.facts(provider, model.name)
        entry = _described(name, model.label, facts)
        on_server = provider in self.remote.servers
        return entry | {
            "window": model.window,
            "assumed": on_server and (facts is None or facts.assumed),
            "takes": sorted(model.takes),
            "tools": model.tools,
        }


def _name(provider: Provider, asked: str | None) -> str:
    model = provider.model(asked)
    return f"{model.provider}:{model.name}"


def _of(full_name: str, provider: str) -> bool:
    return full_name.partition(":")[0] == provider


def _described(name: str, label: str, facts: ModelFacts | None) -> dict[str, Any]:
    """For the page; the price is in US dollars for a million tokens."""
    price = facts.price if facts else None
    return {
        "name": name,
        "label": label,
        "window": facts.window if facts else None,
        "assumed": facts is None or facts.assumed,
        "price": {"prompt": price.input, "cached": price.cached, "completion": price.output}
        if price
        else None,
        "takes": sorted(facts.takes) if facts else [],
        "tools": facts.tools if facts else True,
        "why_not": "",
    }
